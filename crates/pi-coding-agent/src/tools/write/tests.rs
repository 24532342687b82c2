use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::tools::testing::{Bed, Updates};

#[tokio::test]
async fn folders_are_made_and_bytes_written_as_given() {
    let bed = Bed::new();
    let content = "premi\u{e8}re ligne\r\n\u{7b2c}\u{4e8c}\u{884c}\nthird";
    let output =
        bed.call("write", json!({"path": "deep/er/f.txt", "content": content})).await.unwrap();
    assert_eq!(
        serde_json::to_value(&output).unwrap(),
        json!({"content": [{"type": "text", "text": "Successfully wrote to deep/er/f.txt"}]})
    );
    assert_eq!(bed.get("deep/er/f.txt"), content.as_bytes());
}

#[tokio::test]
async fn a_file_is_replaced_also_through_a_link_or_by_nothing() {
    let bed = Bed::new();
    bed.put("old", "old content\n");
    std::os::unix::fs::symlink("old", bed.path("link")).unwrap();
    let text = bed.text("write", json!({"path": "link", "content": "through"})).await;
    assert_eq!(text, "Successfully wrote to link");
    assert_eq!(bed.get("old"), b"through");
    assert!(bed.path("link").is_symlink());
    bed.call("write", json!({"path": "old", "content": ""})).await.unwrap();
    assert_eq!(bed.get("old"), b"");
    bed.call("write", json!({"path": "@~/w", "content": "home"})).await.unwrap();
    assert_eq!(std::fs::read(bed.root().join("home/w")).unwrap(), b"home");
}

#[tokio::test]
async fn what_cannot_be_written_is_an_error_that_names_it() {
    let bed = Bed::new();
    bed.put("file", "x");
    std::fs::create_dir(bed.path("dir")).unwrap();
    let abs = |name: &str| bed.path(name).display().to_string();
    let cases = [
        ("dir", format!("EISDIR: illegal operation on a directory, open '{}'", abs("dir"))),
        ("file/x", format!("EEXIST: file already exists, mkdir '{}'", abs("file"))),
        ("/dev/null", "Not a regular file: /dev/null. Use bash to write to it.".to_owned()),
    ];
    for (path, want) in cases {
        let error = bed.call("write", json!({"path": path, "content": "x"})).await.unwrap_err();
        assert_eq!(error.0, want);
    }
}

fn replace(old: &str, new: &str) -> Value {
    json!({"path": "q", "edits": [{"oldText": old, "newText": new}]})
}

#[tokio::test]
async fn calls_on_one_file_apply_in_the_order_they_were_made() {
    let bed = Bed::new();
    let tools = bed.tools();
    let start = |name: &str, arguments| {
        tools.call_with(name, arguments, CancellationToken::new(), &Updates::default())
    };
    let write = start("write", json!({"path": "q", "content": "one"}));
    let first = start("edit", replace("one", "two"));
    let second = start("edit", replace("two", "three"));
    // Polled the other way round.
    let (second, first, write) = tokio::join!(second, first, write);
    write.unwrap();
    first.unwrap();
    second.unwrap();
    assert_eq!(bed.get("q"), b"three");
}

#[tokio::test]
async fn a_cancelled_call_leaves_the_queue_and_the_file_alone() {
    let bed = Bed::new();
    bed.put("q", "old");
    let tools = bed.tools();
    let cancel = CancellationToken::new();
    let waiting = tools.call_with(
        "write",
        json!({"path": "q", "content": "never"}),
        cancel.clone(),
        &Updates::default(),
    );
    cancel.cancel();
    assert_eq!(waiting.await.unwrap_err().0, "Operation aborted");
    assert_eq!(bed.get("q"), b"old");
    tools.call("write", json!({"path": "q", "content": "new"})).await.unwrap();
    assert_eq!(bed.get("q"), b"new");
}
