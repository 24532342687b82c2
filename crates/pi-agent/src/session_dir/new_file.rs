//! The file of a session that begins, of which there is to be one in its folder.
//!
//! Owns: what it is called, and that of several processes which begin one session only one makes the
//! file. Once it is there, it is a file like any other.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::locate::session_with_id;
use crate::lock::FileLock;
use crate::session::{Changes, FileStorage, Header, SessionStorage};

/// A file that is made with the first text it gets, unless the folder has the session already by
/// then: that file is the one from then on.
#[derive(Debug)]
pub(super) struct NewFile {
    folder: PathBuf,
    id: String,
    cwd: PathBuf,
    file: FileStorage,
}

impl NewFile {
    pub(super) fn new(folder: PathBuf, header: &Header) -> Self {
        let file = FileStorage::new(folder.join(file_name(&header.timestamp, &header.id)));
        Self { folder, id: header.id.clone(), cwd: PathBuf::from(&header.cwd), file }
    }
}

impl SessionStorage for NewFile {
    fn path(&self) -> Option<&Path> {
        self.file.path()
    }

    /// Does not look for the session in other files: whoever is told that there is nothing, and goes
    /// on to write, is told then.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.file.read()
    }

    fn changes(&mut self) -> io::Result<Changes> {
        self.file.changes()
    }

    fn append(&mut self, lines: &str) -> io::Result<()> {
        self.file.append(lines)
    }

    fn replace(&mut self, text: &[u8]) -> io::Result<bool> {
        if self.file.is_there() {
            return self.file.replace(text);
        }
        fs::create_dir_all(&self.folder)?;
        let lock = FileLock::acquire(&self.folder.join(&self.id))?;
        if let Some(other) = session_with_id(&self.folder, &self.id, &self.cwd) {
            self.file = FileStorage::new(other.path);
            return Ok(false);
        }
        self.file.publish(text, || lock.check().is_ok())
    }
}

/// The file name of a session: creation time with `-` for `:` and `.`, `_`, id.
pub(super) fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_named_by_time_and_id() {
        assert_eq!(
            file_name("2026-11-30T16:56:06.682Z", "abc"),
            "2026-11-30T16-56-06-682Z_abc.jsonl"
        );
    }

    #[test]
    fn of_two_files_for_one_session_the_second_becomes_the_first() {
        let dir = tempfile::tempdir().expect("temp dir");
        let header = |time: &str, cwd: &str| {
            let mut header = Header::new(Path::new(cwd), "x".into(), None);
            header.timestamp = time.into();
            header
        };
        let file = |header: &Header| NewFile::new(dir.path().join("sessions"), header);
        let line = |header: &Header| serde_json::to_string(header).expect("JSON") + "\n";
        let (one, two) = (header("1", "/w"), header("2", "/w"));
        let (mut first, mut second) = (file(&one), file(&two));
        assert_ne!(first.path(), second.path());
        assert_eq!(second.read().expect("read"), None);
        assert!(first.replace(line(&one).as_bytes()).expect("made"));
        assert!(!second.replace(line(&two).as_bytes()).expect("no error"));
        assert_eq!(first.path(), second.path());
        assert_eq!(second.read().expect("read"), Some(line(&one).into_bytes()));

        // The same id for another directory is another session.
        let elsewhere = header("3", "/elsewhere");
        let mut third = file(&elsewhere);
        assert!(third.replace(line(&elsewhere).as_bytes()).expect("made"));
        assert_ne!(third.path(), first.path());
    }

    #[test]
    fn a_file_that_was_called_otherwise_meanwhile_is_found_again() {
        let dir = tempfile::tempdir().expect("temp dir");
        let header = Header::new(Path::new("/w"), "x".into(), None);
        let text = serde_json::to_string(&header).expect("JSON") + "\n";
        let mut file = NewFile::new(dir.path().to_owned(), &header);
        assert!(file.replace(text.as_bytes()).expect("made"));
        let renamed = dir.path().join("renamed.jsonl");
        fs::rename(file.path().expect("path"), &renamed).expect("rename");
        assert_eq!(file.changes().expect("look"), Changes::Gone);
        assert!(!file.replace(b"again\n").expect("no error"));
        assert_eq!(file.path(), Some(&*renamed));
        assert_eq!(file.read().expect("read"), Some(text.into_bytes()));
    }
}
