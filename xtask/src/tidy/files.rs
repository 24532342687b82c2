//! The shape of the tree: where files lie, how long they are, how they begin.

use super::Finding;
use super::tree::{File, Tree};

/// Lines that ship, above which a file deserves a second look.
const LONG: usize = 700;
/// Lines that ship, above which a file must be split.
const TOO_LONG: usize = 1000;

/// Files that may lie in the root.
const ROOT: &[&str] = &[
    ".gitattributes",
    ".gitignore",
    "AGENTS.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "README.md",
    "clippy.toml",
    "deny.toml",
    "rust-toolchain.toml",
    "rustfmt.toml",
    "typos.toml",
];

/// Names that say nothing about what is inside.
const EMPTY_NAMES: &[&str] =
    &["common", "helper", "helpers", "misc", "shared", "util", "utilities", "utils"];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = tree.files.iter().filter_map(check_place).collect();
    for file in tree.rust() {
        findings.extend(check_name(file));
        findings.extend(check_head(file));
        findings.extend(check_length(file));
        findings.extend(check_ignored_tests(file));
    }
    findings
}

fn check_place(file: &File) -> Option<Finding> {
    let loose = !file.path.contains('/') && !ROOT.contains(&file.path.as_str());
    loose.then(|| {
        Finding::fault(&file.path, 1, "a loose file in the root; move it to docs/ or a crate")
    })
}

fn check_name(file: &File) -> Option<Finding> {
    let stem = file.path.strip_suffix(".rs").unwrap_or(&file.path);
    if stem.ends_with("/mod") {
        return Some(Finding::fault(&file.path, 1, "no mod.rs; use foo.rs beside the folder foo/"));
    }
    let name = stem.split('/').find(|part| EMPTY_NAMES.contains(part))?;
    Some(Finding::fault(&file.path, 1, format!("{name:?} says nothing; name it for its concept")))
}

fn check_head(file: &File) -> Option<Finding> {
    let headed = file.is_test() || file.text.starts_with("//!");
    (!headed).then(|| {
        Finding::fault(&file.path, 1, "no `//!` head; say what the module owns and never does")
    })
}

fn check_length(file: &File) -> Option<Finding> {
    let length = file.shipped_lines().len();
    if length > TOO_LONG {
        let text =
            format!("{length} lines without tests; split it by concept (at most {TOO_LONG})");
        return Some(Finding::fault(&file.path, 1, text));
    }
    (length > LONG).then(|| {
        Finding::warning(&file.path, 1, format!("{length} lines without tests; think of a split"))
    })
}

fn check_ignored_tests(file: &File) -> Vec<Finding> {
    (1..)
        .zip(file.text.lines())
        .filter(|(_, line)| {
            line.trim_start()
                .strip_prefix("#[ignore")
                .is_some_and(|rest| rest.starts_with([']', ' ']))
        })
        .map(|(number, _)| {
            Finding::fault(&file.path, number, "an ignored test; repair it or delete it")
        })
        .collect()
}
