//! Folders that had another name in older versions.
//!
//! Owns: renaming them, once. Never: touches anything where the present name is taken.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use crate::error::Warning;

/// Renames `commands/` of `dir` to `prompts/`; a link is renamed itself. Says what it did, or why it
/// could not.
pub(crate) fn rename_commands(dir: &Path) -> Option<Warning> {
    let (old, new) = (dir.join("commands"), dir.join("prompts"));
    if !old.is_dir() || new.symlink_metadata().is_ok() {
        return None;
    }
    match fs::rename(&old, &new) {
        Ok(()) => Some(Warning::new(format!(
            "Renamed {} to prompts: that is where prompt templates lie",
            old.display()
        ))),
        // Another pi was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => Some(Warning::new(format!(
            "{} is not read; rename it to prompts: {error}",
            old.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn commands_become_prompts_once() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("commands")).unwrap();
        fs::write(dir.path().join("commands/a.md"), "A").unwrap();
        assert!(rename_commands(dir.path()).unwrap().0.starts_with("Renamed "));
        assert_eq!(names(dir.path()), ["prompts"]);
        assert_eq!(fs::read_to_string(dir.path().join("prompts/a.md")).unwrap(), "A");
        assert_eq!(rename_commands(dir.path()), None);
    }

    #[test]
    fn prompts_that_are_there_stay_and_so_do_commands() {
        let make = |path: &Path| fs::create_dir(path).unwrap();
        let link = |path: &Path| std::os::unix::fs::symlink("nowhere", path).unwrap();
        let file = |path: &Path| fs::write(path, "").unwrap();
        for put in [&make as &dyn Fn(&Path), &link, &file] {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir(dir.path().join("commands")).unwrap();
            put(&dir.path().join("prompts"));
            assert_eq!(rename_commands(dir.path()), None);
            assert_eq!(names(dir.path()), ["commands", "prompts"]);
        }
    }

    #[test]
    fn a_link_to_a_folder_is_renamed_itself() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("else")).unwrap();
        std::os::unix::fs::symlink("else", dir.path().join("commands")).unwrap();
        assert!(rename_commands(dir.path()).is_some());
        assert_eq!(names(dir.path()), ["else", "prompts"]);
        assert_eq!(fs::read_link(dir.path().join("prompts")).unwrap(), Path::new("else"));
    }

    #[test]
    fn what_is_no_folder_of_commands_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(rename_commands(dir.path()), None);
        fs::write(dir.path().join("commands"), "").unwrap();
        assert_eq!(rename_commands(dir.path()), None);
        assert_eq!(names(dir.path()), ["commands"]);
    }
}
