//! Sessions the other program made, in ours and back.

use std::path::{Path, PathBuf};

use pi_test::{Block, Reply, Turn};
use serde_json::{Value, json};

use super::bed::{Pair, SIDES, SMALL, Side, full, lines, long};
use super::harness::material;
use super::view::{assert_same, assert_same_view, told};
use crate::bed::{kinds, tool_names};

/// A home with one session: commands of the user's, a tool call, a compaction and a name.
async fn pair(model: &str) -> Option<(Pair, PathBuf)> {
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
        Reply::from("SUMMARY-OF-THEIRS"),
    ];
    let pair = Pair::new(model, turns).await?;
    let mut theirs = pair.rpc(&[]);
    theirs.prompt(&long("ALPHA")).await;
    theirs.prompt(&long("BETA")).await;
    theirs.call(json!({"type": "set_session_name", "name": "two programs"})).await;
    theirs.call(json!({"type": "bash", "command": "echo told; exit 3"})).await;
    let hidden = json!({"type": "bash", "command": "echo hidden", "excludeFromContext": true});
    theirs.call(hidden).await;
    theirs.end().await;
    let file = pair.bed.session_file();
    Some((pair, file))
}

#[tokio::test]
async fn a_session_of_theirs_reads_the_same_in_ours() {
    for model in SMALL {
        let Some((pair, file)) = pair(model).await else { return };
        assert_eq!(pair.open(&file).name().as_deref(), Some("two programs"));
        assert_same_view(&pair, &[&file]).await;
    }
}

#[tokio::test]
async fn we_continue_a_session_of_theirs_with_the_same_request() {
    for model in SMALL {
        let Some((pair, file)) = pair(model).await else { return };
        let copy = pair.copy(&file, Side::Theirs);
        pair.bed.server.push("Answer gamma.");
        pair.theirs(&["--session", copy.to_str().unwrap(), "-p", "GAMMA"]).await;
        let theirs = told(&pair.last_body());
        pair.bed.server.push("Answer gamma.");
        assert_eq!(pair.ours(&["-c", "-p", "GAMMA"]).await.stdout, "Answer gamma.\n");
        let ours = told(&pair.last_body());
        assert_same("request", &theirs, &ours);
        let text = ours.to_string();
        for (part, is_told) in
            [("<summary>\\nSUMMARY-OF-THEIRS", true), ("ALPHA", false), ("hidden", false)]
        {
            assert_eq!(text.contains(part), is_told, "{part}: {text}");
        }
        assert_eq!(pair.bed.session_file(), file, "no file of its own");
    }
}

#[tokio::test]
async fn both_compact_a_session_of_theirs_alike_when_it_grows_too_long() {
    for model in SMALL {
        let Some((pair, file)) = pair(model).await else { return };
        let mut outcomes = Vec::new();
        for side in SIDES {
            let copy = pair.copy(&file, side);
            pair.bed.server.push(full("Answer gamma."));
            pair.bed.server.push("SUMMARY");
            let prompt = long("GAMMA");
            let args = ["--session", copy.to_str().unwrap(), "-p", &prompt];
            pair.run(side, &args).await;
            outcomes.push(outcome(&pair, &file, &copy));
        }
        assert_same("outcome", &outcomes[0], &outcomes[1]);
    }
}

#[tokio::test]
async fn both_split_a_turn_that_is_too_long_to_stay_alike() {
    for model in SMALL {
        let Some((pair, file)) = pair(model).await else { return };
        let mut outcomes = Vec::new();
        for side in SIDES {
            let copy = pair.copy(&file, side);
            let call = Block::tool("call_4", "read", json!({"path": "a.txt"}));
            pair.bed.server.push(Turn::new([Block::text(&long("GAMMA-BEGUN")), call]));
            pair.bed.server.push(full(&long("GAMMA-ENDED")));
            pair.bed.server.push("SUMMARY-OF-HISTORY");
            pair.bed.server.push("SUMMARY-OF-TURN");
            let args = ["--session", copy.to_str().unwrap(), "-p", "GAMMA"];
            pair.run(side, &args).await;
            outcomes.push(outcome(&pair, &file, &copy));
        }
        assert_same("outcome", &outcomes[0], &outcomes[1]);
        let outcome = outcomes[0].to_string();
        let halves =
            "SUMMARY-OF-HISTORY\\n\\n---\\n\\n**Turn Context (split turn):**\\n\\nSUMMARY-OF-TURN";
        assert!(outcome.contains(halves), "{outcome}");
    }
}

/// What a compaction was made of, and what it left.
fn outcome(pair: &Pair, before: &Path, after: &Path) -> Value {
    let lines = lines(after);
    let added = lines.split_at(self::lines(before).len()).1;
    let compaction = added.last().unwrap();
    let kept = added.iter().find(|line| line["id"] == compaction["firstKeptEntryId"]);
    let fields = ["type", "summary", "tokensBefore", "details", "usage", "fromHook"];
    let compaction = fields.map(|field| &compaction[field]);
    // Requests for summaries offer no tools; those of the run before belong to another program.
    let bodies = pair.bed.bodies();
    let asked = bodies.rsplit(|body| !tool_names(body).is_empty()).next().unwrap();
    assert!(!asked.is_empty());
    let materials: Vec<Vec<String>> = asked.iter().map(material).collect();
    json!({
        // Only one of the two finds the prompt changed.
        "added": kinds(added).into_iter().filter(|kind| *kind != "system").collect::<Vec<_>>(),
        "kept": kept.map(|kept| &kept["message"]["content"]),
        "material": materials,
        "compaction": compaction,
    })
}

#[tokio::test]
async fn both_take_turns_and_each_compacts_what_the_other_left() {
    for model in SMALL {
        let Some((pair, file)) = pair(model).await else { return };
        for (name, side) in
            [("GAMMA", Side::Ours), ("DELTA", Side::Theirs), ("EPSILON", Side::Ours)]
        {
            pair.bed.server.push(full(name));
            pair.bed.server.push(format!("SUMMARY-AFTER-{name}").as_str());
            let prompt = long(name);
            let args = ["-c", "-p", &prompt];
            pair.run(side, &args).await;
        }
        let previous = material(&pair.last_body()).pop().unwrap();
        assert!(previous.contains("SUMMARY-AFTER-DELTA"), "{previous}");
        pair.bed.server.push("Answer zeta.");
        pair.theirs(&["-c", "-p", "ZETA"]).await;
        let text = told(&pair.last_body()).to_string();
        for (part, is_told) in [
            ("<summary>\\nSUMMARY-AFTER-EPSILON", true),
            ("SUMMARY-AFTER-DELTA", false),
            ("DELTA", false),
            ("ZETA", true),
        ] {
            assert_eq!(text.contains(part), is_told, "{part}: {text}");
        }
        assert_same_view(&pair, &[&file]).await;
    }
}
