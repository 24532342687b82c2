//! Where the lines of a session are kept.
//!
//! Owns: what a [`super::Session`] asks of a place, nothing of how lines read. A file is one such
//! place ([`super::FileStorage`]), memory another ([`super::MemoryStorage`]).

use std::fmt;
use std::io;
use std::path::Path;

/// Keeps the text of one session: whole lines, each with its line end.
///
/// A session reads once, then appends. It replaces the text to begin, to bring an old version up to
/// date, and to put entries back that somebody else took away. After an error it reads everything
/// again before it writes anything. What a storage says is kept must be: a session forgets nothing it
/// has told of, and tells of nothing that was not kept.
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
    /// first, also when there is nothing to add.
    ///
    /// # Errors
    /// Not all of it is known to be kept. A part may be, or all of it.
    fn append(&mut self, lines: &str) -> io::Result<()>;

    /// Puts `text` in the place of everything, completely or not at all, unless it is no longer what
    /// this storage last read or wrote: then nothing happens and the answer is `false`. The text may
    /// hold what is not UTF-8, if [`Self::read`] gave it.
    ///
    /// # Errors
    /// It is not known to be written. Either it is, or what was there still is.
    fn replace(&mut self, text: &[u8]) -> io::Result<bool>;
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
