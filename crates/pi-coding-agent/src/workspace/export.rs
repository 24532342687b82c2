//! Conversations as pages.

use std::io;
use std::path::PathBuf;

use pi_agent::Session;
use pi_agent::session::EntryKind;

use super::Workspace;
use crate::export::{self, ExportError, ExportOptions};
use crate::session_runtime::AgentSession;

impl Workspace {
    /// Writes a conversation as an HTML page, every branch of it, in the colours of its directory. Gives
    /// the path as it was given, or the name that was made for it; either starts at the directory of
    /// the session. Blocks: it reads and writes files.
    ///
    /// # Errors
    /// Nothing was said yet, the path is that of the session itself, or the page cannot be written.
    pub fn export_html(
        &self,
        conversation: &AgentSession,
        output: Option<&str>,
    ) -> Result<PathBuf, ExportError> {
        let cwd = conversation.with_session(|session| session.cwd().to_owned());
        let workspace = self.for_directory(&cwd);
        let options = ExportOptions { theme: workspace.theme(), unreadable: 0 };
        let output = output.map(|path| workspace.options().env.expand_home(path));
        // Messages are stored under the lock, so the page is made in memory and written after it.
        let (page, own, name) = conversation.with_session(|session| {
            let own = session.path().map(PathBuf::from);
            (page(session, &options), own, export::default_name(session))
        });
        let shown = output.unwrap_or_else(|| name.into());
        let target = cwd.join(&shown);
        let page = page.map_err(|source| ExportError::Write { path: target.clone(), source })?;
        let page = page.ok_or(ExportError::Empty)?;
        export::refuse_own_file(own.as_deref(), &target)?;
        export::write_page(&page, &target)?;
        Ok(shown)
    }
}

/// `None`: nothing was said yet.
fn page(session: &Session, options: &ExportOptions) -> io::Result<Option<Vec<u8>>> {
    let says = |kind: &EntryKind| {
        matches!(
            kind,
            EntryKind::Message
                | EntryKind::CustomMessage
                | EntryKind::Compaction
                | EntryKind::BranchSummary
        )
    };
    if !session.entries().any(|entry| says(entry.kind())) {
        return Ok(None);
    }
    let mut page = Vec::new();
    export::to_html(session, options, &mut page)?;
    Ok(Some(page))
}
