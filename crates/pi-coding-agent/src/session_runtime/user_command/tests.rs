use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use pi_agent::AgentMessage;
use pi_ai::faux::FauxTurn;
use serde_json::{Value, json};

use super::*;
use crate::workspace::SessionFlags;
use crate::workspace::tests::{Bed, model};

/// The pieces a command printed.
#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Heard {
    fn text(&self) -> String {
        self.0.lock().unwrap().concat()
    }
}

impl BashListener for Heard {
    fn on_output<'a>(&'a self, text: &'a str) -> BoxFuture<'a, ()> {
        self.0.lock().unwrap().push(text.to_owned());
        Box::pin(std::future::ready(()))
    }
}

/// Takes the first piece for ever.
struct Stuck;

impl BashListener for Stuck {
    fn on_output<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(std::future::pending())
    }
}

const DEFAULT: BashOptions = BashOptions { exclude_from_context: None };

/// A conversation whose commands find the system's programs.
async fn open(bed: &Bed) -> AgentSession {
    let settings = json!({"shellCommandPrefix": "PATH=$PATH:/usr/local/bin:/usr/bin:/bin"});
    bed.write(".pi/agent/settings.json", &settings.to_string());
    let workspace = bed.workspace("project");
    let session = workspace.session(&SessionFlags::default()).unwrap();
    workspace.open(session, &model("faux/faux-1")).await.unwrap()
}

async fn run(agent: &AgentSession, command: &str) -> BashResult {
    agent.run_bash(command, DEFAULT, &Heard::default()).await.unwrap()
}

fn output(output: &str, exit_code: i32) -> BashResult {
    BashResult {
        output: output.to_owned(),
        exit_code: Some(exit_code),
        cancelled: false,
        truncated: false,
        full_output_path: None,
    }
}

fn cancelled(text: &str) -> BashResult {
    BashResult { exit_code: None, cancelled: true, ..output(text, 0) }
}

/// The commands in the session, as they are stored.
fn kept(agent: &AgentSession) -> Vec<Value> {
    let is_command = |message: &&AgentMessage| message.role() == "bashExecution";
    let messages = agent.messages();
    messages.iter().filter(is_command).map(|m| serde_json::to_value(m).unwrap()).collect()
}

async fn eventually(mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never came true");
}

fn is_alive(pid: &str) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

#[tokio::test]
async fn commands_are_told_while_they_run_and_kept_when_they_end() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let heard = Heard::default();
    let hidden = BashOptions { exclude_from_context: Some(true) };
    let shown = BashOptions { exclude_from_context: Some(false) };
    let before = pi_ai::now_ms();
    let result = agent.run_bash("echo one; echo two >&2", DEFAULT, &heard).await.unwrap();
    assert_eq!((result, heard.text()), (output("one\ntwo\n", 0), "one\ntwo\n".to_owned()));
    assert_eq!(run(&agent, "exit 4").await, output("", 4));
    assert_eq!(run(&agent, "kill -9 $$").await, output("", 137));
    agent.run_bash("echo secret", hidden, &heard).await.unwrap();
    agent.run_bash("echo open", shown, &heard).await.unwrap();
    let mut kept = kept(&agent);
    for message in &mut kept {
        let time = message.as_object_mut().unwrap().shift_remove("timestamp").unwrap();
        assert!(time.as_i64().unwrap() >= before);
    }
    assert_eq!(
        kept,
        [
            json!({"role": "bashExecution", "command": "echo one; echo two >&2",
                   "output": "one\ntwo\n", "exitCode": 0, "cancelled": false, "truncated": false}),
            json!({"role": "bashExecution", "command": "exit 4", "output": "", "exitCode": 4,
                   "cancelled": false, "truncated": false}),
            json!({"role": "bashExecution", "command": "kill -9 $$", "output": "",
                   "exitCode": 137, "cancelled": false, "truncated": false}),
            json!({"role": "bashExecution", "command": "echo secret", "output": "secret\n",
                   "exitCode": 0, "cancelled": false, "truncated": false,
                   "excludeFromContext": true}),
            json!({"role": "bashExecution", "command": "echo open", "output": "open\n",
                   "exitCode": 0, "cancelled": false, "truncated": false,
                   "excludeFromContext": false}),
        ]
    );
    bed.scripted.push("Done.");
    agent.prompt("What did I run?").await.unwrap();
    let told = serde_json::to_string(&bed.scripted.contexts()[0].messages).unwrap();
    assert!(told.contains("Ran `echo one; echo two >&2`") && told.contains("open"), "{told}");
    assert!(!told.contains("secret"), "{told}");
}

