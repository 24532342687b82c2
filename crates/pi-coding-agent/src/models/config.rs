//! `models.json`: providers and models a user adds or changes.
//!
//! Comments, trailing commas and a byte order mark are fine. What is wrong is reported with its
//! place and left out; everything else keeps working. Nothing here knows the catalogue.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indexmap::IndexMap;
use jsonc_parser::ParseOptions;
use pi_ai::auth::Template;
use serde_json::{Map, Value};

use crate::json_place::{Document, Part, Place};

mod fields;
mod merge;
#[cfg(test)]
mod tests;

use fields::{Fault, Reader};
pub(super) use merge::{apply_override, custom_model, merge_compat};

/// The file, as far as it could be understood.
#[derive(Debug, Clone, Default)]
pub struct ModelsConfig {
    providers: IndexMap<String, ProviderConfig>,
    problems: Vec<ConfigProblem>,
}

/// What the file says of one provider.
#[derive(Debug, Clone, Default)]
pub struct ProviderConfig {
    pub name: Option<String>,
    pub base_url: Option<String>,
    pub api: Option<String>,
    pub key: Option<Template>,
    pub headers: IndexMap<String, Template>,
    /// Send the key as `Authorization: Bearer` too.
    pub auth_header: bool,
    pub compat: Map<String, Value>,
    /// Models to add or replace, by id.
    pub models: IndexMap<String, ModelConfig>,
    /// Changes to models the provider has anyway, by id.
    pub overrides: IndexMap<String, ModelConfig>,
}

/// Fields of one model, checked for their types, under the names of the file.
#[derive(Debug, Clone, Default)]
pub struct ModelConfig {
    pub fields: Map<String, Value>,
    pub headers: IndexMap<String, Template>,
}

/// Something in the file that had to be left out. Holds no values of the file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ConfigProblem {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: Arc<io::Error> },
    #[error("{}:{line}:{column}: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, column: usize, message: String },
    /// `field` is a path such as `providers.local.models.0.id`; the place is that of the nearest thing
    /// that is there.
    #[error("{}:{line}:{column}: {field}: {problem}", path.display())]
    Field { path: PathBuf, line: usize, column: usize, field: String, problem: String },
}

impl ModelsConfig {
    /// Reads the file. A missing one says nothing.
    pub fn read(path: &Path) -> Self {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => Self::unusable(ConfigProblem::Read {
                path: path.to_owned(),
                source: Arc::new(error),
            }),
        }
    }

    /// Reads the text of a file; `path` is for messages.
    pub fn parse(path: &Path, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match jsonc_parser::parse_to_serde_value::<Option<Value>>(text, &tolerance()) {
            Ok(document) => {
                let mut reader = Reader::default();
                let providers = reader.document(document.unwrap_or_default());
                Self { providers, problems: placed(reader.into_faults(), path, text) }
            }
            Err(error) => Self::unusable(ConfigProblem::Syntax {
                path: path.to_owned(),
                line: error.line_display(),
                column: error.column_display(),
                message: error.kind().to_string(),
            }),
        }
    }

    pub fn provider(&self, id: &str) -> Option<&ProviderConfig> {
        self.providers.get(id)
    }

    /// Providers of the file, in its order.
    pub fn providers(&self) -> impl Iterator<Item = (&str, &ProviderConfig)> {
        self.providers.iter().map(|(id, provider)| (id.as_str(), provider))
    }

    pub fn problems(&self) -> &[ConfigProblem] {
        &self.problems
    }

    fn unusable(problem: ConfigProblem) -> Self {
        Self { providers: IndexMap::new(), problems: vec![problem] }
    }
}

/// Looks for the places; nothing is done for a file without faults.
fn placed(faults: Vec<Fault>, path: &Path, text: &str) -> Vec<ConfigProblem> {
    if faults.is_empty() {
        return Vec::new();
    }
    let document = Document::parse(text);
    let problem = |Fault { field, problem }| {
        let Place { line, column } = document.place(&field, Part::Value);
        ConfigProblem::Field { path: path.to_owned(), line, column, field, problem }
    };
    faults.into_iter().map(problem).collect()
}

fn tolerance() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
    }
}
