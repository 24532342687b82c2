//! Print mode: the last answer's text on standard output and nothing else there.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use pi_test::{Block, Reply, Stop, Turn};
use serde_json::json;

use crate::bed::{Bed, WIRES, last_text, roles};

#[tokio::test]
async fn only_the_text_of_the_final_answer_is_printed() {
    for model in WIRES {
        let call = Turn::new([
            Block::text("Let me look."),
            Block::tool("call_1", "bash", json!({"command": "echo noise"})),
        ]);
        let bed = Bed::new([call, Turn::from("All is well.")]).await;
        let ended = bed.pi(["--model", model, "-p", "hi"]).run().await;
        assert_eq!(ended.stdout, "All is well.\n", "{model}");
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{model}");
    }
}

#[tokio::test]
async fn each_text_block_of_the_answer_is_printed_but_no_thinking() {
    let answer = Turn::new([Block::thinking("hm"), Block::text("One."), Block::text("Two.")]);
    let bed = Bed::new([answer]).await;
    let ended = bed.pi(["--model", "fx-anthropic/m-think", "-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "One.\nTwo.\n"));
}

#[tokio::test]
async fn a_failed_answer_is_told_on_standard_error_with_exit_code_1() {
    for model in WIRES {
        let bed = Bed::new([Reply::error(401, "who are you")]).await;
        let ended = bed.pi(["--model", model, "-p", "hi"]).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{model}");
        assert!(ended.stderr.starts_with("401"), "{model}: {}", ended.stderr);
        assert!(ended.stderr.contains("who are you"), "{model}: {}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{model}: {}", ended.stderr);
        assert_eq!(bed.server.requests().len(), 1, "{model}: not retried");
    }
}

#[tokio::test]
async fn an_answer_cut_at_the_limit_is_printed_with_a_warning_and_exit_code_1() {
    for model in WIRES {
        let bed = Bed::new([Turn::from("Half an ans").stop(Stop::Length)]).await;
        let ended = bed.pi(["--model", model, "-p", "hi"]).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), "Half an ans\n"), "{model}");
        assert!(ended.stderr.starts_with("Warning: "), "{model}: {}", ended.stderr);
    }
}

#[tokio::test]
async fn retries_are_silent() {
    let replies = [Reply::error(529, "busy"), Reply::error(500, "oops"), Reply::turn("Done.")];
    let bed = Bed::new(replies).await;
    let ended = bed.pi(["-p", "hi"]).run().await;
    assert_eq!(
        (ended.code, ended.stdout.as_str(), ended.stderr.as_str()),
        (Some(0), "Done.\n", "")
    );
}

#[tokio::test]
async fn several_messages_are_prompts_in_order_and_the_last_answer_is_printed() {
    let bed = Bed::new(["One.", "Two.", "Three."]).await;
    let ended = bed.pi(["-p", "a", "b", "c"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Three.\n"));
    let last = &bed.bodies()[2];
    assert_eq!(roles(last), ["user", "assistant", "user", "assistant", "user"]);
    assert_eq!(last_text(last, "user"), "c");
}

#[tokio::test]
async fn an_earlier_prompt_that_fails_is_left_behind() {
    let bed = Bed::new([Reply::error(400, "no"), Reply::turn("Two.")]).await;
    let ended = bed.pi(["-p", "a", "b"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "Two.\n", ""));
}

#[tokio::test]
async fn piped_input_and_files_stand_in_front_of_the_first_message_only() {
    let bed = Bed::new(["One.", "Two."]).await;
    let file = bed.scratch.write("ws/a.txt", "hello\n").unwrap();
    bed.scratch.write("ws/empty.txt", "").unwrap();
    let program = bed.pi(["-p", "@a.txt", "@empty.txt", "SAY z", "again"]).input("hi \n\n");
    assert_eq!(program.run().await.code, Some(0));
    let expected = format!("hi<file name=\"{}\">\nhello\n\n</file>\nSAY z", file.display());
    let bodies = bed.bodies();
    assert_eq!(last_text(&bodies[0], "user"), expected);
    assert_eq!(last_text(&bodies[1], "user"), "again");
}

#[tokio::test]
async fn piped_input_alone_is_a_prompt_and_needs_no_flag() {
    let bed = Bed::new(["Yes."]).await;
    let ended = bed.pi([]).input("what?\n").run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"));
    assert_eq!(last_text(&bed.bodies()[0], "user"), "what?");
}

/// One red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

#[tokio::test]
async fn an_image_file_follows_the_text_of_the_first_message() {
    for model in ["fx-anthropic/m-think", "fx-openai/m-think"] {
        let bed = Bed::new(["A dot."]).await;
        let file = bed.scratch.write("ws/dot.dat", BASE64_STANDARD.decode(PNG).unwrap()).unwrap();
        let ended = bed.pi(["--model", model, "-p", "@dot.dat", "What?"]).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "A dot.\n"), "{model}");
        let body = &bed.bodies()[0];
        let user = body["messages"].as_array().unwrap().last().unwrap();
        let text = format!("<file name=\"{}\"></file>\nWhat?", file.display());
        assert_eq!(user["content"][0]["text"], json!(text), "{model}");
        let image = &user["content"][1];
        if model.starts_with("fx-openai") {
            let url = json!(format!("data:image/png;base64,{PNG}"));
            assert_eq!(image["image_url"]["url"], url);
        } else {
            let source = json!({"type": "base64", "media_type": "image/png", "data": PNG});
            assert_eq!(image["source"], source);
        }
    }
}

