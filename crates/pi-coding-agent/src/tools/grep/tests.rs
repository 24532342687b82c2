use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::tools::testing::{Bed, Updates, text_of};

const NONE: &str = "No matches found";

/// A repository with a needle in most files.
fn repository() -> Bed {
    let bed = Bed::new();
    bed.put(".git/HEAD", "needle head\n");
    bed.put(".git/info/exclude", "excluded\n");
    bed.put(".gitignore", "ignored/\n*.log\n");
    bed.put(".ignore", "dotignored\n");
    bed.put(".rgignore", "rgignored\n");
    bed.put(".hidden", "needle\n");
    bed.put("excluded", "needle\n");
    bed.put("dotignored", "needle\n");
    bed.put("rgignored", "needle\n");
    bed.put("ignored/c.ts", "needle\n");
    bed.put("src/a.ts", "one\nneedle here\nthree\n");
    bed.put("src/sub/b.ts", "x\nNeedle up needle again\ny\nz\nneedle\n");
    bed.put("src/sub/doc.md", "needle md\n");
    bed.put("src/x.log", "needle log\n");
    bed
}

async fn grep(bed: &Bed, arguments: Value) -> String {
    bed.text("grep", arguments).await
}

/// The files with matches.
async fn files(bed: &Bed, arguments: Value) -> String {
    let text = grep(bed, arguments).await;
    if text == NONE {
        return String::new();
    }
    let mut names: Vec<&str> = text.lines().filter_map(|line| line.split(':').next()).collect();
    names.dedup();
    names.join(" ")
}

#[tokio::test]
async fn lines_come_in_order_of_files_and_ignore_files_are_respected() {
    let bed = repository();
    let output = bed.call("grep", json!({"pattern": "needle"})).await.unwrap();
    assert_eq!(
        text_of(&output),
        ".git/HEAD:1: needle head\n\
         .hidden:1: needle\n\
         src/a.ts:2: needle here\n\
         src/sub/b.ts:2: Needle up needle again\n\
         src/sub/b.ts:5: needle\n\
         src/sub/doc.md:1: needle md"
    );
    assert_eq!(output.details, None);
}

#[tokio::test]
async fn git_rules_hold_in_repositories_and_other_rules_everywhere() {
    let bed = repository();
    fs::remove_dir_all(bed.path(".git")).unwrap();
    let all = ".hidden excluded ignored/c.ts src/a.ts src/sub/b.ts src/sub/doc.md src/x.log";
    assert_eq!(files(&bed, json!({"pattern": "needle"})).await, all);
    // Somebody who names a file means it.
    assert_eq!(
        grep(&bed, json!({"pattern": "needle", "path": "dotignored"})).await,
        "dotignored:1: needle"
    );
}

#[tokio::test]
async fn a_linked_work_tree_has_the_rules_of_its_repository() {
    let bed = Bed::new();
    bed.put("main/.git/info/exclude", "excluded\n");
    bed.put("main/.git/worktrees/other/commondir", "../..\n");
    bed.put("other/.git", "gitdir: ../main/.git/worktrees/other\n");
    for name in ["main/excluded", "main/f", "other/excluded", "other/f"] {
        bed.put(name, "needle\n");
    }
    assert_eq!(files(&bed, json!({"pattern": "needle"})).await, "main/f other/f");
    assert_eq!(files(&bed, json!({"pattern": "needle", "path": "other"})).await, "f");
}

#[tokio::test]
async fn the_rules_of_the_user_count_least() {
    let bed = Bed::new();
    bed.put(".git/HEAD", "");
    for name in ["a.one", "a.two", "a.three"] {
        bed.put(name, "needle\n");
    }
    let home = bed.root().join("home");
    fs::create_dir_all(home.join(".config/git")).unwrap();
    fs::write(home.join(".config/git/ignore"), "*.one\n").unwrap();
    assert_eq!(files(&bed, json!({"pattern": "needle"})).await, "a.three a.two");
    fs::write(home.join("my rules"), "*.two\n").unwrap();
    fs::write(
        home.join(".gitconfig"),
        "[user]\n\tname = x\n[core]\n\texcludesFile = \"~/my rules\"\n",
    )
    .unwrap();
    assert_eq!(files(&bed, json!({"pattern": "needle"})).await, "a.one a.three");
    bed.put(".gitignore", "!*.two\n");
    assert_eq!(files(&bed, json!({"pattern": "needle"})).await, "a.one a.three a.two");
}

