//! The one error a user gets to see, and the one kind of warning.
//!
//! Owns: how failures read on standard error. Never: prints or ends the process.

use std::error::Error;
use std::fmt;
use std::process::ExitCode;

type Source = Box<dyn Error + Send + Sync>;

/// A failure that ends the run.
#[derive(Debug)]
pub struct AppError {
    pub kind: ErrorKind,
    pub message: String,
    /// What to do about it, on a line of its own.
    pub hint: Option<String>,
    source: Option<Source>,
}

/// Whose turn it is to act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The command line asks for something impossible.
    User,
    /// A file of the configuration is wrong.
    Config,
    /// pi or the machine failed.
    Internal,
}

impl AppError {
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::User, message)
    }

    pub fn config(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Config, message)
    }

    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, source: None }
    }

    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        self.with_optional_hint(Some(hint.into()))
    }

    #[must_use]
    pub fn with_optional_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint;
        self
    }

    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// What goes to standard error, without the last newline: `Error: `, the message, every cause
    /// after a colon unless the words before it end with it, and the hint below.
    pub fn report(&self) -> String {
        let mut text = format!("Error: {}", self.message);
        let mut cause = self.source();
        while let Some(error) = cause {
            let words = error.to_string();
            if !text.ends_with(&words) {
                text.push_str(": ");
                text.push_str(&words);
            }
            cause = error.source();
        }
        if let Some(hint) = &self.hint {
            text.push('\n');
            text.push_str(hint);
        }
        text
    }

    /// Every failure of this type ends the process with 1.
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::FAILURE
    }
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for AppError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| -> &(dyn Error + 'static) { source.as_ref() })
    }
}

/// Turns any error into an [`AppError`] that says what was being done.
pub trait Context<T> {
    /// # Errors
    /// The error of `self`, as the cause of the new message.
    fn context<M: Into<String>>(
        self,
        kind: ErrorKind,
        message: impl FnOnce() -> M,
    ) -> Result<T, AppError>;
}

impl<T, E: Into<Source>> Context<T> for Result<T, E> {
    fn context<M: Into<String>>(
        self,
        kind: ErrorKind,
        message: impl FnOnce() -> M,
    ) -> Result<T, AppError> {
        self.map_err(|error| AppError::new(kind, message()).with_source(error))
    }
}

/// Something odd that does not stop the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning(pub String);

impl Warning {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Warning: {}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_has_the_message_the_causes_and_the_hint() {
        let io = std::io::Error::other("disk on fire");
        let result: Result<(), _> = Err(io);
        let error = result.context(ErrorKind::Internal, || "Could not read x").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Internal);
        assert_eq!(error.to_string(), "Could not read x");
        assert_eq!(error.report(), "Error: Could not read x: disk on fire");
        assert_eq!(
            AppError::user("No").with_hint("Say yes.").report(),
            "Error: No\nSay yes.",
            "the hint has its own line"
        );
    }

    #[test]
    fn a_cause_its_error_already_tells_is_not_told_twice() {
        #[derive(Debug, thiserror::Error)]
        #[error("Cannot write x: {source}")]
        struct Write {
            source: std::io::Error,
        }
        let result: Result<(), _> = Err(Write { source: std::io::Error::other("disk full") });
        let error = result.context(ErrorKind::Internal, || "Stopped").unwrap_err();
        assert_eq!(error.report(), "Error: Stopped: Cannot write x: disk full");
    }

    #[test]
    fn every_error_exits_with_one() {
        for error in [AppError::user(""), AppError::config("")] {
            assert_eq!(format!("{:?}", error.exit_code()), format!("{:?}", ExitCode::from(1)));
        }
    }

    #[test]
    fn warnings_name_themselves() {
        assert_eq!(Warning::new("odd").to_string(), "Warning: odd");
    }
}