#[tokio::test]
async fn a_file_that_is_missing_is_named_absolutely() {
    let bed = Bed::idle().await;
    let ended = bed.pi(["-p", "@no.txt", "hi"]).run().await;
    let path = bed.scratch.ws().join("no.txt");
    assert_eq!(ended.stderr, format!("Error: File not found: {}\n", path.display()));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert_eq!(bed.scratch.session_files().unwrap().len(), 0);
}

#[tokio::test]
async fn a_directory_as_file_is_a_clean_error() {
    let bed = Bed::idle().await;
    let ended = bed.pi(["-p", "@.", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""));
    assert!(ended.stderr.starts_with("Error: "), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[tokio::test]
async fn a_reader_that_left_is_no_failure() {
    let bed = Bed::new(["Nobody hears this."]).await;
    let mut running = bed.pi(["-p", "hi"]).start();
    running.close_stdout();
    let ended = running.end().await;
    assert_eq!((ended.code, ended.signal, ended.stderr.as_str()), (Some(0), None, ""));
}

#[tokio::test]
async fn nothing_to_do_is_done_in_silence() {
    for args in [&["-p"][..], &[], &["-p", ""]] {
        let bed = Bed::idle().await;
        let ended = bed.pi(args.iter().copied()).run().await;
        let said = (ended.code, ended.stdout.as_str(), ended.stderr.as_str());
        assert_eq!(said, (Some(0), "", ""), "{args:?}");
        assert_eq!(bed.scratch.session_files().unwrap().len(), 0, "{args:?}");
    }
}

#[tokio::test]
async fn the_list_of_models_goes_where_the_answer_does_not() {
    let bed = Bed::idle().await;
    let plain = bed.pi(["--list-models", "fx-openai/m-th"]).run().await;
    assert_eq!((plain.code, plain.stderr.as_str()), (Some(0), ""));
    let rows: Vec<Vec<&str>> =
        plain.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["provider", "model", "context", "max-out", "thinking", "images"]);
    assert_eq!(rows[1], ["fx-openai", "m-think", "200K", "32K", "yes", "yes"]);
    assert_eq!(rows.len(), 2);

    let with_print = bed.pi(["-p", "--list-models", "fx-openai/m-th"]).run().await;
    assert_eq!((with_print.code, with_print.stdout.as_str()), (Some(0), ""));
    assert_eq!(with_print.stderr, plain.stdout);

    let none = bed.pi(["--list-models", "nowhere"]).run().await;
    assert_eq!((none.code, none.stdout.as_str()), (Some(0), "No models matching \"nowhere\"\n"));
}

#[tokio::test]
async fn help_and_version_read_nothing() {
    let bed = Bed::idle().await;
    bed.scratch.write("agent/settings.json", "{").unwrap();
    bed.scratch.write("agent/models.json", "{").unwrap();
    let version = bed.pi(["--version"]).run().await;
    assert_eq!(version.stdout, format!("{}\n", env!("CARGO_PKG_VERSION")));
    let help = bed.pi(["--help"]).run().await;
    for ended in [version, help] {
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    }
}

#[tokio::test]
async fn a_command_line_that_makes_no_sense_is_refused_before_anything_happens() {
    for (args, message) in [
        (&["-p", "--wat", "hi"][..], "Error: Unknown option: --wat\n"),
        (&["-p", "-w", "hi"], "Error: Unknown option: -w\n"),
        (&["--mode", "odd", "hi"], "Error: Invalid mode \"odd\""),
        (&["--provider", "fx-openai", "-p", "hi"], "Error: --provider"),
        (&["--api-key", "k", "-p", "hi"], "Error: --api-key"),
        (&["-p", "hi", "--name"], "Error: --name"),
        (&["--model", "nobody/m", "-p", "hi"], "Error: "),
        (&["--tools", "read,+bash", "-p", "hi"], "Error: "),
    ] {
        let bed = Bed::idle().await;
        let ended = bed.pi(args.iter().copied()).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{args:?}");
        assert!(ended.stderr.starts_with(message), "{args:?}: {}", ended.stderr);
        assert_eq!(bed.scratch.session_files().unwrap().len(), 0, "{args:?}");
    }
}

#[tokio::test]
async fn what_can_be_guessed_is_a_warning() {
    for (args, warning) in [
        (["--thinking", "loud"], "Warning: Invalid thinking level \"loud\""),
        (["--model", "fx-anthropic/unlisted"], "Warning: "),
    ] {
        let bed = Bed::new(["Yes."]).await;
        let ended = bed.pi(args.into_iter().chain(["-p", "hi"])).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"), "{args:?}");
        assert!(ended.stderr.starts_with(warning), "{args:?}: {}", ended.stderr);
    }
}