#[tokio::test]
async fn a_glob_is_relative_to_the_searched_folder_and_stronger_than_ignore_files() {
    let bed = repository();
    bed.put("UP.TS", "needle\n");
    let cases = [
        ("*.log", ".", "src/x.log"),
        ("src/*.ts", ".", "src/a.ts"),
        ("/src/*.ts", ".", "src/a.ts"),
        ("./src/*.ts", ".", "src/a.ts"),
        ("src/**/*.ts", ".", "src/a.ts src/sub/b.ts"),
        ("!*.ts", "src", "sub/doc.md"),
        ("*.{ts,md}", "src", "a.ts sub/b.ts sub/doc.md"),
        ("sub/*.ts", "src", "sub/b.ts"),
        ("src/sub/*.ts", "src", ""),
        ("*.TS", ".", "UP.TS"),
        ("", "src", "a.ts sub/b.ts sub/doc.md"),
    ];
    for (glob, path, want) in cases {
        let arguments = json!({"pattern": "needle", "glob": glob, "path": path});
        assert_eq!(files(&bed, arguments).await, want, "{glob} in {path}");
    }
}

#[tokio::test]
async fn context_is_marked_merged_and_never_repeated() {
    let bed = repository();
    let cases = [
        (
            json!({"path": "src/sub/b.ts", "context": 1}),
            "b.ts-1- x\nb.ts:2: Needle up needle again\nb.ts-3- y\nb.ts-4- z\nb.ts:5: needle",
        ),
        (
            json!({"path": "src/sub/b.ts", "context": 1.7}),
            "b.ts-1- x\nb.ts:2: Needle up needle again\nb.ts-3- y\nb.ts-4- z\nb.ts:5: needle",
        ),
        (
            json!({"path": "src/sub/b.ts", "context": 99}),
            "b.ts-1- x\nb.ts:2: Needle up needle again\nb.ts-3- y\nb.ts-4- z\nb.ts:5: needle",
        ),
        (
            json!({"path": "src/sub/b.ts", "context": -1, "limit": 0}),
            "b.ts:2: Needle up needle again\n\n[1 matches limit reached. Use limit=2 for more, or refine pattern]",
        ),
        // What belongs to the last match is shown, and is no match beyond the limit.
        (
            json!({"pattern": "needle|y", "path": "src/sub/b.ts", "context": 1, "limit": 1}),
            "b.ts-1- x\nb.ts:2: Needle up needle again\nb.ts-3- y\n\n[1 matches limit reached. Use limit=2 for more, or refine pattern]",
        ),
        (
            json!({"path": "src/a.ts", "context": 1, "limit": 1}),
            "a.ts-1- one\na.ts:2: needle here\na.ts-3- three",
        ),
    ];
    for (mut arguments, want) in cases {
        let fields = arguments.as_object_mut().unwrap();
        fields.entry("pattern").or_insert(json!("needle"));
        assert_eq!(grep(&bed, arguments.clone()).await, want, "{arguments}");
    }
}

#[tokio::test]
async fn patterns_are_regular_expressions_or_plain_text() {
    let bed = Bed::new();
    bed.put("f", "call a.b( now\naxb(\n--files\ncaf\u{e9} STRASSE\n");
    let cases = [
        (json!({"pattern": r"a.b\("}), "f:1: call a.b( now\nf:2: axb("),
        (json!({"pattern": "a.b(", "literal": true}), "f:1: call a.b( now"),
        (json!({"pattern": "--files"}), "f:3: --files"),
        (json!({"pattern": "-v"}), NONE),
        (json!({"pattern": "CAF\u{c9}", "ignoreCase": true}), "f:4: caf\u{e9} STRASSE"),
        (json!({"pattern": "CAF\u{c9}", "ignoreCase": "yes"}), NONE),
        (json!({"pattern": "^--|w$"}), "f:1: call a.b( now\nf:3: --files"),
        (
            json!({"pattern": "", "limit": 9}),
            "f:1: call a.b( now\nf:2: axb(\nf:3: --files\nf:4: caf\u{e9} STRASSE",
        ),
        // A comment at the end of the pattern.
        (json!({"pattern": "(?x) axb # (c"}), "f:2: axb("),
        (json!({"pattern": "("}), "regex parse error:\n    (\n    ^\nerror: unclosed group"),
    ];
    for (arguments, want) in cases {
        assert_eq!(grep(&bed, arguments.clone()).await, want, "{arguments}");
    }
    for arguments in [json!({"pattern": "a\nb"}), json!({"pattern": "(\nb", "literal": true})] {
        let error = bed.call("grep", arguments).await.unwrap_err().0;
        assert!(error.starts_with("the literal \"\\n\" is not allowed in a regex\n\n"), "{error}");
    }
    let error = bed.call("grep", json!({"pattern": "x", "glob": "["})).await.unwrap_err().0;
    assert_eq!(error, "error parsing glob '[': unclosed character class; missing ']'");
}

