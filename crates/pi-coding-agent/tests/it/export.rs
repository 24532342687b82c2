//! Sessions as pages: which file becomes which, and what a browser makes of it.

use std::fs;
use std::path::PathBuf;

use pi_test::{Browser, Ended, RpcClient, Scratch, Turn};
use serde_json::{Value, json};

use crate::bed::{Bed, pi};

mod attacks;
mod looks;
mod size;

/// A session of these entries, each of which hangs below the one before unless it says otherwise and
/// has its place as id.
fn session(entries: &[Value]) -> String {
    let header = json!({
        "type": "session", "version": 3, "id": "0199-test", "timestamp": "2026-01-02T03:04:05.006Z",
        "cwd": "/home/u/project",
    });
    let mut text = format!("{header}\n");
    let mut parent = Value::Null;
    for (index, entry) in entries.iter().enumerate() {
        let mut line = json!({
            "type": "message", "id": format!("e{index}"), "parentId": parent,
            "timestamp": "2026-01-02T03:04:05.006Z",
        });
        for (key, value) in entry.as_object().unwrap() {
            line[key] = value.clone();
        }
        parent = line["id"].clone();
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

fn user(text: &str) -> Value {
    json!({"message": {"role": "user", "content": [{"type": "text", "text": text}], "timestamp": 1}})
}

/// An answer of text, or of blocks.
fn assistant(content: impl Into<Value>) -> Value {
    let content = match content.into() {
        Value::String(text) => json!([{"type": "text", "text": text}]),
        blocks => blocks,
    };
    json!({"message": {
        "role": "assistant", "content": content, "api": "a", "provider": "p", "model": "m",
        "usage": {"input": 1000, "output": 50, "cacheRead": 200, "cacheWrite": 0, "totalTokens": 1250,
                  "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.25}},
        "stopReason": "stop", "timestamp": 2,
    }})
}

fn call(id: &str, name: &str, arguments: &Value) -> Value {
    json!({"type": "toolCall", "id": id, "name": name, "arguments": arguments})
}

fn result(id: &str, name: &str, text: &str) -> Value {
    json!({"message": {
        "role": "toolResult", "toolCallId": id, "toolName": name, "isError": false, "timestamp": 3,
        "content": [{"type": "text", "text": text}],
    }})
}

/// The page of a session, made by pi.
async fn page(scratch: &Scratch, text: &str) -> PathBuf {
    scratch.write("ws/s.jsonl", text).unwrap();
    let ended = pi(scratch).args(["--export", "s.jsonl", "page.html"]).run().await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    scratch.ws().join("page.html")
}

/// A page of these entries in a browser; `None` without one.
async fn opened(scratch: &Scratch, entries: &[Value]) -> Option<Browser> {
    let page = page(scratch, &session(entries)).await;
    let Some(mut browser) = Browser::start(scratch).await else {
        println!("left out: no Chromium");
        return None;
    };
    show(&mut browser, &page, "").await;
    Some(browser)
}

/// Opens a page, at an entry if one is named, and waits until all of it is there.
async fn show(browser: &mut Browser, page: &std::path::Path, fragment: &str) {
    browser.open(page, fragment).await;
    browser.wait_for("document.documentElement.dataset.ready === 'yes'").await;
    browser
        .wait_for("[...document.querySelectorAll('.chunk')].every((c) => !c.style.minHeight)")
        .await;
}

async fn export(scratch: &Scratch, args: &[&str]) -> Ended {
    pi(scratch).args(["--export"].iter().chain(args)).run().await
}

fn ok(stdout: &str) -> Ended {
    Ended { code: Some(0), signal: None, stdout: format!("{stdout}\n"), stderr: String::new() }
}

#[tokio::test]
async fn a_file_becomes_a_page_where_it_is_wanted() {
    let scratch = Scratch::new().unwrap();
    scratch.write("ws/deep/one.jsonl", session(&[user("Hello <b>")])).unwrap();
    let home = scratch.home().join("page.html");
    let cases = [
        (&["deep/one.jsonl"][..], "pi-session-one.html", "ws/pi-session-one.html"),
        (&["deep/one.jsonl", "out.html"], "out.html", "ws/out.html"),
        (&["./deep/../deep/one.jsonl", "deep/x.html"], "deep/x.html", "ws/deep/x.html"),
        (&["deep/one.jsonl", "no-extension", "more"], "no-extension", "ws/no-extension"),
        (&["deep/one.jsonl", "~/page.html"], home.to_str().unwrap(), "home/page.html"),
        (&["deep/one.jsonl", "-p", "--mode", "json", "m.html"], "m.html", "ws/m.html"),
    ];
    for (args, told, file) in cases {
        assert_eq!(export(&scratch, args).await, ok(&format!("Exported to: {told}")), "{args:?}");
        let page = scratch.read(file).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"), "{args:?}");
        assert!(page.contains("Hello \\u003cb>"), "{args:?}");
    }
    assert_eq!(fs::read_dir(scratch.agent()).unwrap().count(), 0, "nothing is written elsewhere");
}

#[tokio::test]
async fn what_cannot_be_exported_is_told_and_leaves_nothing() {
    let scratch = Scratch::new().unwrap();
    let (ws, at) = (scratch.ws(), |name: &str| scratch.ws().join(name).display().to_string());
    scratch.write("ws/garbage.jsonl", "this is no session\n").unwrap();
    scratch.write("ws/good.jsonl", session(&[user("x")])).unwrap();
    let cases = [
        (&["gone.jsonl"][..], format!("Error: File not found: {}\n", at("gone.jsonl"))),
        (
            &["garbage.jsonl"],
            format!("Error: Session file is not a valid pi session: {}\n", at("garbage.jsonl")),
        ),
        (&["."], format!("Error: Cannot read session file {}: Is a directory", ws.display())),
        (
            &["good.jsonl", "no/folder.html"],
            format!("Error: Cannot write {}: No such file or directory", at("no/folder.html")),
        ),
        (
            &["good.jsonl", "good.jsonl"],
            format!(
                "Error: A session cannot be exported over its own file: {}\n",
                at("good.jsonl")
            ),
        ),
        (&["good.jsonl", "."], format!("Error: Cannot write {}", at("."))),
        (&["good.jsonl", "--nonsense"], "Error: Unknown option: --nonsense\n".to_owned()),
        (&[], "Error: --export requires a value\n".to_owned()),
    ];
    for (args, error) in cases {
        let ended = export(&scratch, args).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{args:?}");
        assert!(ended.stderr.starts_with(&error), "{args:?}: {}", ended.stderr);
    }
    assert_eq!(fs::read_dir(&ws).unwrap().count(), 2);
}

#[tokio::test]
async fn old_damaged_and_empty_files_are_exported_and_stay_as_they_are() {
    let scratch = Scratch::new().unwrap();
    let old = concat!(
        r#"{"type":"session","id":"old","timestamp":"t","cwd":"/w"}"#,
        "\n",
        r#"{"type":"message","timestamp":"t","message":{"role":"user","content":"FIRST"}}"#,
        "\n",
        r#"{"type":"message","timestamp":"t","message":{"role":"hookMessage","customType":"h","content":"HOOK","display":true}}"#,
        "\n",
    );
    let damaged =
        format!("{}nonsense\n\n{{\"type\":\"message\",\"id\":\"x", session(&[user("KEPT")]));
    let cases = [
        ("old.jsonl", old.as_bytes().to_vec(), "\"role\":\"custom\"", 0),
        ("damaged.jsonl", damaged.into_bytes(), "\"unreadable\":2", 3),
        (
            "bytes.jsonl",
            [session(&[user("x")]).as_bytes(), b"{\"\xff\n"].concat(),
            "\"unreadable\":1",
            2,
        ),
        ("empty.jsonl", Vec::new(), "\"leaf\":null", 0),
    ];
    for (name, bytes, expected, warnings) in cases {
        let path = scratch.write(format!("ws/{name}"), &bytes).unwrap();
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
        let ended = export(&scratch, &[name, "out.html"]).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(ended.stderr.matches("Warning: ").count(), warnings, "{name}: {}", ended.stderr);
        assert!(scratch.read("ws/out.html").unwrap().contains(expected), "{name}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "{name}");
    }
}

#[tokio::test]
async fn an_output_that_is_called_jsonl_is_the_branch_as_a_session() {
    let scratch = Scratch::new().unwrap();
    let mut other = user("OTHER");
    other["parentId"] = json!("e0");
    scratch.write("ws/s.jsonl", session(&[user("ONE"), user("LEFT"), other])).unwrap();
    assert_eq!(export(&scratch, &["s.jsonl", "b.jsonl"]).await, ok("Exported to: b.jsonl"));
    let text = scratch.read("ws/b.jsonl").unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.contains("ONE") && text.contains("OTHER") && !text.contains("LEFT"));
}

#[tokio::test]
async fn the_page_has_the_colours_of_the_settings() {
    let scratch = Scratch::new().unwrap();
    scratch.write("ws/s.jsonl", session(&[user("x")])).unwrap();
    let theme = |name: &str, accent: &str| {
        let text = include_str!("../../src/themes/dark.json");
        let text = text.replace("\"accent\": \"blue\"", &format!("\"accent\": \"{accent}\""));
        text.replace("\"name\": \"dark\"", &format!("\"name\": \"{name}\""))
    };
    scratch.write("agent/themes/mine.json", theme("mine", "#abcdef")).unwrap();
    scratch.write("ws/.pi/themes/ours.json", theme("ours", "#fedcba")).unwrap();
    scratch.write("agent/themes/broken.json", "{}").unwrap();
    let cases = [
        (json!(null), &[][..], "color-scheme: light", ""),
        (json!("dark"), &[], ":root {\ncolor-scheme: dark", ""),
        (json!(7), &[], "color-scheme: light", ""),
        (json!("mine"), &[], "--accent: #abcdef;", ""),
        (json!("light/mine"), &[], "--accent: #abcdef;", ""),
        (json!("ours"), &["-a"], "--accent: #fedcba;", ""),
        (json!("ours"), &[], "color-scheme: light", "Theme \"ours\" not found"),
        (json!("gone"), &[], "color-scheme: light", "Theme \"gone\" not found"),
        (json!("broken"), &[], "color-scheme: light", "Theme \"broken\" cannot be used"),
    ];
    for (setting, more, expected, warning) in cases {
        scratch.write_settings(&json!({"theme": setting})).unwrap();
        let ended = export(&scratch, &[&["s.jsonl", "out.html"], more].concat()).await;
        assert_eq!(ended.code, Some(0), "{setting}: {ended:?}");
        assert_eq!(ended.stderr.contains(warning), !warning.is_empty() || ended.stderr.is_empty());
        let page = scratch.read("ws/out.html").unwrap();
        assert!(page.contains(expected), "{setting}");
    }
}

#[tokio::test]
async fn rpc_writes_the_page_of_the_conversation() {
    let bed = Bed::new([Turn::from("ANSWER")]).await;
    let mut client = RpcClient::new(bed.pi(["--mode", "rpc"]).talk().start());
    let nothing = client.call(json!({"type": "export_html"})).await;
    assert_eq!(nothing.failure(), "Nothing to export yet - start a conversation first");
    client.call(json!({"type": "prompt", "message": "QUESTION"})).await.value();
    client.event("agent_settled").await;

    let name = bed.session_file().file_stem().unwrap().to_str().unwrap().to_owned();
    let default = format!("pi-session-{name}.html");
    let absolute = bed.scratch.tmp().join("abs.html").display().to_string();
    let cases = [
        (json!(null), default.as_str(), format!("ws/{default}")),
        (json!("rel.html"), "rel.html", "ws/rel.html".to_owned()),
        (json!(absolute), absolute.as_str(), "tmp/abs.html".to_owned()),
    ];
    for (output, told, file) in cases {
        let answer = client.call(json!({"type": "export_html", "outputPath": output})).await;
        assert_eq!(answer.value(), json!({"path": told}));
        let page = bed.scratch.read(&file).unwrap();
        assert!(page.contains("QUESTION") && page.contains("ANSWER"), "{file}");
    }
    let own = bed.session_file().display().to_string();
    let over = client.call(json!({"type": "export_html", "outputPath": own})).await;
    assert!(
        over.failure().starts_with("A session cannot be exported over its own file"),
        "{over:?}"
    );
    let nowhere = client.call(json!({"type": "export_html", "outputPath": "no/where.html"})).await;
    assert!(nowhere.failure().contains("No such file or directory"), "{nowhere:?}");
    assert_eq!(client.end().await.code, Some(0));
}
