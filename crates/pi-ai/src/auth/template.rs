//! Values in configuration files that may refer to something else.
//!
//! `$NAME` and `${NAME}` stand for variables, `$$` for `$`, `$!` for `!`; a leading `!` makes the rest
//! a command whose output is the value. Anything else is itself.

use std::fmt;

use super::{CommandError, CommandRunner, Environment, Secret};

/// A parsed value. `Debug` hides it, as a literal may be a key.
#[derive(Clone, PartialEq, Eq)]
pub struct Template(Form);

#[derive(Clone, PartialEq, Eq)]
enum Form {
    Command(String),
    Text(Vec<Piece>),
}

#[derive(Clone, PartialEq, Eq)]
enum Piece {
    Literal(String),
    Variable(String),
}

/// Why a template has no value. Holds names, never values.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Unresolved {
    #[error("{} not set", variables(.0))]
    Variables(Vec<String>),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error("the value is empty")]
    Empty,
}

impl Template {
    /// Every text is a template.
    pub fn parse(text: &str) -> Self {
        match text.strip_prefix('!') {
            Some(command) => Self(Form::Command(command.to_owned())),
            None => Self(Form::Text(pieces(text))),
        }
    }

    /// Whether a command has to run for the value.
    pub fn is_command(&self) -> bool {
        matches!(self.0, Form::Command(_))
    }

    /// The value. Output of a command is trimmed.
    ///
    /// # Errors
    /// A variable is unset, the command failed, or the value is empty.
    pub fn resolve(
        &self,
        environment: &Environment,
        commands: &dyn CommandRunner,
    ) -> Result<Secret, Unresolved> {
        let value = match &self.0 {
            Form::Command(command) => {
                commands.run(command, environment)?.expose().trim().to_owned()
            }
            Form::Text(pieces) => substitute(pieces, environment)?,
        };
        if value.is_empty() {
            return Err(Unresolved::Empty);
        }
        Ok(Secret::new(value))
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_command() { "Template(command)" } else { "Template([redacted])" })
    }
}

fn substitute(pieces: &[Piece], environment: &Environment) -> Result<String, Unresolved> {
    let mut value = String::new();
    let mut unset = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Literal(text) => value.push_str(text),
            Piece::Variable(name) => match environment.get(name) {
                Some(text) => value.push_str(text),
                None => unset.push(name.clone()),
            },
        }
    }
    if unset.is_empty() { Ok(value) } else { Err(Unresolved::Variables(unset)) }
}

fn pieces(text: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut literal = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        literal.push_str(before);
        if let Some((name, tail)) = variable(after) {
            if !literal.is_empty() {
                pieces.push(Piece::Literal(std::mem::take(&mut literal)));
            }
            pieces.push(Piece::Variable(name.to_owned()));
            rest = tail;
        } else if let Some(tail) = after.strip_prefix('$') {
            literal.push('$');
            rest = tail;
        } else if let Some(tail) = after.strip_prefix('!') {
            literal.push('!');
            rest = tail;
        } else {
            literal.push('$');
            rest = after;
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        pieces.push(Piece::Literal(literal));
    }
    pieces
}

/// The variable name after a `$`, and what follows it.
fn variable(text: &str) -> Option<(&str, &str)> {
    if let Some(braced) = text.strip_prefix('{') {
        let (name, tail) = braced.split_once('}')?;
        return is_name(name).then_some((name, tail));
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (name, tail) = text.split_at(end);
    is_name(name).then_some((name, tail))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn variables(names: &[String]) -> String {
    match names {
        [name] => format!("environment variable {name} is"),
        names => format!("environment variables {} are", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::NoCommands;

    #[derive(Debug)]
    struct Echo;

    impl CommandRunner for Echo {
        fn run(&self, command: &str, environment: &Environment) -> Result<Secret, CommandError> {
            match command {
                "fail" => Err(CommandError::Failed { status: "exit status: 3".to_owned() }),
                "nothing" => Ok(Secret::new(" \n")),
                _ => {
                    Ok(Secret::new(format!("  {command}{}\n", environment.get("A").unwrap_or("-"))))
                }
            }
        }
    }

    fn resolve(text: &str) -> Result<String, String> {
        let environment: Environment =
            [("A", "1"), ("LONG_NAME2", "2"), ("EMPTY", "")].into_iter().collect();
        Template::parse(text)
            .resolve(&environment, &Echo)
            .map(|secret| secret.expose().to_owned())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn references_are_put_in() {
        let cases = [
            ("sk-literal", "sk-literal"),
            ("$A", "1"),
            ("${A}", "1"),
            ("pre-$A-post-${LONG_NAME2}$", "pre-1-post-2$"),
            ("$LONG_NAME2x", ""),
            ("${A}x", "1x"),
            ("a-${A}-$$-$!", "a-1-$-!"),
            ("$$A", "$A"),
            ("$!cmd", "!cmd"),
            ("a!b", "a!b"),
            ("$1 $- ${} ${A", "$1 $- ${} ${A"),
            ("é$A", "é1"),
            ("!say", "say1"),
            ("!echo $A $$", "echo $A $$1"),
        ];
        for (text, expected) in cases {
            match expected {
                "" => assert!(resolve(text).is_err(), "{text}"),
                expected => assert_eq!(resolve(text).as_deref(), Ok(expected), "{text}"),
            }
        }
    }

    #[test]
    fn what_cannot_be_resolved_says_why_and_names_no_value() {
        let cases = [
            ("$NOPE", "environment variable NOPE is not set"),
            ("$A $NOPE ${EMPTY}", "environment variables NOPE, EMPTY are not set"),
            ("!fail", "the command failed (exit status: 3)"),
            ("!nothing", "the value is empty"),
            ("", "the value is empty"),
        ];
        for (text, expected) in cases {
            assert_eq!(resolve(text).unwrap_err(), expected, "{text}");
        }
    }

    #[test]
    fn debug_output_hides_literals_and_commands() {
        assert_eq!(format!("{:?}", Template::parse("sk-1")), "Template([redacted])");
        assert_eq!(format!("{:?}", Template::parse("!pass show sk-1")), "Template(command)");
        let error = Template::parse("!x").resolve(&Environment::default(), &NoCommands);
        assert_eq!(error.unwrap_err().to_string(), "commands are not run here");
    }
}
