//! Commands that say something to the model or run beside it.

use std::pin::pin;
use std::sync::atomic::Ordering;
use std::task::Poll;

use futures_util::future::BoxFuture;
use pi_agent::AgentMessage;
use pi_agent::harness::Operation;
use serde::Serialize;
use serde_json::json;
use serde_json::value::RawValue;

use super::answer::{Answer, DONE, data};
use super::command::{Bash, Compact, Message, StreamingBehavior};
use super::look::user_text;
use super::pending::poll_once;
use super::server::{Caller, Server, Turn};
use crate::error::AppError;
use crate::modes::{check_stored, report};
use crate::session_runtime::{
    AgentSession, BashListener, BashOptions, BashResult, NotReserved, Prompt, PromptRun, Reserved,
    RunOutcome,
};

/// Most commands of the user that may be on at once. More are refused, so that an abort is always
/// heard.
const MAX_RUNNING: usize = 64;

/// What a client is told that prompts while another prompt is on.
const BUSY: &str = "Agent is already processing. Specify streamingBehavior ('steer' or 'followUp') to queue the message.";

impl Server<'_> {
    /// Answers as soon as the prompt is taken, then sees it through.
    pub(super) async fn prompt(&self, caller: Caller<'_>, message: Message, turn: Turn<'_>) {
        let session = self.session();
        let Message { message: text, images, streaming_behavior } = message;
        let prompt = Prompt { text, images };
        if let Some(behavior) = streaming_behavior.filter(|_| is_answering(&session)) {
            let queued = match behavior {
                StreamingBehavior::Steer => session.steer(prompt).await,
                StreamingBehavior::FollowUp => session.follow_up(prompt).await,
            };
            drop(turn);
            return self.respond(caller, in_queue(queued)).await;
        }
        let reserved = session.reserve().await;
        // It is taken: whatever comes next finds it.
        drop(turn);
        match take(reserved, prompt).await {
            Ok(run) => {
                self.respond(caller, disposition("started")).await;
                see_through(run.await.map(Some));
            }
            Err(error) => self.respond(caller, Err(error)).await,
        }
    }

    pub(super) async fn steer(&self, message: Message) -> Answer {
        let prompt = Prompt { text: message.message, images: message.images };
        in_queue(self.session().steer(prompt).await)
    }

    pub(super) async fn follow_up(&self, message: Message) -> Answer {
        let prompt = Prompt { text: message.message, images: message.images };
        in_queue(self.session().follow_up(prompt).await)
    }

    pub(super) async fn abort(&self, turn: Turn<'_>) -> Answer {
        let session = self.session();
        session.abort();
        drop(turn);
        session.wait_for_idle().await;
        DONE
    }

    pub(super) async fn clear_queue(&self) -> Answer {
        let queued = self.session().clear_queues().await;
        let texts =
            |messages: &[AgentMessage]| -> Vec<String> { messages.iter().map(text_of).collect() };
        data(&json!({
            "steering": texts(&queued.steering),
            "followUp": texts(&queued.follow_up),
        }))
    }

    /// Answers when the conversation is shorter, then delivers what was queued meanwhile.
    pub(super) async fn compact(&self, caller: Caller<'_>, compact: Compact, turn: Turn<'_>) {
        let session = self.session();
        session.abort();
        session.wait_for_idle().await;
        let result = begun(session.compact(compact.custom_instructions.as_deref()), turn).await;
        let answer = result.map_err(|error| error.message).and_then(|result| data(&result));
        self.respond(caller, answer).await;
        see_through(session.run_queued().await);
    }

    pub(super) fn abort_retry(&self) -> Answer {
        self.session().abort_retry();
        DONE
    }

    pub(super) async fn bash(&self, id: Option<&RawValue>, bash: &Bash, turn: Turn<'_>) -> Answer {
        if self.running.load(Ordering::Relaxed) >= MAX_RUNNING {
            return Err(format!("{MAX_RUNNING} commands are on already"));
        }
        let told = Told { server: self, id };
        let options = BashOptions { exclude_from_context: bash.exclude_from_context };
        let session = self.session();
        let result = session.run_bash(&bash.command, options, &told);
        drop(turn);
        self.running.fetch_add(1, Ordering::Relaxed);
        let result = result.await;
        self.running.fetch_sub(1, Ordering::Relaxed);
        data(&BashData::from(result.map_err(|error| error.message)?))
    }

    pub(super) fn abort_bash(&self) -> Answer {
        self.session().abort_bash();
        DONE
    }
}

/// A prompt, begun: there is a model, and requests to it have a key.
async fn take(
    reserved: Result<Reserved, NotReserved>,
    prompt: Prompt,
) -> Result<PromptRun, String> {
    let reserved = reserved.map_err(|error| match error {
        NotReserved::Busy => BUSY.to_owned(),
        NotReserved::Stopped => error.to_string(),
    })?;
    reserved.check_key().await.map_err(|error| error.message)?;
    reserved.begin(prompt).await.map_err(|error| error.message)
}

/// Lets work begin, then gives the turn to the next command.
async fn begun<T>(work: impl Future<Output = T>, turn: Turn<'_>) -> T {
    let mut work = pin!(work);
    let first = poll_once(work.as_mut()).await;
    drop(turn);
    match first {
        Poll::Ready(output) => output,
        Poll::Pending => work.await,
    }
}

fn see_through(outcome: Result<Option<RunOutcome>, AppError>) {
    if let Err(error) = outcome.and_then(check_stored) {
        report(&error);
    }
}

fn is_answering(session: &AgentSession) -> bool {
    !matches!(session.operation(), Operation::Idle | Operation::Navigation)
}

fn in_queue(queued: Result<(), AppError>) -> Answer {
    queued.map_err(|error| error.message)?;
    disposition("queued")
}

fn disposition(disposition: &str) -> Answer {
    data(&json!({"disposition": disposition}))
}

fn text_of(message: &AgentMessage) -> String {
    user_text(message).unwrap_or_default()
}

/// Passes the output of a command on to whoever asked for it.
struct Told<'a> {
    server: &'a Server<'a>,
    id: Option<&'a RawValue>,
}

impl BashListener for Told<'_> {
    fn on_output<'a>(&'a self, text: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let update = BashUpdate { r#type: "bash_execution_update", id: self.id, delta: text };
            self.server.write(&update).await;
        })
    }
}

#[derive(Serialize)]
struct BashUpdate<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    delta: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BashData {
    output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    cancelled: bool,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_output_path: Option<String>,
}

impl From<BashResult> for BashData {
    fn from(result: BashResult) -> Self {
        let BashResult { output, exit_code, cancelled, truncated, full_output_path } = result;
        let full_output_path = full_output_path.map(|path| path.to_string_lossy().into_owned());
        Self { output, exit_code, cancelled, truncated, full_output_path }
    }
}
