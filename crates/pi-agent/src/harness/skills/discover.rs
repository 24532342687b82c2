//! Finding the files that may be skills.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ignore_files::{IGNORE_FILES, IgnoreRules};
use crate::harness::resource_diagnostic::ResourceDiagnostic;
use crate::harness::resource_files::{self, Entry, FileKind};

/// Whether `.md` files directly in a searched directory can be skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RootFiles {
    Count,
    /// As in directories that several programs share.
    PassOver,
}

enum Step {
    Directory { path: PathBuf, rules: Option<Arc<IgnoreRules>>, is_root: bool },
    File(PathBuf),
}

/// The files in the order in which their skills count.
pub(super) fn skill_files(
    root: &Path,
    root_files: RootFiles,
    diagnostics: &mut Vec<ResourceDiagnostic>,
) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut met = BTreeSet::new();
    // The next step is the last.
    let mut steps = vec![Step::Directory { path: root.to_owned(), rules: None, is_root: true }];
    while let Some(step) = steps.pop() {
        let (directory, rules, is_root) = match step {
            Step::File(path) => {
                files.push(path);
                continue;
            }
            Step::Directory { path, rules, is_root } => (path, rules, is_root),
        };
        if !met.insert(resource_files::real_path(&directory)) {
            continue;
        }
        let entries = match resource_files::list(&directory) {
            Ok(entries) => entries,
            Err(diagnostic) => {
                diagnostics.push(diagnostic);
                continue;
            }
        };
        let rules = IgnoreRules::below(rules, &directory, &ignore_texts(&directory, &entries));
        let shown: Vec<Entry> =
            entries.into_iter().filter(|e| is_shown(e, rules.as_deref())).collect();
        if let Some(entry) = shown.iter().find(|entry| is_skill_file(entry)) {
            files.push(entry.path.clone());
            continue;
        }
        let with_files = is_root && root_files == RootFiles::Count;
        steps.extend(shown.into_iter().rev().filter_map(|Entry { path, kind }| match kind {
            FileKind::Directory => {
                Some(Step::Directory { path, rules: rules.clone(), is_root: false })
            }
            FileKind::File if with_files && resource_files::is_markdown(&path) => {
                Some(Step::File(path))
            }
            FileKind::File | FileKind::Other => None,
        }));
    }
    files
}

fn ignore_texts(directory: &Path, entries: &[Entry]) -> Vec<String> {
    let is_there = |path: &PathBuf| {
        entries.iter().any(|entry| entry.kind == FileKind::File && entry.path == *path)
    };
    let paths = IGNORE_FILES.map(|name| directory.join(name)).into_iter().filter(is_there);
    paths.filter_map(|path| resource_files::read(&path).ok()).collect()
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
