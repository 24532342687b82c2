//! The current conversation, and who gets which command.
//!
//! Commands begin one after the other, in the order they came: each waits for its [`Turn`] and keeps
//! it until what it begins is on, or what it changes is changed. So a prompt never lands in a
//! conversation that is being replaced, and an abort finds the prompt that was sent before it.

use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::answer::{Answer, record};
use super::command::{Command, Incoming, Request};
use super::dialogs::Dialogs;
use super::lines::{Line, MAX_LINE};
use crate::cli::CliOptions;
use crate::modes::output::LineWriter;
use crate::modes::recorder::{LAST_WORDS, Recorder, flush_briefly};
use crate::modes::warn;
use crate::session_runtime::{AgentSession, Reserved, SessionListenerId};
use crate::workspace::Workspace;

/// The right to begin something. Dropped, it is the next command's.
pub(super) type Turn<'a> = tokio::sync::MutexGuard<'a, ()>;

pub(super) struct Server<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) options: &'a CliOptions,
    /// Provider the key of the command line is for.
    pub(super) key_provider: String,
    /// Commands of the user that are on.
    pub(super) running: AtomicUsize,
    writer: Arc<LineWriter>,
    dialogs: Arc<Dialogs>,
    turns: tokio::sync::Mutex<()>,
    live: Mutex<Live>,
    /// The process is about to end: nothing begins any more.
    stopping: CancellationToken,
    /// Nothing more is told.
    silent: CancellationToken,
}

/// A conversation whose events are told.
struct Live {
    session: AgentSession,
    subscription: SessionListenerId,
}

