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
    let path = target(path);
    let failed = |source| SaveError::Io { path: path.clone(), source };
    let lock = FileLock::acquire(&path)?;
    let mut settings = read(&path)?;
    set(&mut settings, key, value);
    let text = serde_json::to_vec_pretty(&settings).map_err(|error| failed(error.into()))?;
    lock.check()?;
    replace(&path, &text).map_err(failed)
}

/// The file a link leads to, also where it is not there yet.
fn target(path: PathBuf) -> PathBuf {
    if let Ok(target) = fs::canonicalize(&path) {
        return target;
    }
    match (fs::read_link(&path), path.parent()) {
        (Ok(target), Some(folder)) => folder.join(target),
        _ => path,
    }
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
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut stage = tempfile::Builder::new().prefix(".pi-").tempfile_in(folder)?;
    if let Ok(old) = fs::metadata(path) {
        // Afterwards: what a file is made with is cut by the umask.
        stage.as_file().set_permissions(old.permissions())?;
    }
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
        assert_eq!(fs::read_to_string(&file).unwrap(), "{\n  \"steeringMode\": \"all\"\n}");
        for (before, key, value, after) in [
            ("{\"z\": 1.50, \"a\": null}", &["b"][..], json!([]), r#"{"z":1.5,"a":null,"b":[]}"#),
            ("{\"a\": 1, \"b\": 2}", &["a"], json!(3), r#"{"a":3,"b":2}"#),
            (
                "{\"retry\": {\"own\": [1]}, \"x\": {}}",
                &["retry", "enabled"],
                json!(false),
                r#"{"retry":{"own":[1],"enabled":false},"x":{}}"#,
            ),
            ("{\"retry\": 7}", &["retry", "enabled"], json!(true), r#"{"retry":{"enabled":true}}"#),
            ("\u{feff}{\"a\": \"\u{e4}\"}", &["b"], json!(1), "{\"a\":\"\u{e4}\",\"b\":1}"),
            (" \n", &["a"], json!(1), r#"{"a":1}"#),
            // What is old and what is new stand beside each other; the new one wins.
            (
                "{\"queueMode\": \"all\"}",
                &["steeringMode"],
                json!("x"),
                r#"{"queueMode":"all","steeringMode":"x"}"#,
            ),
        ] {
            fs::write(&file, before).unwrap();
            save(&agent, key, value).unwrap();
            let text = fs::read_to_string(&file).unwrap();
            let saved: Value = serde_json::from_str(&text).unwrap();
            assert_eq!(saved.to_string(), after, "{before}");
            assert_eq!(text, format!("{saved:#}"), "two spaces, nothing behind the end");
        }
        let left: Vec<_> =
            fs::read_dir(&agent).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["settings.json"], "no lock, no draft");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_the_mode_is_kept() {
        use std::os::unix::fs::{PermissionsExt, symlink};

        let dir = tempfile::tempdir().unwrap();
        let (agent, dots) = (dir.path().join("agent"), dir.path().join("dotfiles"));
        fs::create_dir(&agent).unwrap();
        fs::create_dir(&dots).unwrap();
        let (file, real) = (agent.join("settings.json"), dots.join("pi.json"));
        symlink("../dotfiles/pi.json", &file).unwrap();
        save(&agent, &["a"], json!(1)).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "{\n  \"a\": 1\n}", "a link to nothing yet");
        for mode in [0o600, 0o640, 0o664] {
            fs::set_permissions(&real, fs::Permissions::from_mode(mode)).unwrap();
            save(&agent, &["b"], json!(mode)).unwrap();
            assert!(file.symlink_metadata().unwrap().is_symlink());
            assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, mode);
        }
        assert_eq!(fs::read_dir(&agent).unwrap().count(), 1);
        assert_eq!(fs::read_dir(&dots).unwrap().count(), 1);
    }

    #[test]
    fn many_who_save_at_once_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d"] {
                let agent = dir.path();
                scope.spawn(move || {
                    for round in 0..10 {
                        save(agent, &[name, &format!("k{round}")], json!(round)).unwrap();
                    }
                });
            }
        });
        let saved: Value =
            serde_json::from_slice(&fs::read(dir.path().join("settings.json")).unwrap()).unwrap();
        for name in ["a", "b", "c", "d"] {
            assert_eq!(saved[name].as_object().unwrap().len(), 10, "{saved}");
        }
    }

    #[test]
    fn a_file_that_cannot_be_read_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("settings.json");
        for text in ["{broken", "[1]", "{\"a\": 1,}", "// c\n{}", "null"] {
            fs::write(&file, text).unwrap();
            let error = save(dir.path(), &["x"], json!(1)).unwrap_err();
            assert!(matches!(error, SaveError::Invalid { .. }), "{error}");
            assert_eq!(fs::read_to_string(&file).unwrap(), text);
        }
    }
}
