//! Where session files lie, what they are called, and finding one again.
//!
//! Reads no more of a file than its head.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::header::Header;

/// Most bytes looked at in search of a header.
const HEADER_LIMIT: u64 = 64 * 1024;

/// A place sessions are kept in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionDir {
    /// One folder per working directory below this root.
    PerProject(PathBuf),
    /// All files in this one folder, as the user chose it.
    Flat(PathBuf),
}

/// A session file that fits what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    pub path: PathBuf,
    pub header: Header,
    /// It belongs to the directory that was asked about.
    pub is_here: bool,
}

impl SessionDir {
    /// The folder that new sessions of `cwd` go to.
    pub fn for_cwd(&self, cwd: &Path) -> PathBuf {
        match self {
            Self::PerProject(root) => root.join(encode_cwd(cwd)),
            Self::Flat(dir) => dir.clone(),
        }
    }

    /// The session of `cwd` whose file was touched last. Heads are read newest first, up to the
    /// first that fits.
    pub fn newest(&self, cwd: &Path) -> Option<Found> {
        files_newest_first(&self.for_cwd(cwd)).find_map(|path| {
            let header = read_header(&path).filter(|header| is_same_dir(&header.cwd, cwd))?;
            Some(Found { path, header, is_here: true })
        })
    }

    /// The session of `cwd` with exactly this id.
    pub fn by_exact_id(&self, id: &str, cwd: &Path) -> Option<Found> {
        files_newest_first(&self.for_cwd(cwd)).find_map(|path| {
            let header = read_header(&path).filter(|h| h.id == id && is_same_dir(&h.cwd, cwd))?;
            Some(Found { path, header, is_here: true })
        })
    }

    /// Sessions whose id is `id` or begins with it: those of `cwd` if there are any, else all. An
    /// exact match stands alone. Newest file first.
    pub fn by_id(&self, id: &str, cwd: &Path) -> Vec<Found> {
        if id.is_empty() {
            return Vec::new();
        }
        let mut here = matching(id, cwd, files_newest_first(&self.for_cwd(cwd)));
        here.retain(|found| found.is_here);
        if !here.is_empty() {
            return here;
        }
        let folders = match self {
            Self::PerProject(root) => folders(root),
            Self::Flat(dir) => vec![dir.clone()],
        };
        matching(id, cwd, folders.iter().flat_map(|folder| files_newest_first(folder)))
    }
}

fn matching(id: &str, cwd: &Path, files: impl Iterator<Item = PathBuf>) -> Vec<Found> {
    let mut found: Vec<Found> = files
        .filter_map(|path| {
            let header = read_header(&path).filter(|header| header.id.starts_with(id))?;
            Some(Found { is_here: is_same_dir(&header.cwd, cwd), path, header })
        })
        .collect();
    if let Some(exact) = found.iter().position(|found| found.header.id == id) {
        found = vec![found.swap_remove(exact)];
    }
    found
}

/// The head of a session file; `None` when it is none.
pub fn read_header(path: &Path) -> Option<Header> {
    let mut reader = BufReader::new(File::open(path).ok()?.take(HEADER_LIMIT));
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).ok()? > 0 {
        if serde_json::from_slice::<serde::de::IgnoredAny>(&line).is_ok() {
            return Header::from_json(&String::from_utf8_lossy(&line));
        }
        line.clear();
    }
    None
}

/// The folder name of a working directory: `/home/u/a b` gives `--home-u-a b--`. Several
/// directories may share one name, so the header decides.
pub fn encode_cwd(cwd: &Path) -> String {
    let text = cwd.to_string_lossy();
    let inner = text.strip_prefix(['/', '\\']).unwrap_or(&text);
    format!("--{}--", inner.replace(['/', '\\', ':'], "-"))
}

/// The file name of a session: creation time with `-` for `:` and `.`, `_`, id.
pub fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}

/// Whether somebody who wrote this meant a file and not an id.
pub fn looks_like_path(text: &str) -> bool {
    text.contains(['/', '\\']) || text.ends_with(".jsonl") || Path::new(text).exists()
}

fn is_same_dir(recorded: &str, cwd: &Path) -> bool {
    let recorded = Path::new(recorded);
    recorded == cwd
        || fs::canonicalize(recorded)
            .is_ok_and(|recorded| fs::canonicalize(cwd).is_ok_and(|cwd| cwd == recorded))
}

fn files_newest_first(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let mut files: Vec<(SystemTime, PathBuf)> = fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|item| item.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .filter_map(|path| {
            let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), path))
        })
        .collect();
    files.sort_unstable_by(|a, b| b.cmp(a));
    files.into_iter().map(|(_, path)| path)
}

/// The folders in `root`, each once even when links lead to it too.
fn folders(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|item| fs::canonicalize(item.path()).ok())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}
