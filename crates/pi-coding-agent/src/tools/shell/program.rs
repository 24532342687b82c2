//! Which shell runs commands, and whether it must be kept from our terminal.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::ShellError;
use crate::tools::path;

/// The shell for commands: the setting (`~` allowed, relative to `cwd`), else `/bin/bash`, else
/// `bash` from `PATH`, else `sh`.
///
/// # Errors
/// The setting names no file.
pub fn find_shell(
    setting: Option<&str>,
    cwd: &Path,
    home: Option<&Path>,
    search_path: Option<&OsStr>,
) -> Result<PathBuf, ShellError> {
    if let Some(setting) = setting {
        let shell = cwd.join(path::expand(setting, home));
        let found = shell.is_file();
        return if found { Ok(shell) } else { Err(ShellError::NoCustomShell(setting.to_owned())) };
    }
    let usual = PathBuf::from("/bin/bash");
    if usual.is_file() {
        return Ok(usual);
    }
    let on_path = search_path
        .into_iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join("bash"))
        .find(|bash| bash.is_file());
    Ok(on_path.unwrap_or_else(|| PathBuf::from("sh")))
}

/// The program that starts another one in a session of its own, if we have a terminal that
/// commands must not reach.
pub(super) fn session_leader() -> Option<&'static Path> {
    File::open("/dev/tty").ok()?;
    ["/usr/bin/setsid", "/bin/setsid"].into_iter().map(Path::new).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_setting_wins_and_is_relative_to_the_session_folder() {
        let dir = tempfile::tempdir().unwrap();
        let shell = dir.path().join("mysh");
        std::fs::write(&shell, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&shell, std::fs::Permissions::from_mode(0o755)).unwrap();
        let find = |setting| find_shell(Some(setting), dir.path(), Some(dir.path()), None);
        assert_eq!(find("mysh").unwrap(), shell);
        assert_eq!(find("~/mysh").unwrap(), shell);
        let error = find("/nonexist").unwrap_err();
        assert_eq!(error.to_string(), "Custom shell path not found: /nonexist");
    }

    #[test]
    fn without_a_setting_bash_is_taken() {
        let shell = find_shell(None, Path::new("/"), None, None).unwrap();
        assert!(shell.ends_with("bash") || shell.ends_with("sh"));
    }
}
