use std::path::Path;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::tools::SessionVariables;
use crate::tools::testing::{Bed, Updates as Seen, text_of};

mod endings;
mod faults;

fn run(command: &str) -> Value {
    json!({"command": command})
}

/// Waits until `holds`; fails after ten seconds.
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
    let stat =
        std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default();
    // A process that nobody has waited for yet is dead, too.
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.starts_with(" Z"))
}

/// The content of a file once a process has put a line there.
async fn line_of(bed: &Bed, name: &str) -> String {
    let mut line = String::new();
    eventually(|| {
        line = std::fs::read_to_string(bed.path(name)).unwrap_or_default();
        line.ends_with('\n')
    })
    .await;
    line.trim().to_owned()
}

#[tokio::test]
async fn results_are_output_and_status() {
    let bed = Bed::new();
    bed.put("a.txt", "x\n");
    let here = bed.path("").display().to_string();
    let here = here.trim_end_matches('/');
    let pwd = format!("{here}\na.txt\n");
    let cases = [
        (
            "echo out; echo err >&2; exit 3",
            "out\nerr\n\n\nCommand exited with code 3",
            "out\nerr\n",
            3,
        ),
        ("true", "(no output)", "", 0),
        ("", "(no output)", "", 0),
        ("pwd; ls", pwd.as_str(), pwd.as_str(), 0),
        ("exit 7", "(no output)\n\nCommand exited with code 7", "", 7),
        ("nosuchcommand_x 2>/dev/null; echo rc=$?", "rc=127\n", "rc=127\n", 0),
        ("printf 'a\\n\\n\\n'", "a\n\n\n", "a\n\n\n", 0),
        ("echo part; kill -9 $$", "part\n\n\nCommand exited with code 137", "part\n", 137),
        ("exec >&- 2>&-; exit 5", "(no output)\n\nCommand exited with code 5", "", 5),
        ("read line; echo \"got $? $line\"", "got 1 \n", "got 1 \n", 0),
        ("printf 'a\\033[31mb\\r\\a\\0c'", "a\u{1b}[31mb\r\u{7}\0c", "a\u{1b}[31mb\r\u{7}\0c", 0),
        (
            "printf '\\377\\376a\\342\\202'",
            "\u{fffd}\u{fffd}a\u{fffd}",
            "\u{fffd}\u{fffd}a\u{fffd}",
            0,
        ),
        ("echo $-; test -t 0; echo $?", "hBc\n1\n", "hBc\n1\n", 0),
    ];
    for (command, text, output, code) in cases {
        let result = bed.call("bash", run(command)).await.unwrap();
        assert_eq!(text_of(&result), text, "{command}");
        assert_eq!((result.is_error, &result.details), (code != 0, &None), "{command}");
        let mut structured = result.structured_content.unwrap();
        let time = structured.as_object_mut().unwrap().shift_remove("wall_time_seconds");
        assert!(time.unwrap().is_number());
        assert_eq!(structured, json!({"output": output, "truncated": false, "exit_code": code}));
    }
}

#[tokio::test]
async fn stdout_and_stderr_keep_their_order() {
    let bed = Bed::new();
    let command = "for i in 1 2 3 4 5 6 7 8 9; do echo o$i; echo e$i >&2; done";
    let want: String = (1..=9).flat_map(|i| [format!("o{i}\n"), format!("e{i}\n")]).collect();
    assert_eq!(bed.text("bash", run(command)).await, want);
}

#[tokio::test]
async fn long_output_keeps_its_end_and_is_saved_whole() {
    let bed = Bed::new();
    let result = bed.call("bash", run("seq 1 3000; exit 2")).await.unwrap();
    let details = result.details.clone().unwrap();
    let path = details["fullOutputPath"].as_str().unwrap();
    let tail: Vec<String> = (1001..=3000).map(|i| i.to_string()).collect();
    let tail = tail.join("\n");
    assert_eq!(
        text_of(&result),
        format!(
            "{tail}\n\n[Showing lines 1001-3000 of 3000. Full output: {path}]\n\n\
             Command exited with code 2"
        )
    );
    assert_eq!(
        details["truncation"],
        json!({
            "content": tail, "truncated": true, "truncatedBy": "lines",
            "totalLines": 3000, "totalBytes": 13893, "outputLines": 2000, "outputBytes": 9999,
            "lastLinePartial": false, "firstLineExceedsLimit": false,
            "maxLines": 2000, "maxBytes": 51200,
        })
    );
    let structured = result.structured_content.unwrap();
    assert_eq!(structured["output"].as_str().unwrap().len(), 13893);
    assert_eq!(
        (&structured["truncated"], structured.get("full_output_path")),
        (&json!(false), None)
    );
    assert_eq!(std::fs::read_to_string(path).unwrap().len(), 13893);
    assert!(Path::new(path).starts_with(bed.root().join("tmp")));
}

