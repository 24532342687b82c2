//! The tool that runs a shell command.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_agent::env::{
    EnvError, EnvErrorKind, ExecutionEnv, LeaderExit, Operation, ProcessCommand, ProcessEnd,
    ProcessEvent,
};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use pi_ai::InputBlock;
use serde_json::{Map, Number, Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::output::OutputLog;
use super::shell;
use super::truncate::TruncationResult;
use super::{SessionVariables, ToolContext, arguments, definition};
use crate::env::registry;

/// Runs a shell command and gives the end of its output.
#[derive(Debug)]
pub struct BashTool {
    context: Arc<ToolContext>,
    definition: pi_ai::Tool,
}

impl BashTool {
    pub fn new(context: Arc<ToolContext>) -> Self {
        let definition = definition(
            "bash",
            "Run a bash command in the working directory; stdout and stderr come back together. \
             Only the last 2000 lines or 50KB are shown, whichever is less; longer output is saved \
             to a file that is named.",
            json!({
                "type": "object",
                "required": ["command"],
                "properties": {
                    "command": {"type": "string", "description": "The command"},
                    "timeout": {
                        "type": "number",
                        "description": "Seconds until it is killed; none by default",
                    },
                },
            }),
        );
        Self { context, definition }
    }

    async fn command(
        &self,
        script: String,
        timeout: Option<Duration>,
    ) -> Result<ProcessCommand, ToolError> {
        let context = &self.context;
        let environment = self.environment();
        let search_path = environment.get(OsStr::new("PATH")).map(OsString::as_os_str);
        let shell = shell::find_shell(&*context.env, context.shell_path.as_deref(), search_path);
        let shell = shell.await.map_err(|error| ToolError::new(error.to_string()))?;
        let script = match &context.shell_command_prefix {
            Some(prefix) => format!("{prefix}\n{script}"),
            None => script,
        };
        Ok(ProcessCommand {
            program: shell,
            arguments: vec!["-c".into(), script.into()],
            cwd: context.env.cwd().to_owned(),
            environment,
            timeout,
        })
    }

    fn environment(&self) -> BTreeMap<OsString, OsString> {
        let mut variables =
            shell::environment(self.context.env.environment(), &self.context.agent_dir);
        let SessionVariables { session_id, session_file, provider, model, reasoning_level } =
            self.context.session.variables();
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
}

impl Tool for BashTool {
    fn definition(&self) -> &pi_ai::Tool {
        &self.definition
    }

    fn prompt_snippet(&self) -> Option<&str> {
        Some("Run shell commands")
    }

    fn prepare_arguments(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        Ok(arguments::without_nulls(arguments, &["timeout"]))
    }

    fn execute<'a>(
        &'a self,
        call: ToolCallInput<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let script = arguments::text(&call.arguments, "command")?;
            let seconds = arguments::number(&call.arguments, "timeout")?;
            let timeout = seconds.map(checked_timeout).transpose()?;
            let command = self.command(script, timeout).await?;
            (call.on_update)(ToolOutput::default());
            let env = &self.context.env;
            let mut updates = Updates::new(OutputLog::new(Arc::clone(env)), call.on_update);
            let started = Instant::now();
            let end = run(&**env, command, call.cancel, &mut updates).await;
            let log = updates.finish().await;
            let end = end?;
            let report = Report::new(&log);
            match end {
                ProcessEnd::Exited(code) => Ok(report.exited(&log, code, started.elapsed())),
                ProcessEnd::TimedOut(shell) => {
                    Err(report.stopped(&timed_out(seconds.unwrap_or_default(), shell)))
                }
                ProcessEnd::Aborted => Err(report.stopped("Command aborted")),
            }
        })
    }
}

