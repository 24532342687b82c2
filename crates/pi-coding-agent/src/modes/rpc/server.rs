//! The current conversation, and who gets which command.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use super::answer::{Answer, Response};
use super::command::{Command, Request};
use super::lines::{Line, MAX_LINE};
use crate::cli::CliOptions;
use crate::modes::output::LineWriter;
use crate::modes::recorder::Recorder;
use crate::modes::{Audience as _, warn};
use crate::session_runtime::{AgentSession, SessionListenerId};
use crate::workspace::Workspace;

pub(super) struct Server<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) options: &'a CliOptions,
    pub(super) writer: Arc<LineWriter>,
    /// Provider the key of the command line is for.
    pub(super) key_provider: String,
    /// Held by what puts another conversation in the place of the current one.
    pub(super) changing: tokio::sync::Mutex<()>,
    live: Mutex<Live>,
}

/// A conversation whose events are told.
struct Live {
    session: AgentSession,
    recorder: Arc<Recorder>,
    subscription: SessionListenerId,
}

impl Live {
    fn new(session: AgentSession, writer: &Arc<LineWriter>) -> Self {
        let recorder = Arc::new(Recorder::new(Arc::clone(writer), session.clone()));
        let subscription = session.subscribe(Arc::<Recorder>::clone(&recorder));
        Self { session, recorder, subscription }
    }
}

impl<'a> Server<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        options: &'a CliOptions,
        writer: Arc<LineWriter>,
        session: AgentSession,
    ) -> Self {
        Self {
            workspace,
            options,
            key_provider: session.model().provider.clone(),
            changing: tokio::sync::Mutex::default(),
            live: Mutex::new(Live::new(session, &writer)),
            writer,
        }
    }

    pub(super) fn session(&self) -> AgentSession {
        self.live().session.clone()
    }

    /// Puts another conversation in the place of the current one, which must have nothing on. Its
    /// events are told from here on, and no more of the other.
    pub(super) fn replace(&self, session: AgentSession) {
        let next = Live::new(session, &self.writer);
        let last = std::mem::replace(&mut *self.live(), next);
        last.session.unsubscribe(last.subscription);
    }

    /// Does what a line asks for, and answers.
    pub(super) async fn serve(&self, line: Line) {
        let request = match line {
            Line::Text(text) => Request::parse(&text),
            Line::TooLong => {
                Request::unreadable(&format!("the line is longer than {MAX_LINE} bytes"))
            }
        };
        let Request { id, name, command } = request;
        let caller = Caller { id: id.as_ref(), command: name.as_deref() };
        match command {
            Ok(command) => {
                if let Some(answer) = self.carry_out(caller, command).await {
                    self.respond(caller, &answer).await;
                }
            }
            Err(error) => self.respond(caller, &Err(error)).await,
        }
        warn(self.workspace.warnings());
    }

    pub(super) async fn respond(&self, caller: Caller<'_>, answer: &Answer) {
        self.write(&Response::new(caller.id, caller.command, answer)).await;
    }

    pub(super) async fn write(&self, record: &(impl serde::Serialize + Sync)) {
        // Nobody to write for: the loop that serves hears of it, too.
        self.writer.line(record).await.unwrap_or_default();
    }

    /// `None`: it was answered while it was carried out.
    async fn carry_out(&self, caller: Caller<'_>, command: Command) -> Option<Answer> {
        Some(match command {
            Command::Prompt { message, images, streaming_behavior } => {
                self.prompt(caller, message, images, streaming_behavior).await;
                return None;
            }
            Command::Steer { message, images } => self.steer(message, images).await,
            Command::FollowUp { message, images } => self.follow_up(message, images).await,
            Command::Abort => self.abort().await,
            Command::ClearQueue => self.clear_queue().await,
            Command::Compact { custom_instructions } => self.compact(custom_instructions).await,
            Command::AbortRetry => self.abort_retry(),
            Command::Bash { command, exclude_from_context } => {
                self.bash(caller.id, &command, exclude_from_context).await
            }
            Command::AbortBash => self.abort_bash(),
            Command::NewSession { parent_session } => self.new_session(parent_session).await,
            Command::SwitchSession { session_path } => self.switch_session(session_path).await,
            Command::Fork { entry_id } => self.fork(&entry_id).await,
            Command::Clone => self.clone_session().await,
            Command::SetModel { provider, model_id } => self.set_model(&provider, &model_id).await,
            Command::CycleModel => self.cycle_model().await,
            Command::SetThinkingLevel { level } => self.set_thinking_level(&level).await,
            Command::CycleThinkingLevel => self.cycle_thinking_level().await,
            Command::SetSteeringMode { mode } => self.set_steering_mode(mode),
            Command::SetFollowUpMode { mode } => self.set_follow_up_mode(mode),
            Command::SetAutoCompaction { enabled } => self.set_auto_compaction(enabled),
            Command::SetAutoRetry { enabled } => self.set_auto_retry(enabled),
            Command::SetSessionName { name } => self.set_session_name(&name).await,
            Command::GetState => self.state(),
            Command::GetMessages => self.messages(),
            Command::GetAvailableModels => self.available_models().await,
            Command::GetAvailableThinkingLevels => self.available_thinking_levels(),
            Command::GetSessionStats => self.session_stats(),
            Command::ExportHtml { output_path } => self.export_html(output_path).await,
            Command::GetForkMessages => self.fork_messages(),
            Command::GetEntries { since } => self.entries(since.as_deref()),
            Command::GetTree => self.tree(),
            Command::GetLastAssistantText => self.last_assistant_text(),
            Command::GetCommands => Self::commands(),
        })
    }

    /// Resolves when nobody reads the output any more.
    pub(super) async fn reader_left(&self) {
        self.writer.closed().await;
    }

    /// Aborts what is on; what the conversation still records is not told.
    pub(super) fn stop(&self) {
        let live = self.live();
        live.session.stop();
    }

    /// Kills what the conversation has started, and gives the reader a moment for what is written.
    pub(super) async fn end_at_once(&self) {
        let recorder = Arc::clone(&self.live().recorder);
        recorder.fall_silent();
        self.session().kill_processes();
        recorder.flush().await;
    }

    /// The process ends.
    pub(super) fn leave(self) {
        let live = self.live.into_inner().unwrap_or_else(PoisonError::into_inner);
        live.session.unsubscribe(live.subscription);
        live.session.kill_processes();
    }

    fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whom an answer is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'a> {
    pub id: Option<&'a Value>,
    pub command: Option<&'a str>,
}
