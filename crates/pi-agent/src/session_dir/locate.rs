//! Finding a session file again: the newest, or one by its id.
//!
//! Reads no more of a file than its head.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use super::SessionDir;
use super::folder::{Candidate, candidates, candidates_that};
use crate::session::Header;

/// Most bytes looked at in search of a header.
const HEADER_LIMIT: u64 = 64 * 1024;

/// A session file that fits what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    pub header: Header,
    /// It belongs to the directory that was asked about.
    pub is_here: bool,
}

/// What [`SessionDir::newest`] saw.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Newest {
    pub found: Option<Found>,
    /// Newer files that are named like sessions and have no readable header.
    pub damaged: Vec<PathBuf>,
}

/// A working directory, to compare those of headers with.
#[derive(Debug)]
pub(super) struct Directory<'a> {
    path: &'a Path,
    /// The path without links, if the directory is there.
    real: Option<PathBuf>,
}

impl SessionDir {
    /// The session of `cwd` whose file was touched last. Heads are read newest first, up to the
    /// first that fits.
    pub fn newest(&self, cwd: &Path) -> Newest {
        let here = Directory::new(cwd);
        let mut newest = Newest::default();
        for Candidate { path, .. } in candidates([self.for_cwd(cwd)]) {
            match read_header(&path) {
                Some(header) if here.is(&header.cwd) => {
                    newest.found = Some(Found { path, header, is_here: true });
                    break;
                }
                None if id_in_name(&path).is_some() => newest.damaged.push(path),
                Some(_) | None => {}
            }
        }
        newest
    }

    /// The session of `cwd` with exactly this id.
    pub fn by_exact_id(&self, id: &str, cwd: &Path) -> Option<Found> {
        session_with_id(&self.for_cwd(cwd), id, cwd)
    }

    /// Sessions whose id is `id` or begins with it: those of `cwd` if there are any, else all. An
    /// exact match stands alone. Newest file first.
    pub fn by_id(&self, id: &str, cwd: &Path) -> Vec<Found> {
        if id.is_empty() {
            return Vec::new();
        }
        let here = Directory::new(cwd);
        let mut found = matching(id, &here, candidates([self.for_cwd(cwd)]));
        found.retain(|found| found.is_here);
        if found.is_empty() {
            found = matching(id, &here, candidates(self.folders()));
        }
        if let Some(exact) = found.iter().position(|found| found.header.id == id) {
            found = vec![found.swap_remove(exact)];
        }
        found
    }
}

/// The session of `cwd` in `folder` with exactly this id. Files that are named after another one are
/// not read.
pub(super) fn session_with_id(folder: &Path, id: &str, cwd: &Path) -> Option<Found> {
    let here = Directory::new(cwd);
    let may_be = |path: &Path| id_in_name(path).is_none_or(|named| named.starts_with(id));
    candidates_that([folder], may_be).into_iter().find_map(|Candidate { path, .. }| {
        let header = read_header(&path).filter(|h| h.id == id && here.is(&h.cwd))?;
        Some(Found { path, header, is_here: true })
    })
}

fn matching(id: &str, here: &Directory<'_>, files: Vec<Candidate>) -> Vec<Found> {
    let found = files.into_iter().filter_map(|Candidate { path, .. }| {
        let header = read_header(&path).filter(|header| header.id.starts_with(id))?;
        Some(Found { is_here: here.is(&header.cwd), path, header })
    });
    found.collect()
}

impl<'a> Directory<'a> {
    pub(super) fn new(path: &'a Path) -> Self {
        Self { path, real: fs::canonicalize(path).ok() }
    }

    /// Whether a header's `cwd` names this directory. A session that names none is at home anywhere.
    pub(super) fn is(&self, recorded: &str) -> bool {
        if recorded.is_empty() {
            return true;
        }
        let recorded = Path::new(recorded);
        is_same_path(recorded, self.path, cfg!(windows))
            || self.real.is_some() && fs::canonicalize(recorded).ok() == self.real
    }
}

fn is_same_path(a: &Path, b: &Path, ignores_case: bool) -> bool {
    a == b || ignores_case && a.as_os_str().eq_ignore_ascii_case(b)
}

/// The head of a session file; `None` when it is none.
pub(super) fn read_header(path: &Path) -> Option<Header> {
    next_header(&mut BufReader::new(File::open(path).ok()?), &mut Vec::new())
}

/// Reads up to the header, which is the first line that is JSON at all. `line` is scratch space.
pub(super) fn next_header(reader: &mut impl BufRead, line: &mut Vec<u8>) -> Option<Header> {
    let mut head = reader.take(HEADER_LIMIT);
    loop {
        line.clear();
        if head.read_until(b'\n', line).ok()? == 0 {
            return None;
        }
        if serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok() {
            return Header::from_json(&String::from_utf8_lossy(line));
        }
    }
}

/// The id in a name as [`super::new_file::file_name`] makes it, perhaps with more behind it.
fn id_in_name(path: &Path) -> Option<&str> {
    let (time, id) = path.file_stem()?.to_str()?.split_once('_')?;
    let pattern = "0000-00-00T00-00-00-000Z";
    let fits = |(c, expected): (char, char)| match expected {
        '0' => c.is_ascii_digit(),
        _ => c == expected,
    };
    (time.len() == pattern.len() && time.chars().zip(pattern.chars()).all(fits)).then_some(id)
}

#[cfg(test)]
mod tests;
