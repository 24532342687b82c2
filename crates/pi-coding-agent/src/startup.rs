//! From the command line to a workspace and the prompts.
//!
//! Owns: what each option means for them. Never: prints, chooses a model or opens a session.

use std::path::{Path, PathBuf};

use crate::cli::CliOptions;
use crate::cli::input::{self, AttachedImage};
use crate::demo;
use crate::env::Env;
use crate::error::{AppError, Context, ErrorKind, Warning};
use crate::session_runtime::Prompt;
use crate::tools::image::{self, ImageLimits};
use crate::workspace::{SessionSource, Workspace, WorkspaceOptions};

/// The workspace the command line means: the current directory, or the project the demo works on.
///
/// # Errors
/// There is no current directory, or the demo's project cannot be made.
pub(crate) fn workspace(options: &CliOptions, env: Env) -> Result<Workspace, AppError> {
    let launch_dir = current_directory()?;
    let demo = demo_project(options, &env)?;
    let dir = demo.as_deref().unwrap_or(&launch_dir);
    let workspace_options = WorkspaceOptions {
        approve: options.approve,
        offline: options.offline,
        verbose: options.verbose,
        system_prompt: options.system_prompt.clone(),
        append_system_prompt: options.append_system_prompt.clone(),
        context_files: options.context_files,
        skills: options.skills.clone(),
        prompt_templates: options.prompt_templates.clone(),
        tools: options.tools.clone(),
        providers: vec![demo::provider()],
        ..WorkspaceOptions::new(env, launch_dir.clone())
    };
    let workspace = Workspace::new(workspace_options, dir);
    workspace.warnings().extend(options.warnings.iter().cloned());
    workspace.warnings().extend(missing_themes(options, workspace.options()));
    workspace.warnings().extend(demo.as_deref().map(demo_notice));
    Ok(workspace)
}

/// The prompts of the command line and of standard input.
///
/// # Errors
/// A file or standard input cannot be read.
pub(crate) fn prompts(
    workspace: &Workspace,
    options: &CliOptions,
    stdin_is_terminal: bool,
) -> Result<Vec<Prompt>, AppError> {
    let WorkspaceOptions { env, launch_dir, .. } = workspace.options();
    let piped = if stdin_is_terminal {
        String::new()
    } else {
        input::read_piped(std::io::stdin().lock())
            .context(ErrorKind::User, || "Cannot read standard input")?
    };
    let files: Vec<PathBuf> =
        options.files.iter().map(|file| env.resolve_path(launch_dir, file)).collect();
    let auto_resize = workspace.settings().images.auto_resize;
    input::assemble(&piped, &files, &options.messages, &|bytes| load_image(bytes, auto_resize))
}

/// The directory pi was started in.
///
/// # Errors
/// It was removed, may not be read, or has a name that session files cannot hold.
fn current_directory() -> Result<PathBuf, AppError> {
    let cwd = std::env::current_dir().context(ErrorKind::User, || {
        "The current directory cannot be used; change to one that exists".to_owned()
    })?;
    if cwd.to_str().is_none() {
        return Err(AppError::user(format!(
            "The name of this directory is not valid UTF-8: {}",
            cwd.display()
        ))
        .with_hint("Rename it, or run pi in another directory."));
    }
    Ok(cwd)
}

/// A theme changes nothing but a screen, so a run does without one that is not there.
fn missing_themes(options: &CliOptions, workspace: &WorkspaceOptions) -> Vec<Warning> {
    let path = |theme: &String| workspace.env.resolve_path(&workspace.launch_dir, theme);
    let missing = options.themes.iter().map(path).filter(|path| !path.exists());
    missing.map(|path| Warning::new(format!("Theme not found: {}", path.display()))).collect()
}

/// The demo begins in a project of its own: its script may not run in anybody else's.
fn demo_project(options: &CliOptions, env: &Env) -> Result<Option<PathBuf>, AppError> {
    let model = &options.model;
    if !demo::is_asked_for(model.provider.as_deref(), model.pattern.as_deref())
        || options.list_models.is_some()
    {
        return Ok(None);
    }
    if options.session.source != SessionSource::New {
        return Err(AppError::user("faux/demo begins in a project of its own")
            .with_hint("Leave out -c, --session, --session-id and --fork."));
    }
    let temp_dir = env.temp_dir();
    let project = demo::make_project(&temp_dir).context(ErrorKind::Internal, || {
        format!("Cannot make the demo's project in {}", temp_dir.display())
    })?;
    Ok(Some(project))
}

fn demo_notice(project: &Path) -> Warning {
    Warning::new(format!("faux/demo is a scripted model; it works in {}", project.display()))
}

/// An image of the command line, made to fit any model.
fn load_image(bytes: &[u8], auto_resize: bool) -> Option<AttachedImage> {
    let kind = image::sniff(bytes)?;
    let limits = auto_resize.then(|| ImageLimits::new(None));
    let prepared = image::prepare(bytes.to_vec(), kind, limits);
    let note = (!prepared.hints.is_empty()).then(|| prepared.hints.join("\n"));
    Some(AttachedImage { content: prepared.image, note })
}