#[tokio::test]
async fn every_encoding_is_searched_and_binary_files_are_not() {
    let bed = Bed::new();
    bed.put("binary", b"needle before\n\0needle\n");
    bed.put(
        "late-binary",
        [b"needle\n".as_slice(), &b"x\n".repeat(100_000), b"\0needle\n"].concat(),
    );
    bed.put("bom", "\u{feff}needle bom\n");
    bed.put("only-bom", "\u{feff}");
    bed.put("cr", "a\rneedle b\rc\n");
    bed.put("crlf", "needle crlf\r\nnext\r\n");
    bed.put("latin", b"caf\xe9 needle\n");
    bed.put("no-end", "\tneedle\ttab");
    let utf16 = |text: &str, unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{text}").encode_utf16().flat_map(unit).collect()
    };
    bed.put("utf16be", utf16("first\nneedle \u{e9}\n", u16::to_be_bytes));
    bed.put("utf16le", utf16("needle \u{1f600}\r\n", u16::to_le_bytes));
    assert_eq!(
        grep(&bed, json!({"pattern": "needle"})).await,
        "bom:1: needle bom\n\
         cr:1: a\rneedle b\rc\n\
         crlf:1: needle crlf\n\
         late-binary:1: needle\n\
         latin:1: caf\u{fffd} needle\n\
         no-end:1: \tneedle\ttab\n\
         utf16be:2: needle \u{e9}\n\
         utf16le:1: needle \u{1f600}"
    );
    assert_eq!(
        files(&bed, json!({"pattern": "^needle"})).await,
        "bom crlf late-binary utf16be utf16le"
    );
    assert_eq!(
        grep(&bed, json!({"pattern": "needle", "path": "binary"})).await,
        "binary:1: needle before\nbinary:2: \0needle"
    );
    assert_eq!(
        grep(&bed, json!({"pattern": "needle", "path": "utf16be", "context": 1})).await,
        "utf16be-1- first\nutf16be:2: needle \u{e9}"
    );
}

#[tokio::test]
async fn long_lines_are_cut_between_characters() {
    let bed = Bed::new();
    let cut = "[Some lines truncated to 500 chars. Use read tool to see full lines]";
    let cases = [
        ("n".repeat(500), "n".repeat(500), false),
        ("n".repeat(501), "n".repeat(500), true),
        (format!("{}\u{1f600}", "n".repeat(499)), "n".repeat(499), true),
        (format!("{}\u{1f600}", "n".repeat(498)), format!("{}\u{1f600}", "n".repeat(498)), false),
        (format!("n{}", "\u{1f600}".repeat(2000)), format!("n{}", "\u{1f600}".repeat(249)), true),
        (format!("n{}", "\u{7b2c}".repeat(2000)), format!("n{}", "\u{7b2c}".repeat(499)), true),
    ];
    for (line, shown, is_cut) in cases {
        bed.put("f", &line);
        let output = bed.call("grep", json!({"pattern": "n"})).await.unwrap();
        if is_cut {
            assert_eq!(text_of(&output), format!("f:1: {shown}... [truncated]\n\n{cut}"));
            assert_eq!(output.details, Some(json!({"linesTruncated": true})));
        } else {
            assert_eq!((text_of(&output), output.details), (format!("f:1: {shown}"), None));
        }
    }
}

