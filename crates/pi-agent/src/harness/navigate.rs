//! Going somewhere else in the tree, perhaps with a summary of the branch that is left.

use std::sync::Arc;

use super::operation::{Kind, Scope};
use super::session_hooks::{BeforeNavigate, NavigateDecision, Navigated};
use super::{Harness, HarnessError, Inner};
use crate::compaction::{
    BranchPreparation, Summary, SummaryError, SummaryInstructions, prepare_branch, summarize_branch,
};
use crate::event::SummarySource;
use crate::session::entry::BranchSummaryEntry;
use crate::session::{Entry, EntryBody, SessionError, clean_name};
use tokio_util::sync::CancellationToken;

/// How to go to another place of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NavigateOptions {
    /// Leave a summary of the branch that is left, where there is something to summarise.
    pub summarize: bool,
    /// What the summary should look at.
    pub instructions: Option<String>,
    /// The instructions stand alone, in the place of the usual ones.
    pub replace_instructions: bool,
    /// Marks the summary; without one the entry gone to.
    pub label: Option<String>,
}

/// Where a navigation has led.
#[derive(Debug, Clone, Default)]
pub struct Navigation {
    /// The text of the user message gone to: it waits to be sent again, perhaps changed.
    pub editor_text: Option<String>,
    /// The summary of the branch that was left.
    pub summary: Option<Arc<Entry>>,
}

/// Why a navigation did not happen. The leaf is where it was.
#[derive(Debug, Clone, thiserror::Error)]
pub enum NavigationFailure {
    /// Somebody stopped it, or a hook did.
    #[error("Navigation cancelled")]
    Cancelled,
    /// No summary could be had.
    #[error("{0}")]
    Summary(String),
    #[error(transparent)]
    Session(Arc<SessionError>),
}

impl Harness {
    /// Goes to an entry; `None` goes before all of them. To a user message means to where it was
    /// written: the leaf is its parent, and its text comes back. Nothing already written changes;
    /// the place itself is only kept once something is appended there. Whoever is told something by
    /// a prompt or another navigation must not wait for this.
    ///
    /// # Errors
    /// Something else is on, there is no such entry, a hook or [`Self::abort`] cancelled it, or the
    /// summary could not be had or stored.
    pub async fn navigate(
        &self,
        target: Option<&str>,
        options: NavigateOptions,
    ) -> Result<Navigation, HarnessError> {
        let scope = Scope::begin(Arc::clone(&self.inner), Kind::Navigation).await?;
        self.inner.bring_up_to_date();
        Ok(self.inner.navigate(target, options, &scope.tokens.cancel).await?)
    }
}

/// Where the leaf goes, and what was written there.
struct Place {
    leaf: Option<String>,
    editor_text: Option<String>,
}

impl Inner {
    async fn navigate(
        &self,
        target: Option<&str>,
        mut options: NavigateOptions,
        cancel: &CancellationToken,
    ) -> Result<Navigation, NavigationFailure> {
        self.store_kept().map_err(NavigationFailure::Session)?;
        let place = self.place_of(target)?;
        let preparation = self.branch_left(target)?;
        if preparation.old_leaf_id == place.leaf && options.label.is_none() {
            return Ok(Navigation { editor_text: place.editor_text, summary: None });
        }
        let mut supplied = None;
        for hooks in self.session_hooks().iter() {
            let asked = BeforeNavigate { preparation: &preparation, options: &options, cancel };
            match cancel.run_until_cancelled(hooks.before_navigate(asked)).await {
                Some(NavigateDecision::Proceed) => {}
                Some(NavigateDecision::Change(changed)) => options = changed,
                Some(NavigateDecision::Use { summary, usage, details, label }) => {
                    options.label = label.or(options.label);
                    supplied = Some(Summary { text: summary, usage, details });
                    break;
                }
                Some(NavigateDecision::Cancel) | None => return Err(NavigationFailure::Cancelled),
            }
        }
        let from_hook = supplied.is_some();
        let summary = match supplied {
            Some(summary) => Some(summary),
            None => self.ask_for_branch(&preparation, &options, cancel).await?,
        };
        if cancel.is_cancelled() {
            return Err(NavigationFailure::Cancelled);
        }
        let old_leaf_id = preparation.old_leaf_id.as_deref();
        let summary = summary.map(|summary| BranchSummaryEntry {
            from_id: old_leaf_id.unwrap_or("root").to_owned(),
            summary: summary.text,
            details: summary.details,
            usage: summary.usage,
            from_hook: Some(from_hook),
        });
        let label = options.label.as_deref().map(|label| (label, target));
        let summary = self.move_leaf(place.leaf.as_deref(), summary, label)?;
        self.reload();
        let new_leaf_id = self.session().leaf().map(|leaf| leaf.id().to_owned());
        let navigated = Navigated {
            new_leaf_id: new_leaf_id.as_deref(),
            old_leaf_id,
            summary: summary.as_deref(),
            from_hook,
        };
        for hooks in self.session_hooks().iter() {
            hooks.after_navigate(navigated).await;
        }
        Ok(Navigation { editor_text: place.editor_text, summary })
    }

