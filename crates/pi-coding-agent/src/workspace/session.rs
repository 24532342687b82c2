//! Opening the session somebody asks for.

use std::path::{Path, PathBuf};

use pi_agent::session::{Diagnostic, Problem, Session, new_session_id};
use pi_agent::session_dir::{ForkFile, Found, SessionDir};

use super::{SessionFlags, SessionSource};
use crate::env::Env;
use crate::error::{AppError, Warning};
use crate::nearest;
use crate::warnings::Warnings;

/// Where sessions are kept: `--session-dir`, else the environment, else the settings, else a folder
/// per project in the agent directory.
pub(super) fn directory(
    choice: &SessionFlags,
    setting: Option<&str>,
    env: &Env,
    cwd: &Path,
) -> SessionDir {
    // An empty one comes of a variable that is not set.
    let chosen = choice.directory.as_deref().filter(|dir| !dir.trim().is_empty());
    let chosen = chosen.map(|dir| env.resolve_path(cwd, dir));
    let chosen = chosen.or_else(|| env.session_dir().map(|dir| cwd.join(dir)));
    let chosen = chosen.or_else(|| setting.map(|dir| env.resolve_path(cwd, dir)));
    match chosen {
        Some(dir) => SessionDir::Flat(dir),
        None => SessionDir::PerProject(env.agent_dir().join("sessions")),
    }
}

/// What the words for a session lead to.
#[derive(Debug)]
pub enum FoundSession {
    /// It is open.
    Ready(Box<Session>),
    /// Its id was found, but it belongs to another directory: somebody has to say what they want.
    /// It can be forked, with [`SessionSource::Fork`] and its path.
    Elsewhere(Box<Found>),
}

impl FoundSession {
    fn ready_with(session: Session) -> Self {
        Self::Ready(Box::new(session))
    }

    /// The session, if there is nothing to ask.
    ///
    /// # Errors
    /// There is.
    pub(super) fn ready(self) -> Result<Session, AppError> {
        match self {
            Self::Ready(session) => Ok(*session),
            Self::Elsewhere(found) => Err(AppError::user(format!(
                "Session {} belongs to another directory: {}",
                found.header.id, found.header.cwd
            ))
            .with_hint(format!(
                "Run pi there, or name the file: pi --session {}",
                found.path.display()
            ))),
        }
    }
}

/// Opens, forks or makes the session; a new one belongs to `cwd`.
///
/// # Errors
/// It does not exist, is no session, cannot be read, or belongs to a directory that is gone.
pub(super) fn open(
    choice: &SessionFlags,
    dir: &SessionDir,
    env: &Env,
    cwd: &Path,
    warnings: &Warnings,
) -> Result<FoundSession, AppError> {
    let place = Place { dir, env, cwd, warnings };
    let id = match &choice.source {
        SessionSource::Exact(id) => Some(id.clone()),
        SessionSource::New
        | SessionSource::Newest
        | SessionSource::Find(_)
        | SessionSource::Fork { .. } => None,
    };
    let session = if choice.in_memory {
        let id = id.unwrap_or_else(new_session_id);
        Session::in_memory(cwd, id).map_err(|error| failed(&error))
    } else {
        match &choice.source {
            SessionSource::New => place.create(new_session_id()),
            SessionSource::Newest => place.newest(),
            SessionSource::Exact(id) => place.exact(id),
            SessionSource::Find(text) => return place.find(text),
            SessionSource::Fork { source, id } => place.fork(source, id.clone()),
        }
    };
    session.map(FoundSession::ready_with)
}

/// What a word for a session means.
enum Named {
    /// A file, which may not be there yet.
    Path(PathBuf),
    Id(Box<Found>),
}

/// Whether somebody who wrote `text`, which leads to `path`, meant a file and not an id.
fn is_path(text: &str, path: &Path) -> bool {
    text.contains(['/', '\\']) || text.ends_with(".jsonl") || path.exists()
}

/// Where sessions are looked for and made.
struct Place<'a> {
    dir: &'a SessionDir,
    env: &'a Env,
    cwd: &'a Path,
    warnings: &'a Warnings,
}

