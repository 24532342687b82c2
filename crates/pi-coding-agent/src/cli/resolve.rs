//! From collected options to checked ones.
//!
//! Owns: values, defaults and contradictions. Never: touches the disk.

use clap::Parser;
use pi_agent::session::check_session_id;
use pi_ai::ThinkingLevel;
use pi_ai::auth::Secret;

use super::args::RawArgs;
use super::tokens::Tokens;
use super::{CliOptions, ListModels, Mode, Terminals, not_yet};
use crate::error::{AppError, Warning};
use crate::tool_selection::{ToolBase, ToolFlags, ToolList, split_list};
use crate::workspace::{ModelFlags, SessionFlags, SessionSource};

/// # Errors
/// See [`super::parse`].
pub(super) fn resolve(tokens: Tokens, terminals: Terminals) -> Result<CliOptions, AppError> {
    let Tokens { options, files, mut messages, unknown, missing, help: _, version: _ } = tokens;
    let raw = RawArgs::try_parse_from(options).map_err(|error| {
        let text = error.to_string();
        AppError::user(text.strip_prefix("error: ").unwrap_or(&text).trim_end())
    })?;
    if let Some(option) = missing.first() {
        return Err(not_yet::refuse(&format!("the option {option}")));
    }
    messages.retain(|message| !message.is_empty());

    let mode = mode(raw.mode.as_deref(), raw.print, terminals)?;
    let list_models = raw.list_models.clone().map(|search| ListModels { search });
    // Listing models and exporting need no screen.
    if list_models.is_none() && raw.export.is_none() {
        refuse_missing_mode(mode, &files)?;
    }

    let mut warnings = Vec::new();
    Ok(CliOptions {
        mode,
        print: raw.print,
        model: model_choice(&raw, &mut warnings)?,
        list_models,
        export: raw.export.clone(),
        session: session_choice(&raw)?,
        tools: tool_flags(&raw)?,
        context_files: !raw.no_context_files,
        approve: raw.approve.then_some(true).or(raw.no_approve.then_some(false)),
        offline: raw.offline,
        system_prompt: raw.system_prompt,
        append_system_prompt: raw.append_system_prompt,
        files,
        messages,
        warnings,
        unknown,
    })
}

fn mode(value: Option<&str>, print: bool, terminals: Terminals) -> Result<Mode, AppError> {
    match value {
        Some("json") => Ok(Mode::Json),
        Some("rpc") => Ok(Mode::Rpc),
        None | Some("text") if !print && terminals.stdin && terminals.stdout => {
            Ok(Mode::Interactive)
        }
        None | Some("text") => Ok(Mode::Print),
        Some(other) => {
            Err(AppError::user(format!("Invalid mode \"{other}\". Valid values: text, json, rpc")))
        }
    }
}

fn refuse_missing_mode(mode: Mode, files: &[String]) -> Result<(), AppError> {
    match mode {
        Mode::Print | Mode::Json => Ok(()),
        Mode::Rpc if !files.is_empty() => {
            Err(AppError::user("@file arguments are not supported in RPC mode"))
        }
        Mode::Rpc => Ok(()),
        Mode::Interactive => Err(not_yet::refuse("the interactive mode")
            .with_hint("Give it a prompt instead: pi -p \"your prompt\"")),
    }
}

fn model_choice(raw: &RawArgs, warnings: &mut Vec<Warning>) -> Result<ModelFlags, AppError> {
    if let (Some(provider), None) = (&raw.provider, &raw.model) {
        return Err(AppError::user("--provider works only together with --model")
            .with_hint(format!("For example: pi --provider {provider} --model <pattern>")));
    }
    if raw.api_key.is_some() && raw.model.is_none() && raw.models.is_none() {
        return Err(AppError::user("--api-key works only together with --model or --models"));
    }
    Ok(ModelFlags {
        provider: raw.provider.clone(),
        pattern: raw.model.clone(),
        api_key: raw.api_key.clone().map(Secret::new),
        thinking: raw.thinking.as_deref().and_then(|level| thinking_level(level, warnings)),
        scope: raw.models.as_deref().map(split_list),
    })
}

/// A wrong level does not stop the run.
fn thinking_level(text: &str, warnings: &mut Vec<Warning>) -> Option<ThinkingLevel> {
    let level = text.parse().ok();
    if level.is_none() {
        let valid = ThinkingLevel::ALL.map(ThinkingLevel::as_str).join(", ");
        warnings.push(Warning(format!("Invalid thinking level \"{text}\". Valid values: {valid}")));
    }
    level
}

fn session_choice(raw: &RawArgs) -> Result<SessionFlags, AppError> {
    let source = session_source(raw)?;
    let name = raw.name.as_deref().map(str::trim);
    if name.is_some_and(str::is_empty) {
        return Err(AppError::user("--name requires a non-empty value"));
    }
    Ok(SessionFlags {
        source,
        in_memory: raw.no_session,
        directory: raw.session_dir.clone(),
        name: name.map(str::to_owned),
    })
}

fn session_source(raw: &RawArgs) -> Result<SessionSource, AppError> {
    let refuse = |option: &str, other: &str| {
        Err(AppError::user(format!("{option} cannot be combined with {other}")))
    };
    if let Some(source) = &raw.fork {
        let others = [
            (raw.session.is_some(), "--session"),
            (raw.newest, "--continue"),
            (raw.no_session, "--no-session"),
        ];
        if let Some((_, other)) = others.into_iter().find(|(is_given, _)| *is_given) {
            return refuse("--fork", other);
        }
        let id = raw.session_id.as_deref().map(checked_id).transpose()?;
        return Ok(SessionSource::Fork { source: source.clone(), id });
    }
    match (&raw.session_id, &raw.session) {
        (Some(_), Some(_)) => refuse("--session-id", "--session"),
        (Some(_), None) if raw.newest => refuse("--session-id", "--continue"),
        (Some(id), None) => Ok(SessionSource::Exact(checked_id(id)?)),
        (None, Some(session)) => Ok(SessionSource::Find(session.clone())),
        (None, None) if raw.newest => Ok(SessionSource::Newest),
        (None, None) => Ok(SessionSource::New),
    }
}

fn checked_id(id: &str) -> Result<String, AppError> {
    if check_session_id(id).is_ok() {
        return Ok(id.to_owned());
    }
    Err(AppError::user(format!("Invalid session id \"{id}\"")).with_hint(
        "Letters, digits, '-', '_' and '.' are allowed; the first and last must be a letter or digit.",
    ))
}

fn tool_flags(raw: &RawArgs) -> Result<ToolFlags, AppError> {
    let base = if raw.no_tools {
        ToolBase::Nothing
    } else if raw.no_builtin_tools {
        ToolBase::NoBuiltin
    } else {
        ToolBase::Defaults
    };
    let list = raw.tools.as_deref().map(|text| ToolList::parse("--tools", text)).transpose()?;
    let exclude = raw.exclude_tools.as_deref().map(split_list).unwrap_or_default();
    Ok(ToolFlags { base, list, exclude })
}
