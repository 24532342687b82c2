//! Commands that say something to the model or run beside it.

use futures_util::future::BoxFuture;
use pi_agent::AgentMessage;
use pi_agent::harness::Operation;
use pi_ai::{ImageContent, InputBlock, UserContent};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::{Answer, DONE, data};
use super::command::StreamingBehavior;
use super::server::{Caller, Server};
use crate::error::AppError;
use crate::modes::{check_stored, report};
use crate::session_runtime::{
    AgentSession, BashListener, BashOptions, BashResult, Prompt, RunOutcome,
};

impl Server<'_> {
    /// Answers as soon as the prompt is taken, then sees it through.
    pub(super) async fn prompt(
        &self,
        caller: Caller<'_>,
        message: String,
        images: Vec<ImageContent>,
        behavior: Option<StreamingBehavior>,
    ) {
        let session = self.session();
        let prompt = Prompt { text: message, images };
        let run = match (is_answering(&session), behavior) {
            (true, Some(StreamingBehavior::Steer)) => {
                let queued = session.steer(prompt).await;
                return self.respond(caller, &in_queue(queued)).await;
            }
            (true, Some(StreamingBehavior::FollowUp)) => {
                let queued = session.follow_up(prompt).await;
                return self.respond(caller, &in_queue(queued)).await;
            }
            _ => take(&session, prompt).await,
        };
        match run {
            Ok(run) => {
                self.respond(caller, &disposition("started")).await;
                let stored = run.await.map(Some).and_then(check_stored);
                if let Err(error) = stored {
                    report(&error);
                }
            }
            Err(error) => self.respond(caller, &Err(error)).await,
        }
    }

    pub(super) async fn steer(&self, message: String, images: Vec<ImageContent>) -> Answer {
        in_queue(self.session().steer(Prompt { text: message, images }).await)
    }

    pub(super) async fn follow_up(&self, message: String, images: Vec<ImageContent>) -> Answer {
        in_queue(self.session().follow_up(Prompt { text: message, images }).await)
    }

    pub(super) async fn abort(&self) -> Answer {
        let session = self.session();
        session.abort();
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

    pub(super) async fn compact(&self, instructions: Option<String>) -> Answer {
        let result = self.session().compact(instructions.as_deref()).await;
        data(&result.map_err(|error| error.message)?)
    }

    pub(super) fn abort_retry(&self) -> Answer {
        self.session().abort_retry();
        DONE
    }

    pub(super) async fn bash(
        &self,
        id: Option<&Value>,
        command: &str,
        exclude_from_context: Option<bool>,
    ) -> Answer {
        let told = Told { server: self, id };
        let options = BashOptions { exclude_from_context };
        let session = self.session();
        let result = session.run_bash(command, options, &told).await;
        data(&Bash::from(result.map_err(|error| error.message)?))
    }

    pub(super) fn abort_bash(&self) -> Answer {
        self.session().abort_bash();
        DONE
    }
}

/// A prompt, taken: the model has a key, and nothing else is on.
async fn take(
    session: &AgentSession,
    prompt: Prompt,
) -> Result<BoxFuture<'static, Result<RunOutcome, AppError>>, String> {
    session.check_key().await.map_err(|error| error.message)?;
    session.begin(prompt).await.map_err(|error| error.message)
}

fn is_answering(session: &AgentSession) -> bool {
    session.is_busy() && !matches!(session.operation(), Operation::Idle | Operation::Navigation)
}

fn in_queue(queued: Result<(), AppError>) -> Answer {
    queued.map_err(|error| error.message)?;
    disposition("queued")
}

fn disposition(disposition: &str) -> Answer {
    data(&json!({"disposition": disposition}))
}

fn text_of(message: &AgentMessage) -> String {
    match message {
        AgentMessage::User(user) => match &user.content {
            UserContent::Text(text) => text.clone(),
            UserContent::Blocks(blocks) => blocks.iter().filter_map(InputBlock::as_text).collect(),
        },
        _ => String::new(),
    }
}

/// Passes the output of a command on to whoever asked for it.
struct Told<'a> {
    server: &'a Server<'a>,
    id: Option<&'a Value>,
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
    id: Option<&'a Value>,
    delta: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Bash {
    output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    cancelled: bool,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_output_path: Option<String>,
}

impl From<BashResult> for Bash {
    fn from(result: BashResult) -> Self {
        let BashResult { output, exit_code, cancelled, truncated, full_output_path } = result;
        let full_output_path = full_output_path.map(|path| path.to_string_lossy().into_owned());
        Self { output, exit_code, cancelled, truncated, full_output_path }
    }
}
