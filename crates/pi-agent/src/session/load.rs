//! From kept bytes to a session: finding the header, bringing old versions up to date.

use std::io;
use std::path::Path;

use serde::de::IgnoredAny;

use super::append::Kept;
use super::header::{CURRENT_VERSION, Header};
use super::jsonl::{Diagnostic, Problem, decode, lines};
use super::migrate::migrate;
use super::storage::SessionStorage;
use super::tree::{Reading, Report, Tree};
use super::{Session, SessionError, read_error, write_error};

/// How often something is tried again that others keep changing meanwhile.
pub(super) const ATTEMPTS: usize = 100;

/// The text of a session in the current version.
pub(super) struct Loaded {
    pub(super) header: Header,
    pub(super) text: String,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// What was read, where `text` is not the same byte by byte.
    pub(super) raw: Option<Vec<u8>>,
    /// The text is another than the one that was read.
    is_rewritten: bool,
}

/// What to begin with where there is nothing.
type Begin<'a> = dyn Fn() -> Result<String, serde_json::Error> + 'a;

/// What `storage` holds, of which `bytes` were just read. An old version, or nothing at all, is
/// replaced there; when another process does so at the same moment, its result counts.
pub(super) fn load(
    storage: &mut dyn SessionStorage,
    mut bytes: Vec<u8>,
    begin: &Begin<'_>,
) -> Result<Loaded, SessionError> {
    for _ in 0..ATTEMPTS {
        let loaded = Loaded::of(bytes, storage.path(), begin)?;
        if !loaded.is_rewritten {
            return Ok(loaded);
        }
        let replaced = storage.replace(loaded.text.as_bytes());
        if replaced.map_err(|error| write_error(storage.path(), error))? {
            return Ok(loaded);
        }
        let read = storage.read().map_err(|error| read_error(storage.path(), error))?;
        bytes = read.unwrap_or_default();
    }
    Err(busy(storage.path()))
}

/// Others changed it whenever this process tried to.
pub(super) fn busy(path: Option<&Path>) -> SessionError {
    write_error(path, io::Error::other("another process keeps replacing it"))
}

impl Loaded {
    /// Reads the bytes of a session that is kept at `path`, if that is a file.
    pub(super) fn of(
        bytes: Vec<u8>,
        path: Option<&Path>,
        begin: &Begin<'_>,
    ) -> Result<Self, SessionError> {
        let mut diagnostics = Vec::new();
        let mut report = Report { path, found: &mut diagnostics };
        let mut is_rewritten = bytes.is_empty();
        let (mut text, mut raw) = if is_rewritten { (begin()?, None) } else { decode(bytes) };
        if raw.is_some() {
            report.add(None, Problem::NotUtf8);
        }
        let mut header = find_header(&text).ok_or_else(|| match path {
            Some(path) => SessionError::NotASession { path: path.to_owned() },
            None => SessionError::NotASessionText,
        })?;
        if header.version < CURRENT_VERSION {
            text = migrate(&text, header.version, &mut report)?;
            header.version = CURRENT_VERSION;
            (is_rewritten, raw) = (true, None);
        }
        Ok(Self { header, text, diagnostics, raw, is_rewritten })
    }

    /// The header, the entries, and what was wrong with them.
    pub(super) fn into_tree(self, path: Option<&Path>) -> (Header, Tree, Vec<Diagnostic>) {
        let Self { header, text, mut diagnostics, .. } = self;
        let mut tree = Tree::default();
        tree.read(text, Reading::Whole, &mut Report { path, found: &mut diagnostics });
        (header, tree, diagnostics)
    }
}

impl Session {
    /// A session as it was read from `storage`, or from nowhere; of `cwd`, unless it says otherwise.
    pub(super) fn loaded(
        loaded: Loaded,
        storage: Option<Box<dyn SessionStorage>>,
        cwd: &Path,
    ) -> (Self, Vec<Diagnostic>) {
        let path = storage.as_ref().and_then(|storage| storage.path());
        let (header, tree, mut diagnostics) = loaded.into_tree(path);
        let header = header.or_cwd(cwd);
        let kept = if storage.is_some() { Kept::Same } else { Kept::Nothing };
        let mut session = Self { tree, kept, ..Self::new(header, None) };
        if let Some((id, parent)) = session.missing_parent() {
            let mut report = Report { path, found: &mut diagnostics };
            report.add(None, Problem::MissingParent { id, parent });
        }
        session.storage = storage;
        (session, diagnostics)
    }

    /// The branch's first entry and its parent, where that is not there.
    fn missing_parent(&self) -> Option<(String, String)> {
        let first = self.walk_up().last()?.parse().ok()?;
        Some((first.id.clone(), first.parent_id.clone()?))
    }
}

/// The first line that is JSON at all must be the header.
fn find_header(text: &str) -> Option<Header> {
    let mut contents = lines(text).filter_map(|line| text.get(line.range));
    let first = contents.find(|line| serde_json::from_str::<IgnoredAny>(line).is_ok())?;
    Header::from_json(first)
}
