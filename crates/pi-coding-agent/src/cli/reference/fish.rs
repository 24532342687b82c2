//! Completions for fish.

use super::super::options::{Opt, Takes, ValueKind};

pub(super) fn completions() -> String {
    let lines: String = super::offered().map(line).collect();
    format!("{HEAD}{lines}")
}

const HEAD: &str = r#"# fish completion for pi

function __pi_at_files
    set -l path (string sub -s 2 -- (commandline -ct))
    for file in (__fish_complete_path "$path")
        echo "@$file"
    end
end

complete -c pi -f
complete -c pi -n 'string match -q -- "@*" (commandline -ct)' -a '(__pi_at_files)'
"#;

fn line(option: &Opt) -> String {
    let long = option.long.trim_start_matches('-');
    let short = option.short.map(|short| short.trim_start_matches('-'));
    let short = match short {
        Some(letters) if letters.chars().count() > 1 => format!(" -o {letters}"),
        Some(letter) => format!(" -s {letter}"),
        None => String::new(),
    };
    let value = match (option.takes, option.value_of().map(|value| value.kind)) {
        // What may be left out must not be asked for.
        (Takes::Nothing | Takes::Perhaps(_), _) | (Takes::One(_), None) => String::new(),
        (Takes::One(_), Some(ValueKind::Text)) => " -x".to_owned(),
        (Takes::One(_), Some(ValueKind::OneOf(values))) => format!(" -x -a '{}'", values.join(" ")),
        (Takes::One(_), Some(ValueKind::File)) => " -r -F".to_owned(),
        (Takes::One(_), Some(ValueKind::Directory)) => {
            " -x -a '(__fish_complete_directories)'".to_owned()
        }
    };
    let help = option.help.replace('\\', "\\\\").replace('\'', "\\'");
    format!("complete -c pi{short} -l {long}{value} -d '{help}'\n")
}
