//! Places where the owner of a harness may step into what happens to a session.

use std::fmt;

use futures_util::future::BoxFuture;
use pi_ai::{AssistantMessage, Usage};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{CompactionFailure, NavigateOptions};
use crate::compaction::{BranchPreparation, CompactionReason, Preparation};
use crate::session::Entry;

/// Every method has a default that changes nothing. Several hooks are asked in their order; the
/// first that cancels or supplies a summary decides, and whoever comes behind is not asked.
pub trait SessionHooks: Send + Sync + fmt::Debug {
    /// Before a summary is asked for: may cancel, or supply one.
    fn before_compact<'a>(
        &'a self,
        _compaction: BeforeCompact<'a>,
    ) -> BoxFuture<'a, CompactDecision> {
        Box::pin(std::future::ready(CompactDecision::Proceed))
    }

    /// The entry is in the session, the public event is still to come.
    fn after_compact<'a>(&'a self, _compacted: Compacted<'a>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Nothing was stored; the public event is still to come.
    fn compact_failed<'a>(&'a self, _failure: CompactFailed<'a>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Nothing more is to be done for the prompt that is on. What is queued now is still delivered
    /// within it.
    fn before_settle<'a>(&'a self, _answer: Option<&'a AssistantMessage>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Before the leaf moves: may cancel, supply the summary, or change what is asked for.
    fn before_navigate<'a>(
        &'a self,
        _navigation: BeforeNavigate<'a>,
    ) -> BoxFuture<'a, NavigateDecision> {
        Box::pin(std::future::ready(NavigateDecision::Proceed))
    }

    /// The leaf has moved.
    fn after_navigate<'a>(&'a self, _navigated: Navigated<'a>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}

/// What is about to be summarised.
#[derive(Debug, Clone)]
pub struct BeforeCompact<'a> {
    pub preparation: &'a Preparation,
    pub instructions: Option<&'a str>,
    pub reason: CompactionReason,
    /// Whether a failed answer is tried again afterwards.
    pub will_retry: bool,
    /// Cancelled when the compaction is.
    pub cancel: &'a CancellationToken,
}

/// Answer of [`SessionHooks::before_compact`].
#[derive(Debug, Clone, PartialEq)]
pub enum CompactDecision {
    Proceed,
    Cancel,
    /// Stands in for the model's summary; stored as it is.
    Use(Box<SuppliedCompaction>),
}

/// A summary that no model of ours made.
#[derive(Debug, Clone, PartialEq)]
pub struct SuppliedCompaction {
    pub summary: String,
    /// `None`: nothing before it is kept.
    pub first_kept_entry_id: Option<String>,
    pub tokens_before: u64,
    pub usage: Option<Usage>,
    pub details: Option<Value>,
}

/// A compaction that is stored.
#[derive(Debug, Clone, Copy)]
pub struct Compacted<'a> {
    pub entry: &'a Entry,
    /// Whether a hook supplied it.
    pub from_hook: bool,
    pub reason: CompactionReason,
    pub will_retry: bool,
}

/// A compaction that came to nothing.
#[derive(Debug, Clone, Copy)]
pub struct CompactFailed<'a> {
    pub reason: CompactionReason,
    pub failure: &'a CompactionFailure,
    /// Whether a hook had supplied the summary.
    pub from_hook: bool,
}

/// Where the leaf is about to go.
#[derive(Debug, Clone)]
pub struct BeforeNavigate<'a> {
    /// The branch that is left, with target and common ancestor.
    pub preparation: &'a BranchPreparation,
    pub options: &'a NavigateOptions,
    /// Cancelled when the navigation is.
    pub cancel: &'a CancellationToken,
}

/// Answer of [`SessionHooks::before_navigate`].
#[derive(Debug, Clone, PartialEq)]
pub enum NavigateDecision {
    Proceed,
    Cancel,
    /// Goes on with other instructions or another label.
    Change(NavigateOptions),
    /// Stands in for the model's summary.
    Use {
        summary: String,
        usage: Option<Usage>,
        details: Option<Value>,
        /// Goes before the one asked for.
        label: Option<String>,
    },
}

/// A navigation that is done.
#[derive(Debug, Clone, Copy)]
pub struct Navigated<'a> {
    pub new_leaf_id: Option<&'a str>,
    pub old_leaf_id: Option<&'a str>,
    /// The summary of the branch that was left.
    pub summary: Option<&'a Entry>,
    /// Whether a hook supplied it.
    pub from_hook: bool,
}
