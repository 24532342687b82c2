//! A session in a file: reading it, adding to it, replacing it, noticing that another process wrote.
//!
//! Adding takes no lock, replacing does. Nothing added meanwhile is lost: whoever added to a file looks
//! afterwards, when nobody holds the lock, whether it is still the one. If it is, whoever replaces it
//! later sees what was added, for they look again once they have the lock; if it is not, the lines are
//! written again. Other programs do not look, so what still reached the old file is carried over too.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::load::{ATTEMPTS, busy};
use super::storage::{Changes, SessionStorage};
use super::{SessionError, write_error};
use crate::file_identity::FileIdentity;
use crate::lock::{FileLock, pause};

/// How often, a millisecond apart, an unfinished line is looked at again.
const TAIL_LOOKS: usize = 5;

/// What the names of temporary files begin with.
const TEMPORARY: &str = ".session-";

/// A temporary file that was not touched for this long belongs to nobody: writing takes seconds.
const LEFT_OVER: Duration = Duration::from_secs(24 * 60 * 60);

/// A JSONL file, shared with other processes.
#[derive(Debug)]
pub struct FileStorage {
    path: PathBuf,
    /// `None`: nothing was there.
    seen: Option<Seen>,
}

/// The file as this process knows it.
#[derive(Debug)]
struct Seen {
    /// Stays open: no other file gets its identity then.
    file: File,
    identity: Option<FileIdentity>,
    is_writable: bool,
    /// Bytes up to the end of the last whole line.
    known: u64,
    /// Bytes in all; more than `known` while the last line has no end.
    length: u64,
    /// The last line was handed out although it had no end.
    is_tail_known: bool,
    /// Bytes this process added since `length` was taken.
    added: u64,
}

impl FileStorage {
    /// The file at `path`, whether it exists or not.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), seen: None }
    }

    /// Whether a file was there when this was last read, written or looked at.
    pub(crate) fn is_there(&self) -> bool {
        self.seen.is_some()
    }

    /// Puts `text` in the place of whatever is there, completely or not at all.
    ///
    /// # Errors
    /// It is not known to be written.
    pub(crate) fn overwrite(&mut self, text: &[u8]) -> Result<(), SessionError> {
        for _ in 0..ATTEMPTS {
            let replaced = self.read().and_then(|_| self.replace(text));
            if replaced.map_err(|error| write_error(Some(&self.path), error))? {
                return Ok(());
            }
        }
        Err(busy(Some(&self.path)))
    }

    /// Makes the file where none is, in a folder that is there. `may_still` is asked once the text is
    /// written, which may take long, and before it has its name.
    pub(crate) fn publish(
        &mut self,
        text: &[u8],
        may_still: impl FnOnce() -> bool,
    ) -> io::Result<bool> {
        let file = write_beside(&self.path, text)?;
        if !may_still() {
            return Ok(false);
        }
        match file.persist_noclobber(&self.path) {
            Ok(file) => {
                self.seen = Some(Seen::written(file, text)?);
                Ok(true)
            }
            // Something that cannot be opened is there, such as a link to nothing: it stays.
            Err(error)
                if error.error.kind() == io::ErrorKind::AlreadyExists
                    && fs::metadata(&self.path).is_ok() =>
            {
                Ok(false)
            }
            Err(error) => Err(error.error),
        }
    }
}

impl SessionStorage for FileStorage {
    fn path(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            self.seen = None;
            let (mut file, is_writable) = match open(&self.path) {
                Err(error) if is_absent(&error) => return Ok(None),
                opened => opened?,
            };
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let identity = FileIdentity::of(&file.metadata()?);
            // What reached a file after it was replaced is written again by its writer.
            let is_current = fs::metadata(&self.path)
                .is_ok_and(|metadata| FileIdentity::of(&metadata) == identity);
            if !is_current {
                continue;
            }
            let (known, length) = (whole_lines(&bytes) as u64, bytes.len() as u64);
            let is_tail_known = true;
            self.seen =
                Some(Seen { file, identity, is_writable, known, length, is_tail_known, added: 0 });
            return Ok(Some(bytes));
        }
    }

    fn changes(&mut self) -> io::Result<Changes> {
        let Some(seen) = &mut self.seen else { return Ok(Changes::None) };
        if seen.added > 0 {
            // Somebody who is replacing the file may not have seen this, and may be cut off.
            FileLock::wait_until_free(&self.path)?;
        }
        let metadata = match fs::metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.seen = None;
                return Ok(Changes::Gone);
            }
            metadata => metadata?,
        };
        let expected = seen.length + seen.added;
        if FileIdentity::of(&metadata) != seen.identity || metadata.len() < expected {
            // Who put it there may still be adding what reached the old one.
            FileLock::wait_until_free(&self.path)?;
            return Ok(Changes::Replaced);
        }
        let is_line_ended = seen.added > 0 && seen.known < seen.length && !seen.is_tail_known;
        if metadata.len() == expected && !is_line_ended {
            if seen.added > 0 {
                (seen.length, seen.known, seen.added) = (expected, expected, 0);
            }
            return Ok(Changes::None);
        }
        let mut bytes = seen.read_from(seen.known)?;
        // The last line's writer may be at it. One that is not gets its line ended by the next.
        for _ in 0..TAIL_LOOKS {
            if bytes.ends_with(b"\n") {
                break;
            }
            pause(Duration::from_millis(1));
            bytes = seen.read_from(seen.known)?;
        }
        (seen.length, seen.added) = (seen.known + bytes.len() as u64, 0);
        bytes.truncate(whole_lines(&bytes));
        seen.known += bytes.len() as u64;
        seen.is_tail_known = false;
        Ok(if bytes.is_empty() { Changes::None } else { Changes::Added(bytes) })
    }

    fn append(&mut self, lines: &str) -> io::Result<()> {
        let Some(seen) = &mut self.seen else { return Err(io::ErrorKind::NotFound.into()) };
        seen.make_writable(&self.path)?;
        let torn;
        let bytes = if seen.known == seen.length {
            lines.as_bytes()
        } else {
            torn = format!("\n{lines}");
            torn.as_bytes()
        };
        seen.file.write_all(bytes)?;
        seen.added += bytes.len() as u64;
        Ok(())
    }

    fn replace(&mut self, text: &[u8]) -> io::Result<bool> {
        let Some(seen) = &mut self.seen else {
            fs::create_dir_all(folder(&self.path))?;
            return self.publish(text, || true);
        };
        let Some(successor) = Successor::prepare(&self.path, seen, text)? else {
            return Ok(false);
        };
        *seen = successor.publish(seen, text)?;
        Ok(true)
    }
}

