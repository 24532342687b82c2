use std::time::Duration;

use super::*;
use crate::env::{ProcessEnd, ProcessEvent};

impl Bed {
    fn shell(&self, script: &str) -> ProcessCommand {
        ProcessCommand {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            cwd: self.env.cwd().to_owned(),
            environment: self.env.environment().clone(),
            timeout: None,
        }
    }

    async fn start(&self, command: ProcessCommand) -> Box<dyn RunningProcess> {
        self.env.spawn(command, CancellationToken::new()).await.unwrap()
    }

    /// Runs a script to its end; gives what it printed.
    async fn run(&self, script: &str) -> (String, ProcessEnd) {
        finish(&mut *self.start(self.shell(script)).await).await
    }

    /// The content of a file once a process has put a line there.
    pub(super) async fn line_of(&self, name: &str) -> String {
        let mut line = String::new();
        eventually(|| {
            line = fs::read_to_string(self.path(name)).unwrap_or_default();
            line.ends_with('\n')
        })
        .await;
        line.trim().to_owned()
    }
}

pub(super) async fn finish(process: &mut dyn RunningProcess) -> (String, ProcessEnd) {
    let mut output = Vec::new();
    loop {
        match process.next().await {
            ProcessEvent::Output(chunk) => output.extend_from_slice(chunk),
            ProcessEvent::Ended(end) => return (String::from_utf8(output).unwrap(), end),
        }
    }
}

/// Waits until `holds`; fails after ten seconds.
pub(super) async fn eventually(mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came true");
}

pub(super) fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    // A process that nobody has waited for yet is dead, too.
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

#[tokio::test]
async fn output_comes_together_and_the_end_is_told_again() {
    let bed = Bed::new();
    let cases = [
        ("echo out; echo err >&2; exit 3", "out\nerr\n", 3),
        ("true", "", 0),
        ("cat; echo $?", "0\n", 0),
        ("kill -9 $$", "", 137),
        ("exec >&- 2>&-; exit 5", "", 5),
    ];
    for (script, output, code) in cases {
        let mut process = bed.start(bed.shell(script)).await;
        for output in [output, ""] {
            let got = finish(&mut *process).await;
            assert_eq!(got, (output.to_owned(), ProcessEnd::Exited(code)), "{script}");
        }
    }
}

#[tokio::test]
async fn a_command_gets_its_environment_directory_and_arguments_alone() {
    let bed = Bed::new();
    fs::create_dir(bed.path("sub")).unwrap();
    let mut command = bed.shell("pwd; echo \"$0 $1 $A\"; env | grep -v -e ^PWD= -e ^_= -e ^SHLVL=");
    command.arguments.extend(["zero".into(), "a b".into()]);
    command.cwd = bed.path("sub");
    command.environment.insert("A".into(), "x".into());
    let (output, _) = finish(&mut *bed.start(command).await).await;
    let want = format!(
        "{}\nzero a b x\nA=x\nPATH=/usr/local/bin:/usr/bin:/bin\n",
        bed.path("sub").display()
    );
    let mut lines: Vec<&str> = output.lines().collect();
    lines[2..].sort_unstable();
    assert_eq!(lines, want.lines().collect::<Vec<_>>());
}

#[tokio::test]
async fn a_program_may_be_a_name_on_the_path() {
    let bed = Bed::new();
    let command = ProcessCommand { program: "sh".into(), ..bed.shell("echo found") };
    assert_eq!(finish(&mut *bed.start(command).await).await.0, "found\n");
}

#[tokio::test]
async fn what_cannot_start_names_the_program_or_the_directory() {
    let bed = Bed::new();
    let start = async |command| {
        let error = bed.env.spawn(command, CancellationToken::new()).await.unwrap_err();
        (error.operation, error.kind, error.path)
    };
    let program = bed.put("noexec", "no program");
    let command = ProcessCommand { program: program.clone(), ..bed.shell("") };
    assert_eq!(start(command).await, (Operation::Spawn, EnvErrorKind::AccessDenied, program));
    let command = ProcessCommand { program: "no-such-program".into(), ..bed.shell("") };
    let missing = (Operation::Spawn, EnvErrorKind::NotFound, "no-such-program".into());
    // With a terminal, only the program that makes the session is started for sure.
    if fs::File::open("/dev/tty").is_err() {
        assert_eq!(start(command).await, missing);
    }
    let command = ProcessCommand { cwd: bed.path("gone"), ..bed.shell("") };
    let gone = (Operation::ChangeDirectory, EnvErrorKind::NotFound, bed.path("gone"));
    assert_eq!(start(command).await, gone);
}

#[tokio::test]
async fn a_command_leads_a_group_of_its_own() {
    let bed = Bed::new();
    let (output, _) = bed.run("echo $$; cut -d' ' -f5 /proc/$$/stat").await;
    let (pid, group) = output.trim().split_once('\n').unwrap();
    assert_eq!(pid, group);
}

#[tokio::test]
async fn a_timeout_kills_everything_and_tells_how_the_leader_ended() {
    let bed = Bed::new();
    let mut command = bed.shell(
        "echo $$ >leader; sleep 300 & echo $! >child; setsid sleep 300 & echo $! >away; \
         echo begin; sleep 300; echo never",
    );
    command.timeout = Some(Duration::from_millis(1000));
    let (output, end) = finish(&mut *bed.start(command).await).await;
    assert_eq!((&*output, end), ("begin\n", ProcessEnd::TimedOut(None)));
    for name in ["leader", "child", "away"] {
        let pid = bed.line_of(name).await;
        eventually(|| !is_alive(&pid)).await;
    }
    let mut command = bed.shell("(while :; do echo x; sleep 0.02; done) & exit 4");
    command.timeout = Some(Duration::from_millis(500));
    let (_, end) = finish(&mut *bed.start(command).await).await;
    let ProcessEnd::TimedOut(Some(exit)) = end else { panic!("{end:?}") };
    assert!(exit.code == 4 && exit.after < Duration::from_millis(500), "{exit:?}");
}

