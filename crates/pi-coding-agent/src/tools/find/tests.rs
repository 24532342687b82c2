use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::tools::testing::{Bed, Updates, text_of};

/// A repository with ignored files.
fn repository() -> Bed {
    let bed = Bed::new();
    for name in [
        ".git/HEAD",
        ".hidden",
        "UP.TS",
        "src/a.ts",
        "src/sub/b.ts",
        "src/sub/doc.md",
        "ignored/c.ts",
        "src/x.log",
        "nest/x.md",
        "nest/y.md",
        "other/x.md",
    ] {
        bed.put(name, "");
    }
    bed.put(".gitignore", "ignored/\n*.log\n");
    bed.put("nest/.gitignore", "x.md\n");
    bed
}

async fn found(bed: &Bed, pattern: &str, path: &str) -> String {
    bed.text("find", json!({"pattern": pattern, "path": path})).await.replace('\n', " ")
}

#[tokio::test]
async fn patterns_are_held_against_names_or_against_paths() {
    let bed = repository();
    let none = "No files found matching pattern";
    let absolute = format!("{}src/*.ts", bed.path("").display());
    let cases = [
        // Names at any depth, lower case for every case.
        ("*.ts", ".", "UP.TS src/a.ts src/sub/b.ts"),
        ("*.TS", ".", "UP.TS"),
        ("up.ts", ".", "UP.TS"),
        ("SRC", ".", none),
        ("[ab].ts", ".", "src/a.ts src/sub/b.ts"),
        ("?.ts", ".", "src/a.ts src/sub/b.ts"),
        ("*.{ts,md}", "src", "a.ts sub/b.ts sub/doc.md"),
        ("{a.ts,b.ts}", ".", "src/a.ts src/sub/b.ts"),
        ("src", ".", "src/"),
        ("src/", ".", "src/"),
        ("UP.TS/", ".", none),
        (".*", ".", ".git/ .gitignore .hidden nest/.gitignore"),
        ("./*.ts", ".", "UP.TS src/a.ts src/sub/b.ts"),
        // Paths from the searched folder on.
        ("src/*.ts", ".", "src/a.ts"),
        ("./src/*.ts", ".", "src/a.ts"),
        ("src/**", ".", "src/a.ts src/sub/ src/sub/b.ts src/sub/doc.md"),
        ("src/**/*.ts", ".", "src/a.ts src/sub/b.ts"),
        ("**/*.ts", ".", "UP.TS src/a.ts src/sub/b.ts"),
        ("**/sub/*", ".", "src/sub/b.ts src/sub/doc.md"),
        ("sub/*", ".", none),
        ("sub/*", "src", "sub/b.ts sub/doc.md"),
        ("Src/*", ".", none),
        ("{src,nest}/*.{ts,md}", ".", "nest/y.md src/a.ts"),
        (&absolute, ".", "src/a.ts"),
        ("../*", "src", none),
        // Everything.
        ("*", "src", "a.ts sub/ sub/b.ts sub/doc.md"),
        ("", "src", "a.ts sub/ sub/b.ts sub/doc.md"),
        ("**", "src", "a.ts sub/ sub/b.ts sub/doc.md"),
        ("zzz", ".", none),
        ("!*.ts", ".", none),
        ("--exec=x", ".", none),
    ];
    for (pattern, path, want) in cases {
        assert_eq!(found(&bed, pattern, path).await, want, "{pattern} in {path}");
    }
}

#[tokio::test]
async fn rules_of_a_folder_hold_below_it_only_and_outside_of_repositories_too() {
    let bed = repository();
    assert_eq!(found(&bed, "*.md", ".").await, "nest/y.md other/x.md src/sub/doc.md");
    assert_eq!(found(&bed, "*.log", ".").await, "No files found matching pattern");
    // Whoever names an ignored folder means it.
    assert_eq!(found(&bed, "*", "ignored").await, "c.ts");
    assert_eq!(found(&bed, "*", ".git").await, "HEAD");
    fs::remove_dir_all(bed.path(".git")).unwrap();
    assert_eq!(found(&bed, "*.log", ".").await, "No files found matching pattern");
    assert_eq!(found(&bed, "*.log", "src").await, "No files found matching pattern");
    // Another repository begins: the rules around it end.
    bed.put("src/.git/HEAD", "");
    assert_eq!(found(&bed, "*.log", ".").await, "src/x.log");
    bed.put("src/.ignore", "*.log");
    assert_eq!(found(&bed, "*.log", ".").await, "No files found matching pattern");
}

