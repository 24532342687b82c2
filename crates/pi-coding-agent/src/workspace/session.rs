//! Opening the session somebody asks for.

use std::path::{Path, PathBuf};

use pi_agent::session::{
    Found, Session, SessionDir, SessionError, looks_like_path, new_session_id,
};

use super::{SessionFlags, SessionSource};
use crate::env::Env;
use crate::error::{AppError, Warning};
use crate::warnings::Warnings;

/// Where sessions are kept: `--session-dir`, else the environment, else the settings, else a folder
/// per project in the agent directory.
pub(super) fn directory(
    choice: &SessionFlags,
    setting: Option<&str>,
    env: &Env,
    cwd: &Path,
) -> SessionDir {
    let chosen = choice.directory.as_deref().map(|dir| env.resolve_path(cwd, dir));
    let chosen = chosen.or_else(|| env.session_dir().map(|dir| cwd.join(dir)));
    let chosen = chosen.or_else(|| setting.map(|dir| env.resolve_path(cwd, dir)));
    match chosen {
        Some(dir) => SessionDir::Flat(dir),
        None => SessionDir::PerProject(env.agent_dir().join("sessions")),
    }
}

/// Opens or makes the session; a new one belongs to `cwd`.
///
/// # Errors
/// It does not exist, is no session, cannot be read, or belongs to a directory that is gone.
pub(super) fn open(
    choice: &SessionFlags,
    dir: &SessionDir,
    env: &Env,
    cwd: &Path,
    warnings: &Warnings,
) -> Result<Session, AppError> {
    let id = match &choice.source {
        SessionSource::Exact(id) => Some(id.clone()),
        SessionSource::New | SessionSource::Newest | SessionSource::Find(_) => None,
    };
    if choice.in_memory {
        let id = id.unwrap_or_else(new_session_id);
        return Session::in_memory(cwd, id).map_err(|error| failed(&error));
    }
    let create =
        |id| Session::create(&dir.for_cwd(cwd), cwd, id, None).map_err(|error| failed(&error));
    match &choice.source {
        SessionSource::New => create(new_session_id()),
        SessionSource::Newest => {
            let newest = dir.newest(cwd);
            warnings.extend(newest.damaged.iter().map(|path| damaged(path)));
            match newest.found {
                Some(found) => open_file(&found.path, cwd, warnings),
                None => create(new_session_id()),
            }
        }
        SessionSource::Exact(id) => match dir.by_exact_id(id, cwd) {
            Some(found) => open_file(&found.path, cwd, warnings),
            None => {
                warnings.push(Warning::new(format!("Session \"{id}\" is new")));
                create(id.clone())
            }
        },
        SessionSource::Find(text) => find(text, dir, env, cwd, warnings),
    }
}

/// A path or an id. A path that does not exist yet becomes a new session there.
fn find(
    text: &str,
    dir: &SessionDir,
    env: &Env,
    cwd: &Path,
    warnings: &Warnings,
) -> Result<Session, AppError> {
    let path: PathBuf = env.resolve_path(cwd, text);
    if path.is_file() {
        return open_file(&path, cwd, warnings);
    }
    if looks_like_path(text) {
        return Session::create_at(path, cwd, new_session_id()).map_err(|error| failed(&error));
    }
    match dir.by_id(text, cwd).as_slice() {
        [] => Err(AppError::user(format!("No session found matching '{text}'"))),
        [found] if found.is_here => open_file(&found.path, cwd, warnings),
        [found] => Err(AppError::user(format!(
            "Session {} belongs to another directory: {}",
            found.header.id, found.header.cwd
        ))
        .with_hint(format!(
            "Run pi there, or name the file: pi --session {}",
            found.path.display()
        ))),
        several => Err(AppError::user(format!("'{text}' matches {} sessions", several.len()))
            .with_hint(format!("Give more of the id:{}", listed(several)))),
    }
}

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

fn open_file(path: &Path, cwd: &Path, warnings: &Warnings) -> Result<Session, AppError> {
    let (session, diagnostics) = Session::open(path, cwd).map_err(|error| failed(&error))?;
    warnings.extend(diagnostics.iter().map(|diagnostic| Warning::new(diagnostic.to_string())));
    if session.cwd().is_dir() {
        return Ok(session);
    }
    Err(AppError::user(format!(
        "The directory of this session is gone: {}",
        session.cwd().display()
    ))
    .with_hint(format!(
        "Session file: {}\nCurrent directory: {}",
        path.display(),
        cwd.display()
    )))
}

fn failed(error: &SessionError) -> AppError {
    AppError::user(error.to_string())
}
