//! The conversation as a page.

use std::path::PathBuf;

use pi_agent::session::EntryKind;

use super::AgentSession;
use crate::export::{self, ExportError, ExportOptions};
use crate::workspace::Workspace;

impl AgentSession {
    /// Writes the conversation as an HTML page, every branch of it, in the colours of `workspace`. Gives
    /// the path as it was given, or the name that was made for it; either starts at the directory of
    /// the session. Blocks: it reads and writes files.
    ///
    /// # Errors
    /// Nothing was said yet, the path is that of the session itself, or the page cannot be written.
    pub fn export_html(
        &self,
        workspace: &Workspace,
        output: Option<&str>,
    ) -> Result<PathBuf, ExportError> {
        let cwd = self.with_session(|session| session.cwd().to_owned());
        let workspace = workspace.for_directory(&cwd);
        let options = ExportOptions { theme: workspace.theme(), unreadable: 0 };
        let output = output.map(|path| workspace.options().env.expand_home(path));
        // Messages are stored under the lock, so the page is made in memory and written after it.
        let (page, own, name) = self.with_session(|session| {
            let is_said = session.entries().any(|entry| {
                matches!(
                    entry.kind(),
                    EntryKind::Message
                        | EntryKind::CustomMessage
                        | EntryKind::Compaction
                        | EntryKind::BranchSummary
                )
            });
            let mut page = Vec::new();
            if is_said && export::to_html(session, &options, &mut page).is_err() {
                page.clear();
            }
            (page, session.path().map(PathBuf::from), export::default_name(session))
        });
        if page.is_empty() {
            return Err(ExportError::Empty);
        }
        let shown = output.unwrap_or_else(|| name.into());
        let target = cwd.join(&shown);
        export::refuse_own_file(own.as_deref(), &target)?;
        export::write_page(&page, &target)?;
        Ok(shown)
    }
}