#[tokio::test]
async fn cancelling_kills_the_group_and_before_the_start_starts_nothing() {
    let bed = Bed::new();
    let cancel = CancellationToken::new();
    let command = bed.shell("echo early; echo $$ >leader; sleep 300; touch finished");
    let mut process = bed.env.spawn(command, cancel.clone()).await.unwrap();
    let stop = async {
        bed.line_of("leader").await;
        cancel.cancel();
    };
    let (ended, ()) = tokio::join!(finish(&mut *process), stop);
    assert_eq!(ended, ("early\n".to_owned(), ProcessEnd::Aborted));
    let leader = bed.line_of("leader").await;
    eventually(|| !is_alive(&leader)).await;
    assert!(!bed.path("finished").exists());
    let late = bed.env.spawn(bed.shell("touch started"), cancel).await;
    assert_eq!(what(late), (Operation::Spawn, EnvErrorKind::Aborted));
    assert!(!bed.path("started").exists());
}

#[tokio::test]
async fn a_dropped_process_leaves_nothing() {
    let bed = Bed::new();
    let script =
        "sleep 300 & echo $! >child; setsid sleep 300 & echo $! >away; echo $$ >leader; wait";
    let process = bed.start(bed.shell(script)).await;
    let mut pids = Vec::new();
    for name in ["child", "away", "leader"] {
        pids.push(bed.line_of(name).await);
    }
    drop(process);
    for pid in pids {
        eventually(|| !is_alive(&pid)).await;
    }
}

#[tokio::test]
async fn a_process_dropped_while_leftovers_are_listened_to_leaves_nothing() {
    let bed = Bed::new();
    let script = "(while :; do echo x; sleep 0.02; done) & sleep 300 & echo $! >child; \
                  echo $$ >leader";
    let mut process = bed.start(bed.shell(script)).await;
    let child = bed.line_of("child").await;
    let leader = Path::new("/proc").join(bed.line_of("leader").await);
    // It is there until its end has been noticed.
    while leader.exists() {
        assert!(matches!(process.next().await, ProcessEvent::Output(_)));
    }
    assert!(is_alive(&child));
    drop(process);
    eventually(|| !is_alive(&child)).await;
}

#[tokio::test]
async fn a_timeout_beyond_all_time_is_none() {
    let bed = Bed::new();
    for seconds in [u64::MAX, i64::MAX.unsigned_abs(), i64::MAX.unsigned_abs() / 2] {
        let mut command = bed.shell("echo done");
        command.timeout = Some(Duration::new(seconds, 999_999_999));
        let ended = finish(&mut *bed.start(command).await).await;
        assert_eq!(ended, ("done\n".to_owned(), ProcessEnd::Exited(0)), "{seconds}");
    }
}

#[tokio::test]
async fn asking_anew_loses_nothing() {
    let bed = Bed::new();
    let mut process =
        bed.start(bed.shell("for i in 1 2 3 4 5; do echo $i; sleep 0.02; done")).await;
    let (mut output, mut given_up) = (Vec::new(), 0);
    loop {
        match tokio::time::timeout(Duration::from_millis(3), process.next()).await {
            Err(_) => given_up += 1,
            Ok(ProcessEvent::Output(chunk)) => output.extend_from_slice(chunk),
            Ok(ProcessEvent::Ended(end)) => {
                assert_eq!(end, ProcessEnd::Exited(0));
                break;
            }
        }
    }
    assert_eq!(output, b"1\n2\n3\n4\n5\n");
    assert!(given_up > 5);
}

#[tokio::test]
async fn a_slow_taker_gets_all_that_was_printed() {
    let bed = Bed::new();
    let mut process = bed.start(bed.shell("head -c 300000 /dev/zero")).await;
    let (mut length, mut largest) = (0, 0);
    while let ProcessEvent::Output(chunk) = process.next().await {
        (length, largest) = (length + chunk.len(), largest.max(chunk.len()));
        // Longer than what counts as silence.
        tokio::time::sleep(Duration::from_millis(150)).await;
    }
    assert_eq!(length, 300_000);
    assert!(largest <= 256 * 1024);
}

#[tokio::test]
async fn background_processes_hold_nothing_open_and_end_with_the_rest() {
    let bed = Bed::new();
    let (output, end) = bed.run("sleep 300 & echo $! >child; echo now").await;
    assert_eq!((&*output, end), ("now\n", ProcessEnd::Exited(0)));
    let pid = bed.line_of("child").await;
    assert!(is_alive(&pid));
    bed.env.kill_all();
    eventually(|| !is_alive(&pid)).await;
}

#[tokio::test]
async fn kill_all_ends_what_runs_and_lets_nothing_start() {
    let bed = Bed::new();
    let mut process = bed.start(bed.shell("echo $$ >leader; sleep 300")).await;
    let kill = async {
        bed.line_of("leader").await;
        bed.env.kill_all();
    };
    let ((_, end), ()) = tokio::join!(finish(&mut *process), kill);
    assert_eq!(end, ProcessEnd::Exited(137));
    let late = bed.env.spawn(bed.shell("touch later"), CancellationToken::new()).await;
    assert_eq!(what(late), (Operation::Spawn, EnvErrorKind::Aborted));
    assert!(!bed.path("later").exists());
}
