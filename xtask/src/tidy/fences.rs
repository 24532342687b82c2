//! Which words may stand in which part of the code that ships.

use super::Finding;
use super::tree::Tree;

struct Fence {
    /// Any of these, as whole words.
    words: &'static [&'static str],
    /// Path prefix of what is fenced.
    ground: &'static str,
    /// Path prefixes inside it where they are at home.
    home: &'static [&'static str],
    /// What to do instead.
    instead: &'static str,
}

const EVERYWHERE: &str = "crates/";

const FENCES: &[Fence] = &[
    Fence {
        words: &["reqwest::", "use reqwest"],
        ground: EVERYWHERE,
        home: &["crates/pi-ai/src/transport.rs", "crates/pi-ai/src/transport/"],
        instead: "send requests through pi_ai::transport",
    },
    Fence {
        words: &["clap::", "use clap"],
        ground: EVERYWHERE,
        home: &["crates/pi-coding-agent/src/"],
        instead: "parse the command line in pi-coding-agent and hand values in",
    },
    Fence {
        words: &["env::var", "env::vars", "env::var_os", "env::vars_os"],
        ground: EVERYWHERE,
        home: &["crates/pi-coding-agent/src/env.rs", "crates/pi-test/"],
        instead: "take the value as an argument; pi-coding-agent/src/env.rs reads the environment",
    },
    Fence {
        words: &["println!", "eprintln!", "print!", "eprint!", "dbg!", "io::stdout", "io::stderr"],
        ground: EVERYWHERE,
        home: &[
            "crates/pi-coding-agent/src/modes.rs",
            "crates/pi-coding-agent/src/modes/",
            "crates/pi-coding-agent/src/main.rs",
            "crates/pi-test/",
        ],
        instead: "return the text; the modes write it",
    },
    Fence {
        words: &["process::exit"],
        ground: EVERYWHERE,
        home: &[],
        instead: "return an error or an ExitCode",
    },
    Fence {
        words: &["unsafe fn", "unsafe {", "unsafe impl", "unsafe extern"],
        ground: EVERYWHERE,
        home: &["crates/pi-ext-js/src/", "crates/pi-tui/src/terminal"],
        instead: "use a safe wrapper, such as rustix",
    },
    Fence {
        words: &[
            "std::fs",
            "std::os",
            "std::process",
            "tokio::fs",
            "tokio::process",
            "rustix::",
            "tempfile::",
            "canonicalize()",
            "exists()",
            "is_dir()",
            "is_file()",
            "is_symlink()",
            "metadata()",
            "read_dir()",
            "read_link()",
            "try_exists()",
        ],
        ground: "crates/pi-coding-agent/src/tools/",
        home: &["crates/pi-coding-agent/src/tools/testing"],
        instead: "go through the ExecutionEnv of the ToolContext",
    },
    Fence {
        words: &[
            "std::fs",
            "std::os",
            "std::process",
            "tokio::",
            "rustix::",
            "exists()",
            "metadata()",
        ],
        ground: "crates/pi-coding-agent/src/search",
        home: &[],
        instead: "go through the BlockingFiles of the environment",
    },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let fences: Vec<&Fence> = FENCES
            .iter()
            .filter(|fence| file.path.starts_with(fence.ground))
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
