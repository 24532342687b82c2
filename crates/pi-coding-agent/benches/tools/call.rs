//! One call in a process of its own.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use pi_agent::env::{LocalEnv, LocalEnvConfig, ProcessGroups};
use pi_agent::{ToolCallInput, ToolOutput};
use pi_coding_agent::tools::{NoSession, ToolContext, builtin_tools};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// Prints the figures of a call as JSON, and what it answered on standard error.
pub(crate) fn run(cwd: &Path, tool: &str, arguments: &str) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let env = LocalEnv::new(LocalEnvConfig {
        cwd: cwd.to_owned(),
        home: None,
        temp_dir: std::env::temp_dir(),
        environment: std::env::vars_os().collect(),
        processes: ProcessGroups::default(),
    });
    let tools = builtin_tools(&Arc::new(ToolContext {
        env: Arc::new(env),
        agent_dir: PathBuf::from("/nonexistent"),
        shell_path: None,
        shell_command_prefix: None,
        session: Arc::new(NoSession),
    }));
    let call = |tool: &str, arguments: Value| -> Result<ToolOutput, Box<dyn Error>> {
        let found = tools.iter().find(|known| known.definition().name == tool);
        let tool = found.ok_or("no such tool")?;
        let Value::Object(arguments) = arguments else { return Err("no arguments".into()) };
        let input = ToolCallInput {
            id: "call",
            arguments: tool.prepare_arguments(arguments)?,
            cancel: CancellationToken::new(),
            on_update: Arc::new(|_| {}),
        };
        Ok(runtime.block_on(tool.execute(input))?)
    };
    call("ls", json!({"limit": 1}))?;
    let arguments = serde_json::from_str(arguments)?;
    // From here on the peak is counted anew.
    fs::write("/proc/self/clear_refs", "5")?;
    let resident = resident_mb("VmRSS:")?;
    let (started, cpu) = (Instant::now(), cpu_ms());
    let output = call(tool, arguments)?;
    let (wall, cpu) = (started.elapsed(), cpu_ms() - cpu);
    let text: String = output.content.iter().filter_map(|block| block.as_text()).collect();
    eprintln!("{text}");
    println!(
        "{}",
        json!({
            "wall_ms": wall.as_secs_f64() * 1000.0,
            "cpu_ms": cpu,
            "extra_mb": resident_mb("VmHWM:")? - resident,
        })
    );
    Ok(())
}

/// Of all threads so far.
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn cpu_ms() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 * 1000.0 + time.tv_nsec as f64 / 1_000_000.0
}

fn resident_mb(field: &str) -> Result<f64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)).ok_or("no such field")?;
    let kilobytes: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kilobytes / 1024.0)
}
