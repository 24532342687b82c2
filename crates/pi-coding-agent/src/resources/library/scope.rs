//! Where the project's and the user's own skills and templates may lie.

use std::path::{Path, PathBuf};

use super::{LibrarySources, ResourceLists};
use crate::resources::source_info::ResourceScope;

/// The project's or the user's places.
pub(super) struct Scope<'a> {
    pub(super) owner: ResourceScope,
    /// Of the settings file and of the folders beside it.
    pub(super) dir: Option<&'a Path>,
    pub(super) entries: ResourceLists<'a>,
    /// Directories several programs share, the nearest first.
    pub(super) shared: Vec<PathBuf>,
}

/// The project's come first.
pub(super) fn scopes<'a>(sources: &LibrarySources<'a>) -> Vec<Scope<'a>> {
    let of_home = sources.env.home().join(".agents");
    let project = sources.project.map(|project| Scope {
        owner: ResourceScope::Project,
        dir: project.dir,
        entries: project.settings,
        shared: shared_above(sources.cwd).into_iter().filter(|dir| *dir != of_home).collect(),
    });
    let user = Scope {
        owner: ResourceScope::User,
        dir: Some(sources.agent_dir),
        entries: sources.settings,
        shared: vec![of_home.clone()],
    };
    project.into_iter().chain([user]).collect()
}

/// `.agents` of a directory and of those above it, up to the repository's.
fn shared_above(cwd: &Path) -> Vec<PathBuf> {
    let mut dirs = Vec::new();
    for dir in cwd.ancestors() {
        dirs.push(dir.join(".agents"));
        if dir.join(".git").exists() {
            break;
        }
    }
    dirs
}
