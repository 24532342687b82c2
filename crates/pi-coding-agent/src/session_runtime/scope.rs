//! The models a conversation cycles through.

use std::sync::Arc;

use tokio::sync::OnceCell;

use crate::error::Warning;
use crate::models::{ModelRegistry, ScopedModel, resolve_scope};
use crate::warnings::Warnings;

/// Known from the start where the first model was chosen from it, else looked up when it is first
/// asked for: that lists every model there is.
#[derive(Debug)]
pub(crate) struct ModelScope {
    patterns: Vec<String>,
    warnings: Warnings,
    models: OnceCell<Vec<ScopedModel>>,
}

impl ModelScope {
    pub(crate) fn of(models: Vec<ScopedModel>) -> Self {
        Self { patterns: Vec::new(), warnings: Warnings::default(), models: OnceCell::from(models) }
    }

    /// What the patterns match is yet to be found; what is odd about them goes to `warnings`.
    pub(crate) fn pending(patterns: Vec<String>, warnings: Warnings) -> Self {
        Self { patterns, warnings, models: OnceCell::new() }
    }

    pub(super) async fn models(&self, registry: &Arc<ModelRegistry>) -> &[ScopedModel] {
        let find = || async {
            let (registry, patterns) = (Arc::clone(registry), self.patterns.clone());
            // Whether a model can be used may take a command that prints its key.
            let found = tokio::task::spawn_blocking(move || resolve_scope(&registry, &patterns));
            let scope = found.await.unwrap_or_default();
            self.warnings.extend(scope.warnings.into_iter().map(Warning::new));
            scope.models
        };
        self.models.get_or_init(find).await
    }
}
