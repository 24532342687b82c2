//! How commands are ended, with all they have started.

use std::time::{Duration, Instant};

use rustix::process::Pid;

use super::super::process::END_GRACE;
use super::processes::{eventually, finish, is_alive};
use super::*;
use crate::env::ProcessEnd;

impl Bed {
    fn bash(&self, script: &str) -> ProcessCommand {
        ProcessCommand {
            program: "/bin/bash".into(),
            arguments: vec!["-c".into(), script.into()],
            cwd: self.env.cwd().to_owned(),
            environment: self.env.environment().clone(),
            timeout: None,
        }
    }

    /// Cancels a script once it has written a line to each of `files`; gives what it printed, and how
    /// long its end took.
    async fn cancel(&self, script: &str, files: &[&str]) -> (String, Duration) {
        let cancel = CancellationToken::new();
        let mut process = self.env.spawn(self.bash(script), cancel.clone()).await.unwrap();
        let stop = async {
            for file in files {
                self.line_of(file).await;
            }
            cancel.cancel();
            Instant::now()
        };
        let ((output, end), cancelled) = tokio::join!(finish(&mut *process), stop);
        assert_eq!(end, ProcessEnd::Aborted, "{script}");
        (output, cancelled.elapsed())
    }

    /// Whether the processes whose numbers are in `files` are gone.
    async fn are_gone(&self, files: &[&str]) -> bool {
        let mut gone = true;
        for file in files {
            gone &= !is_alive(&self.line_of(file).await);
        }
        gone
    }
}

