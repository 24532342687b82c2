//! Writing single settings back to the user's file.
//!
//! Owns: that nothing else in the file changes, and that two programs that write at once lose
//! nothing. Never: writes a project's file, or decides what is saved.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use pi_agent::{FileLock, LockError};
use serde_json::{Map, Value};

/// Why a setting was not saved. The file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is no JSON object and was left alone: {reason}", path.display())]
    Invalid { path: PathBuf, reason: String },
}

/// Sets `key`, such as `["compaction", "enabled"]`, in the settings of `agent_dir`. Keys nobody knows
/// and their order stay. A link is followed, and the file's mode kept.
///
/// # Errors
/// The file is in use, cannot be read or written, or is no JSON object.
pub fn save(agent_dir: &Path, key: &[&str], value: Value) -> Result<(), SaveError> {
    let path = agent_dir.join(super::load::FILE_NAME);
    let failed = |source| SaveError::Io { path: path.clone(), source };
    fs::create_dir_all(agent_dir).map_err(failed)?;
    let path = fs::canonicalize(&path).unwrap_or(path);
    let failed = |source| SaveError::Io { path: path.clone(), source };
    let lock = FileLock::acquire(&path)?;
    let mut settings = read(&path)?;
    set(&mut settings, key, value);
    let mut text = serde_json::to_vec_pretty(&settings).map_err(|error| failed(error.into()))?;
    text.push(b'\n');
    lock.check()?;
    replace(&path, &text).map_err(failed)
}

fn read(path: &Path) -> Result<Map<String, Value>, SaveError> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
        Err(source) => return Err(SaveError::Io { path: path.to_owned(), source }),
    };
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    if text.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    let invalid = |reason| SaveError::Invalid { path: path.to_owned(), reason };
    match serde_json::from_slice(text) {
        Ok(Value::Object(settings)) => Ok(settings),
        Ok(_) => Err(invalid("expected an object".to_owned())),
        Err(error) => Err(invalid(error.to_string())),
    }
}

fn set(settings: &mut Map<String, Value>, key: &[&str], value: Value) {
    match key {
        [] => {}
        [name] => {
            settings.insert((*name).to_owned(), value);
        }
        [group, rest @ ..] => {
            let group = settings.entry(*group).or_insert_with(|| Value::Object(Map::new()));
            if !group.is_object() {
                *group = Value::Object(Map::new());
            }
            if let Value::Object(group) = group {
                set(group, rest, value);
            }
        }
    }
}

/// All or nothing for whoever reads meanwhile.
fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".pi-");
    if let Ok(old) = fs::metadata(path) {
        builder.permissions(old.permissions());
    }
    let mut stage = builder.tempfile_in(path.parent().unwrap_or(Path::new(".")))?;
    stage.write_all(text)?;
    stage.persist(path).map_err(|failed| failed.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_setting_is_set_and_the_rest_stays() {
        let dir = tempfile::tempdir().unwrap();
        let agent = dir.path().join("agent");
        save(&agent, &["steeringMode"], json!("all")).unwrap();
        let file = agent.join("settings.json");
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"steeringMode\": \"all\"\n}\n");
        fs::write(&file, r#"{"z": 1.50, "retry": {"own": [1]}, "compaction": 7, "a": null}"#)
            .unwrap();
        save(&agent, &["retry", "enabled"], json!(false)).unwrap();
        save(&agent, &["compaction", "enabled"], json!(true)).unwrap();
        let saved: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        assert_eq!(
            saved.to_string(),
            r#"{"z":1.5,"retry":{"own":[1],"enabled":false},"compaction":{"enabled":true},"a":null}"#
        );
        let left: Vec<_> =
            fs::read_dir(&agent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["settings.json"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("settings.json");
        for text in ["{broken", "[1]"] {
            fs::write(&file, text).unwrap();
            let error = save(dir.path(), &["x"], json!(1)).unwrap_err();
            assert!(matches!(error, SaveError::Invalid { .. }), "{error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
    }
}