impl Place<'_> {
    fn create(&self, id: String) -> Result<Session, AppError> {
        self.dir.create(self.cwd, id, None).map_err(|error| failed(&error))
    }

    fn newest(&self) -> Result<Session, AppError> {
        let newest = self.dir.newest(self.cwd);
        self.warnings.extend(newest.damaged.iter().map(|path| damaged(path)));
        match newest.found {
            Some(found) => self.open_file(&found.path),
            None => self.create(new_session_id()),
        }
    }

    fn exact(&self, id: &str) -> Result<Session, AppError> {
        match self.dir.by_exact_id(id, self.cwd) {
            Some(found) => self.open_file(&found.path),
            None => {
                self.warnings.push(Warning::new(format!("Session \"{id}\" is new")));
                self.create(id.to_owned())
            }
        }
    }

    /// A path or an id. A path that does not exist yet becomes a new session there.
    fn find(&self, text: &str) -> Result<FoundSession, AppError> {
        let session = match self.named(text)? {
            Named::Path(path) if path.exists() => self.open_file(&path),
            Named::Path(path) => {
                Session::create(&path, self.cwd, new_session_id()).map_err(|error| failed(&error))
            }
            Named::Id(found) if !found.is_here => return Ok(FoundSession::Elsewhere(found)),
            Named::Id(found) => self.open_file(&found.path),
        };
        session.map(FoundSession::ready_with)
    }

    /// A path or an id, of any directory; everything in it goes to a new session of this one.
    fn fork(&self, text: &str, id: Option<String>) -> Result<Session, AppError> {
        let source = match self.named(text)? {
            Named::Path(path) => path,
            Named::Id(found) => found.path,
        };
        let id = id.unwrap_or_else(new_session_id);
        let (session, diagnostics) = self
            .dir
            .fork_file(&source, self.cwd, id, ForkFile::WithNextMessage)
            .map_err(|error| failed(&error))?;
        self.tell(&diagnostics);
        Ok(session)
    }

    fn named(&self, text: &str) -> Result<Named, AppError> {
        let path = self.env.resolve_path(self.cwd, text);
        match is_path(text, &path) {
            true => Ok(Named::Path(path)),
            false => Ok(Named::Id(Box::new(self.by_id(text)?))),
        }
    }

    /// The one session with this id or beginning of one.
    fn by_id(&self, text: &str) -> Result<Found, AppError> {
        let mut found = self.dir.by_id(text, self.cwd);
        match (found.pop(), found.as_slice()) {
            (None, _) => Err(AppError::user(format!("No session found matching '{text}'"))
                .with_optional_hint(self.like_id(text))),
            (Some(found), []) => Ok(found),
            (Some(last), _) => {
                found.push(last);
                Err(AppError::user(format!("'{text}' matches {} sessions", found.len()))
                    .with_hint(format!("Give more of the id:{}", listed(&found))))
            }
        }
    }

    /// A hint with ids that begin nearly like `text`. Its first two characters are taken to be right:
    /// ids begin with the time, so most of them share those anyway.
    fn like_id(&self, text: &str) -> Option<String> {
        let length = text.chars().count();
        let found = self.dir.by_id(text.get(..2)?, self.cwd);
        let beginning = |found: &Found| found.header.id.chars().take(length).collect();
        let beginnings: Vec<String> = found.iter().map(beginning).collect();
        nearest::did_you_mean(&nearest::words(text, beginnings.iter().map(String::as_str)))
    }

    fn tell(&self, diagnostics: &[Diagnostic]) {
        let told = diagnostics.iter().take(MAX_TOLD);
        self.warnings.extend(told.map(|problem| Warning::new(problem.to_string())));
        if diagnostics.len() > MAX_TOLD {
            let more = diagnostics.len() - MAX_TOLD;
            self.warnings.push(Warning::new(format!("{more} more problems in the same file")));
        }
    }

    fn open_file(&self, path: &Path) -> Result<Session, AppError> {
        let (session, mut diagnostics) =
            Session::open(path, self.cwd).map_err(|error| failed(&error))?;
        // Half a line of a writer that was cut off was never acknowledged, and stays in the file:
        // nothing is lost by it.
        diagnostics.retain(|found| found.problem != Problem::TornLine);
        self.tell(&diagnostics);
        if session.cwd().is_dir() {
            return Ok(session);
        }
        Err(AppError::user(format!(
            "The directory of this session is gone: {}",
            session.cwd().display()
        ))
        .with_hint(format!(
            "Session file: {0}\nCurrent directory: {1}\nTo go on here with a copy: pi --fork {0}",
            path.display(),
            self.cwd.display()
        )))
    }
}

/// Most problems of one file that are told one by one.
const MAX_TOLD: usize = 5;

fn damaged(path: &Path) -> Warning {
    Warning::new(format!("Not continued, its first line is damaged: {}", path.display()))
}

/// Most sessions named when an id is ambiguous.
const MAX_LISTED: usize = 10;

fn listed(several: &[Found]) -> String {
    let mut lines: String =
        several.iter().take(MAX_LISTED).map(|found| format!("\n  {}", found.header.id)).collect();
    if several.len() > MAX_LISTED {
        lines.push_str("\n  ...");
    }
    lines
}

fn failed(error: &dyn std::error::Error) -> AppError {
    AppError::user(error.to_string())
}
