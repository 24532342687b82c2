//! Finding the files that may be skills.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use super::ignore_files::{IGNORE_FILES, IgnoreRules};
use crate::env::{ExecutionEnv, FileKind};
use crate::resources::diagnostic::{ResourceDiagnostic, ResourceProblem};
use crate::resources::files::{self, Entry, ResourceFile};

/// Whether `.md` files directly in a searched directory can be skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootFiles {
    Count,
    /// As in directories that several programs share.
    PassOver,
}

/// What somebody asked for by its absolute path: a `.md` file, or the files of a directory, with what
/// could not be searched in it.
///
/// # Errors
/// There is nothing, or nothing that could be a skill.
pub async fn skill_files_at(
    env: &dyn ExecutionEnv,
    path: &Path,
) -> Result<(Vec<ResourceFile>, Vec<ResourceDiagnostic>), ResourceDiagnostic> {
    match files::kind(env, path).await? {
        FileKind::Directory => Ok(find_skill_files(env, path, RootFiles::Count).await),
        FileKind::File if files::is_markdown(path) => {
            Ok((vec![ResourceFile::new(env, path).await], Vec::new()))
        }
        _ => Err(ResourceDiagnostic::new(path, ResourceProblem::NotMarkdown)),
    }
}

enum Step {
    Directory { found: ResourceFile, rules: Option<Arc<IgnoreRules>>, root_files: RootFiles },
    File(ResourceFile),
}

/// The files below a directory in the order in which their skills count, and what could not be
/// searched; [`super::Skills::discover`] says by which rules.
pub async fn find_skill_files(
    env: &dyn ExecutionEnv,
    root: &Path,
    root_files: RootFiles,
) -> (Vec<ResourceFile>, Vec<ResourceDiagnostic>) {
    let mut files = Vec::new();
    let mut diagnostics = Vec::new();
    let mut met = BTreeSet::new();
    let root = ResourceFile::new(env, root).await;
    // The next step is the last.
    let mut steps = vec![Step::Directory { found: root, rules: None, root_files }];
    while let Some(step) = steps.pop() {
        let (directory, rules, root_files) = match step {
            Step::File(file) => {
                files.push(file);
                continue;
            }
            Step::Directory { found, rules, root_files } => (found, rules, root_files),
        };
        if !met.insert(directory.real_path.clone()) {
            continue;
        }
        let mut entries = match files::list(env, &directory.path).await {
            Ok(entries) => entries,
            Err(diagnostic) => {
                diagnostics.push(diagnostic);
                continue;
            }
        };
        let texts = ignore_texts(env, &directory.path, &entries).await;
        let rules = IgnoreRules::below(rules, &directory.path, &texts);
        entries.retain(|entry| is_shown(entry, rules.as_deref()));
        if let Some(file) = entries.iter().find(|entry| is_skill_file(entry)) {
            files.push(directory.inside(env, file).await);
            continue;
        }
        let with_files = root_files == RootFiles::Count;
        for entry in entries.iter().rev() {
            if entry.kind == FileKind::Directory {
                let found = directory.inside(env, entry).await;
                let rules = rules.clone();
                steps.push(Step::Directory { found, rules, root_files: RootFiles::PassOver });
            } else if with_files && is_markdown_file(entry) {
                steps.push(Step::File(directory.inside(env, entry).await));
            }
        }
    }
    (files, diagnostics)
}

async fn ignore_texts(env: &dyn ExecutionEnv, directory: &Path, entries: &[Entry]) -> Vec<String> {
    let mut texts = Vec::new();
    for path in IGNORE_FILES.map(|name| directory.join(name)) {
        if entries.iter().any(|entry| entry.kind == FileKind::File && entry.path == path) {
            texts.extend(files::read(env, &path).await);
        }
    }
    texts
}

fn is_shown(entry: &Entry, rules: Option<&IgnoreRules>) -> bool {
    let is_directory = entry.kind == FileKind::Directory;
    let name = entry.path.file_name().unwrap_or_default();
    !name.as_encoded_bytes().starts_with(b".")
        && name != "node_modules"
        && !rules.is_some_and(|rules| rules.hide(&entry.path, is_directory))
}

fn is_skill_file(entry: &Entry) -> bool {
    entry.kind == FileKind::File && super::is_skill_file(&entry.path)
}

fn is_markdown_file(entry: &Entry) -> bool {
    entry.kind == FileKind::File && files::is_markdown(&entry.path)
}
