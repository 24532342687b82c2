//! Time and memory of a process.

use std::error::Error;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Figures {
    pub wall_ms: f64,
    /// Of the process itself and those it waited for.
    pub cpu_ms: f64,
    pub extra_mb: f64,
}

impl Figures {
    pub(crate) fn median(all: &[Self]) -> Self {
        let of = |field: fn(&Self) -> f64| {
            let mut values: Vec<f64> = all.iter().map(field).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or_default()
        };
        Self {
            wall_ms: of(|figures| figures.wall_ms),
            cpu_ms: of(|figures| figures.cpu_ms),
            extra_mb: of(|figures| figures.extra_mb),
        }
    }
}

/// A tool, called in a new process. Its time is that of the call alone, without child processes.
pub(crate) fn call(cwd: &Path, tool: &str, arguments: &Value) -> Result<Figures, Box<dyn Error>> {
    let output = Command::new(std::env::current_exe()?)
        .args(["--call".as_ref(), cwd.as_os_str(), tool.as_ref(), arguments.to_string().as_ref()])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let told: Value = serde_json::from_slice(&output.stdout)?;
    let number = |field: &str| told[field].as_f64().unwrap_or_default();
    Ok(Figures {
        wall_ms: number("wall_ms"),
        cpu_ms: number("cpu_ms"),
        extra_mb: number("extra_mb"),
    })
}

/// A shell command, output thrown away.
pub(crate) fn shell(cwd: &Path, command: &str) -> Result<Figures, Box<dyn Error>> {
    let script = format!("TIMEFORMAT='%R %U %S'; time {{ {command}; }} >/dev/null 2>&1");
    let output = Command::new("bash").args(["-c", &script]).current_dir(cwd).output()?;
    let seconds: Vec<f64> = String::from_utf8_lossy(&output.stderr)
        .split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect();
    match seconds.as_slice() {
        [wall, user, system] => {
            Ok(Figures { wall_ms: wall * 1000.0, cpu_ms: (user + system) * 1000.0, extra_mb: 0.0 })
        }
        _ => Err(format!("not measured: {command}").into()),
    }
}
