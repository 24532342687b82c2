//! Timeouts, aborts, and what a command leaves behind.

use super::*;

#[tokio::test]
async fn a_timeout_kills_everything_and_keeps_the_output() {
    let bed = Bed::new();
    let command = "echo $$ >shell; sleep 300 & echo $! >child; setsid sleep 300 & echo $! >away; \
                   echo begin; sleep 300; echo never";
    let error = bed.call("bash", json!({"command": command, "timeout": 1.5})).await.unwrap_err();
    assert_eq!(error.0, "begin\n\n\nCommand timed out after 1.5 seconds");
    for name in ["shell", "child", "away"] {
        let pid = line_of(&bed, name).await;
        eventually(|| !is_alive(&pid)).await;
    }
}

#[tokio::test]
async fn a_timeout_without_output_is_only_told() {
    let bed = Bed::new();
    let text = bed.text("bash", json!({"command": "sleep 300", "timeout": 0.1})).await;
    assert_eq!(text, "Command timed out after 0.1 seconds");
    let text = bed.text("bash", json!({"command": "seq 1 3000; sleep 300", "timeout": 1})).await;
    assert!(text.contains("[Showing lines 1001-3000 of 3000. Full output: "));
    assert!(text.ends_with(".log]\n\nCommand timed out after 1 seconds"));
}

#[tokio::test]
async fn a_timeout_after_the_shell_ended_tells_how_it_ended() {
    let bed = Bed::new();
    let command = "(while :; do echo x; sleep 0.02; done) & echo $! >loop; exit 4";
    let text = bed.text("bash", json!({"command": command, "timeout": 0.5})).await;
    let (output, status) = text.split_once("\n\n\n").unwrap();
    assert!(output.ends_with('x'));
    let after = status
        .strip_prefix("Command timed out after 0.5 seconds. The shell exited with code 4 after ")
        .unwrap();
    assert!(after.ends_with(
        " seconds, but background processes it started kept writing output until the timeout."
    ));
    let pid = line_of(&bed, "loop").await;
    eventually(|| !is_alive(&pid)).await;
}

#[tokio::test]
async fn impossible_timeouts_are_refused_before_the_start() {
    let bed = Bed::new();
    let finite = "Invalid timeout: must be a finite number of seconds";
    let cases = [
        (json!(0), finite),
        (json!(-1), finite),
        (json!("inf"), finite),
        (json!("NaN"), finite),
        (json!(2_147_483.648), "Invalid timeout: maximum is 2147483.647 seconds"),
    ];
    for (timeout, want) in cases {
        let arguments = json!({"command": "touch started", "timeout": timeout});
        assert_eq!(bed.call("bash", arguments).await.unwrap_err().0, want);
    }
    assert!(!bed.path("started").exists());
    for timeout in [json!(2_147_483.647), json!(null), json!("5")] {
        let text = bed.text("bash", json!({"command": "echo hi", "timeout": timeout})).await;
        assert_eq!(text, "hi\n");
    }
}

#[tokio::test]
async fn an_abort_kills_the_tree_before_the_next_command_starts() {
    let bed = Bed::new();
    let tools = bed.tools();
    let cancel = CancellationToken::new();
    let command = "echo early; echo $$ >shell; sleep 300; touch finished";
    let call = tools.call_with("bash", run(command), cancel.clone(), &Seen::default());
    let stop = async {
        line_of(&bed, "shell").await;
        cancel.cancel();
    };
    let (result, ()) = tokio::join!(call, stop);
    assert_eq!(result.unwrap_err().0, "early\n\n\nCommand aborted");
    let shell = line_of(&bed, "shell").await;
    eventually(|| !is_alive(&shell)).await;
    assert!(!bed.path("finished").exists());
}

#[tokio::test]
async fn a_call_cancelled_before_it_starts_runs_nothing() {
    let bed = Bed::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let tools = bed.tools();
    let result = tools.call_with("bash", run("touch started"), cancel, &Seen::default()).await;
    assert_eq!(result.unwrap_err().0, "Command aborted");
    assert!(!bed.path("started").exists());
}

