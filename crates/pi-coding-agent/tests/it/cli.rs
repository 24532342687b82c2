//! The command line as a shell hands it over: what is refused, what is only told, and what comes first.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use pi_test::{RpcClient, Signal};
use serde_json::json;

use crate::bed::{Bed, last_text};

#[tokio::test]
async fn errors_have_the_known_first_line_and_say_what_may_have_been_meant() {
    let bed = Bed::new(["Yes."]).await;
    assert_eq!(bed.pi(["--session-id", "my.task-1", "-p", "hi"]).run().await.code, Some(0));
    for (args, stderr) in [
        (&["--bogus-option"][..], "Error: Unknown option: --bogus-option\n"),
        (&["-Z"], "Error: Unknown option: -Z\n"),
        (&["--prnt"], "Error: Unknown option: --prnt\nDid you mean --print?\n"),
        (&["-pc"], "Error: Unknown option: -pc\nShort options stand apart: -p -c\n"),
        (
            &["--mode", "jsno"],
            "Error: Invalid mode \"jsno\". Valid values: text, json, rpc\nDid you mean json?\n",
        ),
        (
            &["--tui-mode", "odd"],
            "Error: Invalid TUI mode \"odd\". Valid values: regular, fullscreen\n",
        ),
        (
            &["--provider", "fx-openia", "--model", "m-plain"],
            "Error: Unknown provider \"fx-openia\". Use --list-models to see available providers/models.\n\
             Did you mean fx-openai?\n",
        ),
        (
            &["--model", "m-plian:high"],
            "Error: Model \"m-plian:high\" not found. Use --list-models to see available models.\n\
             Did you mean fx-openai/m-plain or fx-anthropic/m-plain?\n",
        ),
        (
            &["--model", "nothing-like-this"],
            "Error: Model \"nothing-like-this\" not found. Use --list-models to see available models.\n",
        ),
        (
            &["--session", "my.tsak-1"],
            "Error: No session found matching 'my.tsak-1'\nDid you mean my.task-1?\n",
        ),
        (&["--session", "0123abcd"], "Error: No session found matching '0123abcd'\n"),
        (&["--name"], "Error: --name requires a value\n"),
        (&["--mode"], "Error: --mode requires text, json, or rpc\n"),
        (&["--mode", "rpc", "@a.txt"], "Error: @file arguments are not supported in RPC mode\n"),
        (
            &["install", "npm:x"],
            "Error: This build of pi does not have the command `pi install` yet\n\
             Clone the package yourself and name its directory in the setting `packages`, or give \
             its skills with --skill and its prompt templates with --prompt-template.\n\
             To send the word as a message: pi -p -- install\n",
        ),
    ] {
        let args: Vec<&str> = [&["-p", "hi"], args].concat();
        // A command stands first.
        let args = if args.contains(&"install") { &args[2..] } else { &args[..] };
        let ended = bed.pi(args.iter().copied()).run().await;
        assert_eq!(ended.stderr, stderr, "{args:?}");
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{args:?}");
    }
    assert_eq!(bed.server.requests().len(), 1);
}