#[tokio::test]
async fn huge_output_is_given_to_programs_in_two_pieces() {
    let bed = Bed::new();
    let result = bed.call("bash", run("head -c 3000000 /dev/zero | tr '\\0' z")).await.unwrap();
    let text = text_of(&result);
    let details = result.details.unwrap();
    assert_eq!(details["truncation"]["lastLinePartial"], true);
    assert!(text.contains("\n\n[Showing last 50.0KB of line 1 (line is 2.9MB). Full output: "));
    let structured = result.structured_content.unwrap();
    assert_eq!(structured["truncated"], true);
    assert_eq!(structured["full_output_path"], details["fullOutputPath"]);
    assert!(structured["output"].as_str().unwrap().contains("[... 1951424 bytes omitted ...]"));
}

#[tokio::test]
async fn updates_start_empty_and_end_with_everything() {
    let bed = Bed::new();
    let tools = bed.tools();
    let seen = Seen::default();
    let command = "echo a; while ! test -e go; do sleep 0.01; done; echo b; seq 1 3000";
    let call = tools.call_with("bash", run(command), CancellationToken::new(), &seen);
    let go = async {
        eventually(|| seen.all().len() >= 2).await;
        bed.put("go", "");
    };
    let (result, ()) = tokio::join!(call, go);
    let updates = seen.all();
    assert_eq!(serde_json::to_value(&updates[0]).unwrap(), json!({"content": []}));
    assert_eq!(
        serde_json::to_value(&updates[1]).unwrap(),
        json!({"content": [{"type": "text", "text": "a\n"}], "details": {}})
    );
    let (last, result) = (updates.last().unwrap(), result.unwrap());
    assert_eq!(last.details, result.details);
    assert!(text_of(last).ends_with("\n3000"));
    assert!(text_of(&result).starts_with(&text_of(last)));
}

#[tokio::test]
async fn no_output_gives_no_update_but_the_first() {
    let bed = Bed::new();
    let tools = bed.tools();
    let seen = Seen::default();
    tools.call_with("bash", run("true"), CancellationToken::new(), &seen).await.unwrap();
    assert_eq!(seen.all().len(), 1);
}

#[tokio::test]
async fn much_output_gives_few_updates() {
    let bed = Bed::new();
    let tools = bed.tools();
    let seen = Seen::default();
    let started = std::time::Instant::now();
    tools.call_with("bash", run("seq 1 200000"), CancellationToken::new(), &seen).await.unwrap();
    let most = started.elapsed().as_millis() / 100 + 3;
    assert!(u128::try_from(seen.all().len()).unwrap() <= most);
}

#[tokio::test]
async fn commands_know_where_they_run() {
    let mut bed = Bed::new();
    bed.environment.extend([
        ("PI_SESSION_ID", "outer".to_owned()),
        ("PI_SESSION_FILE", "/outer".to_owned()),
        ("PI_MODEL", "outer".to_owned()),
        ("OTHER", "kept".to_owned()),
    ]);
    bed.session.variables = SessionVariables {
        session_id: Some("s1".to_owned()),
        session_file: None,
        provider: Some("p".to_owned()),
        model: Some("m".to_owned()),
        reasoning_level: Some("off".to_owned()),
    };
    let text = bed.text("bash", run("env | grep -E '^(PI_|AI_|OTHER)' | sort")).await;
    assert_eq!(
        text,
        "AI_AGENT=pi\nOTHER=kept\nPI_CODING_AGENT=true\nPI_MODEL=m\nPI_PROVIDER=p\n\
         PI_REASONING_LEVEL=off\nPI_SESSION_ID=s1\n"
    );
    let path = bed.text("bash", run("echo $PATH")).await;
    let bin = bed.root().join("agent/bin");
    assert_eq!(path, format!("{}:/usr/local/bin:/usr/bin:/bin\n", bin.display()));
}

#[tokio::test]
async fn a_prefix_runs_on_its_own_line_before_the_command() {
    let mut bed = Bed::new();
    bed.prefix = Some("export X=from_prefix # comment".to_owned());
    assert_eq!(bed.text("bash", run("echo $X")).await, "from_prefix\n");
}

#[tokio::test]
async fn a_shell_of_ones_own_is_used() {
    let mut bed = Bed::new();
    bed.put("mysh", "#!/bin/sh\necho \"mine: $1 $2\"\n");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bed.path("mysh"), mode).unwrap();
    bed.shell = Some("./mysh".to_owned());
    assert_eq!(bed.text("bash", run("hi")).await, "mine: -c hi\n");
}

#[tokio::test]
async fn calls_run_side_by_side() {
    let bed = Bed::new();
    let tools = bed.tools();
    let wait_for = |mine: &str, other: &str| {
        run(&format!("touch {mine}; while ! test -e {other}; do sleep 0.01; done; echo {mine}"))
    };
    let one = tools.call("bash", wait_for("one", "two"));
    let two = tools.call("bash", wait_for("two", "one"));
    let (one, two) = tokio::join!(one, two);
    assert_eq!((text_of(&one.unwrap()), text_of(&two.unwrap())), ("one\n".into(), "two\n".into()));
}
