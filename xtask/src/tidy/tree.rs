//! The workspace's files as text, and which of their lines are tests.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Folders that hold nothing of ours.
const SKIPPED: &[&str] = &[".git", "target"];

/// Every file below the root, by path, sorted.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
}

pub(super) struct File {
    /// From the root, with `/`.
    pub(super) path: String,
    /// Empty for files that are not UTF-8.
    pub(super) text: String,
}

impl Tree {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }
}

impl File {
    /// Whether the whole file is compiled for tests and benches only.
    pub(super) fn is_test(&self) -> bool {
        ["/tests.rs", "_tests.rs"].iter().any(|end| self.path.ends_with(end))
            || ["/tests/", "/benches/"].iter().any(|folder| self.path.contains(folder))
    }

    /// Lines that ship, with their numbers from one: without `#[cfg(test)]` modules.
    pub(super) fn shipped_lines(&self) -> Vec<(usize, &str)> {
        if self.is_test() {
            return Vec::new();
        }
        let mut shipped = Vec::new();
        let mut lines = (1..).zip(self.text.lines()).peekable();
        while let Some((number, line)) = lines.next() {
            if line.trim() != "#[cfg(test)]" {
                shipped.push((number, line));
                continue;
            }
            // rustfmt closes an item with a brace at the indentation it opened with.
            let close = format!("{}}}", &indentation(line));
            let opens = lines.next().is_some_and(|(_, item)| item.trim_end().ends_with('{'));
            if opens {
                for (_, inner) in lines.by_ref() {
                    if inner.trim_end() == close {
                        break;
                    }
                }
            }
        }
        shipped
    }
}

fn indentation(line: &str) -> String {
    line.chars().take_while(|c| c.is_whitespace()).collect()
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for entry in entries {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if SKIPPED.contains(&name.as_str()) {
            continue;
        }
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else {
            let bytes = fs::read(entry.path()).with_context(|| path.clone())?;
            files.push(File { path, text: String::from_utf8(bytes).unwrap_or_default() });
        }
    }
    Ok(())
}
