//! Completions for zsh.

use super::super::options::{Opt, Takes, ValueKind};

pub(super) fn completions() -> String {
    let specs: String = super::offered().map(spec).collect();
    format!("{HEAD}{specs}{TAIL}")
}

const HEAD: &str = "#compdef pi

_pi_words() {
    if compset -P @; then
        _files
    else
        _message 'message, or @ and a file'
    fi
}

_arguments -S \\
";

const TAIL: &str = "    '*: :_pi_words'
";

/// One argument of `_arguments`, such as `'(-n --name)'{-n,--name=}'[Name]:name: '`.
fn spec(option: &Opt) -> String {
    let long = match option.takes {
        Takes::Nothing => option.long.to_owned(),
        Takes::One(_) | Takes::Perhaps(_) => format!("{}=", option.long),
    };
    let repeat = if option.adds_up { "*" } else { "" };
    let names = match option.short {
        Some(short) if option.adds_up => format!("'*'{{{short},{long}}}'"),
        Some(short) => format!("'({short} {})'{{{short},{long}}}'", option.long),
        None => format!("'{repeat}{long}"),
    };
    let value = option.value_of().map(|value| {
        let colon = if matches!(option.takes, Takes::Perhaps(_)) { "::" } else { ":" };
        let action = match value.kind {
            ValueKind::Text => " ".to_owned(),
            ValueKind::OneOf(values) => format!("({})", values.join(" ")),
            ValueKind::File => "_files".to_owned(),
            ValueKind::Directory => "_files -/".to_owned(),
        };
        format!("{colon}{}:{action}", quoted(value.name))
    });
    format!("    {names}[{}]{}' \\\n", quoted(option.help), value.unwrap_or_default())
}

fn quoted(text: &str) -> String {
    text.chars().fold(String::new(), |mut quoted, c| {
        match c {
            '\'' => quoted.push_str("'\\''"),
            '\\' | '[' | ']' | ':' => quoted.extend(['\\', c]),
            _ => quoted.push(c),
        }
        quoted
    })
}
