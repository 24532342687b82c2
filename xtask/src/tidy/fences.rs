//! Which words may stand in which part of the code that ships.

use super::Finding;
use super::tree::Tree;

struct Fence {
    /// Any of these, as whole words.
    words: &'static [&'static str],
    /// Path prefixes where they are at home.
    home: &'static [&'static str],
    /// What to do instead.
    instead: &'static str,
}

const FENCES: &[Fence] = &[
    Fence {
        words: &["reqwest::", "use reqwest"],
        home: &["crates/pi-ai/src/transport.rs", "crates/pi-ai/src/transport/"],
        instead: "send requests through pi_ai::transport",
    },
    Fence {
        words: &["clap::", "use clap"],
        home: &["crates/pi-coding-agent/src/"],
        instead: "parse the command line in pi-coding-agent and hand values in",
    },
    Fence {
        words: &["env::var", "env::vars", "env::var_os", "env::vars_os"],
        home: &["crates/pi-coding-agent/src/env.rs", "crates/pi-test/"],
        instead: "take the value as an argument; pi-coding-agent/src/env.rs reads the environment",
    },
    Fence {
        words: &["println!", "eprintln!", "print!", "eprint!", "dbg!", "io::stdout", "io::stderr"],
        home: &[
            "crates/pi-coding-agent/src/modes.rs",
            "crates/pi-coding-agent/src/modes/",
            "crates/pi-coding-agent/src/main.rs",
            "crates/pi-test/",
        ],
        instead: "return the text; the modes write it",
    },
    Fence { words: &["process::exit"], home: &[], instead: "return an error or an ExitCode" },
    Fence {
        words: &["unsafe fn", "unsafe {", "unsafe impl", "unsafe extern"],
        home: &["crates/pi-ext-js/src/", "crates/pi-tui/src/terminal"],
        instead: "use a safe wrapper, such as rustix",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.path.starts_with("crates/")) {
        let fences: Vec<&Fence> = FENCES
            .iter()
            .filter(|fence| !fence.home.iter().any(|home| file.path.starts_with(home)))
            .collect();
        for (number, line) in file.shipped_lines() {
            let code = without_comment(line);
            for fence in &fences {
                if let Some(word) = fence.words.iter().find(|word| contains_word(code, word)) {
                    let text = format!("`{word}` does not belong here; {}", fence.instead);
                    findings.push(Finding::fault(&file.path, number, text));
                }
            }
        }
    }
    findings
}

/// The part before `//`. An address in a string is cut short too, which loses nothing here.
fn without_comment(line: &str) -> &str {
    line.split_once("//").map_or(line, |(code, _)| code)
}

fn contains_word(code: &str, word: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    code.match_indices(word).any(|(start, _)| {
        let (before, rest) = code.split_at(start);
        let after = rest.strip_prefix(word).unwrap_or_default();
        let continues = word.ends_with(is_name) && after.starts_with(is_name);
        !(before.ends_with(is_name) || continues)
    })
}