    fn place_of(&self, target: Option<&str>) -> Result<Place, NavigationFailure> {
        let Some(id) = target else { return Ok(Place { leaf: None, editor_text: None }) };
        let session = self.session();
        let selected = session.select_target(id);
        let selected = selected.map_err(|error| NavigationFailure::Session(Arc::new(error)))?;
        let leaf = selected.leaf.map(ToOwned::to_owned);
        Ok(Place { leaf, editor_text: selected.editor_text })
    }

    /// A user message gone to is not left: its text comes back.
    fn branch_left(&self, target: Option<&str>) -> Result<BranchPreparation, NavigationFailure> {
        let window = self.agent.model().context_window;
        let reserve = self.state().settings.branch_summary.reserve_tokens;
        // 0 would be no limit at all: right only for a window nobody knows.
        let budget = if window == 0 { 0 } else { window.saturating_sub(reserve).max(1) };
        let prepared = prepare_branch(&self.session(), target, budget);
        prepared.map_err(|error| NavigationFailure::Session(Arc::new(error)))
    }

    /// `None` where nothing is asked for, or nothing is left behind.
    async fn ask_for_branch(
        &self,
        preparation: &BranchPreparation,
        options: &NavigateOptions,
        cancel: &CancellationToken,
    ) -> Result<Option<Summary>, NavigationFailure> {
        if !options.summarize || preparation.messages.is_empty() {
            return Ok(None);
        }
        let instructions = match &options.instructions {
            Some(text) if options.replace_instructions => SummaryInstructions::Replace(text),
            Some(text) => SummaryInstructions::Focus(text),
            None => SummaryInstructions::Usual,
        };
        let model = self.agent.model();
        let summarizer = self.summarizer(SummarySource::BranchSummary, &model, cancel).await;
        let summarizer = summarizer.ok_or(NavigationFailure::Cancelled)?;
        match summarize_branch(preparation, instructions, &summarizer).await {
            Ok(summary) => Ok(Some(summary)),
            Err(SummaryError::Cancelled) => Err(NavigationFailure::Cancelled),
            Err(SummaryError::Failed(text)) => Err(NavigationFailure::Summary(text)),
        }
    }

    /// Moves the leaf and stores the summary there. When that cannot be stored the leaf goes back;
    /// a label that cannot be is kept, and written before whatever comes next: the summary's, or
    /// else that of the entry beside it.
    fn move_leaf(
        &self,
        leaf: Option<&str>,
        summary: Option<BranchSummaryEntry>,
        label: Option<(&str, Option<&str>)>,
    ) -> Result<Option<Arc<Entry>>, NavigationFailure> {
        let moved = self.change_session(|session| {
            let old_leaf = session.leaf().map(|leaf| leaf.id().to_owned());
            session.set_leaf(leaf)?;
            let Some(summary) = summary else { return Ok(None) };
            let stored = session.append(EntryBody::BranchSummary(summary));
            if stored.is_err() {
                // Entries are never removed, so the old leaf is still there.
                session.set_leaf(old_leaf.as_deref())?;
            }
            stored.map(Some)
        });
        let summary = moved.map_err(NavigationFailure::Session)?;
        if let Some((label, beside)) = label {
            let target = summary.as_ref().map(|entry| entry.id.as_str()).or(beside);
            if let Some(target_id) = target.map(ToOwned::to_owned) {
                let label = Some(clean_name(label)).filter(|label| !label.is_empty());
                self.store_or_keep(EntryBody::Label { target_id, label });
            }
        }
        Ok(summary)
    }
}