impl<'a> Server<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        options: &'a CliOptions,
        writer: Arc<LineWriter>,
        session: AgentSession,
    ) -> Self {
        let silent = CancellationToken::new();
        let dialogs = Arc::new(Dialogs::new(Arc::clone(&writer), silent.clone()));
        session.set_user_interface(Arc::<Dialogs>::clone(&dialogs));
        Self {
            workspace,
            options,
            key_provider: session.model().provider.clone(),
            running: AtomicUsize::new(0),
            turns: tokio::sync::Mutex::default(),
            live: Mutex::new(Live::new(session, &writer, &silent)),
            writer,
            dialogs,
            stopping: CancellationToken::new(),
            silent,
        }
    }

    pub(super) fn session(&self) -> AgentSession {
        self.live().session.clone()
    }

    /// Puts another conversation in the place of the current one, in which nothing can begin. The
    /// events of the new one are told from here on, and no more of the other.
    pub(super) fn replace(&self, current: Reserved, session: AgentSession) {
        if self.stopping.is_cancelled() {
            session.stop();
        }
        session.set_user_interface(Arc::<Dialogs>::clone(&self.dialogs));
        let next = Live::new(session, &self.writer, &self.silent);
        let last = std::mem::replace(&mut *self.live(), next);
        last.session.unsubscribe(last.subscription);
        drop(current);
    }

    /// Does what a line asks for, and answers. To be polled once before a later line is.
    pub(super) async fn serve(&self, line: Line) {
        let request = match line {
            Line::Text(text) => match Incoming::parse(&text) {
                Incoming::Command(request) => request,
                // A command that has its turn may wait for it.
                Incoming::UiAnswer(answer) => return self.dialogs.answered(answer),
                Incoming::Nothing => return,
            },
            Line::TooLong => {
                Request::unreadable(&format!("the line is longer than {MAX_LINE} bytes"))
            }
        };
        let turn = self.turns.lock().await;
        let Request { id, name, command } = request;
        let caller = Caller { id: id.as_deref(), command: name.as_deref() };
        match command {
            Ok(_) if self.stopping.is_cancelled() => {
                self.respond(caller, Err("pi is about to end".to_owned())).await;
            }
            Ok(command) => {
                if let Some(answer) = self.carry_out(caller, command, turn).await {
                    self.respond(caller, answer).await;
                }
            }
            Err(error) => self.respond(caller, Err(error)).await,
        }
        warn(self.workspace.warnings());
    }

    pub(super) async fn respond(&self, caller: Caller<'_>, answer: Answer) {
        // It is plain data, whose serialisation has no failing case.
        let Ok(record) = record(caller.id, caller.command, answer) else { return };
        tokio::select! {
            biased;
            written = self.writer.text(record) => written.unwrap_or_default(),
            () = self.silent.cancelled() => {}
        }
    }

    pub(super) async fn write(&self, record: &(impl serde::Serialize + Sync)) {
        tokio::select! {
            biased;
            // Nobody to write for: the loop that serves hears of it, too.
            written = self.writer.line(record) => written.unwrap_or_default(),
            () = self.silent.cancelled() => {}
        }
    }

    /// `None`: it was answered while it was carried out.
    async fn carry_out(
        &self,
        caller: Caller<'_>,
        command: Command,
        turn: Turn<'_>,
    ) -> Option<Answer> {
        Some(match command {
            Command::Prompt(message) => {
                self.prompt(caller, message, turn).await;
                return None;
            }
            Command::Steer(message) => self.steer(message).await,
            Command::FollowUp(message) => self.follow_up(message).await,
            Command::Abort => self.abort(turn).await,
            Command::ClearQueue => self.clear_queue().await,
            Command::Compact(compact) => {
                self.compact(caller, compact, turn).await;
                return None;
            }
            Command::AbortRetry => self.abort_retry(),
            Command::Bash(bash) => self.bash(caller.id, &bash, turn).await,
            Command::AbortBash => self.abort_bash(),
            Command::NewSession(new) => self.new_session(new).await,
            Command::SwitchSession(to) => self.switch_session(&to.session_path).await,
            Command::Fork(at) => self.fork(&at.entry_id).await,
            Command::Clone => self.clone_session().await,
            Command::SetModel(set) => self.set_model(&set.provider, &set.model_id).await,
            Command::CycleModel => self.cycle_model().await,
            Command::SetThinkingLevel(set) => self.set_thinking_level(&set.level).await,
            Command::CycleThinkingLevel => self.cycle_thinking_level().await,
            Command::SetSteeringMode(set) => self.set_steering_mode(set.mode).await,
            Command::SetFollowUpMode(set) => self.set_follow_up_mode(set.mode).await,
            Command::SetAutoCompaction(set) => self.set_auto_compaction(set.enabled).await,
            Command::SetAutoRetry(set) => self.set_auto_retry(set.enabled).await,
            Command::SetSessionName(set) => self.set_session_name(&set.name).await,
            Command::GetState => self.state(),
            Command::GetMessages => self.messages(),
            Command::GetAvailableModels => self.available_models(turn).await,
            Command::GetAvailableThinkingLevels => self.available_thinking_levels(),
            Command::GetSessionStats => self.session_stats(),
            Command::ExportHtml(export) => self.export_html(export.output_path).await,
            Command::GetForkMessages => self.fork_messages(),
            Command::GetEntries(get) => self.entries(get.since.as_deref()),
            Command::GetTree => self.tree(),
            Command::GetLastAssistantText => self.last_assistant_text(),
            Command::GetCommands => self.commands(),
        })
    }

    /// Resolves when nobody reads the output any more.
    pub(super) async fn reader_left(&self) {
        self.writer.closed().await;
    }

    /// Aborts what is on, and lets nothing else begin. The end of it is told, as long as the client
    /// goes on reading.
    pub(super) fn stop(&self) {
        if self.stopping.is_cancelled() {
            return;
        }
        self.stopping.cancel();
        self.session().stop();
        let (writer, silent) = (Arc::clone(&self.writer), self.silent.clone());
        tokio::spawn(async move {
            writer.stalled(LAST_WORDS).await;
            silent.cancel();
        });
    }

    /// Kills what the conversations have started, and gives the reader a moment for what is written.
    pub(super) async fn end_at_once(&self) {
        self.silent.cancel();
        self.session().kill_processes();
        flush_briefly(&self.writer).await;
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

impl Live {
    fn new(session: AgentSession, writer: &Arc<LineWriter>, silent: &CancellationToken) -> Self {
        let recorder = Recorder::new(Arc::clone(writer), session.clone(), silent.clone());
        let subscription = session.subscribe(Arc::new(recorder));
        Self { session, subscription }
    }
}

/// Whom an answer is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caller<'a> {
    pub id: Option<&'a RawValue>,
    pub command: Option<&'a str>,
}