impl Seen {
    /// A file this process just wrote.
    fn written(file: File, text: &[u8]) -> io::Result<Self> {
        let identity = FileIdentity::of(&file.metadata()?);
        let length = text.len() as u64;
        Ok(Self {
            file,
            identity,
            is_writable: true,
            known: length,
            length,
            is_tail_known: false,
            added: 0,
        })
    }

    /// Whether the file at `path` is still this one, with nothing added.
    fn is_current(&self, path: &Path) -> io::Result<bool> {
        let is_same = |metadata: Metadata| {
            FileIdentity::of(&metadata) == self.identity
                && metadata.len() == self.length + self.added
        };
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            metadata => metadata.map(is_same),
        }
    }

    fn read_from(&mut self, start: u64) -> io::Result<Vec<u8>> {
        self.file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// A file that could only be read when it was opened may have become writable.
    fn make_writable(&mut self, path: &Path) -> io::Result<()> {
        if self.is_writable {
            return Ok(());
        }
        let file = OpenOptions::new().read(true).append(true).open(path)?;
        if FileIdentity::of(&file.metadata()?) != self.identity {
            return Err(io::Error::other("it was replaced at this moment"));
        }
        (self.file, self.is_writable) = (file, true);
        Ok(())
    }
}

/// A file that is about to take the place of another, whose lock is held.
struct Successor {
    target: PathBuf,
    file: tempfile::NamedTempFile,
    /// Held until what was late is carried over.
    _lock: FileLock,
}

impl Successor {
    /// Writes the new file beside the one that was seen; `None` when that is not there any more. Its
    /// permissions stay, and a link to it stays a link.
    fn prepare(path: &Path, seen: &Seen, text: &[u8]) -> io::Result<Option<Self>> {
        let target = match fs::canonicalize(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            target => target?,
        };
        let lock = FileLock::acquire(&target)?;
        if !seen.is_current(&target)? {
            return Ok(None);
        }
        // Here and not wherever a session begins: a folder may hold many.
        remove_left_over(folder(&target));
        let file = write_beside(&target, text)?;
        file.as_file().set_permissions(seen.file.metadata()?.permissions())?;
        lock.check()?;
        // Writing may have taken long.
        Ok(seen.is_current(&target)?.then_some(Self { target, file, _lock: lock }))
    }

    /// Puts it in its place, and adds to it what reached the old one at the last moment.
    fn publish(self, old: &mut Seen, text: &[u8]) -> io::Result<Seen> {
        let mut file = self.file.persist(&self.target).map_err(|error| error.error)?;
        let late = old.read_from(old.length + old.added)?;
        file.write_all(&late)?;
        Seen::written(file, text)
    }
}

/// Where a folder of the path is a file, nothing is either.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Opens a file for adding, or at least for reading, and says which. Nothing else than a file: to
/// read a pipe may take for ever, and a device that was replaced would be gone.
fn open(path: &Path) -> io::Result<(File, bool)> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    match OpenOptions::new().read(true).append(true).open(path) {
        Ok(file) => Ok((file, true)),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem
            ) =>
        {
            Ok((File::open(path)?, false))
        }
        Err(error) => Err(error),
    }
}

fn write_beside(path: &Path, text: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    // The handle is kept and added to.
    builder.prefix(TEMPORARY).append(true);
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(permissions);
    let mut file = builder.tempfile_in(folder(path))?;
    file.write_all(text)?;
    file.as_file().sync_all()?;
    Ok(file)
}

/// Removes temporary files of processes that were killed.
fn remove_left_over(dir: &Path) {
    for item in fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_temporary = item.file_name().to_string_lossy().starts_with(TEMPORARY);
        let touched = || item.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = || touched()?.elapsed().ok();
        if is_temporary && age().is_some_and(|age| age > LEFT_OVER) {
            // Another process may have been faster; one that cannot be removed harms nobody.
            drop(fs::remove_file(item.path()));
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Length of the whole lines, up to the last line end.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)
}

#[cfg(test)]
mod tests;