#[tokio::test]
async fn a_dropped_call_leaves_no_process() {
    let bed = Bed::new();
    let tools = bed.tools();
    let command =
        "sleep 300 & echo $! >child; setsid sleep 300 & echo $! >away; echo $$ >shell; wait";
    let mut call =
        tools.call_with("bash", run(command), CancellationToken::new(), &Seen::default());
    let mut pids = Vec::new();
    tokio::select! {
        _ = &mut call => panic!("the command waits"),
        () = async {
            for name in ["child", "away", "shell"] {
                pids.push(line_of(&bed, name).await);
            }
        } => {}
    }
    drop(call);
    for pid in pids {
        eventually(|| !is_alive(&pid)).await;
    }
}

#[tokio::test]
async fn a_background_process_holds_nothing_open_and_ends_with_the_rest() {
    let bed = Bed::new();
    let text = bed.text("bash", run("sleep 300 & echo $! >child; echo now")).await;
    assert_eq!(text, "now\n");
    let pid = line_of(&bed, "child").await;
    assert!(is_alive(&pid));
    bed.processes.kill_all();
    eventually(|| !is_alive(&pid)).await;
}

#[tokio::test]
async fn output_that_comes_shortly_after_the_shell_is_kept() {
    let bed = Bed::new();
    // The shell counts as running until its end has been noticed.
    let command = "(while kill -0 $$ 2>/dev/null; do :; done; echo late) & echo now";
    let text = bed.text("bash", run(command)).await;
    assert_eq!(text, "now\nlate\n");
}

#[tokio::test]
async fn kill_all_ends_running_commands_and_lets_none_start() {
    let bed = Bed::new();
    let tools = bed.tools();
    let call = tools.call_with(
        "bash",
        run("echo $$ >shell; sleep 300"),
        CancellationToken::new(),
        &Seen::default(),
    );
    let kill = async {
        line_of(&bed, "shell").await;
        bed.processes.kill_all();
    };
    let (result, ()) = tokio::join!(call, kill);
    assert!(text_of(&result.unwrap()).ends_with("Command exited with code 137"));
    assert_eq!(bed.text("bash", run("touch later")).await, "Command aborted");
    assert!(!bed.path("later").exists(), "nothing starts any more");
}

#[test]
fn nothing_is_done_before_the_first_poll() {
    let bed = Bed::new();
    let tools = bed.tools();
    let call = tools.call("bash", run("touch started"));
    drop(call);
    assert!(!bed.path("started").exists());
}

#[tokio::test]
async fn an_abort_lets_programs_clean_up_and_keeps_what_they_say() {
    let bed = Bed::new();
    let tools = bed.tools();
    bed.put(
        "cleaner",
        "trap 'touch clean; echo bye; exit' TERM\necho $$ >on\nwhile :; do sleep 0.05; done\n",
    );
    let cancel = CancellationToken::new();
    let command = run("echo early; bash cleaner; touch next");
    let call = tools.call_with("bash", command, cancel.clone(), &Seen::default());
    let stop = async {
        line_of(&bed, "on").await;
        cancel.cancel();
    };
    let text = tokio::join!(call, stop).0.unwrap_err().0;
    assert!(text.starts_with("early\n") && text.ends_with("bye\n\n\nCommand aborted"), "{text}");
    assert!(bed.path("clean").exists() && !bed.path("next").exists());
}

#[tokio::test]
async fn an_abort_in_the_middle_of_a_flood_keeps_its_end() {
    let bed = Bed::new();
    let tools = bed.tools();
    let (cancel, seen) = (CancellationToken::new(), Seen::default());
    let call = tools.call_with("bash", run("echo $$ >on; exec yes"), cancel.clone(), &seen);
    let stop = async {
        eventually(|| seen.all().len() >= 3).await;
        cancel.cancel();
    };
    let text = tokio::join!(call, stop).0.unwrap_err().0;
    assert!(text.starts_with("y\ny\n") && text.ends_with(".log]\n\nCommand aborted"));
    let pid = line_of(&bed, "on").await;
    assert!(!is_alive(&pid));
}
