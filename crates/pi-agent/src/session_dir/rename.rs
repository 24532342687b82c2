//! Naming a session that nobody has open here.

use std::path::Path;

use super::locate::read_header;
use crate::session::{EntryBody, Session, SessionError, clean_name};

/// Gives the session in a file another name; a blank one clears it. When it was last active does not
/// change by that.
///
/// # Errors
/// The file is no session, or cannot be read or written.
pub fn rename(path: &Path, name: &str) -> Result<(), SessionError> {
    // An empty file would become a session when it is opened.
    let header =
        read_header(path).ok_or_else(|| SessionError::NotASession { path: path.into() })?;
    let (mut session, _) = Session::open(path, Path::new(&header.cwd))?;
    let name = Some(clean_name(name)).filter(|name| !name.is_empty());
    session.append(EntryBody::SessionInfo { name })?;
    Ok(())
}
