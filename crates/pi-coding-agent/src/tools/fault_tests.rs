//! Disks that are full, slow, forbidden or changed by others: what was there stays, the error says
//! what is wrong, and the next call goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use pi_agent::env::EnvErrorKind;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::testing::{Bed, Elsewhere, Fault, Tools, Updates, text_of};

const OLD: &str = "one\ntwo\n";

fn arguments(tool: &str, path: &str) -> Value {
    match tool {
        "read" => json!({"path": path}),
        "edit" => json!({"path": path, "edits": [{"oldText": "two", "newText": "2"}]}),
        "write" => json!({"path": path, "content": "new\n"}),
        _ => json!({"command": "seq 1 3000"}),
    }
}

async fn text(tools: &Tools, tool: &str, path: &str) -> String {
    match tools.call(tool, arguments(tool, path)).await {
        Ok(output) => text_of(&output),
        Err(error) => error.0,
    }
}

/// A scratch folder with the file `f` in it.
fn bed() -> Bed {
    let bed = Bed::new();
    bed.put("f", OLD);
    bed
}

/// Every file below a folder with its content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.display().to_string(), fs::read(&path).unwrap());
        }
    }
    found
}

#[tokio::test]
async fn a_call_that_fails_says_why_changes_nothing_and_lets_the_next_one_go() {
    use EnvErrorKind::{AccessDenied, Io, NoSpace, ReadOnly};
    let bed = bed();
    let abs = |name: &str| bed.path(name).display().to_string();
    let cases = [
        ("read", "open", Fault::Fails(AccessDenied), "EACCES: permission denied, access 'F'"),
        ("read", "read", Fault::Fails(Io), "EIO: i/o error, read 'F'"),
        ("edit", "open", Fault::Fails(AccessDenied), "Could not edit file: f. Error code: EACCES."),
        ("edit", "read", Fault::Fails(Io), "Could not edit file: f. Error code: EIO."),
        ("edit", "replace", Fault::FullAfter(3), "Could not edit file: f. Error code: ENOSPC."),
        ("edit", "replace", Fault::Fails(ReadOnly), "Could not edit file: f. Error code: EROFS."),
        ("write", "make_dirs", Fault::Fails(NoSpace), "ENOSPC: no space left on device, mkdir 'D'"),
        ("write", "make_dirs", Fault::Fails(AccessDenied), "EACCES: permission denied, mkdir 'D'"),
        ("write", "replace", Fault::FullAfter(3), "ENOSPC: no space left on device, open 'F'"),
        ("write", "replace", Fault::Fails(AccessDenied), "EACCES: permission denied, open 'F'"),
    ];
    for (tool, call, fault, want) in cases {
        let before = files(&bed.root());
        let tools = bed.tools_in(Arc::new(Elsewhere::new(bed.env()).with(call, fault)));
        let folder = abs("").trim_end_matches('/').to_owned();
        let want =
            want.replace("'F'", &format!("'{}'", abs("f"))).replace("'D'", &format!("'{folder}'"));
        assert_eq!(text(&tools, tool, "f").await, want, "{tool} {call}");
        assert_eq!(files(&bed.root()), before, "{tool} {call}");
        let next = text(&tools, "edit", "f").await;
        assert_eq!(next, "Successfully replaced 1 block(s) in f.", "{tool} {call}");
        bed.put("f", OLD);
    }
}

#[tokio::test]
async fn what_vanishes_in_between_is_told_or_read_to_its_end() {
    let bed = bed();
    let tools_without = |call, path: &str| {
        let gone = bed.path(path);
        let env = Elsewhere::new(bed.env()).before(call, move || {
            fs::remove_file(&gone).or_else(|_| fs::remove_dir(&gone)).unwrap();
        });
        bed.tools_in(Arc::new(env))
    };
    // An open file stays what it is.
    assert_eq!(text(&tools_without("read", "f"), "read", "f").await, OLD);
    bed.put("f", OLD);
    let edited = text(&tools_without("replace", "f"), "edit", "f").await;
    assert_eq!(edited, "Could not edit file: f. Error code: ENOENT.");
    assert!(files(&bed.path("")).is_empty());
    let written = text(&tools_without("replace", "sub"), "write", "sub/f").await;
    let path = bed.path("sub/f");
    assert_eq!(written, format!("ENOENT: no such file or directory, open '{}'", path.display()));
    assert_eq!(text(&bed.tools(), "write", "sub/f").await, "Successfully wrote to sub/f");
}

