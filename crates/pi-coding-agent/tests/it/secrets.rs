//! Keys stay where their owner put them.

use std::path::Path;

use pi_test::{Ended, Reply, Turn};
use serde_json::{Value, json};

use crate::bed::{Bed, WIRES};

const KEY: &str = "sk-very-secret-0123456789";

/// Every file below `folder` that holds the key.
fn leaks(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(KEY) {
                found.push(path.file_name().unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found
}

fn assert_kept(bed: &Bed, ended: &Ended, owners: &[&str], case: &str) {
    assert!(!ended.stdout.contains(KEY), "{case}: {}", ended.stdout);
    assert!(!ended.stderr.contains(KEY), "{case}: {}", ended.stderr);
    assert_eq!(leaks(bed.scratch.agent().parent().unwrap()), owners, "{case}");
}

fn answers() -> Vec<(&'static str, Vec<Reply>)> {
    let tool = Turn::tool("c", "bash", json!({"command": "echo hi"}));
    vec![
        ("a good run", vec![Reply::turn(tool), Reply::turn("Done.")]),
        ("a refused key", vec![Reply::error(401, "invalid x-api-key")]),
        ("a retry", vec![Reply::error(500, "oops"), Reply::turn("Done.")]),
        ("a lost connection", vec![Reply::close(), Reply::turn("Done.")]),
    ]
}

#[tokio::test]
async fn a_key_of_the_command_line_is_never_stored_or_shown() {
    for (model, mode) in WIRES.into_iter().zip([&["-p", "hi"][..], &["--mode", "json", "hi"]]) {
        for (case, replies) in answers() {
            let bed = Bed::new(replies).await;
            let args = [&["--model", model, "--api-key", KEY], mode].concat();
            let ended = bed.pi(args).run().await;
            let request = &bed.server.requests()[0];
            assert!(request.headers.values().any(|value| value.contains(KEY)), "{case}");
            assert_kept(&bed, &ended, &[], case);
        }
    }
}

#[tokio::test]
async fn a_stored_key_stays_in_its_file() {
    for model in WIRES {
        for (case, replies) in answers() {
            let bed = Bed::new(replies).await;
            let provider = model.split('/').next().unwrap();
            let auth = json!({provider: {"type": "api_key", "key": KEY}});
            bed.scratch.write("agent/auth.json", auth.to_string()).unwrap();
            let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
            assert_kept(&bed, &ended, &["auth.json"], case);
        }
    }
}

#[tokio::test]
async fn a_key_in_the_models_file_shows_in_no_list_and_no_complaint() {
    let bed = Bed::idle().await;
    let text = bed.scratch.read("agent/models.json").unwrap();
    let mut models: Value = serde_json::from_str(&text).unwrap();
    models["providers"]["fx-openai"]["apiKey"] = json!(KEY);
    models["providers"]["fx-openai"]["headers"] = json!({"x-secret": [KEY]});
    models["providers"]["fx-openai"]["models"][0]["contextWindow"] = json!(KEY);
    bed.scratch.write("agent/models.json", models.to_string()).unwrap();
    let ended = bed.pi(["--list-models", "fx-"]).run().await;
    assert_eq!(ended.code, Some(0));
    assert!(ended.stderr.contains("fx-openai"), "both faults are told: {}", ended.stderr);
    assert_kept(&bed, &ended, &["models.json"], "a wrong field");

    let broken = bed.scratch.read("agent/models.json").unwrap().replace('}', "");
    bed.scratch.write("agent/models.json", broken).unwrap();
    let ended = bed.pi(["--list-models"]).run().await;
    assert_kept(&bed, &ended, &["models.json"], "a broken file");
}

#[tokio::test]
async fn a_key_in_broken_credentials_is_not_quoted() {
    for text in [
        format!("{{\"fx-openai\": {{\"type\": \"api_key\", \"key\": \"{KEY}\""),
        format!("{{\"fx-openai\": \"{KEY}\"}}"),
        format!("{{\"fx-openai\": {{\"type\": \"{KEY}\", \"key\": 5}}}}"),
        format!("{{\"fx-openai\": {{\"type\": \"api_key\", \"key\": [\"{KEY}\"]}}}}"),
    ] {
        let bed = Bed::idle().await;
        bed.scratch.write("agent/models.json", "{}").unwrap();
        bed.scratch.write("agent/auth.json", &text).unwrap();
        let ended = bed.pi(["-p", "hi"]).run().await;
        assert_eq!(ended.code, Some(1), "{text}");
        assert_kept(&bed, &ended, &["auth.json"], &text);
    }
}

#[tokio::test]
async fn a_placeholder_or_unresolved_key_is_never_sent() {
    let bed = Bed::idle().await;
    let text = bed.scratch.read("agent/models.json").unwrap();
    let text = text.replace(pi_test::scratch::API_KEY, "${NOT_SET}");
    bed.scratch.write("agent/models.json", text).unwrap();
    let ended = bed.pi(["--model", WIRES[1], "-p", "hi"]).run().await;
    assert_eq!(ended.code, Some(1));
    assert_eq!(bed.server.requests().len(), 0);
}
