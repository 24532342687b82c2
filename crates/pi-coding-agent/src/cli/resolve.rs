//! From collected options to checked ones.
//!
//! Owns: values, defaults and contradictions. Never: touches the disk.

use pi_agent::session::check_session_id;
use pi_ai::ThinkingLevel;
use pi_ai::auth::Secret;

use super::given::Given;
use super::options::{self, Opt, ValueKind};
use super::tokens::Tokens;
use super::{CliOptions, ListModels, Mode, Terminals, not_yet};
use crate::error::{AppError, Warning};
use crate::nearest;
use crate::resources::ResourceFlags;
use crate::tool_selection::{ToolBase, ToolFlags, ToolList, split_list};
use crate::workspace::{ModelFlags, SessionFlags, SessionSource};

/// # Errors
/// See [`super::parse`].
pub(super) fn resolve(tokens: Tokens, terminals: Terminals) -> Result<CliOptions, AppError> {
    let Tokens { given, files, mut messages, unknown, missing } = tokens;
    if let Some((option, name)) = missing {
        return Err(not_yet::refuse_option(option, &name));
    }
    messages.retain(|message| !message.is_empty());

    let print = given.has("--print");
    let mode = mode(one_of(&given, "--mode", "mode")?, print, terminals);
    one_of(&given, "--tui-mode", "TUI mode")?;
    let list_models = given
        .has("--list-models")
        .then(|| ListModels { search: given.value("--list-models").map(str::to_owned) });
    // Listing models and exporting need no screen.
    if list_models.is_none() && !given.has("--export") {
        refuse_missing_mode(mode, &files)?;
    }

    let mut warnings = Vec::new();
    if mode == Mode::Rpc && !messages.is_empty() {
        let text = "Messages on the command line are ignored in RPC mode; send them with `prompt`";
        warnings.push(Warning::new(text));
    }
    Ok(CliOptions {
        mode,
        print,
        verbose: given.has("--verbose"),
        model: model_choice(&given, &mut warnings)?,
        list_models,
        export: given.value("--export").map(str::to_owned),
        session: session_choice(&given)?,
        tools: tool_flags(&given)?,
        context_files: !given.has("--no-context-files"),
        skills: ResourceFlags {
            paths: given.values("--skill"),
            only_these: given.has("--no-skills"),
        },
        prompt_templates: ResourceFlags {
            paths: given.values("--prompt-template"),
            only_these: given.has("--no-prompt-templates"),
        },
        approve: given.either("--approve", "--no-approve"),
        offline: given.has("--offline"),
        system_prompt: given.value("--system-prompt").map(str::to_owned),
        append_system_prompt: given.values("--append-system-prompt"),
        themes: given.values("--theme"),
        files,
        messages,
        warnings,
        unknown,
    })
}

fn mode(value: Option<&str>, print: bool, terminals: Terminals) -> Mode {
    match value {
        Some("json") => Mode::Json,
        Some("rpc") => Mode::Rpc,
        _ if !print && terminals.stdin && terminals.stdout => Mode::Interactive,
        _ => Mode::Print,
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

fn model_choice(given: &Given, warnings: &mut Vec<Warning>) -> Result<ModelFlags, AppError> {
    if let Some(provider) = given.value("--provider")
        && !given.has("--model")
    {
        return Err(AppError::user("--provider works only together with --model")
            .with_hint(format!("For example: pi --provider {provider} --model <pattern>")));
    }
    if given.has("--api-key") && !given.has("--model") && !given.has("--models") {
        return Err(AppError::user("--api-key works only together with --model or --models"));
    }
    let owned = |long| given.value(long).map(str::to_owned);
    Ok(ModelFlags {
        provider: owned("--provider"),
        pattern: owned("--model"),
        api_key: owned("--api-key").map(Secret::new),
        thinking: thinking_level(given, warnings),
        scope: given.value("--models").map(split_list),
        may_be_missing: false,
    })
}

/// A wrong level does not stop the run.
fn thinking_level(given: &Given, warnings: &mut Vec<Warning>) -> Option<ThinkingLevel> {
    match one_of(given, "--thinking", "thinking level") {
        Ok(level) => level?.parse().ok(),
        Err(AppError { message, hint, .. }) => {
            let lines: Vec<String> = [message].into_iter().chain(hint).collect();
            warnings.push(Warning(lines.join("\n")));
            None
        }
    }
}

/// The value of an option whose valid ones are in the table; the error calls it `what`.
pub(super) fn one_of<'a>(
    given: &'a Given,
    long: &str,
    what: &str,
) -> Result<Option<&'a str>, AppError> {
    let kind = options::find(long).and_then(Opt::value_of).map(|value| value.kind);
    let (Some(text), Some(ValueKind::OneOf(valid))) = (given.value(long), kind) else {
        return Ok(None);
    };
    if valid.contains(&text) {
        return Ok(Some(text));
    }
    let message = format!("Invalid {what} \"{text}\". Valid values: {}", valid.join(", "));
    let near = nearest::words(text, valid.iter().copied());
    Err(AppError::user(message).with_optional_hint(nearest::did_you_mean(&near)))
}

fn session_choice(given: &Given) -> Result<SessionFlags, AppError> {
    let source = session_source(given)?;
    let name = given.value("--name").map(str::trim);
    if name.is_some_and(str::is_empty) {
        return Err(AppError::user("--name requires a non-empty value"));
    }
    Ok(SessionFlags {
        source,
        in_memory: given.has("--no-session"),
        directory: given.value("--session-dir").map(str::to_owned),
        name: name.map(str::to_owned),
    })
}

fn session_source(given: &Given) -> Result<SessionSource, AppError> {
    let refuse_beside = |option: &str, others: &[&str]| {
        let Some(other) = others.iter().find(|other| given.has(other)) else { return Ok(()) };
        Err(AppError::user(format!("{option} cannot be combined with {other}")))
    };
    let id = || given.value("--session-id").map(checked_id).transpose();
    if let Some(source) = given.value("--fork") {
        refuse_beside("--fork", &["--session", "--continue", "--no-session"])?;
        return Ok(SessionSource::Fork { source: source.to_owned(), id: id()? });
    }
    if given.has("--session-id") {
        refuse_beside("--session-id", &["--session", "--continue"])?;
    }
    Ok(match (id()?, given.value("--session")) {
        (Some(id), _) => SessionSource::Exact(id),
        (None, Some(session)) => SessionSource::Find(session.to_owned()),
        (None, None) if given.has("--continue") => SessionSource::Newest,
        (None, None) => SessionSource::New,
    })
}

fn checked_id(id: &str) -> Result<String, AppError> {
    if check_session_id(id).is_ok() {
        return Ok(id.to_owned());
    }
    Err(AppError::user(format!("Invalid session id \"{id}\"")).with_hint(
        "Letters, digits, '-', '_' and '.' are allowed; the first and last must be a letter or digit.",
    ))
}

fn tool_flags(given: &Given) -> Result<ToolFlags, AppError> {
    let base = if given.has("--no-tools") {
        ToolBase::Nothing
    } else if given.has("--no-builtin-tools") {
        ToolBase::NoBuiltin
    } else {
        ToolBase::Defaults
    };
    let list = given.value("--tools").map(|text| ToolList::parse("--tools", text)).transpose()?;
    let exclude = given.value("--exclude-tools").map(split_list).unwrap_or_default();
    Ok(ToolFlags { base, list, exclude })
}