#[tokio::test]
async fn output_is_plain_text_wherever_it_is_cut() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let heard = Heard::default();
    let command = r"printf 'a\033[3'; sleep 0.1; printf '1mred\033'; sleep 0.1; printf '[0m\rb\303'
                    sleep 0.1; printf '\251\0\tc\n\377\302\033]0;no end'";
    let result = agent.run_bash(command, DEFAULT, &heard).await.unwrap();
    assert_eq!(result, output("aredb\u{e9}\tc\n\u{fffd}\u{fffd}0;no end", 0));
    assert_eq!(heard.text(), result.output);
    assert!(heard.0.lock().unwrap().len() > 3);
}

#[tokio::test]
async fn long_output_keeps_its_end_and_is_saved_whole_as_plain_text() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let result = run(&agent, "seq 1 3000 | sed $'s/^/\\e[31m/'; exit 2").await;
    let tail: Vec<String> = (1001..=3000).map(|i| i.to_string()).collect();
    let path = result.full_output_path.clone().unwrap();
    let saved = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(result.output, tail.join("\n"));
    assert_eq!((result.exit_code, result.truncated), (Some(2), true));
    assert_eq!((saved.len(), saved.starts_with("1\n2\n")), (13_893, true));
    let kept = kept(&agent).remove(0);
    assert_eq!(kept["fullOutputPath"], path.to_str().unwrap());
    assert_eq!(kept["truncated"], true);
}

#[tokio::test]
async fn commands_know_that_they_run_in_pi_and_nothing_of_the_session() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let result = run(&agent, "env | grep -E '^(PI_|AI_)' | sort; pwd").await;
    let project = bed.dir("project").canonicalize().unwrap();
    let want = format!("AI_AGENT=pi\nPI_CODING_AGENT=true\n{}\n", project.display());
    assert_eq!(result.output, want);
}

#[tokio::test]
async fn all_that_are_on_are_aborted_at_once_and_the_next_one_runs() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let abort = async {
        eventually(|| bed.dir("project").join("two").exists()).await;
        eventually(|| bed.dir("project").join("one").exists()).await;
        agent.abort_bash();
    };
    let heard = Heard::default();
    let (one, two, ()) = tokio::join!(
        agent.run_bash("echo a; touch one; sleep 300; touch next", DEFAULT, &heard),
        agent.run_bash("touch two; sleep 300; touch next", DEFAULT, &heard),
        abort,
    );
    assert_eq!((one.unwrap(), two.unwrap()), (cancelled("a\n"), cancelled("")));
    assert_eq!(run(&agent, "ls").await, output("one\ntwo\n", 0));
    let kept = kept(&agent);
    assert_eq!(kept.len(), 3);
    for message in &kept[..2] {
        assert_eq!((&message["cancelled"], message.get("exitCode")), (&json!(true), None));
    }
    agent.abort_bash();
}

#[tokio::test]
async fn an_abort_finds_a_command_that_was_only_just_asked_for() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let heard = Heard::default();
    let asked = agent.run_bash("touch started", DEFAULT, &heard);
    agent.abort_bash();
    assert_eq!(asked.await.unwrap(), cancelled(""));
    assert_eq!(run(&agent, "ls").await, output("", 0));
}