#[tokio::test]
async fn a_shell_that_is_ended_starts_no_next_command() {
    for script in [
        "bash slow; touch next",
        "trap 'touch next' TERM; bash slow; touch next",
        "trap '' TERM; bash slow; touch next",
        "bash slow & wait; touch next",
        "(trap : TERM; bash slow; touch next) & wait; touch next",
        "(trap : TERM; bash slow; touch next); touch next",
        "true | (trap : TERM; bash slow; touch next) | cat; touch next",
        "while :; do bash slow; touch next; done",
        "f() { bash slow; touch next; }; f || touch next",
        "out=$(bash slow; touch next); touch next",
        "bash -c 'bash slow; touch next'; touch next",
        "setsid bash -c 'bash slow; touch next' & wait; touch next",
    ] {
        let bed = Bed::new();
        // Asked to end, it ends well, as if it had done its work.
        bed.put("slow", "trap 'exit 0' TERM\necho x >ready\nwhile :; do sleep 0.05; done\n");
        let (_, time) = bed.cancel(script, &["ready"]).await;
        // A shell cannot trap what was ignored when it was started.
        assert!(time < END_GRACE || script.starts_with("trap ''"), "{script}: {time:?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!bed.path("next").exists(), "{script}");
    }
}

#[tokio::test]
async fn what_a_command_has_started_may_clean_up() {
    for (script, said) in [
        // The shell becomes the program.
        ("exec bash cleaner", "bye\n"),
        ("bash cleaner; touch next", "bye\n"),
        ("bash cleaner & wait; touch next", "bye\n"),
        ("setsid bash cleaner & wait; touch next", "bye\n"),
        ("bash -c 'bash cleaner; touch next'; touch next", "bye\n"),
        // Who would have read it has ended.
        ("bash cleaner | cat; touch next", ""),
    ] {
        let bed = Bed::new();
        bed.put(
            "cleaner",
            "trap '' PIPE\ntrap 'sleep 0.2; touch clean; echo bye; exit' TERM\necho x >ready\nwhile :; do sleep 0.05; done\n",
        );
        let (output, time) = bed.cancel(script, &["ready"]).await;
        // The shell may tell of its `sleep` before.
        assert!(output.ends_with(said), "{script}: {output} {time:?}");
        assert!(bed.path("clean").exists() && !bed.path("next").exists(), "{script}");
        assert!(time < END_GRACE, "{script}: {time:?}");
    }
}

#[tokio::test]
async fn the_end_of_a_command_that_does_not_mind_takes_no_time() {
    let bed = Bed::new();
    let (_, time) = bed.cancel("echo x >ready; sleep 300", &["ready"]).await;
    assert!(time < END_GRACE / 2, "{time:?}");
}

#[tokio::test]
async fn a_timeout_asks_before_it_kills_as_well() {
    let bed = Bed::new();
    let mut command = bed.bash("bash -c 'trap \"echo bye; exit\" TERM; sleep 300'; echo next");
    command.timeout = Some(Duration::from_millis(500));
    let mut process = bed.env.spawn(command, CancellationToken::new()).await.unwrap();
    let (output, end) = finish(&mut *process).await;
    assert!(output.ends_with("bye\n"), "{output}");
    assert_eq!(end, ProcessEnd::TimedOut(None));
}

#[tokio::test]
async fn a_deep_tree_that_ignores_it_all_is_killed_after_a_moment() {
    let bed = Bed::new();
    // Each level is a program of its own, and the last ones leave the group.
    bed.put(
        "level",
        "trap '' TERM HUP INT\n[ $1 = 0 ] || { echo $$ >$1; $2 bash level $(($1 - 1)) \
         $([ $1 = 4 ] && echo setsid); while :; do sleep 300; done; }\necho $$ >last\nsleep 300\n",
    );
    let files: Vec<String> = (1..=12).map(|n| n.to_string()).collect();
    let mut files: Vec<&str> = files.iter().map(String::as_str).collect();
    files.push("last");
    let (_, time) = bed.cancel("bash level 12", &files).await;
    assert!(time >= END_GRACE && time < END_GRACE * 2, "{time:?}");
    eventually(|| {
        files.iter().all(|file| !is_alive(fs::read_to_string(bed.path(file)).unwrap().trim()))
    })
    .await;
}

#[tokio::test]
async fn what_a_clean_up_leaves_behind_is_killed() {
    let bed = Bed::new();
    let clean_up = "trap \"\" TERM; sleep 300 & echo $! >left; exit";
    bed.put(
        "leaver",
        format!(
            "trap '{clean_up}' TERM\nsleep 300 &\necho x >ready\nwhile :; do sleep 0.05; done\n"
        ),
    );
    let script = "bash leaver";
    let (_, time) = bed.cancel(script, &["ready"]).await;
    assert!(time >= END_GRACE, "{time:?}");
    let left = bed.line_of("left").await;
    eventually(|| !is_alive(&left)).await;
}

#[tokio::test]
async fn a_flood_does_not_hold_up_the_end() {
    for (script, most) in [
        ("yes & sleep 0.1; echo $! >ready; wait", END_GRACE / 2),
        ("trap '' TERM; yes & sleep 0.1; echo $! >ready; wait", END_GRACE * 3 / 2),
    ] {
        let bed = Bed::new();
        let (output, time) = bed.cancel(script, &["ready"]).await;
        assert!(output.starts_with("y\ny\n") && time < most, "{script}: {time:?}");
        assert!(bed.are_gone(&["ready"]).await, "{script}");
    }
}

#[tokio::test]
async fn a_daemon_that_left_holds_up_nothing_and_stays() {
    let bed = Bed::new();
    let daemon = "(setsid bash -c 'echo $$ >daemon; exec sleep 300' &)";
    let (_, time) = bed.cancel(&format!("{daemon}; sleep 300"), &["daemon"]).await;
    assert!(time < Duration::from_millis(500), "{time:?}");
    let pid = bed.line_of("daemon").await;
    assert!(is_alive(&pid));
    let id = Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
    // Nor at an end of its own, where it is still writing as well.
    let bed = Bed::new();
    let script =
        "(setsid bash -c 'echo $$ >daemon; while :; do sleep 1; echo x; done' &) ; echo now";
    let command = bed.bash(script);
    let mut process = bed.env.spawn(command, CancellationToken::new()).await.unwrap();
    let started = Instant::now();
    let (output, end) = finish(&mut *process).await;
    assert_eq!((output.as_str(), end), ("now\n", ProcessEnd::Exited(0)));
    assert!(started.elapsed() < Duration::from_millis(900));
    drop(process);
    // Nobody reads what it writes now.
    let pid = bed.line_of("daemon").await;
    eventually(|| !is_alive(&pid)).await;
}

#[tokio::test]
async fn dropped_while_it_is_ending_it_is_killed() {
    let bed = Bed::new();
    let cancel = CancellationToken::new();
    let script = "bash -c 'trap \"\" TERM; echo $$ >ready; sleep 300; sleep 300'";
    let mut process = bed.env.spawn(bed.bash(script), cancel.clone()).await.unwrap();
    let pid = bed.line_of("ready").await;
    cancel.cancel();
    let ended = tokio::time::timeout(Duration::from_millis(200), process.next()).await;
    assert!(ended.is_err() && is_alive(&pid));
    drop(process);
    eventually(|| !is_alive(&pid)).await;
}

#[tokio::test]
async fn kill_all_does_not_wait_for_what_is_ending() {
    let bed = Bed::new();
    let cancel = CancellationToken::new();
    let script = "bash -c 'trap \"\" TERM; echo $$ >ready; sleep 300; sleep 300'";
    let mut process = bed.env.spawn(bed.bash(script), cancel.clone()).await.unwrap();
    let pid = bed.line_of("ready").await;
    cancel.cancel();
    let ended = tokio::time::timeout(Duration::from_millis(100), process.next()).await;
    assert!(ended.is_err());
    bed.env.kill_all();
    eventually(|| !is_alive(&pid)).await;
    assert_eq!(finish(&mut *process).await.1, ProcessEnd::Aborted);
}