#[tokio::test]
async fn an_output_that_does_not_fit_on_the_disk_leaves_no_part_of_itself() {
    let bed = bed();
    for (call, fault, reason) in [
        ("write", Fault::FullAfter(1000), "no space left on device"),
        ("finish", Fault::Fails(EnvErrorKind::NoSpace), "no space left on device"),
        ("temporary_file", Fault::Fails(EnvErrorKind::AccessDenied), "permission denied"),
    ] {
        let tools = bed.tools_in(Arc::new(Elsewhere::new(bed.env()).with(call, fault)));
        let shown = text(&tools, "bash", "").await;
        let end = format!(
            "\n3000\n\n[Showing lines 1001-3000 of 3000. Full output could not be saved: {reason}]"
        );
        assert!(shown.ends_with(&end), "{call}: {shown}");
        assert!(files(&bed.root().join("tmp")).is_empty(), "{call}");
    }
}

/// Starts a call on a task of its own; gives what cancels it, too.
fn start(
    tools: &Arc<Tools>,
    tool: &'static str,
    path: &'static str,
) -> (CancellationToken, tokio::task::JoinHandle<String>) {
    let cancel = CancellationToken::new();
    let (tools, token) = (Arc::clone(tools), cancel.clone());
    let call = tokio::spawn(async move {
        let result = tools.call_with(tool, arguments(tool, path), token, &Updates::default()).await;
        result.map_or_else(|error| error.0, |output| text_of(&output))
    });
    (cancel, call)
}

#[tokio::test]
async fn a_slow_disk_is_not_waited_for_when_a_call_is_cancelled() {
    for (tool, call) in [
        ("read", "open"),
        ("read", "read"),
        ("edit", "open"),
        ("edit", "read"),
        ("write", "make_dirs"),
    ] {
        let bed = bed();
        let env = Arc::new(Elsewhere::new(bed.env()));
        let gate = env.slow(call);
        let tools = Arc::new(bed.tools_in(Arc::<Elsewhere>::clone(&env)));
        let (cancel, result) = start(&tools, tool, "f");
        gate.reached().await;
        cancel.cancel();
        assert_eq!(result.await.unwrap(), "Operation aborted", "{tool} {call}");
        assert_eq!(bed.get("f"), OLD.as_bytes());
        // It is slow still, and nobody waits for it.
        assert_eq!(text(&tools, "write", "f").await, "Successfully wrote to f");
        assert_eq!(files(&bed.root()).len(), 1);
    }
}

#[tokio::test]
async fn a_change_that_has_begun_keeps_its_place_also_when_it_is_cancelled() {
    for tool in ["edit", "write"] {
        let bed = bed();
        let env = Arc::new(Elsewhere::new(bed.env()));
        let gate = env.slow("replace");
        let tools = Arc::new(bed.tools_in(Arc::<Elsewhere>::clone(&env)));
        let (cancel, first) = start(&tools, tool, "f");
        gate.reached().await;
        cancel.cancel();
        assert_eq!(
            first.await.unwrap(),
            "Operation aborted. The change had begun and may still be made."
        );
        let (cancel, given_up) = start(&tools, "write", "f");
        let (_, second) = start(&tools, "write", "f");
        // Another file does not wait.
        assert_eq!(text(&tools, "write", "g").await, "Successfully wrote to g");
        cancel.cancel();
        assert_eq!(given_up.await.unwrap(), "Operation aborted");
        assert!(!second.is_finished());
        assert_eq!(bed.get("f"), OLD.as_bytes());
        gate.release();
        assert_eq!(second.await.unwrap(), "Successfully wrote to f");
        assert_eq!(bed.get("f"), b"new\n");
        let replaced = env.calls().iter().filter(|call| call.starts_with("replace")).count();
        assert_eq!((replaced, files(&bed.root()).len()), (3, 2));
    }
}

