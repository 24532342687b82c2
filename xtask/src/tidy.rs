//! Checks what the compiler cannot: layers, fences, sizes and the shape of the tree.
//!
//! Each check is a table and a loop over it. They read files and nothing else, so they run anywhere.

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

mod fences;
mod files;
mod layers;
#[cfg(test)]
mod tests;
mod tree;

use tree::Tree;

/// Runs every check on the workspace at `root`. Warnings come back as text, faults as an error.
pub(crate) fn check(root: &Path) -> Result<String> {
    let tree = Tree::read(root)?;
    let mut findings = layers::check(&tree);
    findings.extend(fences::check(&tree));
    findings.extend(files::check(&tree));
    findings.sort();
    let faults = findings.iter().filter(|finding| finding.severity == Severity::Fault).count();
    let mut lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    lines.push(format!("{} files, {faults} faults", tree.files.len()));
    let report = lines.join("\n");
    if faults > 0 {
        bail!("{report}");
    }
    Ok(report)
}

/// Something to change, or to think about.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    path: String,
    /// From one.
    line: usize,
    severity: Severity,
    /// What is wrong and what to do.
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Fault,
    Warning,
}

impl Finding {
    fn fault(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, severity: Severity::Fault, text: text.into() }
    }

    fn warning(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, severity: Severity::Warning, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = match self.severity {
            Severity::Fault => "",
            Severity::Warning => "warning: ",
        };
        write!(f, "{}:{}: {mark}{}", self.path, self.line, self.text)
    }
}
