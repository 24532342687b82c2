//! What pi reads besides settings to know how to behave.
//!
//! Owns: finding and reading these files, skills and prompt templates among them, and the system prompt
//! made of them. Never: decides about trust; a project directory handed in is a trusted one.

use std::fs;
use std::io;
use std::path::Path;

pub mod context_files;
pub mod library;
pub(crate) mod old_folders;
mod packages;
mod patterns;
mod source_info;
pub mod system_files;
pub mod system_prompt;

pub use library::{Library, ResourceFlags};
pub use source_info::{ResourceOrigin, ResourceScope, SourceInfo};

/// A text file without its byte order mark; bad UTF-8 is replaced. `None`: there is no such file.
fn read_text(path: &Path) -> io::Result<Option<String>> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = fs::read(path)?;
    let text = String::from_utf8_lossy(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes));
    Ok(Some(text.into_owned()))
}
