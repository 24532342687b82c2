//! What is wrong with skills and prompt templates.

use std::fmt;
use std::path::PathBuf;

use super::skills::{MAX_DESCRIPTION, MAX_NAME};

/// Something about a skill or a prompt template that people should know. Whatever else there was
/// to load is loaded all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceDiagnostic {
    /// The file or directory it is about.
    pub path: PathBuf,
    /// From one; `None` when it concerns the file as a whole.
    pub line: Option<usize>,
    pub problem: ResourceProblem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceProblem {
    /// There is no such file or directory.
    Missing,
    /// A path given by name is of nothing that could be loaded.
    NotMarkdown,
    /// Holds the system's words.
    Unreadable(String),
    /// Front matter that is no YAML; holds the parser's words. Not loaded.
    FrontMatter(String),
    /// Of a skill. Not loaded.
    NoDescription,
    /// Of a skill, in characters.
    DescriptionTooLong(usize),
    /// Of a skill, in characters.
    NameTooLong(usize),
    NameCharacters,
    NameEndsInHyphen,
    NameDoublesHyphen,
    /// Another one has the name. Not loaded.
    Collision {
        name: String,
        /// The file that has it.
        winner: PathBuf,
    },
}

impl ResourceDiagnostic {
    pub(super) fn new(path: impl Into<PathBuf>, problem: ResourceProblem) -> Self {
        Self { path: path.into(), line: None, problem }
    }

    pub(super) fn at(mut self, line: Option<usize>) -> Self {
        self.line = line;
        self
    }
}

impl ResourceProblem {
    /// Whether something that was meant to be there is not, other than for another one of its name.
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            Self::Missing
                | Self::NotMarkdown
                | Self::Unreadable(_)
                | Self::FrontMatter(_)
                | Self::NoDescription
        )
    }
}

impl fmt::Display for ResourceDiagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

impl fmt::Display for ResourceProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("no such file or directory"),
            Self::NotMarkdown => f.write_str("not a Markdown file (.md)"),
            Self::Unreadable(cause) => write!(f, "could not be read ({cause})"),
            Self::FrontMatter(cause) => write!(f, "the front matter is no YAML ({cause})"),
            Self::NoDescription => f.write_str("description is required"),
            Self::DescriptionTooLong(length) => {
                write!(f, "the description is longer than {MAX_DESCRIPTION} characters ({length})")
            }
            Self::NameTooLong(length) => {
                write!(f, "the name is longer than {MAX_NAME} characters ({length})")
            }
            Self::NameCharacters => f.write_str("the name may have only a-z, 0-9 and hyphens"),
            Self::NameEndsInHyphen => f.write_str("the name begins or ends with a hyphen"),
            Self::NameDoublesHyphen => f.write_str("the name has two hyphens in a row"),
            Self::Collision { name, winner } => {
                write!(f, "skipped, as {} is named \"{name}\" already", winner.display())
            }
        }
    }
}
