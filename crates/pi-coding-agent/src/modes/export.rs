//! `--export`: one session file becomes one page. No model is asked and no session opened for good:
//! the file stays as it is.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pi_agent::session::{Diagnostic, SessionError};
use pi_agent::{Session, session_dir};

use super::{say, warn};
use crate::error::{AppError, Warning};
use crate::export::{self, ExportOptions};
use crate::workspace::{Workspace, WorkspaceOptions};

/// Problems of a file that are told one by one.
const MAX_TOLD: usize = 5;

/// Writes the page of the session file `input` to `output`, or to a name made of that of the file in
/// the current directory, and says where. An output that ends with `.jsonl` gets the branch as a
/// session file.
///
/// # Errors
/// There is no such file, it is no session, or the page cannot be written.
pub(crate) fn run(
    workspace: &Workspace,
    input: &str,
    output: Option<&str>,
) -> Result<ExitCode, AppError> {
    let WorkspaceOptions { env, launch_dir, .. } = workspace.options();
    let input = env.resolve_path(launch_dir, input);
    let (session, diagnostics) = read(&input)?;
    tell(workspace, &diagnostics);
    let shown = match output {
        Some(output) => env.expand_home(output),
        None => {
            let stem = input.file_stem().unwrap_or_default().to_string_lossy();
            PathBuf::from(format!("pi-session-{stem}.html"))
        }
    };
    let target = launch_dir.join(&shown);
    export::refuse_own_file(Some(&input), &target).map_err(told)?;
    if target.extension().is_some_and(|extension| extension == "jsonl") {
        session_dir::export(&session, &target).map_err(told)?;
    } else {
        let unreadable = export::unreadable_lines(&diagnostics);
        let options = ExportOptions { theme: workspace.theme(), unreadable };
        export::write_html(&session, &options, &target).map_err(told)?;
    }
    warn(workspace.warnings());
    // The system takes the memory of a long session back faster than it is freed entry by entry.
    #[expect(clippy::mem_forget, reason = "nothing that has to be dropped is in it")]
    std::mem::forget(session);
    say(&format!("Exported to: {}\n", shown.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// The session, read once; old versions are brought up to date in memory only.
fn read(path: &Path) -> Result<(Session, Vec<Diagnostic>), AppError> {
    let bytes = fs::read(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => AppError::user(format!("File not found: {}", path.display())),
        _ => told(SessionError::Read { path: path.to_owned(), source: error }),
    })?;
    let (session, mut diagnostics) =
        Session::from_bytes(bytes, Path::new("")).map_err(|error| match error {
            SessionError::NotASessionText => {
                told(SessionError::NotASession { path: path.to_owned() })
            }
            other => told(other),
        })?;
    for diagnostic in &mut diagnostics {
        diagnostic.path = Some(path.to_owned());
    }
    Ok((session, diagnostics))
}

fn tell(workspace: &Workspace, diagnostics: &[Diagnostic]) {
    let told = diagnostics.iter().take(MAX_TOLD);
    workspace.warnings().extend(told.map(|problem| Warning::new(problem.to_string())));
    if let Some(more) = diagnostics.len().checked_sub(MAX_TOLD).filter(|more| *more > 0) {
        workspace.warnings().push(Warning::new(format!("{more} more problems in the same file")));
    }
}

fn told(error: impl std::error::Error) -> AppError {
    AppError::user(error.to_string())
}
