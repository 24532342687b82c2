use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::options::ValueKind;
use super::*;

/// The workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn what_is_shipped_is_what_the_table_says() {
    for (file, how, text) in [
        ("dist/completions/pi.bash", "--completions bash", bash::completions()),
        ("dist/completions/_pi", "--completions zsh", zsh::completions()),
        ("dist/completions/pi.fish", "--completions fish", fish::completions()),
        ("dist/man/pi.1", "--man-page", man_page()),
    ] {
        let shipped = fs::read_to_string(root().join(file)).unwrap_or_default();
        assert!(
            shipped == text,
            "{file} is out of date; write it anew: cargo run -- {how} > {file}"
        );
    }
}

#[test]
fn the_table_is_consistent() {
    let mut spellings: Vec<&str> = options::all().flat_map(Opt::spellings).collect();
    spellings.sort_unstable();
    let count = spellings.len();
    spellings.dedup();
    assert_eq!(spellings.len(), count, "each spelling stands for one option");
    for option in options::all() {
        assert!(option.long.starts_with("--") && !option.long.starts_with("---"));
        assert!(
            option.short.is_none_or(|short| short.starts_with('-') && !short.starts_with("--"))
        );
        assert!(!option.help.is_empty() && !option.help.ends_with('.'), "{}", option.long);
    }
    let levels = pi_ai::ThinkingLevel::ALL.map(pi_ai::ThinkingLevel::as_str);
    let kind = options::find("--thinking").unwrap().value_of().unwrap().kind;
    assert!(matches!(kind, ValueKind::OneOf(words) if words == levels));
}

#[test]
fn help_tells_of_every_option_once_in_lines_of_a_hundred_columns() {
    let help = help();
    assert!(help.lines().all(|line| line.chars().count() <= 100), "{help}");
    let words = format!(" {} ", help.split_whitespace().collect::<Vec<_>>().join(" "));
    for option in options::all() {
        let usage = option.usage();
        let count = words.matches(&format!(" {usage} ")).count();
        let listed = words.matches(&format!(" {usage};")).count();
        assert_eq!(count + listed, 1, "{usage} in {help}");
    }
}

#[test]
fn the_manual_and_the_page_of_the_docs_have_every_option_and_command() {
    let manual = man_page();
    let page = fs::read_to_string(root().join("docs/command-line.md")).unwrap();
    for option in options::all() {
        assert!(manual.contains(&option.long.replace('-', "\\-")), "{}", option.long);
        let row = format!("| `{}` |", option.usage().replace('|', "\\|"));
        assert_eq!(page.matches(&row).count(), 1, "{row}");
    }
    for command in super::super::not_yet::COMMANDS {
        assert!(page.contains(&format!("`pi {}`", command.name)), "{}", command.name);
    }
    assert!(manual.lines().all(|line| !line.starts_with('\'')));
}

#[test]
fn refused_options_are_not_offered_by_shells() {
    for shell in options::SHELLS {
        let script = completions(shell).unwrap();
        assert!(script.contains("no-builtin-tools") && script.contains("nbt"), "{shell}");
        assert!(!script.contains("resume"), "{shell}");
    }
}

/// Completes `words`, the last of which is still being written, in a folder with some files.
fn completed(words: &[&str]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    for name in ["notes.md", "not here.txt"] {
        fs::write(dir.path().join(name), "").unwrap();
    }
    fs::create_dir(dir.path().join("nested")).unwrap();
    let script = dir.path().join("completion");
    fs::write(&script, bash::completions()).unwrap();
    let ask = "source ./completion; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _pi; \
               printf '%s\\n' \"${COMPREPLY[@]}\"";
    let output = Command::new("bash")
        .args(["--norc", "-c", ask, "bash", "pi"])
        .args(words)
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(output.stderr.is_empty(), "{output:?}");
    let mut lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines.retain(|line| !line.is_empty());
    lines
}

#[test]
fn bash_completes_options_their_values_and_files() {
    if Command::new("bash").arg("--version").output().is_err() {
        eprintln!("left out: bash is not installed");
        return;
    }
    for (words, expected) in [
        (&["--mod"][..], &["--mode", "--model", "--models"][..]),
        (&["-nb"], &["-nbt"]),
        (&["-n"], &["-n", "-na", "-nbt", "-nc", "-ne", "-np", "-ns", "-nt"]),
        (&["--resu"], &[]),
        (&["--mode", ""], &["json", "rpc", "text"]),
        (&["--mode", "j"], &["json"]),
        (&["--mode", "="], &["json", "rpc", "text"]),
        (&["--mode", "=", "r"], &["rpc"]),
        (&["--thinking", "m"], &["max", "medium", "minimal"]),
        (&["--system-prompt", "not"], &["not here.txt", "notes.md"]),
        (&["--append-system-prompt", "=", "note"], &["notes.md"]),
        (&["--session-dir", "n"], &["nested"]),
        (&["--model", "n"], &[]),
        (&["-p", "no"], &[]),
        (&["@", "not"], &["@not\\ here.txt", "@notes.md"]),
        (&["@note"], &["@notes.md"]),
        (&["x", "@"], &["@completion", "@nested/", "@not\\ here.txt", "@notes.md"]),
        (&["x", "@", "ne"], &["@nested/"]),
        (&["--", "-n"], &[]),
        (&["--", "@note"], &["@notes.md"]),
    ] {
        assert_eq!(completed(words), expected, "{words:?}");
    }
}

#[test]
fn other_shells_read_their_scripts_where_they_are_installed() {
    for (shell, check, script) in [
        ("zsh", &["-f", "-n"][..], "dist/completions/_pi"),
        ("fish", &["--no-config", "--no-execute"], "dist/completions/pi.fish"),
        ("man", &["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"], "dist/man/pi.1"),
    ] {
        let Ok(output) = Command::new(shell).args(check).arg(root().join(script)).output() else {
            eprintln!("left out: {shell} is not installed");
            continue;
        };
        assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {output:?}");
    }
}
