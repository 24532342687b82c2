//! Looking through trees of files: which there are, in the order of their names, without what the
//! ignore files leave out.
//!
//! Owns: walking with several threads, ignore rules, globs. Never: touches files but through
//! [`BlockingFiles`], or knows what is looked for or how it is told.

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::env::{BlockingFiles, ExecutionEnv};
use tokio_util::sync::CancellationToken;

mod ignore_rules;
mod schedule;
mod walk;

pub(crate) use ignore_rules::RuleKind;
pub(crate) use walk::{Tree, Visit};

use ignore_rules::GlobalRules;

/// The tree below `root`, an absolute folder. For threads that may block.
pub(crate) fn tree(
    env: &Arc<dyn ExecutionEnv>,
    files: Arc<dyn BlockingFiles>,
    root: PathBuf,
    kind: RuleKind,
    cancel: CancellationToken,
) -> Tree {
    let global = GlobalRules::read(&*files, &root, env.home(), env.environment());
    Tree::new(files, root, kind, global, cancel)
}