#[tokio::test]
async fn links_are_told_and_not_followed() {
    let bed = Bed::new();
    bed.put("real/f", "");
    symlink("real", bed.path("link")).unwrap();
    symlink("..", bed.path("real/up")).unwrap();
    symlink("nowhere", bed.path("broken")).unwrap();
    assert_eq!(found(&bed, "*", ".").await, "broken link real/ real/f real/up");
    assert_eq!(found(&bed, "*", "link").await, "f up");
}

#[tokio::test]
async fn a_folder_with_glob_characters_is_searched_like_any_other() {
    let bed = Bed::new();
    bed.put("[x]{a,b}*/f.ts", "");
    bed.put("[x]{a,b}*/sub/g.ts", "");
    assert_eq!(found(&bed, "*.ts", "[x]{a,b}*").await, "f.ts sub/g.ts");
    assert_eq!(found(&bed, "sub/*.ts", "[x]{a,b}*").await, "sub/g.ts");
}

#[tokio::test]
async fn the_limit_gives_the_first_in_order() {
    let bed = Bed::new();
    for folder in ["c", "a", "b"] {
        for name in 0..200 {
            bed.put(&format!("{folder}/{name:03}.rs"), "");
        }
    }
    let output = bed.call("find", json!({"pattern": "*.rs", "limit": 201})).await.unwrap();
    let text = text_of(&output);
    let (names, notice) = text.split_once("\n\n").unwrap();
    assert_eq!(names.lines().last(), Some("b/000.rs"));
    assert_eq!(notice, "[201 results limit reached. Use limit=402 for more, or refine pattern]");
    assert_eq!(output.details, Some(json!({"resultLimitReached": 201})));
    let all = bed.call("find", json!({"pattern": "*.rs", "limit": 600})).await.unwrap();
    assert_eq!((text_of(&all).lines().count(), all.details), (600, None));
    for limit in [json!(0), json!(-1), json!(1.5), json!("1")] {
        let text = bed.text("find", json!({"pattern": "*", "limit": limit})).await;
        assert_eq!(
            text,
            "a/\n\n[1 results limit reached. Use limit=2 for more, or refine pattern]"
        );
    }
}

#[tokio::test]
async fn beyond_fifty_kilobytes_results_are_counted_only() {
    let bed = Bed::new();
    for number in 0..400 {
        bed.put(&format!("{number:0200}"), "");
    }
    let output = bed.call("find", json!({"pattern": "*"})).await.unwrap();
    assert!(text_of(&output).ends_with("\n\n[50.0KB limit reached]"));
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!((&truncation["totalLines"], &truncation["outputLines"]), (&json!(400), &json!(254)));
}

#[tokio::test]
async fn what_cannot_be_searched_is_told() {
    let bed = Bed::new();
    bed.put("file", "");
    let root = bed.path("");
    let cases: [(Value, String); 6] = [
        (
            json!({"pattern": "x".repeat(160_000)}),
            "The pattern is longer than 16384 bytes".to_owned(),
        ),
        (json!({"pattern": "x".repeat(16_000)}), String::new()),
        (
            json!({"pattern": "*", "path": "none"}),
            format!("Path not found: {}none", root.display()),
        ),
        (
            json!({"pattern": "*", "path": "file"}),
            format!("Not a directory: {}file", root.display()),
        ),
        (
            json!({"pattern": "["}),
            "error parsing glob '[': unclosed character class; missing ']'".to_owned(),
        ),
        (json!({"path": "."}), "pattern must be a string".to_owned()),
    ];
    for (arguments, want) in cases {
        match bed.call("find", arguments).await {
            Ok(output) => assert_eq!(
                (text_of(&output).as_str(), want.as_str()),
                ("No files found matching pattern", "")
            ),
            Err(error) => assert_eq!(error.0, want),
        }
    }
}

#[tokio::test]
async fn a_cancelled_search_finds_nothing() {
    let bed = repository();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let tools = bed.tools();
    let call = tools.call_with("find", json!({"pattern": "*"}), cancel, &Updates::default());
    assert_eq!(call.await.unwrap_err().0, "Operation aborted");
}
