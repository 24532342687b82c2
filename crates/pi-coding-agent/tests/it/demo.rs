//! The scripted model that ships in the binary.

use pi_test::{Program, Scratch};

use crate::bed::{events, pi};

/// A process that knows nothing but where it may write temporary files.
fn bare(scratch: &Scratch) -> Program {
    ["PI_CODING_AGENT_DIR", "PI_OFFLINE", "PI_TELEMETRY", "LANG", "TZ", "TERM"]
        .into_iter()
        .fold(pi(scratch), Program::without_env)
        // Any request would fail here.
        .env("HTTPS_PROXY", "http://127.0.0.1:1")
        .env("HTTP_PROXY", "http://127.0.0.1:1")
}

#[tokio::test]
async fn the_demo_repairs_a_project_without_network_or_configuration() {
    let scratch = Scratch::new().unwrap();
    let args = ["--model", "faux/demo", "-p", "Find out why the test fails and fix it"];
    let ended = bare(&scratch).args(args).run().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("Fixed: "), "{}", ended.stdout);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    let project = ended.stderr.trim_end().rsplit(' ').next().unwrap();
    assert!(project.starts_with(scratch.tmp().to_str().unwrap()), "{project}");
    let script = std::fs::read_to_string(format!("{project}/sum.sh")).unwrap();
    assert!(!script.lines().any(|line| line.trim() == "shift"), "{script}");
    assert_eq!(std::fs::read_dir(scratch.ws()).unwrap().count(), 0, "not where the user is");
    assert!(scratch.home().join(".pi/agent/sessions").is_dir());
}

#[tokio::test]
async fn the_demo_is_a_run_like_any_other_in_json_mode() {
    let scratch = Scratch::new().unwrap();
    let args = ["--model", "faux/demo", "--no-session", "--mode", "json", "go"];
    let ended = bare(&scratch).args(args).run().await;
    assert_eq!(ended.code, Some(0));
    let records = ended.records();
    let told = events(&records);
    assert_eq!(told[0], "session");
    assert_eq!(told.last().unwrap(), "agent_settled");
    let count = |name: &str| told.iter().filter(|event| *event == name).count();
    assert_eq!((count("turn_end"), count("tool_execution_end")), (4, 4));
    assert!(!scratch.home().join(".pi").exists(), "nothing is kept");
}

#[tokio::test]
async fn the_demo_is_never_chosen_by_itself() {
    let scratch = Scratch::new().unwrap();
    let ended = bare(&scratch).args(["-p", "hi"]).run().await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("Error: "), "{}", ended.stderr);
    let list = bare(&scratch).args(["--list-models", "faux"]).run().await;
    assert!(!list.stdout.contains("demo"), "{}", list.stdout);
}

#[tokio::test]
async fn the_demo_never_runs_its_script_in_somebody_elses_folder() {
    let scratch = Scratch::new().unwrap();
    for session in [["-c", "--offline"], ["--session-id", "mine"]] {
        let args = [session.as_slice(), &["--model", "faux/demo:high", "-p", "go"]].concat();
        let ended = bare(&scratch).args(args).run().await;
        assert_eq!(ended.code, Some(1));
        let told = "Error: faux/demo begins in a project of its own\n";
        assert!(ended.stderr.starts_with(told), "{}", ended.stderr);
    }
    assert_eq!(std::fs::read_dir(scratch.ws()).unwrap().count(), 0);
}