#[tokio::test]
async fn who_waits_to_learn_which_file_it_is_can_be_cancelled_too() {
    let bed = bed();
    let env = Arc::new(Elsewhere::new(bed.env()));
    let (replace, real_path) = (env.slow("replace"), env.slow("real_path"));
    let tools = Arc::new(bed.tools_in(Arc::<Elsewhere>::clone(&env)));
    let (_, first) = start(&tools, "write", "f");
    replace.reached().await;
    let (cancel, second) = start(&tools, "edit", "f");
    real_path.reached().await;
    cancel.cancel();
    assert_eq!(second.await.unwrap(), "Operation aborted");
    replace.release();
    assert_eq!(first.await.unwrap(), "Successfully wrote to f");
    assert_eq!(bed.get("f"), b"new\n");
}

#[tokio::test]
async fn output_that_a_slow_disk_does_not_take_holds_no_aborted_command() {
    for call in ["temporary_file", "write", "finish"] {
        let bed = bed();
        let env = Arc::new(Elsewhere::new(bed.env()));
        let gate = env.slow(call);
        let tools = Arc::new(bed.tools_in(Arc::<Elsewhere>::clone(&env)));
        let (cancel, result) = start(&tools, "bash", "");
        gate.reached().await;
        cancel.cancel();
        let shown = result.await.unwrap();
        assert!(
            shown.contains("Full output could not be saved: the disk did not answer in time]"),
            "{call}: {shown}"
        );
        gate.release();
    }
}

#[tokio::test]
async fn a_search_finds_the_rest_and_tells_what_it_could_not_look_at() {
    let bed = Bed::new();
    for name in ["a", "dir/b", "z"] {
        bed.put(name, "needle\n");
    }
    let denied = Elsewhere::new(bed.env()).denying(bed.path("dir"));
    let tools = bed.tools_in(Arc::new(denied));
    let grep = tools.call("grep", json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(
        text_of(&grep),
        "a:1: needle\nz:1: needle\n\n[Not searched to the end: dir (permission denied)]"
    );
    let find = tools.call("find", json!({"pattern": "?"})).await.unwrap();
    assert_eq!(text_of(&find), "a\nz\n\n[Not searched to the end: dir (permission denied)]");
    // A file that goes between its listing and its opening; git's three files are opened before.
    let gone = bed.path("a");
    let vanishing = (0..3)
        .fold(Elsewhere::new(bed.env()), |env, _| env.before("open", || {}))
        .before("open", move || fs::remove_file(gone).unwrap());
    let tools = bed.tools_in(Arc::new(vanishing));
    let grep = tools.call("grep", json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(text_of(&grep), "dir/b:1: needle\nz:1: needle");
}

#[tokio::test]
async fn a_search_on_a_slow_disk_is_not_waited_for_when_it_is_cancelled() {
    for (tool, call) in [("grep", "open"), ("grep", "read"), ("grep", "list"), ("find", "list")] {
        let bed = bed();
        let env = Arc::new(Elsewhere::new(bed.env()));
        let gate = env.slow(call);
        let tools = bed.tools_in(Arc::<Elsewhere>::clone(&env));
        let cancel = CancellationToken::new();
        let arguments = json!({"pattern": "two"});
        let search = tools.call_with(tool, arguments, cancel.clone(), &Updates::default());
        let (result, ()) = tokio::join!(search, async {
            gate.reached().await;
            cancel.cancel();
        });
        assert_eq!(result.unwrap_err().0, "Operation aborted", "{tool} {call}");
        gate.release();
    }
}
