//! The chat models pi knows without asking anyone.
//!
//! Data is embedded, one file per provider, one model a line. Nothing is parsed before it is asked
//! for: finding one model parses its line, listing a provider parses that provider's file. Whether a
//! model can be used (protocol, key) is not decided here.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use crate::rows::{row_id, rows};
use crate::types::{Model, ModelCost};

mod files;
#[cfg(test)]
mod tests;

/// The catalogue. Parsed models are kept and shared.
#[derive(Debug)]
pub struct Catalog {
    providers: Vec<ProviderModels>,
}

#[derive(Debug)]
struct ProviderModels {
    id: &'static str,
    text: &'static str,
    models: OnceLock<Vec<Arc<Model>>>,
}

impl Catalog {
    /// The models this build was made with. Costs a table of pointers.
    pub fn embedded() -> Self {
        Self::new(files::FILES)
    }

    /// A catalogue of one text per provider, in the form of the embedded ones.
    pub fn new(files: &[(&'static str, &'static str)]) -> Self {
        let provider = |&(id, text)| ProviderModels { id, text, models: OnceLock::new() };
        Self { providers: files.iter().map(provider).collect() }
    }

    /// Providers with at least one chat model, in alphabetical order.
    pub fn providers(&self) -> impl Iterator<Item = &'static str> {
        self.providers.iter().map(|provider| provider.id)
    }

    /// Every model of a provider, in the order of ids; empty for unknown providers.
    pub fn models(&self, provider: &str) -> &[Arc<Model>] {
        self.provider(provider).map_or(&[], ProviderModels::models)
    }

    /// Ids of a provider's models, without parsing them.
    pub fn ids(&self, provider: &str) -> impl Iterator<Item = &'static str> + use<> {
        let text = self.provider(provider).map_or("", |provider| provider.text);
        rows(text).filter_map(row_id)
    }

    /// One model by its exact id. Parses no other.
    pub fn find(&self, provider: &str, id: &str) -> Option<Arc<Model>> {
        let provider = self.provider(provider)?;
        if let Some(models) = provider.models.get() {
            return models.iter().find(|model| model.id == id).cloned();
        }
        let line = rows(provider.text).find(|row| row_id(row) == Some(id))?;
        parse(line).map(Arc::new)
    }

    /// Providers whose whole file has been parsed so far.
    pub fn loaded(&self) -> impl Iterator<Item = &'static str> {
        self.providers.iter().filter(|provider| provider.models.get().is_some()).map(|p| p.id)
    }

    fn provider(&self, id: &str) -> Option<&ProviderModels> {
        self.providers.iter().find(|provider| provider.id == id)
    }
}

impl ProviderModels {
    fn models(&self) -> &[Arc<Model>] {
        self.models.get_or_init(|| rows(self.text).filter_map(parse).map(Arc::new).collect())
    }
}

/// Sets prices below zero, which some providers use for "unknown", to zero.
pub fn floor_prices(cost: &mut ModelCost) {
    let ModelCost { input, output, cache_read, cache_write, tiers } = cost;
    let tiers = tiers.iter_mut().flatten();
    let of_tiers =
        tiers.flat_map(|t| [&mut t.input, &mut t.output, &mut t.cache_read, &mut t.cache_write]);
    for price in [input, output, cache_read, cache_write].into_iter().chain(of_tiers) {
        *price = price.max(0.0);
    }
}

/// `None` for models that do not chat and for lines a newer pi wrote in ways unknown here.
fn parse(line: &str) -> Option<Model> {
    #[derive(Deserialize)]
    struct Kind<'a> {
        #[serde(rename = "type", borrow)]
        kind: Option<&'a str>,
    }
    let kind: Kind<'_> = serde_json::from_str(line).ok()?;
    if kind.kind.is_some_and(|kind| kind != "chat") {
        return None;
    }
    let mut model: Model = serde_json::from_str(line).ok()?;
    floor_prices(&mut model.cost);
    Some(model)
}
