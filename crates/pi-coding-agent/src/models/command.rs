//! Runs the commands that print keys.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use pi_ai::auth::{CommandError, CommandRunner, Environment, Secret};
use rustix::process::{Pid, Signal, kill_process_group};

/// Longest a command may take. A password manager may have to ask its owner first.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Runs commands with `sh -c`, each in a process group of its own, without standard input.
#[derive(Debug, Clone, Copy)]
pub struct ShellCommands {
    time_limit: Duration,
}

impl Default for ShellCommands {
    fn default() -> Self {
        Self { time_limit: TIME_LIMIT }
    }
}

impl CommandRunner for ShellCommands {
    fn run(&self, command: &str, environment: &Environment) -> Result<Secret, CommandError> {
        let start = |error| CommandError::Start(Arc::new(error));
        let child = Command::new("sh")
            .args(["-c", command])
            .env_clear()
            .envs(environment.iter())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .map_err(start)?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (sender, receiver) = mpsc::channel();
        thread::spawn(move || sender.send(child.wait_with_output()));
        match receiver.recv_timeout(self.time_limit) {
            Ok(output) => text_of(output.map_err(start)?),
            Err(_) => {
                if let Some(group) = group {
                    // It may have ended this very moment; then there is nothing to end.
                    let _ = kill_process_group(group, Signal::KILL);
                }
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
        ShellCommands::default()
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
        let commands = ShellCommands { time_limit: Duration::from_millis(100) };
        let error =
            commands.run("sleep 600 & wait", &[("PATH", "/usr/bin:/bin")].into_iter().collect());
        assert!(matches!(error, Err(CommandError::TimedOut { .. })), "{error:?}");
    }
}
