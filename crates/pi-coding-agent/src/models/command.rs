//! Runs the commands that print keys.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pi_agent::env::ProcessGroups;
use pi_ai::auth::{CommandError, CommandRunner, Environment, Secret};

/// Longest a command may take. A password manager may have to ask its owner first.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Runs commands with `sh -c`, each in a process group of its own, without standard input.
#[derive(Debug, Clone)]
pub struct ShellCommands {
    time_limit: Duration,
    processes: ProcessGroups,
}

impl ShellCommands {
    /// What is running stands in `processes`, so that others can end it.
    pub fn new(processes: ProcessGroups) -> Self {
        Self { time_limit: TIME_LIMIT, processes }
    }
}

impl CommandRunner for ShellCommands {
    fn run(&self, command: &str, environment: &Environment) -> Result<Secret, CommandError> {
        let start = |error| CommandError::Start(Arc::new(error));
        let spawn = || {
            Command::new("sh")
                .args(["-c", command])
                .env_clear()
                .envs(environment.iter())
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()
        };
        let started = self.processes.start(|child: &Child| Some(child.id()), spawn);
        let Some((child, group)) = started.map_err(start)? else {
            return Err(CommandError::NotAllowed);
        };
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        match receiver.recv_timeout(self.time_limit) {
            Ok(output) => {
                group.forget();
                text_of(output.map_err(start)?)
            }
            Err(_) => {
                // Kills it, as it has not ended.
                drop(group);
                Err(CommandError::TimedOut { seconds: self.time_limit.as_secs() })
            }
        }
    }
}

fn text_of(output: Output) -> Result<Secret, CommandError> {
    if !output.status.success() {
        return Err(CommandError::Failed { status: output.status.to_string() });
    }
    match String::from_utf8(output.stdout) {
        Ok(text) => Ok(Secret::new(text)),
        Err(_) => Err(CommandError::NotText),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(command: &str) -> Result<String, String> {
        let environment: Environment =
            [("PATH", "/usr/bin:/bin"), ("MINE", "1")].into_iter().collect();
        ShellCommands::new(ProcessGroups::default())
            .run(command, &environment)
            .map(|secret| secret.expose().to_owned())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_command_sees_the_given_environment_and_nothing_else() {
        assert_eq!(run("echo \"$MINE-$HOME-$(cat)\"").as_deref(), Ok("1--\n"));
    }

    #[test]
    fn failures_are_told_without_output() {
        let cases = [
            ("echo sk-1; exit 3", "the command failed (exit status: 3)"),
            ("no-such-program 2>&1", "the command failed (exit status: 127)"),
            ("printf '\\377'", "the command printed something that is not UTF-8"),
        ];
        for (command, expected) in cases {
            assert_eq!(run(command).unwrap_err(), expected, "{command}");
        }
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_its_children() {
        let commands = ShellCommands {
            time_limit: Duration::from_millis(100),
            processes: ProcessGroups::default(),
        };
        let error =
            commands.run("sleep 600 & wait", &[("PATH", "/usr/bin:/bin")].into_iter().collect());
        assert!(matches!(error, Err(CommandError::TimedOut { .. })), "{error:?}");
    }

    #[test]
    fn no_command_starts_once_all_were_ended() {
        let processes = ProcessGroups::default();
        let commands = ShellCommands::new(processes.clone());
        processes.kill_all();
        let error = commands.run("echo k", &Environment::default());
        assert!(matches!(error, Err(CommandError::NotAllowed)), "{error:?}");
    }
}
