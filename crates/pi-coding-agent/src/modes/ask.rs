//! Questions before a run, on standard error, answered by a line of standard input.
//!
//! Asked only where both are terminals: piped input is a prompt, not an answer.

use std::io::{self, BufRead, Write};

use pi_agent::session_dir::Found;

use super::{complain, without_controls};
use crate::cli::Terminals;
use crate::error::{AppError, Context, ErrorKind};

/// Whether a session of another directory is to be forked into this one. Nobody who could say so:
/// no.
///
/// # Errors
/// The terminal fails.
pub(crate) fn whether_to_fork(found: &Found, terminals: Terminals) -> Result<bool, AppError> {
    complain(&format!("Session found in different project: {}", found.header.cwd));
    if !terminals.stdin || !terminals.stderr {
        complain(&format!(
            "Nothing was done. To go on with a copy of it here: pi --fork {}",
            found.header.id
        ));
        return Ok(false);
    }
    let question = "Fork this session into current directory?";
    confirm(question, &mut io::stdin().lock(), &mut io::stderr().lock())
        .context(ErrorKind::Internal, || "Cannot ask on the terminal")
}

/// Asks a question whose answer is no unless it is `y` or `yes`. So is the end of the input.
fn confirm(question: &str, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<bool> {
    write!(output, "{} [y/N] ", without_controls(question))?;
    output.flush()?;
    let mut answer = String::new();
    if input.read_line(&mut answer)? == 0 {
        writeln!(output)?;
    }
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_is_yes() {
        for (answer, expected) in [
            ("y\n", true),
            (" YES \n", true),
            ("y", true),
            ("n\n", false),
            ("\n", false),
            ("", false),
            ("yesterday\n", false),
            ("n\ny\n", false),
        ] {
            let mut shown = Vec::new();
            let said = confirm("Really?", &mut answer.as_bytes(), &mut shown).unwrap();
            assert_eq!(said, expected, "{answer:?}");
            let end = if answer.is_empty() { "\n" } else { "" };
            assert_eq!(String::from_utf8(shown).unwrap(), format!("Really? [y/N] {end}"));
        }
    }

    #[test]
    fn no_more_than_the_answer_is_read() {
        let mut input: &[u8] = b"y\nrest";
        assert!(confirm("Really?", &mut input, &mut Vec::new()).unwrap());
        assert_eq!(input, b"rest");
    }
}
