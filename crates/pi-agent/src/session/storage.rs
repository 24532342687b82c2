//! Where the lines of a session are kept.
//!
//! Owns: what a [`super::Session`] asks of a place, nothing of how lines read. A file is one such
//! place ([`super::FileStorage`]), memory another ([`super::MemoryStorage`]).

use std::fmt;
use std::io;
use std::path::Path;

/// Keeps the text of one session: whole lines, each with its line end.
///
/// A session reads once, then appends; it replaces the text only to bring an old version up to date
/// or to begin. What a storage returns successfully must be kept: a session forgets nothing it has
/// told of, and tells of nothing that was not kept.
///
/// A storage that only one process writes to needs `read`, `append` and `replace`.
pub trait SessionStorage: fmt::Debug + Send {
    /// The file, where it is one; for people, and for those who look for sessions.
    fn path(&self) -> Option<&Path> {
        None
    }

    /// All that is kept; `None` when nothing has been yet. The last line may lack its end.
    ///
    /// # Errors
    /// It cannot be read.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>>;

    /// What others did since the last call that read or changed something. Asked before each
    /// `append`, so that their entries are known, and after it, so that lines written to something
    /// that was replaced at that moment are written again.
    ///
    /// # Errors
    /// It cannot be looked at.
    fn changes(&mut self) -> io::Result<Changes> {
        Ok(Changes::None)
    }

    /// Adds whole lines, in one piece, behind whatever is there. An unfinished line there is ended
    /// first.
    ///
    /// # Errors
    /// Not all of it is kept. A part may be: it shows up as a change.
    fn append(&mut self, lines: &str) -> io::Result<()>;

    /// Puts `text` in the place of everything, completely or not at all, unless it is no longer what
    /// this storage last read or wrote: then nothing happens and the answer is `false`.
    ///
    /// # Errors
    /// It cannot be written; what was there still is.
    fn replace(&mut self, text: &str) -> io::Result<bool>;
}

/// What others did to what is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Changes {
    None,
    /// More text, from the beginning of a line. It may hold lines of this session too.
    Added(Vec<u8>),
    /// Everything may be different; it has to be read again.
    Replaced,
    /// Nothing is kept any more.
    Gone,
}
