//! Sessions we made, in the other program and back.

use std::path::{Path, PathBuf};

use pi_agent::session::EntryBody;
use pi_agent::session::entry::Replacement;
use pi_test::{Block, Reply, Turn};
use serde_json::{Map, json};

use super::bed::{Pair, SMALL, Side, full, long};
use super::harness::{compacted_by_us, material};
use super::view::{assert_same, assert_same_here, assert_same_view, told};

/// A home with one session: a tool call, a compaction, a name, and an entry of every other type.
pub(super) async fn pair(model: &str) -> Option<(Pair, PathBuf)> {
    let turns = [
        Turn::tool("call_1", "read", json!({"path": "a.txt"})).into(),
        Reply::from("Answer alpha."),
        Turn::new([
            Block::thinking("Hm."),
            Block::text("Reading again."),
            Block::tool("call_2", "read", json!({"path": "a.txt"})),
            Block::tool("call_3", "read", json!({"path": "none.txt"})),
        ])
        .into(),
        Reply::error(529, "overloaded"),
        full("Answer beta.").into(),
        Reply::from("SUMMARY-OF-OURS"),
    ];
    let pair = Pair::new(model, turns).await?;
    pair.ours(&["-n", "two programs", "--mode", "json", &long("ALPHA"), &long("BETA")]).await;
    let file = pair.bed.session_file();
    add_other_entries(&pair, &file);
    Some((pair, file))
}

/// What the command line does not make.
fn add_other_entries(pair: &Pair, file: &Path) {
    let mut session = pair.open(file);
    let answer = session.leaf().and_then(|leaf| leaf.parent()).unwrap().id().to_owned();
    let remark = |text: &str| EntryBody::CustomMessage {
        custom_type: "remark".to_owned(),
        content: pi_ai::UserContent::Text(text.to_owned()),
        display: true,
        details: Some(json!({"by": "test"})),
    };
    let mut add = |body: EntryBody| session.append(body).unwrap().id.clone();
    add(EntryBody::Label { target_id: answer.clone(), label: Some("the answer".to_owned()) });
    add(EntryBody::Custom { custom_type: "state".to_owned(), data: Some(json!({"n": 1})) });
    add(remark("REMARK-KEPT"));
    let dropped = add(remark("REMARK-DROPPED"));
    add(EntryBody::ContextEdit { target_id: dropped, replacement: None });
    let content = json!("Answer edited.");
    let replacement = Some(Replacement { content });
    add(EntryBody::ContextEdit { target_id: answer, replacement });
    let usage = json!({"input": 7, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 8,
        "cost": {"input": 0.5, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.5}});
    add(EntryBody::Usage {
        kind: "cache_warm".to_owned(),
        provider: "fx-anthropic".to_owned(),
        model: "m-small".to_owned(),
        usage: serde_json::from_value(usage).unwrap(),
        note: None,
    });
    add(EntryBody::Unknown(Map::from_iter([("novelty".to_owned(), json!([1]))])));
}

#[tokio::test]
async fn a_session_of_ours_reads_the_same_in_theirs() {
    for model in SMALL {
        let Some((pair, file)) = pair(model).await else { return };
        let before = std::fs::read(&file).unwrap();
        assert_same_view(&pair, &[&file]).await;
        assert_eq!(std::fs::read(&file).unwrap(), before, "looking changes nothing");
    }
}

#[tokio::test]
async fn theirs_continues_a_session_of_ours_with_the_same_request() {
    for model in SMALL {
        let Some((pair, file)) = pair(model).await else { return };
        let copy = pair.copy(&file, Side::Ours);
        pair.bed.server.push("Answer gamma.");
        pair.ours(&["--session", copy.to_str().unwrap(), "-p", "GAMMA"]).await;
        let ours = pair.last_body();
        pair.bed.server.push("Answer gamma.");
        let ended = pair.theirs(&["-c", "-p", "GAMMA"]).await;
        assert_eq!(ended.stdout, "Answer gamma.\n");
        assert_same("request", &told(&pair.last_body()), &told(&ours));
        let text = told(&ours).to_string();
        for (part, is_told) in [
            ("<summary>\\nSUMMARY-OF-OURS", true),
            ("ALPHA", false),
            ("BETA", true),
            ("Answer edited.", true),
            ("REMARK-KEPT", true),
            ("REMARK-DROPPED", false),
        ] {
            assert_eq!(text.contains(part), is_told, "{part}: {text}");
        }
        assert_eq!(pair.bed.session_file(), file, "no file of its own");
    }
}

#[tokio::test]
async fn theirs_compacts_a_session_of_ours_as_we_would_and_we_go_on_from_there() {
    for model in SMALL {
        let Some((pair, file)) = pair(model).await else { return };
        for name in ["GAMMA", "DELTA"] {
            pair.bed.server.push(name);
            pair.ours(&["-c", "-p", &long(name)]).await;
        }
        let ours = compacted_by_us(&pair.copy(&file, Side::Ours)).await;

        pair.bed.server.push("SUMMARY-OF-THEIRS");
        let mut theirs = pair.theirs_on(&file);
        let result = theirs.call(json!({"type": "compact"})).await;
        assert_same_here(&mut theirs, &pair.open(&file)).await;
        theirs.end().await;
        assert_same("request", &json!(material(&pair.last_body())), &json!(ours.material));
        for field in ["firstKeptEntryId", "tokensBefore", "details"] {
            assert_same(field, &result[field], &ours.entry[field]);
        }

        pair.theirs(&["--export", file.to_str().unwrap(), "out.html"]).await;
        let page = pair.bed.scratch.read("ws/out.html").unwrap();
        assert!(page.starts_with("<!DOCTYPE html>"), "{page}");

        pair.bed.server.push("Answer epsilon.");
        pair.ours(&["-c", "-p", "EPSILON"]).await;
        let request = told(&pair.last_body()).to_string();
        for (part, is_told) in [
            ("<summary>\\nSUMMARY-OF-THEIRS", true),
            ("SUMMARY-OF-OURS", false),
            ("GAMMA", false),
            ("DELTA", true),
        ] {
            assert_eq!(request.contains(part), is_told, "{part}: {request}");
        }
        assert_same_view(&pair, &[&file]).await;
    }
}
