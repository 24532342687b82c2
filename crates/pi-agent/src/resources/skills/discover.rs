//! Finding the files that may be skills.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ignore_files::{IGNORE_FILES, IgnoreRules};
use crate::env::{ExecutionEnv, FileKind};
use crate::resources::diagnostic::ResourceDiagnostic;
use crate::resources::files::{self, Entry};

/// Whether `.md` files directly in a searched directory can be skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootFiles {
    Count,
    /// As in directories that several programs share.
    PassOver,
}

/// A file or directory by the path it was met at, and by the one path it has.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) path: PathBuf,
    pub(super) real_path: PathBuf,
}

enum Step {
    Directory { found: Found, rules: Option<Arc<IgnoreRules>>, root_files: RootFiles },
    File(Found),
}

/// The files in the order in which their skills count, and what could not be searched.
pub(super) async fn skill_files(
    env: &dyn ExecutionEnv,
    root: &Path,
    root_files: RootFiles,
) -> (Vec<Found>, Vec<ResourceDiagnostic>) {
    let mut files = Vec::new();
    let mut diagnostics = Vec::new();
    let mut met = BTreeSet::new();
    let root = Found { path: root.to_owned(), real_path: files::real_path(env, root).await };
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
            files.push(found(env, &directory, file).await);
            continue;
        }
        let with_files = root_files == RootFiles::Count;
        for entry in entries.iter().rev() {
            if entry.kind == FileKind::Directory {
                let found = found(env, &directory, entry).await;
                let rules = rules.clone();
                steps.push(Step::Directory { found, rules, root_files: RootFiles::PassOver });
            } else if with_files && is_markdown_file(entry) {
                steps.push(Step::File(found(env, &directory, entry).await));
            }
        }
    }
    (files, diagnostics)
}

/// Asks for the one path only where a link makes it another.
async fn found(env: &dyn ExecutionEnv, directory: &Found, entry: &Entry) -> Found {
    let real_path = match entry.path.file_name() {
        Some(name) if !entry.is_link => directory.real_path.join(name),
        _ => files::real_path(env, &entry.path).await,
    };
    Found { path: entry.path.clone(), real_path }
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
