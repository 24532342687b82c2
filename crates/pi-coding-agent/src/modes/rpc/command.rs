//! Commands as a client writes them.

use std::borrow::Cow;

use pi_agent::queue::QueueMode;
use pi_ai::ImageContent;
use pi_ai::surrogates::repair_surrogates;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::dialogs::UiAnswer;

/// One command with its fields.
#[derive(Debug)]
pub(super) enum Command {
    Prompt(Message),
    Steer(Message),
    FollowUp(Message),
    Abort,
    ClearQueue,
    NewSession(NewSession),
    GetState,
    GetMessages,
    SetModel(SetModel),
    CycleModel,
    GetAvailableModels,
    SetThinkingLevel(SetThinkingLevel),
    CycleThinkingLevel,
    GetAvailableThinkingLevels,
    SetSteeringMode(SetMode),
    SetFollowUpMode(SetMode),
    Compact(Compact),
    SetAutoCompaction(Switch),
    SetAutoRetry(Switch),
    AbortRetry,
    Bash(Bash),
    AbortBash,
    GetSessionStats,
    ExportHtml(ExportHtml),
    SwitchSession(SwitchSession),
    Fork(Fork),
    Clone,
    GetForkMessages,
    GetEntries(GetEntries),
    GetTree,
    GetLastAssistantText,
    SetSessionName(SetSessionName),
    GetCommands,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Message {
    pub message: String,
    #[serde(default, deserialize_with = "or_none")]
    pub images: Vec<ImageContent>,
    /// Of a prompt.
    pub streaming_behavior: Option<StreamingBehavior>,
}

/// What becomes of a prompt while another one is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StreamingBehavior {
    Steer,
    FollowUp,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NewSession {
    pub parent_session: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SetModel {
    pub provider: String,
    pub model_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct SetThinkingLevel {
    pub level: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct SetMode {
    pub mode: QueueMode,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Compact {
    pub custom_instructions: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Switch {
    pub enabled: bool,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bash {
    pub command: String,
    pub exclude_from_context: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportHtml {
    pub output_path: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SwitchSession {
    pub session_path: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Fork {
    pub entry_id: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct GetEntries {
    pub since: Option<String>,
}

#[derive(Debug, Deserialize)]
pub(super) struct SetSessionName {
    pub name: String,
}

impl Command {
    /// `None`: there is no such command.
    fn read(name: &str, fields: &str) -> Option<serde_json::Result<Self>> {
        // Field by field and not as one tagged value: that would keep all of a line, the fields
        // nobody knows too, in a form many times its size.
        fn of<T: DeserializeOwned>(
            fields: &str,
            command: impl FnOnce(T) -> Command,
        ) -> serde_json::Result<Command> {
            serde_json::from_str(fields).map(command)
        }
        Some(match name {
            "prompt" => of(fields, Self::Prompt),
            "steer" => of(fields, Self::Steer),
            "follow_up" => of(fields, Self::FollowUp),
            "abort" => Ok(Self::Abort),
            "clear_queue" => Ok(Self::ClearQueue),
            "new_session" => of(fields, Self::NewSession),
            "get_state" => Ok(Self::GetState),
            "get_messages" => Ok(Self::GetMessages),
            "set_model" => of(fields, Self::SetModel),
            "cycle_model" => Ok(Self::CycleModel),
            "get_available_models" => Ok(Self::GetAvailableModels),
            "set_thinking_level" => of(fields, Self::SetThinkingLevel),
            "cycle_thinking_level" => Ok(Self::CycleThinkingLevel),
            "get_available_thinking_levels" => Ok(Self::GetAvailableThinkingLevels),
            "set_steering_mode" => of(fields, Self::SetSteeringMode),
            "set_follow_up_mode" => of(fields, Self::SetFollowUpMode),
            "compact" => of(fields, Self::Compact),
            "set_auto_compaction" => of(fields, Self::SetAutoCompaction),
            "set_auto_retry" => of(fields, Self::SetAutoRetry),
            "abort_retry" => Ok(Self::AbortRetry),
            "bash" => of(fields, Self::Bash),
            "abort_bash" => Ok(Self::AbortBash),
            "get_session_stats" => Ok(Self::GetSessionStats),
            "export_html" => of(fields, Self::ExportHtml),
            "switch_session" => of(fields, Self::SwitchSession),
            "fork" => of(fields, Self::Fork),
            "clone" => Ok(Self::Clone),
            "get_fork_messages" => Ok(Self::GetForkMessages),
            "get_entries" => of(fields, Self::GetEntries),
            "get_tree" => Ok(Self::GetTree),
            "get_last_assistant_text" => Ok(Self::GetLastAssistantText),
            "set_session_name" => of(fields, Self::SetSessionName),
            "get_commands" => Ok(Self::GetCommands),
            _ => return None,
        })
    }
}

/// A client that writes all fields it knows writes `null` for those it does not mean.
fn or_none<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    value: D,
) -> Result<T, D::Error> {
    Option::<T>::deserialize(value).map(Option::unwrap_or_default)
}

/// A line that was read, or what is wrong with it; with what its answer has to repeat.
#[derive(Debug)]
pub(super) struct Request {
    /// As it was written.
    pub id: Option<Box<RawValue>>,
    /// The `type`, as it was sent.
    pub name: Option<String>,
    pub command: Result<Command, String>,
}

/// What a line turns out to be.
#[derive(Debug)]
pub(super) enum Incoming {
    Command(Request),
    /// The user's answer to a dialog. There is no answer to it.
    UiAnswer(UiAnswer),
    /// An answer to a dialog that says not to which.
    Nothing,
}

impl Incoming {
    pub(super) fn parse(line: &[u8]) -> Self {
        let request = Request::parse(line);
        if request.name.as_deref() != Some("extension_ui_response") {
            return Self::Command(request);
        }
        let text = String::from_utf8_lossy(line);
        let text = repair_surrogates(&text).map_or(text, Cow::Owned);
        serde_json::from_str(&text).map_or(Self::Nothing, Self::UiAnswer)
    }
}

/// What says whom an answer is for.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow, rename = "type")]
    name: Option<&'a RawValue>,
}

impl Request {
    pub(super) fn parse(line: &[u8]) -> Self {
        let text = String::from_utf8_lossy(line);
        match Self::read(&text) {
            Ok(request) => request,
            // A client in JavaScript may send half a surrogate pair.
            Err(error) => match repair_surrogates(&text).map(|text| Self::read(&text)) {
                Some(Ok(request)) => request,
                _ => error,
            },
        }
    }

    /// An answer to a line that is no JSON, named after what failed.
    pub(super) fn unreadable(reason: &str) -> Self {
        Self {
            id: None,
            name: Some("parse".to_owned()),
            command: Err(format!("Failed to parse command: {reason}")),
        }
    }

    /// # Errors
    /// The request that says so: something in the line cannot be read.
    fn read(text: &str) -> Result<Self, Self> {
        if !text.trim_start().starts_with('{') {
            return Err(match serde_json::from_str::<IgnoredAny>(text) {
                Ok(_) => Self::unknown(None, None),
                Err(error) => Self::unreadable(&error.to_string()),
            });
        }
        let head: Head<'_> =
            serde_json::from_str(text).map_err(|error| Self::unreadable(&error.to_string()))?;
        let id = head.id.map(ToOwned::to_owned);
        let name = head.name.map(RawValue::get).map(serde_json::from_str::<Cow<'_, str>>);
        let Some(Ok(name)) = name else { return Ok(Self::unknown(id, None)) };
        let name = name.into_owned();
        match Command::read(&name, text) {
            None => Ok(Self::unknown(id, Some(name))),
            Some(Ok(command)) => Ok(Self { id, name: Some(name), command: Ok(command) }),
            Some(Err(error)) => {
                Err(Self { id, command: Err(format!("{name}: {error}")), name: Some(name) })
            }
        }
    }

    fn unknown(id: Option<Box<RawValue>>, name: Option<String>) -> Self {
        let text = format!("Unknown command: {}", name.as_deref().unwrap_or("undefined"));
        Self { id, name, command: Err(text) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn id(request: &Request) -> Option<&str> {
        request.id.as_ref().map(|id| id.get())
    }

    fn error(line: &str) -> (Option<String>, Option<String>, String) {
        let request = Request::parse(line.as_bytes());
        (id(&request).map(str::to_owned), request.name, request.command.unwrap_err())
    }

    #[test]
    fn what_is_no_command_is_told_with_what_was_sent() {
        for line in ["this is not json", "", "{\"type\":", "{\"a\":1}x", "[1"] {
            let (id, name, text) = error(line);
            assert_eq!((id, name.as_deref()), (None, Some("parse")), "{line}");
            assert!(text.starts_with("Failed to parse command: "), "{text}");
        }
        let unknown = "Unknown command: no_such".to_owned();
        assert_eq!(
            error(r#"{"id":"u1","type":"no_such"}"#),
            (Some("\"u1\"".to_owned()), Some("no_such".to_owned()), unknown)
        );
        for line in [r#""text""#, "[1]", r#"["a","prompt"]"#, "{}", r#"{"type":7}"#] {
            assert_eq!(error(line), (None, None, "Unknown command: undefined".to_owned()));
        }
        let (_, _, text) = error(r#"{"type":"prompt"}"#);
        assert!(text.starts_with("prompt: missing field `message`"), "{text}");
    }

    #[test]
    fn every_command_is_read_and_null_is_absence() {
        for name in [
            "prompt",
            "steer",
            "follow_up",
            "abort",
            "clear_queue",
            "new_session",
            "get_state",
            "get_messages",
            "set_model",
            "cycle_model",
            "get_available_models",
            "set_thinking_level",
            "cycle_thinking_level",
            "get_available_thinking_levels",
            "set_steering_mode",
            "set_follow_up_mode",
            "compact",
            "set_auto_compaction",
            "set_auto_retry",
            "abort_retry",
            "bash",
            "abort_bash",
            "get_session_stats",
            "export_html",
            "switch_session",
            "fork",
            "clone",
            "get_fork_messages",
            "get_entries",
            "get_tree",
            "get_last_assistant_text",
            "set_session_name",
            "get_commands",
        ] {
            let line = json!({
                "id": name, "type": name, "message": "m", "provider": "p", "modelId": "m",
                "level": "low", "mode": "all", "enabled": true, "command": "c",
                "sessionPath": "s", "entryId": "e", "name": "n", "images": null, "since": null,
                "streamingBehavior": null, "excludeFromContext": null, "more": {"a": [1]},
            });
            let request = Request::parse(line.to_string().as_bytes());
            assert!(request.command.is_ok(), "{name}: {:?}", request.command);
            assert_eq!(id(&request), Some(json!(name).to_string().as_str()));
        }
    }

    #[test]
    fn answers_to_dialogs_are_no_commands() {
        let incoming = |line: &str| Incoming::parse(line.as_bytes());
        let answer = r#"{"type":"extension_ui_response","id":"u","value":"a\ud800"}"#;
        assert!(matches!(incoming(answer), Incoming::UiAnswer(_)));
        for line in
            [r#"{"type":"extension_ui_response"}"#, r#"{"type":"extension_ui_response","id":1}"#]
        {
            assert!(matches!(incoming(line), Incoming::Nothing), "{line}");
        }
        assert!(matches!(incoming(r#"{"type":"abort"}"#), Incoming::Command(_)));
        assert!(matches!(incoming("{"), Incoming::Command(_)));
    }

    #[test]
    fn an_id_is_repeated_as_it_was_written() {
        for given in ["12345678901234567890123", "1.50", r#"{"a":[null]}"#, "\"x\\u0041\""] {
            let line = format!("{{\"type\":\"abort\",\"id\": {given} }}");
            assert_eq!(id(&Request::parse(line.as_bytes())), Some(given));
        }
        assert_eq!(id(&Request::parse(br#"{"type":"abort","id":null}"#)), None);
    }

    #[test]
    fn half_a_surrogate_pair_and_bad_bytes_are_replaced() {
        let request =
            Request::parse(br#"{"id":1,"type":"prompt","message":"a\ud83db \ud83d\ude00"}"#);
        let Ok(Command::Prompt(prompt)) = &request.command else { panic!("{request:?}") };
        assert_eq!((id(&request), prompt.message.as_str()), (Some("1"), "a\u{fffd}b \u{1f600}"));
        let request = Request::parse(b"{\"type\":\"steer\",\"message\":\"\xff\"}");
        assert!(
            matches!(request.command, Ok(Command::Steer(Message { message, .. })) if message == "\u{fffd}")
        );
    }
}
