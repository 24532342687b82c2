//! Commands that ask and change nothing.

use pi_agent::harness::Operation;
use pi_agent::session::{EntryKind, EntryRef, Session};
use pi_agent::{AgentMessage, QueueMode};
use pi_ai::{AssistantBlock, InputBlock, Model, StopReason, ThinkingLevel, UserContent};
use serde::Serialize;
use serde_json::json;

use super::answer::{Answer, data, json_text};
use super::server::{Server, Turn};
use crate::resources::SourceInfo;

impl Server<'_> {
    pub(super) fn state(&self) -> Answer {
        let session = self.session();
        let operation = session.operation();
        let queued = session.queued_messages();
        let (path, id) = session.with_session(|session| {
            let path = session.path().map(|path| path.to_string_lossy().into_owned());
            (path, session.id().to_owned())
        });
        data(&State {
            model: &session.model(),
            thinking_level: session.thinking_level(),
            is_streaming: matches!(operation, Operation::Turn | Operation::RetryWait),
            is_compacting: matches!(operation, Operation::Compaction { .. }),
            steering_mode: session.steering_mode(),
            follow_up_mode: session.follow_up_mode(),
            session_file: path,
            session_id: id,
            session_name: session.name(),
            auto_compaction_enabled: session.auto_compaction(),
            message_count: session.message_count(),
            pending_message_count: queued.steering.len() + queued.follow_up.len(),
        })
    }

    pub(super) fn messages(&self) -> Answer {
        let mut text = "{\"messages\":".to_owned();
        self.session().add_messages_json(&mut text);
        text.push('}');
        json_text(text)
    }

    pub(super) async fn available_models(&self, turn: Turn<'_>) -> Answer {
        let models = self.session().models().clone();
        drop(turn);
        // Whether there is a key may take a command that prints it.
        let found = tokio::task::spawn_blocking(move || models.available()).await;
        let models = found.map_err(|error| error.to_string())?;
        data(&json!({"models": models}))
    }

    pub(super) fn available_thinking_levels(&self) -> Answer {
        data(&json!({"levels": pi_ai::thinking::supported_levels(&self.session().model())}))
    }

    pub(super) fn session_stats(&self) -> Answer {
        let session = self.session();
        let usage = session.context_usage();
        session.with_session(|kept| {
            let totals = kept.totals();
            let tokens = totals.tokens;
            let mut stats = json!({
                "sessionId": kept.id(),
                "userMessages": totals.user_messages,
                "assistantMessages": totals.assistant_messages,
                "toolCalls": totals.tool_calls,
                "toolResults": totals.tool_results,
                "totalMessages": totals.total_messages,
                "tokens": {
                    "input": tokens.input,
                    "output": tokens.output,
                    "cacheRead": tokens.cache_read,
                    "cacheWrite": tokens.cache_write,
                    "total": tokens.total(),
                },
                "cost": totals.cost,
            });
            if let Some(path) = kept.path() {
                stats["sessionFile"] = json!(path.to_string_lossy());
            }
            if usage.context_window > 0 {
                stats["contextUsage"] = json!({
                    "tokens": usage.tokens,
                    "contextWindow": usage.context_window,
                    "percent": usage.percent,
                });
            }
            data(&stats)
        })
    }

    /// A path that is not absolute starts at the directory of the session, and is told as it came.
    pub(super) async fn export_html(&self, output: Option<String>) -> Answer {
        let (session, workspace) = (self.session(), self.workspace.clone());
        // It reads themes and writes a file.
        let written = tokio::task::spawn_blocking(move || {
            workspace.export_html(&session, output.as_deref()).map_err(|error| error.to_string())
        });
        let path = written.await.map_err(|error| error.to_string())??;
        data(&json!({"path": path.to_string_lossy()}))
    }

    pub(super) fn fork_messages(&self) -> Answer {
        let messages = self.session().with_session(|session| {
            let branch = session.branch();
            let found = branch.iter().filter_map(|entry| Some((entry.id(), prompt_of(*entry)?)));
            let told = found.map(|(id, text)| json!({"entryId": id, "text": text}));
            told.collect::<Vec<_>>()
        });
        data(&json!({"messages": messages}))
    }

    pub(super) fn entries(&self, since: Option<&str>) -> Answer {
        self.session().with_session(|session| {
            let mut entries = session.entries();
            if let Some(since) = since
                && !entries.any(|entry| entry.id() == since)
            {
                return Err(format!("Entry not found: {since}"));
            }
            let mut text = "{\"entries\":[".to_owned();
            for (position, entry) in entries.enumerate() {
                text.push_str(if position == 0 { "" } else { "," });
                text.push_str(&entry.json());
            }
            text.push_str("],\"leafId\":");
            text.push_str(&leaf_id(session));
            text.push('}');
            json_text(text)
        })
    }

    pub(super) fn tree(&self) -> Answer {
        self.session().with_session(|session| {
            let (tree, leaf) = (session.tree().to_json(), leaf_id(session));
            json_text(format!("{{\"tree\":{tree},\"leafId\":{leaf}}}"))
        })
    }

    /// The last answer that says something. One that was aborted or failed before it did is none.
    pub(super) fn last_assistant_text(&self) -> Answer {
        let messages = self.session().messages();
        let text = messages.iter().rev().find_map(|message| {
            let AgentMessage::Assistant(answer) = message else { return None };
            let broke = matches!(answer.stop_reason, StopReason::Aborted | StopReason::Error);
            if broke && answer.content.is_empty() {
                return None;
            }
            let text: String = answer
                .content
                .iter()
                .filter_map(|block| match block {
                    AssistantBlock::Text(text) => Some(text.text.as_str()),
                    _ => None,
                })
                .collect();
            let text = text.trim();
            (!text.is_empty()).then(|| text.to_owned())
        });
        data(&json!({"text": text}))
    }

    /// What a prompt can call: templates, then skills.
    pub(super) fn commands(&self) -> Answer {
        let library = self.session().library();
        let templates = library.prompt_templates.iter().map(|template| CommandInfo {
            name: template.name.clone(),
            description: &template.description,
            source: "prompt",
            source_info: library.source_info(&template.file_path),
        });
        let skills = library.skills.iter().map(|skill| CommandInfo {
            name: format!("skill:{}", skill.name),
            description: &skill.description,
            source: "skill",
            source_info: library.source_info(&skill.file_path),
        });
        data(&json!({"commands": templates.chain(skills).collect::<Vec<_>>()}))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct State<'a> {
    model: &'a Model,
    thinking_level: ThinkingLevel,
    is_streaming: bool,
    is_compacting: bool,
    steering_mode: QueueMode,
    follow_up_mode: QueueMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_file: Option<String>,
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_name: Option<String>,
    auto_compaction_enabled: bool,
    message_count: usize,
    pending_message_count: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommandInfo<'a> {
    name: String,
    description: &'a str,
    source: &'static str,
    source_info: Option<&'a SourceInfo>,
}

/// As JSON.
fn leaf_id(session: &Session) -> String {
    json!(session.leaf().map(|leaf| leaf.id().to_owned())).to_string()
}

fn prompt_of(entry: EntryRef<'_>) -> Option<String> {
    if *entry.kind() != EntryKind::Message {
        return None;
    }
    user_text(entry.parse().ok()?.message()?)
}

/// What a message of the user says, in one piece.
pub(super) fn user_text(message: &AgentMessage) -> Option<String> {
    match message {
        AgentMessage::User(user) => Some(match &user.content {
            UserContent::Text(text) => text.clone(),
            UserContent::Blocks(blocks) => blocks.iter().filter_map(InputBlock::as_text).collect(),
        }),
        _ => None,
    }
}