#[tokio::test]
async fn stopping_the_conversation_ends_commands_and_lets_none_start() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let stop = async {
        eventually(|| bed.dir("project").join("on").exists()).await;
        agent.stop();
    };
    let (result, ()) = tokio::join!(run(&agent, "touch on; sleep 300"), stop);
    assert_eq!(result, cancelled(""));
    assert_eq!(run(&agent, "touch later").await, cancelled(""));
    agent.abort_bash();
    assert_eq!(run(&agent, "touch later").await, cancelled(""));
    assert!(!bed.dir("project").join("later").exists());
}

#[tokio::test]
async fn an_abort_does_not_wait_for_who_listens() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let abort = async {
        eventually(|| bed.dir("project").join("on").exists()).await;
        agent.abort_bash();
    };
    let started = Instant::now();
    let command = "echo a; touch on; sleep 300";
    let (result, ()) = tokio::join!(agent.run_bash(command, DEFAULT, &Stuck), abort);
    assert_eq!(result.unwrap(), cancelled("a\n"));
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_command_beside_a_prompt_is_kept_behind_it() {
    let bed = Bed::new();
    let wait = "touch asked; until [ -e go ]; do /bin/sleep 0.01; done";
    bed.scripted.push(FauxTurn::tool_call("c", "bash", json!({"command": wait})));
    bed.scripted.push("Done.");
    let agent = open(&bed).await;
    let command = async {
        eventually(|| bed.dir("project").join("asked").exists()).await;
        let result = run(&agent, "touch go; echo beside").await;
        assert!(agent.is_busy() && kept(&agent).is_empty());
        result
    };
    let (outcome, result) = tokio::join!(agent.prompt("Wait"), command);
    outcome.unwrap();
    assert_eq!(result, output("beside\n", 0));
    let messages = agent.messages();
    let roles: Vec<&str> = messages.iter().map(AgentMessage::role).collect();
    assert_eq!(roles[1..], ["user", "assistant", "toolResult", "assistant", "bashExecution"]);
}

#[tokio::test]
async fn aborting_the_prompt_leaves_the_users_commands_alone() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let go = async {
        eventually(|| bed.dir("project").join("on").exists()).await;
        agent.abort();
        fs::write(bed.dir("project").join("go"), "").unwrap();
    };
    let command = "touch on; until [ -e go ]; do sleep 0.01; done; echo end";
    assert_eq!(tokio::join!(run(&agent, command), go).0, output("end\n", 0));
}

#[tokio::test]
async fn what_cannot_start_is_an_error_and_not_kept() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let fails = async |command: &str| {
        let result = agent.run_bash(command, DEFAULT, &Heard::default()).await;
        result.unwrap_err().to_string()
    };
    let text = fails("echo a\0b").await;
    assert!(text.starts_with("Could not start /bin/bash: "), "{text}");
    let text = fails(&format!("# {}", "x".repeat(2_000_000))).await;
    assert!(text.starts_with("Could not start /bin/bash: Argument list too long"), "{text}");
    let project = bed.dir("project");
    fs::remove_dir(&project).unwrap();
    let text = fails("true").await;
    assert_eq!(text, format!("Working directory does not exist: {}", project.display()));
    assert_eq!(kept(&agent), [Value::Null; 0]);
}

#[tokio::test]
async fn a_dropped_command_is_killed_and_not_kept() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let heard = Heard::default();
    let mut command = agent.run_bash("echo $$ >pid; sleep 300", DEFAULT, &heard);
    let pid = bed.dir("project").join("pid");
    let line = || fs::read_to_string(&pid).unwrap_or_default();
    tokio::select! {
        _ = &mut command => panic!("it waits"),
        () = eventually(|| line().ends_with('\n')) => {}
    }
    drop(command);
    eventually(|| !is_alive(line().trim())).await;
    assert_eq!(kept(&agent), [Value::Null; 0]);
}

#[tokio::test]
async fn killing_the_processes_ends_commands_too() {
    let bed = Bed::new();
    let agent = open(&bed).await;
    let kill = async {
        eventually(|| bed.dir("project").join("on").exists()).await;
        agent.kill_processes();
    };
    let (result, ()) = tokio::join!(run(&agent, "touch on; sleep 300"), kill);
    assert_eq!(result, output("", 137));
}
