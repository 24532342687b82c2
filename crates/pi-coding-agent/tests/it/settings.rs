//! Settings as a user has them: whose word counts, what is told of mistakes, what saving leaves alone.

use std::fs;

use pi_test::{Reply, RpcClient, Turn};
use serde_json::{Value, json};

use crate::bed::{Bed, pi, tool_names};

const BASE: &[&str] = &["--model", "fx-openai/m-think", "-p", "hi"];

/// One layer over the others: what the user, the project, the environment and the command line say.
struct Layers<'a> {
    user: Value,
    project: Value,
    variables: &'a [(&'a str, &'a str)],
    args: &'a [&'a str],
}

/// A run that was asked for with these layers.
async fn run(layers: &Layers<'_>) -> Bed {
    let bed = Bed::new(["Yes."]).await;
    bed.settings(&layers.user);
    bed.scratch.write("ws/.pi/settings.json", layers.project.to_string()).unwrap();
    let mut program = bed.pi([&["--approve"], BASE, layers.args].concat());
    for (name, value) in layers.variables {
        program = program.env(name, value);
    }
    let ended = program.run().await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    bed
}

#[tokio::test]
async fn the_command_line_wins_over_the_environment_over_the_project_over_the_user() {
    let none = || json!({});
    let dir = |name: &str| json!({"sessionDir": name});
    let variable = &[("PI_CODING_AGENT_SESSION_DIR", "by-variable")][..];
    for (user, project, variables, args, folder) in [
        (dir("by-user"), none(), &[][..], &[][..], "by-user"),
        (dir("by-user"), dir("by-project"), &[], &[], "by-project"),
        (dir("by-user"), dir("by-project"), variable, &[], "by-variable"),
        (dir("by-user"), dir("by-project"), variable, &["--session-dir", "by-option"], "by-option"),
    ] {
        let bed = run(&Layers { user, project, variables, args }).await;
        let files = fs::read_dir(bed.scratch.ws().join(folder)).unwrap().count();
        assert_eq!(files, 1, "{folder}");
    }

    let level = |name: &str| json!({"defaultThinkingLevel": name});
    let of_model = json!({"modelThinkingLevels": {"fx-openai/m-think": "minimal"}});
    for (user, project, args, effort) in [
        (none(), none(), &[][..], "medium"),
        (level("low"), none(), &[], "low"),
        (level("low"), level("high"), &[], "high"),
        // A wrong value of the project is the default, not the user's.
        (level("low"), level("loud"), &[], "medium"),
        (level("low"), of_model.clone(), &[], "minimal"),
        (of_model.clone(), level("high"), &["--thinking", "low"], "low"),
    ] {
        let case = format!("{user} {project} {args:?}");
        let bed = run(&Layers { user, project, variables: &[], args }).await;
        assert_eq!(bed.bodies()[0]["reasoning_effort"], effort, "{case}");
    }

    let tools = |names: &[&str]| json!({"defaultTools": names});
    for (user, project, args, active) in [
        (tools(&["ls"]), none(), &[][..], &["ls"][..]),
        (tools(&["ls"]), tools(&["read"]), &[], &["read"]),
        (tools(&["ls"]), tools(&["+grep"]), &[], &["grep", "ls"]),
        (tools(&["ls"]), tools(&["read"]), &["--tools", "bash"], &["bash"]),
        (tools(&["ls"]), tools(&["read"]), &["--tools", "+bash"], &["read", "bash"]),
    ] {
        let case = format!("{user} {project} {args:?}");
        let bed = run(&Layers { user, project, variables: &[], args }).await;
        let mut sent: Vec<String> =
            tool_names(&bed.bodies()[0]).iter().map(ToString::to_string).collect();
        sent.sort_unstable();
        let mut active = active.to_vec();
        active.sort_unstable();
        assert_eq!(sent, active, "{case}");
    }
}

