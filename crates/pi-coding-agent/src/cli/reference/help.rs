//! What `--help` prints.

use std::fmt::Write as _;

use super::{CONFIGURATION, EXAMPLES, POSITIONALS, SUMMARY, USAGE};

/// Columns of the text.
const WIDTH: usize = 100;
/// Where explanations begin.
const COLUMN: usize = 33;

pub(in crate::cli) fn help() -> String {
    let mut text = format!("pi - {SUMMARY}\n\nUsage:\n  {USAGE}\n\nPrompt:\n");
    for (form, meaning) in POSITIONALS {
        push_row(&mut text, form, meaning);
    }
    for (title, options) in super::working() {
        _ = writeln!(text, "\n{title}:");
        for option in options {
            push_row(&mut text, &option.usage(), option.help);
        }
    }
    text.push_str("\nAccepted without effect, as this build has nothing they could change:\n");
    push_wrapped(&mut text, &super::without_effect().join("; "), 2);
    text.push_str("\nRefused, as this build does not have their feature yet:\n");
    push_wrapped(&mut text, &super::missing().join("; "), 2);
    text.push_str("\nExamples:\n");
    for example in EXAMPLES {
        _ = writeln!(text, "  {example}");
    }
    text.push('\n');
    push_wrapped(&mut text, CONFIGURATION, 0);
    text
}

fn push_row(text: &mut String, left: &str, right: &str) {
    let start = text.len();
    text.push_str("  ");
    text.push_str(left);
    if text.len() - start > COLUMN - 2 {
        text.push('\n');
        text.push_str(&" ".repeat(COLUMN));
    } else {
        text.push_str(&" ".repeat(COLUMN - (text.len() - start)));
    }
    let mut lines = wrap(right, WIDTH - COLUMN).into_iter();
    text.push_str(&lines.next().unwrap_or_default());
    text.push('\n');
    for line in lines {
        text.push_str(&" ".repeat(COLUMN));
        text.push_str(&line);
        text.push('\n');
    }
}

fn push_wrapped(text: &mut String, words: &str, indent: usize) {
    for line in wrap(words, WIDTH - indent) {
        text.push_str(&" ".repeat(indent));
        text.push_str(&line);
        text.push('\n');
    }
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