#[tokio::test]
async fn limits_are_told_together_and_in_order() {
    let bed = Bed::new();
    let line = format!("needle {}\n", "x".repeat(600));
    bed.put("a", line.repeat(60));
    bed.put("b", line.repeat(60));
    let output = bed.call("grep", json!({"pattern": "needle"})).await.unwrap();
    let text = text_of(&output);
    let (lines, notice) = text.split_once("\n\n").unwrap();
    assert_eq!(
        notice,
        "[100 matches limit reached. Use limit=200 for more, or refine pattern. 50.0KB limit reached. \
         Some lines truncated to 500 chars. Use read tool to see full lines]"
    );
    let details = output.details.unwrap();
    assert_eq!(details["matchLimitReached"], 100);
    assert_eq!(details["linesTruncated"], true);
    let truncation = &details["truncation"];
    assert_eq!(truncation["totalLines"], 100);
    assert_eq!(truncation["outputLines"], lines.lines().count());
    assert_eq!(truncation["maxLines"], 9_007_199_254_740_991_u64);
    assert!(lines.len() <= 51_200);
    // As many as there are is no limit reached.
    let exact = bed.call("grep", json!({"pattern": "needle", "limit": 120})).await.unwrap();
    assert!(exact.details.unwrap().get("matchLimitReached").is_none());
}

#[tokio::test]
async fn paths_are_followed_when_named_and_not_when_met() {
    let bed = repository();
    symlink("src/a.ts", bed.path("linkfile")).unwrap();
    symlink("src", bed.path("linkdir")).unwrap();
    symlink("nowhere", bed.path("broken")).unwrap();
    let all = ".git/HEAD .hidden src/a.ts src/sub/b.ts src/sub/doc.md";
    assert_eq!(files(&bed, json!({"pattern": "needle", "path": ""})).await, all);
    assert_eq!(
        grep(&bed, json!({"pattern": "needle", "path": "linkfile"})).await,
        "linkfile:2: needle here"
    );
    assert_eq!(
        files(&bed, json!({"pattern": "needle", "path": "linkdir"})).await,
        "a.ts sub/b.ts sub/doc.md"
    );
    assert_eq!(
        grep(&bed, json!({"pattern": "needle", "path": "ignored/c.ts"})).await,
        "c.ts:1: needle"
    );
    let root = bed.path("");
    for name in ["none", "broken"] {
        let error = grep(&bed, json!({"pattern": "needle", "path": name})).await;
        assert_eq!(error, format!("Path not found: {}{name}", root.display()));
    }
    let device = grep(&bed, json!({"pattern": "needle", "path": "/dev/zero"})).await;
    assert_eq!(device, "Not a regular file: /dev/zero. Use bash to read it.");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bed.path("pipe"),
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    assert_eq!(files(&bed, json!({"pattern": "needle"})).await, all);
}

#[tokio::test]
async fn a_line_too_long_to_hold_is_told_and_the_rest_found() {
    let bed = Bed::new();
    bed.put("a", "needle\n");
    bed.put("huge", [b"needle\n".as_slice(), &vec![b'x'; 20 * 1024 * 1024]].concat());
    bed.put("z", "needle\n");
    let text = grep(&bed, json!({"pattern": "needle"})).await;
    let (lines, notice) = text.split_once("\n\n").unwrap();
    assert_eq!(lines, "a:1: needle\nhuge:1: needle\nz:1: needle");
    assert_eq!(notice, "[Not searched to the end: huge (a line is longer than 8.0MB)]");
    let named = grep(&bed, json!({"pattern": "needle", "path": "huge"})).await;
    assert_eq!(named, format!("huge:1: needle\n\n{notice}"));
    bed.put("huge", vec![b'x'; 20 * 1024 * 1024]);
    let error = bed.call("grep", json!({"pattern": "needle", "path": "huge"})).await.unwrap_err().0;
    let path = bed.path("huge");
    let want = format!("Not searched to the end: {} (a line is longer than 8.0MB)", path.display());
    assert_eq!(error, want);
}

#[tokio::test]
async fn a_cancelled_search_ends_at_once() {
    let bed = repository();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let tools = bed.tools();
    let call = tools.call_with("grep", json!({"pattern": "x"}), cancel, &Updates::default());
    assert_eq!(call.await.unwrap_err().0, "Operation aborted");
}
