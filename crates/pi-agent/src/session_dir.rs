//! Directories of sessions: where session files lie, and what is done with them as files.
//!
//! Owns: the folders and names of session files, beginning and finding sessions there, lists of
//! them, searches, forks and copies from file to file, renaming and deletion. Never: knows how a
//! session is read or written; that is [`crate::session`], which knows nothing of directories.

mod delete;
mod folder;
mod fork;
pub mod list;
mod locate;
mod new_file;
mod rename;
pub mod search;
pub mod threads;
mod transfer;

use std::path::{Path, PathBuf};

pub use delete::{DeleteError, Deleted, delete};
pub use fork::ForkFile;
pub use list::{ListOptions, Progress, Scope, SessionInfo};
pub use locate::{Found, Newest};
pub use rename::rename;
pub use transfer::{TransferError, export, unquoted};

use crate::session::{Header, Session, SessionError, SessionStorage};
use new_file::NewFile;

/// A place sessions are kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionDir {
    /// One folder per working directory below this root.
    PerProject(PathBuf),
    /// All files in this one folder, as the user chose it.
    Flat(PathBuf),
}

impl SessionDir {
    /// A session of `cwd` whose file appears here with its first user or assistant message. `parent`
    /// is the file it was started from.
    ///
    /// When another process makes a file for the same id and directory first, this session joins it
    /// there, on a branch of its own.
    ///
    /// # Errors
    /// The id breaks the rule of [`crate::session::check_session_id`].
    pub fn create(
        &self,
        cwd: &Path,
        id: String,
        parent: Option<&Path>,
    ) -> Result<Session, SessionError> {
        let header = Header::new(cwd, id, parent);
        let storage = self.storage_for(&header);
        Session::with_storage(header, storage)
    }

    /// What keeps a new session with this header: a file that is made with the first text it gets.
    /// When another process makes one with the same id for the same directory first, this becomes
    /// that one.
    pub fn storage_for(&self, header: &Header) -> Box<dyn SessionStorage> {
        Box::new(NewFile::new(self.for_cwd(Path::new(&header.cwd)), header))
    }

    /// The folder that new sessions of `cwd` go to.
    pub fn for_cwd(&self, cwd: &Path) -> PathBuf {
        match self {
            Self::PerProject(root) => root.join(encode_cwd(cwd)),
            Self::Flat(dir) => dir.clone(),
        }
    }

    /// The folders sessions lie in, each once even when links lead to it too.
    fn folders(&self) -> Vec<PathBuf> {
        match self {
            Self::PerProject(root) => folder::folders(root),
            Self::Flat(dir) => vec![dir.clone()],
        }
    }
}

/// The folder name of a working directory: `/home/u/a b` gives `--home-u-a b--`. Several
/// directories may share one name, so the header decides.
fn encode_cwd(cwd: &Path) -> String {
    let text = cwd.to_string_lossy();
    let inner = text.strip_prefix(['/', '\\']).unwrap_or(&text);
    format!("--{}--", inner.replace(['/', '\\', ':'], "-"))
}

#[cfg(test)]
mod tests;
