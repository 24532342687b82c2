//! What can go wrong before, during and after a command.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[tokio::test]
async fn no_file_stays_open_or_unsaved_after_many_long_outputs() {
    let bed = Bed::new();
    let tools = bed.tools();
    for _ in 0..41 {
        tools.call("bash", run("seq 1 2001")).await.unwrap();
    }
    let ours = |fd: &fs::DirEntry| {
        fs::read_link(fd.path()).is_ok_and(|target| target.starts_with(bed.root()))
    };
    let open =
        || fs::read_dir("/proc/self/fd").unwrap().filter(|fd| ours(fd.as_ref().unwrap())).count();
    // The runtime closes files on threads of its own.
    eventually(|| open() == 0).await;
    assert_eq!(fs::read_dir(bed.root().join("tmp")).unwrap().count(), 41);
}

#[tokio::test]
async fn a_shell_that_cannot_run_is_an_error_that_names_it() {
    let mut bed = Bed::new();
    bed.put("noexec", "not a program");
    bed.put("broken", "#!/no/such/interpreter\n");
    fs::set_permissions(bed.path("broken"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(bed.path("folder")).unwrap();
    let start = |name: &str| format!("Could not start {}: ", bed.path(name).display());
    let (noexec, broken) = (start("noexec"), start("broken"));
    for (shell, want) in [
        ("/nonexist", "Custom shell path not found: /nonexist"),
        ("folder", "Custom shell path not found: folder"),
        ("", "Custom shell path not found: "),
        ("noexec", &*noexec),
        ("broken", &*broken),
    ] {
        bed.shell = Some(shell.to_owned());
        let text = bed.text("bash", run("touch started")).await;
        assert!(text.starts_with(want), "{shell}: {text}");
    }
    assert!(!bed.path("started").exists());
}

#[tokio::test]
async fn a_working_directory_that_cannot_be_used_is_an_error_that_names_it() {
    let mut bed = Bed::new();
    bed.put("file", "");
    for name in ["gone", "file"] {
        bed.cwd = Some(bed.path(name));
        let text = bed.text("bash", run("true")).await;
        let want = format!("Working directory does not exist: {}", bed.path(name).display());
        assert_eq!(text, want);
    }
    // One that goes while commands run in it.
    bed.cwd = Some(bed.path("going"));
    fs::create_dir(bed.path("going")).unwrap();
    let tools = bed.tools();
    let output = tools.call("bash", run("rmdir \"$PWD\"; echo $?; exit 3")).await.unwrap();
    assert_eq!(text_of(&output), "0\n\n\nCommand exited with code 3");
    let error = tools.call("bash", run("true")).await.unwrap_err().0;
    assert!(error.starts_with("Working directory does not exist: "), "{error}");
}

#[tokio::test]
async fn a_command_no_system_can_pass_on_is_an_error() {
    let bed = Bed::new();
    let text = bed.text("bash", run("echo a\0b; touch started")).await;
    assert!(text.starts_with("Could not start /bin/bash: nul byte"), "{text}");
    let long = format!("touch started # {}", "x".repeat(2_000_000));
    let text = bed.text("bash", run(&long)).await;
    assert!(text.starts_with("Could not start /bin/bash: Argument list too long"), "{text}");
    assert!(!bed.path("started").exists());
    let wrong_type = bed.text("bash", json!({"command": {"a": 1}})).await;
    assert_eq!(wrong_type, "command must be a string");
    // What the system allows works.
    let long = format!("echo {} | wc -c", "x".repeat(100_000));
    assert_eq!(bed.text("bash", run(&long)).await, "100001\n");
}

#[tokio::test]
async fn without_a_place_for_long_output_its_end_still_comes() {
    let bed = Bed::new();
    fs::remove_dir(bed.root().join("tmp")).unwrap();
    let output = bed.call("bash", run("seq 1 3000; exit 2")).await.unwrap();
    let text = text_of(&output);
    let notice = "\n3000\n\n[Showing lines 1001-3000 of 3000. Full output could not be saved: \
                  No such file or directory (os error 2)]\n\nCommand exited with code 2";
    assert!(text.starts_with("1001\n") && text.ends_with(notice), "{text}");
    let details = output.details.unwrap();
    assert_eq!(
        (details.get("fullOutputPath"), &details["truncation"]["totalLines"]),
        (None, &json!(3000))
    );
    // The place is a file, and the command is stopped.
    fs::write(bed.root().join("tmp"), "").unwrap();
    let arguments = json!({"command": "seq 1 3000; sleep 300", "timeout": 0.5});
    let text = bed.text("bash", arguments).await;
    assert!(text.contains("Full output could not be saved: Not a directory"), "{text}");
    assert!(text.ends_with("\n\nCommand timed out after 0.5 seconds"), "{text}");
}

#[tokio::test]
async fn a_command_has_no_input_and_ignores_no_signal_for_our_sake() {
    // What whoever started us ignores, as `nohup` does with SIGHUP, stays so; SIGPIPE is ignored by
    // the Rust runtime.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ours = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let sigpipe = 1 << 12;
    let inherited = u64::from_str_radix(ours.trim(), 16).unwrap() & !sigpipe & 0xfff_ffff;
    let bed = Bed::new();
    // The last seven digits: beyond are two signals the C library keeps for itself.
    let command = "readlink /proc/self/fd/0; cat; read x; echo $?; \
                   grep -E '^Sig(Ign|Blk)' /proc/self/status | grep -o '.......$'";
    let want = format!("/dev/null\n1\n0000000\n{inherited:07x}\n");
    assert_eq!(bed.text("bash", run(command)).await, want);
}
