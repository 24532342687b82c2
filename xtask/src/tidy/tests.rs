use std::fs;

use super::*;

/// Writes a tree, checks it, and gives the findings as text.
fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let report = match check(folder.path()) {
        Ok(report) => report,
        Err(error) => error.to_string(),
    };
    let mut lines: Vec<String> = report.lines().map(str::to_owned).collect();
    lines.pop();
    lines
}

fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\n{rest}")
}

#[test]
fn dependencies_point_one_way() {
    let cases = [
        (
            "pi-ai",
            "[dependencies]\npi-agent.workspace = true\n",
            Some("may not depend on pi-agent"),
        ),
        ("pi-ai", "[dev-dependencies]\npi-test.workspace = true\n", None),
        ("pi-ai", "[dependencies]\npi-test.workspace = true\n", Some("may not depend on pi-test")),
        ("pi-agent", "[dependencies]\npi-ai = { path = \"x\" }\n", None),
        ("pi-agent", "[target.'cfg(unix)'.dependencies]\npi-tui = \"1\"\n", Some("on pi-tui")),
        (
            "pi-coding-agent",
            "[dependencies]\npi-ai = \"1\"\npi-agent = \"1\"\nclap = \"1\"\n",
            None,
        ),
        ("pi-test", "[dependencies]\npi-ai = \"1\"\n", Some("may not depend on pi-ai")),
        ("pi-agent", "[dependencies]\nreqwest = \"1\"\n", Some("reqwest belongs to pi-ai")),
        (
            "pi-agent",
            "[build-dependencies]\nclap = \"1\"\n",
            Some("clap belongs to pi-coding-agent"),
        ),
        ("pi-new", "", Some("no row in the layer table")),
        ("pi-ext-js", "[dependencies]\npi-ext = \"1\"\n", None),
    ];
    for (name, rest, expected) in cases {
        let found = findings(&[(&format!("crates/{name}/Cargo.toml"), &manifest(name, rest))]);
        match expected {
            None => assert!(found.is_empty(), "{name}: {found:?}"),
            Some(text) => assert!(found.len() == 1 && found[0].contains(text), "{name}: {found:?}"),
        }
    }
}

#[test]
fn a_finding_names_path_line_and_what_to_do() {
    let manifest = manifest("pi-ai", "\n[dependencies]\nserde = \"1\"\npi-agent = \"1\"\n");
    assert_eq!(
        findings(&[("crates/pi-ai/Cargo.toml", &manifest)]),
        ["crates/pi-ai/Cargo.toml:6: pi-ai may not depend on pi-agent; \
          hand in what it needs as a value, trait or closure"]
    );
}

#[test]
fn words_stay_inside_their_fences() {
    let cases = [
        ("crates/pi-ai/src/transport/http.rs", "use reqwest::Client;", None),
        ("crates/pi-ai/src/retry.rs", "use reqwest::Client;", Some("`reqwest::`")),
        ("crates/pi-agent/src/a.rs", "let x = std::env::var(\"X\");", Some("`env::var`")),
        ("crates/pi-agent/src/a.rs", "let x = std::env::vars_os();", Some("`env::vars_os`")),
        ("crates/pi-agent/src/a.rs", "let x = env::variable();", None),
        ("crates/pi-coding-agent/src/env.rs", "let x = std::env::vars();", None),
        ("crates/pi-agent/src/a.rs", "println!();", Some("`println!`")),
        ("crates/pi-agent/src/a.rs", "my_println!();", None),
        ("crates/pi-agent/src/a.rs", "// println! is not used", None),
        ("crates/pi-coding-agent/src/modes/print.rs", "println!();", None),
        ("crates/pi-coding-agent/src/tools/x.rs", "std::io::stdout();", Some("`io::stdout`")),
        ("crates/pi-agent/src/a.rs", "unsafe { f() }", Some("`unsafe {`")),
        ("crates/pi-agent/src/a.rs", "use clap::Parser;", Some("`clap::`")),
        ("xtask/src/a.rs", "println!();", None),
        ("crates/pi-coding-agent/src/tools/x.rs", "use std::fs;", Some("`std::fs`")),
        ("crates/pi-coding-agent/src/tools/x.rs", "tokio::fs::read(p);", Some("`tokio::fs`")),
        ("crates/pi-coding-agent/src/tools/x/y.rs", "p.exists();", Some("ExecutionEnv")),
        ("crates/pi-coding-agent/src/tools/x.rs", "env.real_path(p);", None),
        ("crates/pi-coding-agent/src/tools/testing/x.rs", "use std::fs;", None),
        ("crates/pi-coding-agent/src/trust.rs", "use std::fs;", None),
    ];
    for (path, code, expected) in cases {
        let found = findings(&[(path, &format!("//! Head.\n{code}\n"))]);
        match expected {
            None => assert!(found.is_empty(), "{code}: {found:?}"),
            Some(text) => {
                let place = format!("{path}:2: ");
                assert!(found.len() == 1 && found[0].starts_with(&place), "{code}: {found:?}");
                assert!(found[0].contains(text), "{code}: {found:?}");
            }
        }
    }
}

#[test]
fn tests_may_print_and_do_not_count_for_length() {
    let test = "#[cfg(test)]\nmod tests {\n    fn f() {\n        println!();\n    }\n}\n";
    assert!(findings(&[("crates/pi-ai/src/a.rs", &format!("//! Head.\n{test}"))]).is_empty());
    assert!(findings(&[("crates/pi-ai/tests/it/main.rs", "fn f() { println!(); }")]).is_empty());
    assert!(findings(&[("crates/pi-ai/src/a/tests.rs", "fn f() { println!(); }")]).is_empty());
    let after = format!("//! Head.\n{test}fn g() {{ println!(); }}\n");
    assert_eq!(findings(&[("crates/pi-ai/src/a.rs", &after)]).len(), 1);
    let declared = "//! Head.\n#[cfg(test)]\nmod tests;\nfn g() { println!(); }\n";
    assert_eq!(findings(&[("crates/pi-ai/src/a.rs", declared)]).len(), 1);
}

#[test]
fn long_files_warn_and_too_long_files_fail() {
    let lines = |count: usize| format!("//! Head.\n{}", "fn f() {}\n".repeat(count - 1));
    let folder = |count| findings(&[("crates/pi-ai/src/a.rs", &lines(count))]);
    assert!(folder(700).is_empty());
    assert!(folder(701)[0].contains("warning: 701 lines"));
    assert!(folder(1000)[0].contains("warning"));
    assert!(!folder(1001)[0].contains("warning"));
}

#[test]
fn the_tree_keeps_its_shape() {
    let ignored = format!("//! Head.\n{}[ignore]\nfn f() {{}}\n", '#');
    let cases = [
        ("NOTES.md", "x", "loose file in the root"),
        ("crates/pi-ai/src/a.rs", "fn f() {}", "no `//!` head"),
        ("crates/pi-ai/src/a/mod.rs", "//! Head.\n", "no mod.rs"),
        ("crates/pi-ai/src/utils/a.rs", "//! Head.\n", "\"utils\" says nothing"),
        ("crates/pi-ai/src/helpers.rs", "//! Head.\n", "\"helpers\" says nothing"),
        ("crates/pi-ai/src/a.rs", &ignored, "an ignored test"),
    ];
    for (path, text, expected) in cases {
        let found = findings(&[(path, text)]);
        assert!(found.len() == 1 && found[0].contains(expected), "{path}: {found:?}");
    }
    assert!(findings(&[("README.md", "x"), ("target/a.rs", "x"), ("docs/a.md", "x")]).is_empty());
}
