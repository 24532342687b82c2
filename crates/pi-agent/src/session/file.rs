//! The session file as bytes: reading it, adding to it, replacing it, noticing that another process
//! wrote.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file of this session, and how far this process has read it.
#[derive(Debug)]
pub(super) struct SessionFile {
    path: PathBuf,
    identity: Option<Identity>,
    /// Bytes whose entries are known.
    seen: u64,
    /// The known bytes end with a line end (or there are none).
    closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
}

/// What happened to the file since this process last looked.
#[derive(Debug)]
pub(super) enum Change {
    None(File),
    /// Another process added these bytes.
    Grown(File, Vec<u8>),
    /// It was rewritten or cut short.
    Replaced,
    /// It was deleted or emptied.
    Gone,
}

impl SessionFile {
    /// Reads a whole file.
    pub(super) fn read(path: &Path) -> io::Result<(Self, Vec<u8>)> {
        let mut file = File::open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let identity = identity(&file.metadata()?);
        let session =
            Self { path: path.to_owned(), identity, seen: length(&bytes), closed: closed(&bytes) };
        Ok((session, bytes))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file for adding and says what is new in it.
    pub(super) fn look(&mut self) -> io::Result<Change> {
        let opened = OpenOptions::new().read(true).append(true).open(&self.path);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Change::Gone),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if metadata.len() == 0 {
            return Ok(Change::Gone);
        }
        if identity(&metadata) != self.identity || metadata.len() < self.seen {
            return Ok(Change::Replaced);
        }
        if metadata.len() == self.seen {
            return Ok(Change::None(file));
        }
        file.seek(SeekFrom::Start(self.seen))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        self.seen += length(&bytes);
        self.closed = closed(&bytes);
        Ok(Change::Grown(file, bytes))
    }

    /// Adds whole lines in one write. On failure nothing counts as seen, so a part that did reach
    /// the disk is found, and closed with a line end, the next time.
    pub(super) fn append(&mut self, file: &mut File, lines: &str) -> io::Result<()> {
        let torn;
        let bytes = if self.closed {
            lines.as_bytes()
        } else {
            torn = format!("\n{lines}");
            torn.as_bytes()
        };
        file.write_all(bytes)?;
        let expected = self.seen + length(bytes);
        // When another process wrote at the same moment, the next look reads both again.
        if file.metadata().is_ok_and(|metadata| metadata.len() == expected) {
            self.seen = expected;
            self.closed = true;
        }
        Ok(())
    }

    /// Writes a whole file beside the old one and puts it in its place. The old one's permissions
    /// stay, and a link to it stays a link.
    pub(super) fn replace(path: &Path, text: &str) -> io::Result<Self> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let written = write_beside(&target, text)?;
        if let Ok(metadata) = fs::metadata(&target) {
            written.as_file().set_permissions(metadata.permissions())?;
        }
        let file = written.persist(&target).map_err(|error| error.error)?;
        Self::published(path, &file, text)
    }

    /// Writes a whole file where none may be yet; it appears complete or not at all.
    pub(super) fn create(path: &Path, text: &str) -> io::Result<Self> {
        let written = write_beside(path, text)?;
        let file = written.persist_noclobber(path).map_err(|error| error.error)?;
        Self::published(path, &file, text)
    }

    fn published(path: &Path, file: &File, text: &str) -> io::Result<Self> {
        let identity = identity(&file.metadata()?);
        Ok(Self { path: path.to_owned(), identity, seen: length(text.as_bytes()), closed: true })
    }
}

fn write_beside(path: &Path, text: &str) -> io::Result<tempfile::NamedTempFile> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(dir)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".session-");
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(permissions);
    let mut file = builder.tempfile_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt;
    Some(Identity { device: metadata.dev(), inode: metadata.ino() })
}

#[cfg(not(unix))]
fn identity(_metadata: &Metadata) -> Option<Identity> {
    None
}

fn length(bytes: &[u8]) -> u64 {
    bytes.len() as u64
}

fn closed(bytes: &[u8]) -> bool {
    bytes.last().is_none_or(|byte| *byte == b'\n')
}
