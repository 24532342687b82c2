//! Finding the files that are templates.

use std::collections::BTreeSet;
use std::path::Path;

use crate::env::{ExecutionEnv, FileKind};
use crate::resources::diagnostic::{ResourceDiagnostic, ResourceProblem};
use crate::resources::files::{self, Entry, ResourceFile};

/// How far a directory is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateDepth {
    /// Only what is directly in it.
    Direct,
    /// Directories in it too, but for dot directories and `node_modules`.
    Nested,
}

/// The `.md` files of a directory in the order of the names, and what could not be searched. A
/// directory that does not exist has none.
pub async fn find_template_files(
    env: &dyn ExecutionEnv,
    directory: &Path,
    depth: TemplateDepth,
) -> (Vec<ResourceFile>, Vec<ResourceDiagnostic>) {
    let mut found = Vec::new();
    let mut diagnostics = Vec::new();
    let mut met = BTreeSet::new();
    let is_wanted = |entry: &Entry| match entry.kind {
        FileKind::File => files::is_markdown(&entry.path),
        FileKind::Directory => depth == TemplateDepth::Nested && is_shown(&entry.path),
        _ => false,
    };
    // The next step is the last.
    let mut steps = vec![(ResourceFile::new(env, directory).await, FileKind::Directory)];
    while let Some((file, kind)) = steps.pop() {
        if kind == FileKind::File {
            found.push(file);
            continue;
        }
        // A link may lead back to where the search came from.
        if !met.insert(file.real_path.clone()) {
            continue;
        }
        match files::list(env, &file.path).await {
            Ok(entries) => {
                for entry in entries.iter().rev().filter(|entry| is_wanted(entry)) {
                    steps.push((file.inside(env, entry).await, entry.kind));
                }
            }
            Err(diagnostic) => diagnostics.push(diagnostic),
        }
    }
    (found, diagnostics)
}

/// What somebody asked for by its absolute path: a `.md` file, or those of a directory, with what
/// could not be searched in it.
///
/// # Errors
/// There is nothing, or nothing that could be a template.
pub async fn template_files_at(
    env: &dyn ExecutionEnv,
    path: &Path,
    depth: TemplateDepth,
) -> Result<(Vec<ResourceFile>, Vec<ResourceDiagnostic>), ResourceDiagnostic> {
    match files::kind(env, path).await? {
        FileKind::Directory => Ok(find_template_files(env, path, depth).await),
        FileKind::File if files::is_markdown(path) => {
            Ok((vec![ResourceFile::new(env, path).await], Vec::new()))
        }
        _ => Err(ResourceDiagnostic::new(path, ResourceProblem::NotMarkdown)),
    }
}

fn is_shown(directory: &Path) -> bool {
    let name = directory.file_name().unwrap_or_default();
    !name.as_encoded_bytes().starts_with(b".") && name != "node_modules"
}
