//! A session as one HTML page that needs nothing else: no network, no other file.
//!
//! Owns: what the page holds, how it looks and what runs in it. Never: parses an entry (their text is
//! copied, the page reads it), decides which session or theme, or prints.

mod html;
mod place;
mod style;

use std::io;
use std::path::{Path, PathBuf};

use pi_agent::Session;
use pi_agent::session::{Diagnostic, Problem};

use crate::themes::ThemeChoice;

pub use html::to_html;

/// What a page is told beside the session.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    pub theme: ThemeChoice,
    /// Lines of the session that could not be read; the page says so.
    pub unreadable: usize,
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error("Nothing to export yet - start a conversation first")]
    Empty,
    #[error("A session cannot be exported over its own file: {}", path.display())]
    OwnFile { path: PathBuf },
    #[error("Cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Writes the page to `path`, whose folder must be there. What is at `path` is replaced, completely or
/// not at all.
///
/// # Errors
/// It is the session's own file, or cannot be written.
pub fn write_html(
    session: &Session,
    options: &ExportOptions,
    path: &Path,
) -> Result<(), ExportError> {
    refuse_own_file(session.path(), path)?;
    put(path, |out| to_html(session, options, out))
}

/// Like [`write_html`], for a page that was made already.
pub(crate) fn write_page(page: &[u8], path: &Path) -> Result<(), ExportError> {
    put(path, |out| out.write_all(page))
}

/// # Errors
/// `path` leads to the file the session is kept in.
pub(crate) fn refuse_own_file(own: Option<&Path>, path: &Path) -> Result<(), ExportError> {
    if own.is_some_and(|own| place::is_same_file(own, path)) {
        return Err(ExportError::OwnFile { path: path.to_owned() });
    }
    Ok(())
}

/// `pi-session-<name of the session's file>.html`, or with its id while it has no file.
pub fn default_name(session: &Session) -> String {
    let stem = session.path().and_then(Path::file_stem);
    let stem = stem.map_or(session.id().into(), |stem| stem.to_string_lossy());
    format!("pi-session-{stem}.html")
}

/// How many of the problems are lines that are left out.
pub fn unreadable_lines(diagnostics: &[Diagnostic]) -> usize {
    let is_line = |found: &&Diagnostic| {
        matches!(found.problem, Problem::MalformedLine(_) | Problem::TornLine)
    };
    diagnostics.iter().filter(is_line).count()
}

fn put(
    path: &Path,
    write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> Result<(), ExportError> {
    place::put(path, write).map_err(|source| ExportError::Write { path: path.to_owned(), source })
}
