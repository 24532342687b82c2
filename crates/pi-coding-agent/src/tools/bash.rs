//! The tool that runs a shell command.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use pi_agent::env::{LeaderExit, ProcessEnd};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use pi_ai::InputBlock;
use serde_json::{Map, Number, Value, json};
use tokio::time::Instant;

use super::output::OutputLog;
use super::shell_command::{self, OutputSink, ShellCommand};
use super::truncate::TruncationResult;
use super::{ToolContext, arguments, definition};

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
            let variables = self.context.session.variables();
            let command = ShellCommand { script, timeout, variables }.process(&self.context);
            let command = command.await.map_err(|error| ToolError::new(error.to_string()))?;
            (call.on_update)(ToolOutput::default());
            let env = &self.context.env;
            let mut updates =
                Updates::new(OutputLog::new(Arc::clone(env), call.cancel.clone()), call.on_update);
            let started = Instant::now();
            let end = shell_command::run(&**env, command, call.cancel, &mut updates).await;
            let log = updates.finish().await;
            let end = end.map_err(|error| ToolError::new(error.to_string()))?;
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

impl OutputSink for Updates {
    async fn push(&mut self, chunk: &[u8]) {
        self.log.push(chunk).await;
        self.news = true;
        if self.last.is_none_or(|last| last.elapsed() >= UPDATE_PAUSE) {
            self.send();
        }
    }

    fn wake_at(&self) -> Option<Instant> {
        self.last.filter(|_| self.news).map(|last| last + UPDATE_PAUSE)
    }

    fn wake(&mut self) {
        self.send();
    }
}

#[cfg(test)]
mod tests;
