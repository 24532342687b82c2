//! Branches that were left with a summary, by either program.

use std::path::{Path, PathBuf};

use pi_agent::harness::NavigateOptions;
use pi_test::Turn;
use serde_json::{Value, json};

use super::bed::{Pair, SIDES, SMALL, Side, lines};
use super::harness::{harness, material, materials};
use super::view::{assert_same, assert_same_view, told};
use crate::bed::text;

/// Gives the other program a command that moves in the tree.
const EXTENSION: &str = r#"
export default function (pi: any) {
  pi.registerCommand("go", {
    description: "go to an entry",
    handler: async (id: string, ctx: any) => {
      await ctx.navigateTree(id, { summarize: true, label: "left" });
    },
  });
}
"#;

/// Two prompts of ours, the second with tool calls, and the entry of that.
async fn source(model: &str) -> Option<(Pair, PathBuf, String)> {
    let turns = [
        Turn::from("Answer alpha."),
        Turn::tool("call_1", "read", json!({"path": "a.txt"})),
        Turn::tool("call_2", "write", json!({"path": "b.txt", "content": "b"})),
        Turn::from("Answer beta."),
    ];
    let pair = Pair::new(model, turns).await?;
    pair.ours(&["--mode", "json", "ALPHA", "BETA"]).await;
    let file = pair.bed.session_file();
    let beta = lines(&file).into_iter().find(|line| text(&line["message"]) == "BETA").unwrap();
    let id = beta["id"].as_str().unwrap().to_owned();
    Some((pair, file, id))
}

/// Leaves the branch with the library; gives what the summary was made of.
async fn left_by_us(file: &Path, target: &str) -> Vec<String> {
    let (harness, model) = harness(file, &["SUMMARY-OF-BRANCH"]);
    let label = Some("left".to_owned());
    let options = NavigateOptions { summarize: true, label, ..NavigateOptions::default() };
    let navigation = harness.navigate(Some(target), options).await.unwrap();
    assert_eq!(navigation.editor_text.as_deref(), Some("BETA"));
    materials(&model)
}

async fn left_by_them(pair: &Pair, file: &Path, target: &str) -> Vec<String> {
    let extension = pair.bed.scratch.write("ws/go.ts", EXTENSION).unwrap();
    pair.bed.server.push("SUMMARY-OF-BRANCH");
    let args = ["-e", extension.to_str().unwrap(), "--session", file.to_str().unwrap()];
    let mut theirs = pair.rpc(&args);
    theirs.call(json!({"type": "prompt", "message": format!("/go {target}")})).await;
    theirs.end().await;
    material(&pair.last_body())
}

/// The summary and the label behind it, without what differs from run to run.
fn added(file: &Path, count: usize) -> Value {
    let mut added = lines(file).split_off(count);
    let summary = added[0]["summary"].as_str().unwrap();
    assert!(summary.contains("\n\nSUMMARY-OF-BRANCH\n\n<read-files>\n"), "{summary}");
    assert_eq!(added[1]["targetId"], added[0]["id"]);
    assert_eq!(added[1]["parentId"], added[0]["id"]);
    for field in ["id", "timestamp", "summary", "usage"] {
        added[0][field].take();
    }
    for field in ["id", "timestamp", "targetId", "parentId"] {
        added[1][field].take();
    }
    Value::Array(added)
}

#[tokio::test]
async fn a_branch_is_left_alike_by_either() {
    for model in SMALL {
        let Some((pair, file, target)) = source(model).await else { return };
        let (ours, theirs) = (pair.copy(&file, Side::Ours), pair.copy(&file, Side::Theirs));
        let our_material = left_by_us(&ours, &target).await;
        let their_material = left_by_them(&pair, &theirs, &target).await;
        assert_same("request", &json!(their_material), &json!(our_material));
        let count = lines(&file).len();
        assert_same("entries", &added(&theirs, count), &added(&ours, count));
        assert_same_view(&pair, &[&ours, &theirs]).await;
    }
}

#[tokio::test]
async fn a_conversation_that_came_back_goes_on_with_the_same_request_in_either() {
    for model in SMALL {
        let Some((pair, file, target)) = source(model).await else { return };
        left_by_us(&file, &target).await;
        let mut requests = Vec::new();
        for side in SIDES {
            let copy = pair.copy(&file, side);
            pair.bed.server.push("Answer gamma.");
            let args = ["--session", copy.to_str().unwrap(), "-p", "GAMMA"];
            pair.run(side, &args).await;
            requests.push(told(&pair.last_body()));
        }
        assert_same("request", &requests[0], &requests[1]);
        let request = requests[0].to_string();
        for (part, is_told) in [("SUMMARY-OF-BRANCH", true), ("ALPHA", true), ("BETA", false)] {
            assert_eq!(request.contains(part), is_told, "{part}: {request}");
        }
    }
}
