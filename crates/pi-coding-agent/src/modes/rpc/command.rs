//! Commands as a client writes them.

use pi_agent::queue::QueueMode;
use pi_ai::ImageContent;
use serde::Deserialize;
use serde_json::{Map, Value};

/// One command with its fields.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub(super) enum Command {
    Prompt {
        message: String,
        #[serde(default)]
        images: Vec<ImageContent>,
        streaming_behavior: Option<StreamingBehavior>,
    },
    Steer {
        message: String,
        #[serde(default)]
        images: Vec<ImageContent>,
    },
    FollowUp {
        message: String,
        #[serde(default)]
        images: Vec<ImageContent>,
    },
    Abort,
    ClearQueue,
    NewSession {
        parent_session: Option<String>,
    },
    GetState,
    GetMessages,
    SetModel {
        provider: String,
        model_id: String,
    },
    CycleModel,
    GetAvailableModels,
    SetThinkingLevel {
        level: String,
    },
    CycleThinkingLevel,
    GetAvailableThinkingLevels,
    SetSteeringMode {
        mode: QueueMode,
    },
    SetFollowUpMode {
        mode: QueueMode,
    },
    Compact {
        custom_instructions: Option<String>,
    },
    SetAutoCompaction {
        enabled: bool,
    },
    SetAutoRetry {
        enabled: bool,
    },
    AbortRetry,
    Bash {
        command: String,
        exclude_from_context: Option<bool>,
    },
    AbortBash,
    GetSessionStats,
    ExportHtml {
        output_path: Option<String>,
    },
    SwitchSession {
        session_path: String,
    },
    Fork {
        entry_id: String,
    },
    Clone,
    GetForkMessages,
    GetEntries {
        since: Option<String>,
    },
    GetTree,
    GetLastAssistantText,
    SetSessionName {
        name: String,
    },
    GetCommands,
}

/// What becomes of a prompt while another one is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum StreamingBehavior {
    Steer,
    FollowUp,
}

/// A line that was read, or what is wrong with it; with what its answer has to repeat.
#[derive(Debug)]
pub(super) struct Request {
    pub id: Option<Value>,
    /// The `type`, as it was sent.
    pub name: Option<String>,
    pub command: Result<Command, String>,
}

impl Request {
    pub(super) fn parse(line: &[u8]) -> Self {
        match serde_json::from_slice(line) {
            Ok(Value::Object(fields)) => Self::of(fields),
            Ok(_) => Self::unknown(None, None),
            Err(error) => Self::unreadable(&error.to_string()),
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

    fn of(mut fields: Map<String, Value>) -> Self {
        let id = fields.shift_remove("id").filter(|id| !id.is_null());
        let Some(name) = fields.get("type").and_then(Value::as_str).map(str::to_owned) else {
            return Self::unknown(id, None);
        };
        if !NAMES.contains(&name.as_str()) {
            return Self::unknown(id, Some(name));
        }
        // A client that writes all fields it knows writes `null` for those it does not mean.
        fields.retain(|_, value| !value.is_null());
        let command = serde_json::from_value(Value::Object(fields));
        Self { id, command: command.map_err(|error| format!("{name}: {error}")), name: Some(name) }
    }

    fn unknown(id: Option<Value>, name: Option<String>) -> Self {
        let text = format!("Unknown command: {}", name.as_deref().unwrap_or("undefined"));
        Self { id, name, command: Err(text) }
    }
}

/// Every `type` there is.
pub(super) const NAMES: [&str; 33] = [
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
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn error(line: &str) -> (Option<Value>, Option<String>, String) {
        let request = Request::parse(line.as_bytes());
        (request.id, request.name, request.command.unwrap_err())
    }

    #[test]
    fn what_is_no_command_is_told_with_what_was_sent() {
        let (id, name, text) = error("this is not json");
        assert_eq!((id, name.as_deref()), (None, Some("parse")));
        assert!(text.starts_with("Failed to parse command: "), "{text}");
        assert_eq!(
            error(r#"{"id":"u1","type":"no_such"}"#),
            (Some(json!("u1")), Some("no_such".to_owned()), "Unknown command: no_such".to_owned())
        );
        for line in [r#""text""#, "[1]", "{}", r#"{"type":7}"#] {
            assert_eq!(error(line), (None, None, "Unknown command: undefined".to_owned()));
        }
        let (_, _, text) = error(r#"{"type":"prompt"}"#);
        assert_eq!(text, "prompt: missing field `message`");
    }

    #[test]
    fn every_name_is_a_command_and_null_is_absence() {
        for name in NAMES {
            let line = json!({
                "id": name, "type": name, "message": "m", "provider": "p", "modelId": "m",
                "level": "low", "mode": "all", "enabled": true, "command": "c",
                "sessionPath": "s", "entryId": "e", "name": "n", "images": null, "since": null,
            });
            let request = Request::parse(line.to_string().as_bytes());
            assert!(request.command.is_ok(), "{name}: {:?}", request.command);
            assert_eq!(request.id, Some(json!(name)));
        }
    }
}
