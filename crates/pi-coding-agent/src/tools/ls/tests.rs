use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;

use serde_json::json;

use crate::tools::testing::{Bed, text_of};

#[tokio::test]
async fn names_come_sorted_with_folders_marked_and_nothing_ignored() {
    let bed = Bed::new();
    for name in ["B", "a1", "_c", ".hidden", ".git/HEAD", "node_modules/x", "sub/y"] {
        bed.put(name, "");
    }
    bed.put(".gitignore", "*\n");
    symlink("sub", bed.path("folder-link")).unwrap();
    symlink("B", bed.path("file-link")).unwrap();
    symlink("nowhere", bed.path("broken")).unwrap();
    let output = bed.call("ls", json!({})).await.unwrap();
    assert_eq!(
        text_of(&output).split('\n').collect::<Vec<_>>(),
        [
            "_c",
            ".git/",
            ".gitignore",
            ".hidden",
            "a1",
            "B",
            "file-link",
            "folder-link/",
            "node_modules/",
            "sub/"
        ]
    );
    assert_eq!(output.details, None);
    assert_eq!(bed.text("ls", json!({"path": "folder-link"})).await, "y");
}

#[tokio::test]
async fn names_that_are_no_text_are_listed_as_the_kind_they_are() {
    let bed = Bed::new();
    let path = |name: &[u8]| bed.path("").join(OsStr::from_bytes(name));
    fs::create_dir(path(b"a\xff")).unwrap();
    fs::write(path(b"b\xff"), "").unwrap();
    symlink("a\u{fffd}", path(b"c\xff")).unwrap();
    symlink(path(b"a\xff"), path(b"d\xff")).unwrap();
    symlink(path(b"b\xff"), path(b"e\xff")).unwrap();
    assert_eq!(bed.text("ls", json!({})).await, "a\u{fffd}/\nb\u{fffd}\nd\u{fffd}/\ne\u{fffd}");
}

#[tokio::test]
async fn the_limit_is_told_with_twice_as_much() {
    let bed = Bed::new();
    for name in ["1", "2", "3"] {
        bed.put(name, "");
    }
    let notice = "1\n\n[1 entries limit reached. Use limit=2 for more]";
    for limit in [json!(1), json!(0), json!(-7), json!(1.9), json!("1")] {
        let output = bed.call("ls", json!({"limit": limit})).await.unwrap();
        assert_eq!(text_of(&output), notice, "{limit}");
        assert_eq!(output.details, Some(json!({"entryLimitReached": 1})));
    }
    for limit in [json!(3), json!(1e30), json!(null)] {
        let output = bed.call("ls", json!({"limit": limit, "path": null})).await.unwrap();
        assert_eq!((text_of(&output).as_str(), output.details), ("1\n2\n3", None));
    }
}

#[tokio::test]
async fn five_hundred_entries_and_fifty_kilobytes_are_the_most() {
    let bed = Bed::new();
    for number in 0..501 {
        bed.put(&format!("many/{number:04}"), "");
        bed.put(&format!("long/{number:0200}"), "");
    }
    let text = bed.text("ls", json!({"path": "many"})).await;
    assert!(
        text.ends_with("0499\n\n[500 entries limit reached. Use limit=1000 for more]"),
        "{text}"
    );
    let output = bed.call("ls", json!({"path": "long"})).await.unwrap();
    let text = text_of(&output);
    let (names, notice) = text.split_once("\n\n").unwrap();
    assert_eq!(names.lines().count(), 254);
    assert_eq!(
        notice,
        "[500 entries limit reached. Use limit=1000 for more. 50.0KB limit reached]"
    );
    let details = output.details.unwrap();
    assert_eq!(details["entryLimitReached"], 500);
    let truncation = &details["truncation"];
    assert_eq!(truncation["totalLines"], 500);
    assert_eq!(truncation["totalBytes"], 500 * 201 - 1);
    assert_eq!(truncation["outputLines"], 254);
    assert_eq!(truncation["maxLines"], 9_007_199_254_740_991_u64);
}

#[tokio::test]
async fn what_is_no_folder_is_told_by_its_full_path() {
    let bed = Bed::new();
    bed.put("file", "");
    fs::create_dir(bed.path("empty")).unwrap();
    let root = bed.path("");
    let cases = [
        ("none", format!("Path not found: {}none", root.display())),
        ("file", format!("Not a directory: {}file", root.display())),
        ("empty", "(empty directory)".to_owned()),
        ("~", "(empty directory)".to_owned()),
    ];
    for (path, want) in cases {
        assert_eq!(bed.text("ls", json!({"path": path})).await, want);
    }
}
