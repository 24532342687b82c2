//! What commands run with: which shell, and what it finds in its environment.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use pi_agent::env::{ExecutionEnv, FileKind};

use super::{SessionVariables, path};
use crate::env::registry;

/// The setting names no file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("Custom shell path not found: {0}")]
pub struct NoCustomShell(String);

/// The shell for commands: the setting (`~` allowed, relative to the working directory), else
/// `/bin/bash`, else `bash` from `search_path`, else `sh`.
///
/// # Errors
/// The setting names no file.
pub async fn find_shell(
    env: &dyn ExecutionEnv,
    setting: Option<&str>,
    search_path: Option<&OsStr>,
) -> Result<PathBuf, NoCustomShell> {
    if let Some(setting) = setting {
        let shell = env.cwd().join(path::expand(setting, env.home()));
        let found = is_file(env, &shell).await;
        return if found { Ok(shell) } else { Err(NoCustomShell(setting.to_owned())) };
    }
    let usual = PathBuf::from("/bin/bash");
    if is_file(env, &usual).await {
        return Ok(usual);
    }
    for folder in search_path.into_iter().flat_map(std::env::split_paths) {
        let bash = folder.join("bash");
        if is_file(env, &bash).await {
            return Ok(bash);
        }
    }
    Ok(PathBuf::from("sh"))
}

async fn is_file(env: &dyn ExecutionEnv, path: &Path) -> bool {
    env.stat(path).await.is_ok_and(|found| found.kind == FileKind::File)
}

/// The environment of a command: what is inherited, the agent's `bin` first on the `PATH`, and the
/// variables that tell a command where it runs.
pub fn environment(
    inherited: &BTreeMap<OsString, OsString>,
    agent_dir: &Path,
    session: SessionVariables,
) -> BTreeMap<OsString, OsString> {
    let mut variables = inherited.clone();
    let mut path = agent_dir.join("bin").into_os_string();
    if let Some(inherited) = inherited.get(OsStr::new("PATH")).filter(|path| !path.is_empty()) {
        path.push(":");
        path.push(inherited);
    }
    variables.insert("PATH".into(), path);
    variables.insert(registry::AI_AGENT.into(), "pi".into());
    variables.insert(registry::INSIDE_PI.into(), "true".into());
    let SessionVariables { session_id, session_file, provider, model, reasoning_level } = session;
    // Those of a pi that runs this one would be wrong.
    for (name, value) in [
        (registry::SESSION_ID, session_id.map(OsString::from)),
        (registry::SESSION_FILE, session_file.map(OsString::from)),
        (registry::PROVIDER, provider.map(OsString::from)),
        (registry::MODEL, model.map(OsString::from)),
        (registry::REASONING_LEVEL, reasoning_level.map(OsString::from)),
    ] {
        variables.remove(OsStr::new(name));
        if let Some(value) = value {
            variables.insert(name.into(), value);
        }
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::testing::{Bed, Elsewhere};

    #[tokio::test]
    async fn the_setting_wins_and_is_relative_to_the_session_folder() {
        let bed = Bed::new();
        let env = bed.env();
        bed.put("mysh", "#!/bin/sh\n");
        let at_home = bed.root().join("home/mysh");
        std::fs::copy(bed.path("mysh"), &at_home).unwrap();
        let find = async |setting| find_shell(&*env, Some(setting), None).await;
        assert_eq!(find("mysh").await.unwrap(), bed.path("mysh"));
        assert_eq!(find("~/mysh").await.unwrap(), at_home);
        let error = find("/nonexist").await.unwrap_err();
        assert_eq!(error.to_string(), "Custom shell path not found: /nonexist");
    }

    #[tokio::test]
    async fn without_a_setting_bash_is_taken_from_where_it_is_else_sh() {
        let bed = Bed::new();
        let put = |path: &str| {
            let path = bed.root().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        let env = Elsewhere::moved(bed.env(), bed.root());
        let find = async || {
            let search_path = Some(OsStr::new("/empty:/termux:/late"));
            find_shell(&env, None, search_path).await.unwrap()
        };
        assert_eq!(find().await, Path::new("sh"));
        put("late/bash");
        assert_eq!(find().await, Path::new("/late/bash"));
        put("termux/bash");
        assert_eq!(find().await, Path::new("/termux/bash"));
        put("bin/bash");
        assert_eq!(find().await, Path::new("/bin/bash"));
    }
}