/// Runs a command to its end.
async fn run(
    env: &dyn ExecutionEnv,
    command: ProcessCommand,
    cancel: CancellationToken,
    updates: &mut Updates,
) -> Result<ProcessEnd, ToolError> {
    let mut process = match env.spawn(command, cancel).await {
        Ok(process) => process,
        Err(error) if error.kind == EnvErrorKind::Aborted => return Ok(ProcessEnd::Aborted),
        Err(error) => return Err(not_started(&error)),
    };
    loop {
        tokio::select! {
            event = process.next() => match event {
                ProcessEvent::Output(chunk) => updates.push(chunk).await,
                ProcessEvent::Ended(end) => return Ok(end),
            },
            () = until(updates.wake_at()) => updates.send(),
        }
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn not_started(error: &EnvError) -> ToolError {
    let (path, cause) = (error.path.display(), error.cause());
    ToolError::new(match (error.operation, error.kind) {
        (Operation::ChangeDirectory, EnvErrorKind::NotFound) => {
            format!("Working directory does not exist: {path}")
        }
        (Operation::ChangeDirectory, _) => {
            format!("Cannot use the working directory {path}: {cause}")
        }
        _ => format!("Could not start {path}: {cause}"),
    })
}

/// Seconds: the most a timer of Node.js can wait, so that a value that works here works there.
const MAX_TIMEOUT: f64 = 2_147_483.647;

fn checked_timeout(seconds: f64) -> Result<Duration, ToolError> {
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err(ToolError::new("Invalid timeout: must be a finite number of seconds"));
    }
    if seconds > MAX_TIMEOUT {
        let text = format!("Invalid timeout: maximum is {MAX_TIMEOUT} seconds");
        return Err(ToolError::new(text));
    }
    Ok(Duration::from_secs_f64(seconds))
}

fn timed_out(seconds: f64, shell: Option<LeaderExit>) -> String {
    let text = format!("Command timed out after {seconds} seconds");
    match shell {
        Some(LeaderExit { code, after }) => format!(
            "{text}. The shell exited with code {code} after {} seconds, but background processes \
             it started kept writing output until the timeout.",
            tenths(after)
        ),
        None => text,
    }
}

/// Seconds with at most one decimal.
fn tenths(time: Duration) -> Number {
    let tenths = (time.as_millis() + 50) / 100;
    let whole = u64::try_from(tenths / 10).unwrap_or(u64::MAX);
    match tenths % 10 {
        0 => Number::from(whole),
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        _ => Number::from_f64(tenths as f64 / 10.0).unwrap_or_else(|| Number::from(whole)),
    }
}

/// The text and details of a finished command.
struct Report {
    /// Empty if nothing was printed.
    text: String,
    details: Option<Value>,
}

impl Report {
    fn new(log: &OutputLog) -> Self {
        let tail = log.tail();
        if !tail.truncated {
            return Self { text: tail.content, details: None };
        }
        let text = format!("{}\n\n{}", tail.content, log.notice(&tail));
        Self { text, details: Some(details(log, &tail)) }
    }

    fn exited(self, log: &OutputLog, code: i32, time: Duration) -> ToolOutput {
        let (output, truncated) = log.ends();
        let mut structured = json!({"output": output, "truncated": truncated});
        if let Value::Object(fields) = &mut structured {
            if let Some(path) = log.full_output_path().filter(|_| truncated) {
                fields.insert("full_output_path".to_owned(), json!(path.to_string_lossy()));
            }
            fields.insert("exit_code".to_owned(), json!(code));
            fields.insert("wall_time_seconds".to_owned(), Value::Number(tenths(time)));
        }
        let text = if self.text.is_empty() { "(no output)".to_owned() } else { self.text };
        let text =
            if code == 0 { text } else { format!("{text}\n\nCommand exited with code {code}") };
        ToolOutput {
            details: self.details,
            structured_content: Some(structured),
            is_error: code != 0,
            ..ToolOutput::text(text)
        }
    }

    fn stopped(self, status: &str) -> ToolError {
        ToolError::new(if self.text.is_empty() {
            status.to_owned()
        } else {
            format!("{}\n\n{status}", self.text)
        })
    }
}

fn details(log: &OutputLog, tail: &TruncationResult) -> Value {
    match log.full_output_path() {
        Some(path) => json!({"truncation": tail, "fullOutputPath": path.to_string_lossy()}),
        None => json!({"truncation": tail}),
    }
}

/// Tells of the output while it comes, at most once per [`UPDATE_PAUSE`].
struct Updates {
    log: OutputLog,
    on_update: Arc<dyn Fn(ToolOutput) + Send + Sync>,
    last: Option<Instant>,
    /// Something came since the last update.
    news: bool,
}

const UPDATE_PAUSE: Duration = Duration::from_millis(100);

impl Updates {
    fn new(log: OutputLog, on_update: Arc<dyn Fn(ToolOutput) + Send + Sync>) -> Self {
        Self { log, on_update, last: None, news: false }
    }

    async fn push(&mut self, chunk: &[u8]) {
        self.log.push(chunk).await;
        self.news = true;
        if self.last.is_none_or(|last| last.elapsed() >= UPDATE_PAUSE) {
            self.send();
        }
    }

    /// When [`Self::send`] wants to be called next.
    fn wake_at(&self) -> Option<Instant> {
        self.last.filter(|_| self.news).map(|last| last + UPDATE_PAUSE)
    }

    fn send(&mut self) {
        let tail = self.log.tail();
        let details = if tail.truncated { details(&self.log, &tail) } else { json!({}) };
        (self.on_update)(ToolOutput {
            content: vec![InputBlock::text(tail.content)],
            details: Some(details),
            ..ToolOutput::default()
        });
        self.last = Some(Instant::now());
        self.news = false;
    }

    /// The last update holds everything.
    async fn finish(mut self) -> OutputLog {
        self.log.finish().await;
        if self.news {
            self.send();
        }
        self.log
    }
}

#[cfg(test)]
mod tests;
