//! The manual page, `pi(1)`.

use std::fmt::Write as _;

use super::super::options::{Opt, Takes};
use super::{CONFIGURATION, EXAMPLES, POSITIONALS, SUMMARY};

pub(in crate::cli) fn man_page() -> String {
    let mut page = format!(
        ".TH PI 1\n.SH NAME\npi \\- {}\n.SH SYNOPSIS\n.B pi\n[\\fIoptions\\fR] [\\-\\-] \
         [\\fB@\\fIfile\\fR ...] [\\fImessage\\fR ...]\n.SH DESCRIPTION\n",
        escaped(SUMMARY)
    );
    page.push_str(&paragraph(DESCRIPTION));
    for (form, meaning) in POSITIONALS {
        _ = write!(page, ".TP\n.B {}\n{}", escaped(form), paragraph(meaning));
    }
    page.push_str(".SH OPTIONS\n");
    page.push_str(&paragraph(RULES));
    for (title, options) in super::working() {
        _ = writeln!(page, ".SS {}", escaped(title));
        for option in options {
            _ = write!(page, ".TP\n{}\n{}", usage(option), paragraph(option.help));
        }
    }
    page.push_str(".SS Without effect\n");
    page.push_str(&paragraph("Accepted, as this build has nothing they could change:"));
    page.push_str(&list(&super::without_effect()));
    page.push_str(".SS Refused\n");
    page.push_str(&paragraph("This build does not have their feature yet:"));
    page.push_str(&list(&super::missing()));
    page.push_str(".SH EXIT STATUS\n");
    for (code, meaning) in EXITS {
        _ = write!(page, ".TP\n.B {code}\n{}", paragraph(meaning));
    }
    page.push_str(".SH FILES\n");
    page.push_str(&paragraph(CONFIGURATION));
    page.push_str(".SH EXAMPLES\n.nf\n");
    for example in EXAMPLES {
        _ = writeln!(page, "{}", escaped(example));
    }
    page.push_str(".fi\n");
    page
}

const DESCRIPTION: &str = "pi gives a prompt to a language model, lets it work with tools in the current \
                           directory, and shows its last answer. Every conversation is kept and can be \
                           continued. Tools run with the rights of the user, without a sandbox.";

const RULES: &str = "Short options are whole words: -nt is not -n -t. A value is the next argument, \
                     whatever it begins with, or follows = after a long option. Of a repeated option \
                     the last one counts, unless it says otherwise.";

const EXITS: [(&str, &str); 5] = [
    (
        "0",
        "The last answer is complete, or there was nothing to do. In JSON mode: all prompts were settled.",
    ),
    (
        "1",
        "The run could not begin; or, in print mode, the last answer failed or was cut at the output limit.",
    ),
    ("129", "Ended by SIGHUP."),
    ("130", "Ended by SIGINT, as a shell shows it."),
    ("143", "Ended by SIGTERM."),
];

fn usage(option: &Opt) -> String {
    let names: Vec<String> =
        option.spellings().map(|name| format!("\\fB{}\\fR", escaped(name))).collect();
    let names = names.join(", ");
    match option.takes {
        Takes::Nothing => names,
        Takes::One(value) => format!("{names} \\fI{}\\fR", escaped(value.name)),
        Takes::Perhaps(value) => format!("{names} [\\fI{}\\fR]", escaped(value.name)),
    }
}

fn list(items: &[String]) -> String {
    let lines = items.iter().map(|item| format!("{}\n.br\n", escaped(item)));
    format!(".PP\n{}", lines.collect::<String>())
}

fn paragraph(text: &str) -> String {
    format!("{}\n", escaped(text))
}

/// A dash that can be searched for and copied, and no request by accident.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