#[tokio::test]
async fn without_any_model_both_parts_of_the_reason_are_told() {
    let bed = Bed::idle().await;
    bed.scratch.write("agent/models.json", "{}").unwrap();
    bed.scratch.write("agent/settings.json", "{}").unwrap();
    let ended = bed.pi(["-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    let start = "Error: No API key found for the selected model.\n\nGive pi a key";
    assert!(ended.stderr.starts_with(start), "{}", ended.stderr);
    let listed = bed.pi(["--list-models"]).run().await;
    assert!(listed.stdout.starts_with("No models available. "), "{}", listed.stdout);
    assert_eq!(listed.code, Some(0));
}

#[tokio::test]
async fn arguments_that_are_no_text_are_refused() {
    let bed = Bed::idle().await;
    let bad = OsString::from_vec(b"caf\xe9".to_vec());
    let ended = bed.pi(["-p"]).args([bad]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.starts_with("Error: Argument 2 is not valid UTF-8\n"), "{}", ended.stderr);
}

#[tokio::test]
async fn the_session_is_looked_for_before_unknown_options_and_those_before_model_and_files() {
    let bed = Bed::idle().await;
    for (args, start) in [
        (&["--wat", "--session", "nope"][..], "Error: No session found matching 'nope'"),
        (&["--wat", "--model", "nope"], "Error: Unknown option: --wat"),
        (&["--wat", "@missing.txt"], "Error: Unknown option: --wat"),
        (&["--model", "nope", "@missing.txt"], "Error: File not found: "),
        (&["--wat", "--mode", "odd"], "Error: Invalid mode \"odd\""),
        (&["--wat", "--list-models"], "Error: Unknown option: --wat"),
    ] {
        let ended = bed.pi([&["-p", "hi"], args].concat()).run().await;
        assert!(ended.stderr.starts_with(start), "{args:?}: {}", ended.stderr);
        assert_eq!(ended.code, Some(1), "{args:?}");
    }
    let version = bed.pi(["--wat", "--session", "nope", "--version"]).run().await;
    assert_eq!((version.code, version.stderr.as_str()), (Some(0), ""));
}

#[tokio::test]
async fn switches_of_the_terminal_change_nothing_and_a_theme_that_is_not_there_is_told() {
    let bed = Bed::new(["Yes.", "Yes."]).await;
    bed.scratch.write("ws/dark.json", "{}").unwrap();
    let switches = [
        "--no-themes",
        "--theme",
        "dark.json",
        "--use-theme",
        "light/dark",
        "--tui-mode=regular",
        "--verbose",
        "-ne",
        "-ns",
        "-np",
        "--no-mcp",
        "-p",
        "hi",
    ];
    let ended = bed.pi(switches).run().await;
    let said = (ended.code, ended.stdout.as_str(), ended.stderr.as_str());
    assert_eq!(said, (Some(0), "Yes.\n", ""));
    let ended = bed.pi(["--theme", "gone.json", "-p", "hi"]).run().await;
    let path = bed.scratch.ws().join("gone.json");
    assert_eq!(ended.stderr, format!("Warning: Theme not found: {}\n", path.display()));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"));
}

#[tokio::test]
async fn messages_reach_the_model_as_they_were_written() {
    for (args, prompt, stderr) in [
        (&["-p", "---\nname: x\n---\nbody"][..], "---\nname: x\n---\nbody", ""),
        (&["-p", "--", "-starts with dash"], "-starts with dash", ""),
        (&["-p", "--", "--version"], "--version", ""),
        (&["/bug", "-p"], "/bug", ""),
        (&["-p", "--", "list"], "list", ""),
        (&["-p", "install", "--model=fx-openai/m-plain"], "install", ""),
        (&["--system-prompt", "Be brief.", "hi"], "hi", ""),
        (
            &["isntall"],
            "isntall",
            "Warning: \"isntall\" is sent as a message. Did you mean `pi install`?\n",
        ),
    ] {
        let bed = Bed::new(["Yes."]).await;
        let ended = bed.pi(args.iter().copied()).run().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), stderr), "{args:?}");
        assert_eq!(last_text(&bed.bodies()[0], "user"), prompt, "{args:?}");
    }
}

#[tokio::test]
async fn files_are_found_from_the_home_and_from_the_current_directory() {
    let bed = Bed::new(["Yes."]).await;
    let home = bed.scratch.home().join("a b.txt");
    std::fs::write(&home, "A").unwrap();
    let near = bed.scratch.write("ws/sub/c.txt", "C").unwrap();
    let program = bed.pi(["-p", "@~/a b.txt", "@../sub/c.txt"]).current_dir(near.parent().unwrap());
    let ended = program.run().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let expected = format!(
        "<file name=\"{}\">\nA\n</file>\n<file name=\"{}\">\nC\n</file>\n",
        home.display(),
        near.display()
    );
    assert_eq!(last_text(&bed.bodies()[0], "user"), expected);
}

#[tokio::test]
async fn piped_input_stays_in_json_mode() {
    let bed = Bed::new(["Yes."]).await;
    let ended = bed.pi(["--mode", "json", "b"]).input("a\n").run().await;
    assert_eq!(ended.records()[0]["type"], "session");
    assert_eq!(last_text(&bed.bodies()[0], "user"), "ab");
}

#[tokio::test]
async fn messages_beside_rpc_mode_are_told_to_be_ignored() {
    let bed = Bed::idle().await;
    let mut client = RpcClient::new(bed.pi(["--mode", "rpc", "hello"]).talk().start());
    let state = client.call(json!({"type": "get_state"})).await;
    assert_eq!(state.value()["messageCount"], 0);
    let ended = client.end().await;
    assert!(
        ended.stderr.starts_with("Warning: Messages on the command line are ignored in RPC mode"),
        "{}",
        ended.stderr
    );
    assert_eq!((ended.code, bed.server.requests().len()), (Some(0), 0));
}

#[tokio::test]
async fn an_interrupt_ends_rpc_mode_at_once() {
    let bed = Bed::idle().await;
    let mut client = RpcClient::new(bed.pi(["--mode", "rpc"]).talk().start());
    client.call(json!({"type": "get_state"})).await;
    client.signal(Signal::INT);
    assert_eq!(client.program().exit_code().await, None);
    assert_eq!(client.end().await.signal, Some(Signal::INT.as_raw()));
}

#[tokio::test]
async fn what_is_shipped_for_shells_and_man_is_in_the_binary() {
    let bed = Bed::idle().await;
    bed.scratch.write("agent/settings.json", "{").unwrap();
    for (args, start) in [
        (&["--completions", "bash"][..], "# bash completion for pi\n"),
        (&["--completions=zsh"], "#compdef pi\n"),
        (&["--completions", "fish"], "# fish completion for pi\n"),
        (&["--man-page"], ".TH PI 1\n"),
        (&["--help"], "pi - a coding agent"),
    ] {
        let ended = bed.pi(args.iter().copied()).run().await;
        assert!(ended.stdout.starts_with(start), "{args:?}: {}", ended.stdout);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}
