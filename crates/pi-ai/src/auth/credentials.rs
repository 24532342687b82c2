//! `auth.json`: keys stored by a person or by a sign-in. Read only.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{Environment, Template};

/// The stored credentials, by provider. A broken file is remembered and told to whoever asks for a
/// key, so that a key from elsewhere never takes its place unseen.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    entries: BTreeMap<String, Result<Credential, CredentialsError>>,
    broken: Option<CredentialsError>,
}

/// One stored credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Credential {
    ApiKey {
        /// Absent: only the variables are stored.
        key: Option<Template>,
        /// Variables for this provider only.
        environment: Environment,
    },
    /// Tokens of a sign-in, which this build cannot refresh or use.
    SignIn,
}

/// What is wrong with `auth.json`. Never holds a value of the file.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CredentialsError {
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: Arc<io::Error> },
    #[error("{}:{line}:{column}: not valid JSON", path.display())]
    Syntax { path: PathBuf, line: usize, column: usize },
    #[error("{}: not a JSON object", path.display())]
    Shape { path: PathBuf },
    #[error("Invalid auth.json credential for provider {provider:?}")]
    Entry { provider: String },
}

impl Credentials {
    /// Reads the file. A missing one holds nothing.
    pub fn read(path: &Path) -> Self {
        match std::fs::read_to_string(path) {
            Ok(text) => Self::parse(path, &text),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::default(),
            Err(error) => Self::broken(CredentialsError::Read {
                path: path.to_owned(),
                source: Arc::new(error),
            }),
        }
    }

    /// Reads the text of a file; `path` is for messages.
    pub fn parse(path: &Path, text: &str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        match serde_json::from_str(text) {
            Ok(Value::Object(entries)) => Self {
                entries: entries
                    .iter()
                    .map(|(id, entry)| (id.clone(), credential(id, entry)))
                    .collect(),
                broken: None,
            },
            Ok(_) => Self::broken(CredentialsError::Shape { path: path.to_owned() }),
            Err(error) => Self::broken(CredentialsError::Syntax {
                path: path.to_owned(),
                line: error.line(),
                column: error.column(),
            }),
        }
    }

    /// What is stored for a provider.
    ///
    /// # Errors
    /// The file or the provider's entry cannot be understood.
    pub fn get(&self, provider: &str) -> Result<Option<&Credential>, CredentialsError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        self.entries.get(provider).map(Result::as_ref).transpose().map_err(Clone::clone)
    }

    /// Everything wrong with the file, for a warning at start.
    pub fn problems(&self) -> impl Iterator<Item = &CredentialsError> {
        self.broken.iter().chain(self.entries.values().filter_map(|entry| entry.as_ref().err()))
    }

    fn broken(error: CredentialsError) -> Self {
        Self { entries: BTreeMap::new(), broken: Some(error) }
    }
}

fn credential(provider: &str, entry: &Value) -> Result<Credential, CredentialsError> {
    let understood =
        entry.as_object().and_then(|fields| match fields.get("type").and_then(Value::as_str)? {
            "api_key" => api_key(fields),
            "oauth" => Some(Credential::SignIn),
            _ => None,
        });
    understood.ok_or_else(|| CredentialsError::Entry { provider: provider.to_owned() })
}

fn api_key(fields: &Map<String, Value>) -> Option<Credential> {
    let key = match fields.get("key") {
        None | Some(Value::Null) => None,
        Some(value) => Some(Template::parse(value.as_str()?)),
    };
    let mut environment = Vec::new();
    for (name, value) in fields.get("env").and_then(Value::as_object).into_iter().flatten() {
        environment.push((name, value.as_str()?));
    }
    Some(Credential::ApiKey { key, environment: environment.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Credentials {
        Credentials::parse(Path::new("/a/auth.json"), text)
    }

    #[test]
    fn both_kinds_of_entries_are_kept() {
        let credentials = parse(
            "\u{feff}{\"a\":{\"type\":\"api_key\",\"key\":\"k\",\"env\":{\"X\":\"1\"},\"later\":true},\
             \"b\":{\"type\":\"oauth\",\"access\":\"t\",\"refresh\":\"r\",\"expires\":1},\
             \"c\":{\"type\":\"api_key\"}}",
        );
        let expected = Credential::ApiKey {
            key: Some(Template::parse("k")),
            environment: [("X", "1")].into_iter().collect(),
        };
        assert_eq!(credentials.get("a").unwrap(), Some(&expected));
        assert_eq!(credentials.get("b").unwrap(), Some(&Credential::SignIn));
        assert!(matches!(
            credentials.get("c").unwrap(),
            Some(Credential::ApiKey { key: None, .. })
        ));
        assert!(credentials.get("d").unwrap().is_none());
        assert_eq!(credentials.problems().count(), 0);
    }

    #[test]
    fn one_bad_entry_leaves_the_others_alone() {
        let credentials = parse(
            r#"{"a":"sk-1","b":{"type":"new"},"c":{"type":"api_key","key":7},"d":{"type":"api_key","key":"k"}}"#,
        );
        for provider in ["a", "b", "c"] {
            assert_eq!(
                credentials.get(provider).unwrap_err().to_string(),
                format!("Invalid auth.json credential for provider {provider:?}")
            );
        }
        assert!(credentials.get("d").unwrap().is_some());
        assert_eq!(credentials.problems().count(), 3);
    }

    #[test]
    fn a_broken_file_is_told_with_its_place_to_everyone() {
        let credentials = parse("{\"a\":\n  sk-1}");
        let error = credentials.get("other").unwrap_err().to_string();
        assert_eq!(error, "/a/auth.json:2:3: not valid JSON");
        assert_eq!(
            parse("[]").get("a").unwrap_err().to_string(),
            "/a/auth.json: not a JSON object"
        );
    }

    #[test]
    fn a_missing_file_holds_nothing_and_an_unreadable_one_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let none = Credentials::read(&folder.path().join("auth.json"));
        assert!(none.get("a").unwrap().is_none());
        let error = Credentials::read(folder.path()).get("a").unwrap_err().to_string();
        assert!(error.starts_with("cannot read "), "{error}");
    }
}