#[tokio::test]
async fn objects_merge_key_by_key() {
    let down = Reply::status(503, r#"{"error":{"message":"down"}}"#);
    let bed = Bed::new(vec![down.clone(), down.clone(), down]).await;
    bed.settings(&json!({"retry": {"baseDelayMs": 1, "maxRetries": 5}}));
    bed.scratch.write("ws/.pi/settings.json", r#"{"retry": {"maxRetries": 2}}"#).unwrap();
    let ended = bed.pi([&["--approve"], BASE].concat()).run().await;
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert_eq!(bed.server.requests().len(), 3, "the project's number, the user's delay");
}

#[tokio::test]
async fn a_project_has_no_say_in_the_proxy() {
    let bed = Bed::new(["Yes.", "Yes."]).await;
    let nowhere = r#"{"httpProxy": "http://127.0.0.1:9"}"#;
    bed.scratch.write("ws/.pi/settings.json", nowhere).unwrap();
    let ended = bed.pi([&["--approve"], BASE].concat()).run().await;
    assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("Yes.\n", ""));
    let ended = bed.pi([&["--approve", "--verbose"], BASE].concat()).run().await;
    let file = bed.scratch.ws().join(".pi/settings.json");
    let told = format!(
        "Warning: {}:1:2: \"httpProxy\" counts in your own settings only.\n",
        file.display()
    );
    assert_eq!((ended.stdout.as_str(), ended.stderr), ("Yes.\n", told));
}

#[tokio::test]
async fn mistakes_are_told_to_those_who_ask() {
    let bed = Bed::new(vec!["Yes."; 6]).await;
    bed.settings(&json!({"steeringMode": "sometimes", "theme": 5, "themne": "dark"}));
    let user = bed.scratch.agent().join("settings.json");
    bed.scratch.write("ws/.pi/settings.json", r#"{"followUpMode": 1}"#).unwrap();
    let project = bed.scratch.ws().join(".pi/settings.json");
    for mode in [&["-p"][..], &["--mode", "json"]] {
        let ended = bed.pi([mode, &["hi"]].concat()).run().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{mode:?}");
        let ended = bed.pi([mode, &["--verbose", "hi"]].concat()).run().await;
        assert_eq!(ended.code, Some(0));
        let told: Vec<&str> = ended.stderr.lines().collect();
        let place = format!("Warning: {}:", user.display());
        assert!(told.iter().all(|line| line.starts_with(&place)), "{told:#?}");
        assert!(told[0].ends_with("Using one-at-a-time."), "{told:#?}");
        assert!(told[1].ends_with("Using system."), "{told:#?}");
        assert!(told[2].ends_with("Did you mean theme?"), "{told:#?}");
        assert_eq!(told.len(), 3, "the project is not trusted: {told:#?}");
        let ended = bed.pi([mode, &["--verbose", "--approve", "hi"]].concat()).run().await;
        let last = ended.stderr.lines().last().unwrap();
        assert!(last.starts_with(&format!("Warning: {}:1:18: ", project.display())), "{last}");
    }
}

#[tokio::test]
async fn what_is_no_json_is_told_first_with_its_place() {
    let bed = Bed::new(["Yes."]).await;
    let file = bed.scratch.write("agent/settings.json", "{\n  \"theme\": \"a\",\n}").unwrap();
    bed.scratch.write("ws/.pi/settings.json", r#"{"theme": 1}"#).unwrap();
    let ended = bed.pi([&["--approve", "--verbose"], BASE].concat()).run().await;
    assert_eq!(ended.stdout, "Yes.\n");
    let told: Vec<&str> = ended.stderr.lines().collect();
    let first = format!(
        "Warning: Invalid settings file {}: trailing comma at line 3 column 1",
        file.display()
    );
    assert_eq!((told[0], told.len()), (first.as_str(), 2), "{told:#?}");
    assert!(told[1].contains("\"theme\" is 1"), "{told:#?}");
}

#[tokio::test]
async fn commands_are_renamed_to_prompts_where_that_is_allowed() {
    let bed = Bed::new(vec!["Yes."; 3]).await;
    bed.scratch.write("agent/commands/mine.md", "MINE").unwrap();
    bed.scratch.write("ws/.pi/commands/theirs.md", "THEIRS").unwrap();
    let (user, project) = (bed.scratch.agent(), bed.scratch.ws().join(".pi"));
    let told = |dir: &std::path::Path| {
        let folder = dir.join("commands");
        format!(
            "Warning: Renamed {} to prompts: that is where prompt templates lie\n",
            folder.display()
        )
    };
    let ended = bed.pi(["-p", "/mine"]).run().await;
    assert_eq!((ended.stdout.as_str(), ended.stderr), ("Yes.\n", told(&user)));
    assert!(user.join("prompts/mine.md").is_file() && !user.join("commands").exists());
    assert!(project.join("commands/theirs.md").is_file(), "not trusted, not touched");

    let ended = bed.pi(["--approve", "-p", "/theirs"]).run().await;
    assert_eq!((ended.stdout.as_str(), ended.stderr), ("Yes.\n", told(&project)));
    assert!(project.join("prompts/theirs.md").is_file());
    let ended = bed.pi(["--approve", "-p", "/theirs"]).run().await;
    assert_eq!(ended.stderr, "", "told once");
    let asked: Vec<String> =
        bed.bodies().iter().map(|body| crate::bed::last_text(body, "user")).collect();
    assert_eq!(asked, ["MINE", "THEIRS", "THEIRS"]);
}

#[tokio::test]
async fn two_programs_that_save_at_once_lose_nothing() {
    let bed = Bed::new(Vec::<Turn>::new()).await;
    bed.settings(&json!({"own": {"kept": [1, 2]}, "compaction": {"reserveTokens": 9}}));
    let start = || RpcClient::new(pi(&bed.scratch).args(["--mode", "rpc"]).talk().start());
    let (mut one, mut other) = (start(), start());
    for round in 0..12 {
        let (mode, is_on) = if round % 2 == 0 { ("all", true) } else { ("one-at-a-time", false) };
        let of_one = async {
            let command = json!({"type": "set_steering_mode", "mode": mode});
            assert!(one.call(command).await.success);
            assert!(one.call(json!({"type": "set_auto_retry", "enabled": is_on})).await.success);
        };
        let of_other = async {
            let command = json!({"type": "set_follow_up_mode", "mode": mode});
            assert!(other.call(command).await.success);
            let command = json!({"type": "set_auto_compaction", "enabled": is_on});
            assert!(other.call(command).await.success);
        };
        tokio::join!(of_one, of_other);
        let text = bed.scratch.read("agent/settings.json").unwrap();
        let saved: Value = serde_json::from_str(&text).unwrap();
        let expected = json!({
            "defaultProvider": "fx-anthropic",
            "defaultModel": "m-plain",
            "retry": {"baseDelayMs": 1, "enabled": is_on},
            "own": {"kept": [1, 2]},
            "compaction": {"reserveTokens": 9, "enabled": is_on},
            "steeringMode": mode,
            "followUpMode": mode,
        });
        assert_eq!(saved, expected, "round {round}");
    }
    for client in [one, other] {
        let ended = client.end().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    }
}

#[tokio::test]
async fn a_broken_file_is_never_written_over() {
    let bed = Bed::idle().await;
    let file = bed.scratch.write("agent/settings.json", "{broken").unwrap();
    let args = ["--mode", "rpc", "--model", "fx-openai/m-plain"];
    let mut client = RpcClient::new(bed.pi(args).talk().start());
    let answer = client.call(json!({"type": "set_steering_mode", "mode": "all"})).await;
    let left = format!("{} is no JSON object and was left alone: ", file.display());
    assert!(answer.failure().starts_with(&left), "{answer:?}");
    client.end().await;
    assert_eq!(fs::read_to_string(file).unwrap(), "{broken");
}
