//! Drives a wire protocol over the transport: one request, one streamed answer.
//!
//! The reader sets the pace. Bytes are read only when every event so far has been taken, so what
//! waits is at most what one chunk of the body holds; a slow reader slows the server down.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::StatusCode;
use reqwest::Response;
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::client::HttpTransport;
use super::failure;
use super::send::{Call, Failure, MAX_ERROR_BODY, is_page};
use super::sse::{EventTooLarge, SseParser};
use crate::event::{AssistantEvent, MessageBuilder};
use crate::protocol::{Decoder, HttpWire, Interruption, Protocol};
use crate::stream::{AssistantStream, EventSource};
use crate::surrogates::repair_surrogates;
use crate::types::Context;
use crate::types::{AssistantMessage, Model, SimpleStreamOptions, StopReason, StreamOptions};

/// A wire protocol made into a [`Protocol`].
#[derive(Debug, Clone)]
pub struct HttpProtocol {
    wire: Arc<dyn HttpWire>,
    transport: Arc<HttpTransport>,
}

impl HttpProtocol {
    pub fn new(wire: impl HttpWire + 'static, transport: Arc<HttpTransport>) -> Self {
        Self { wire: Arc::new(wire), transport }
    }
}

impl Protocol for HttpProtocol {
    fn stream(
        &self,
        model: Arc<Model>,
        context: Context,
        options: StreamOptions,
    ) -> AssistantStream {
        let call = Call {
            wire: Arc::clone(&self.wire),
            transport: Arc::clone(&self.transport),
            model,
            options,
        };
        AssistantStream::new(HttpSource::new(Arc::new(call), context))
    }

    fn stream_simple(
        &self,
        model: Arc<Model>,
        context: Context,
        options: SimpleStreamOptions,
    ) -> AssistantStream {
        let options = self.wire.simple_options(&model, &context, options);
        self.stream(model, context, options)
    }
}

pub(super) struct HttpSource {
    call: Arc<Call>,
    builder: MessageBuilder,
    decoder: Box<dyn Decoder>,
    parser: SseParser,
    stage: Stage,
    began: Instant,
    /// When the wait for the next bytes began; kept over dropped `advance` calls like the stage.
    waiting_since: Option<tokio::time::Instant>,
    /// The beginning of a body that says to be no stream, until an event shows that it is one.
    page: Option<Vec<u8>>,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    alarm: Alarm,
}

/// Rings when nothing came for too long. One timer serves the whole answer: an answer comes in
/// thousands of pieces, and setting a timer costs more than reading one.
#[derive(Default)]
struct Alarm(Option<Pin<Box<Sleep>>>);

enum Stage {
    /// Kept over dropped `advance` calls, so that a reader may give up waiting and come back.
    Opening(BoxFuture<'static, Result<Response, Failure>>),
    Reading(Box<Response>),
    Over,
}

/// What waiting on the network came to.
enum Step {
    Opened(Result<Response, Failure>),
    Chunk(Bytes),
    End,
    Broken(String),
    Aborted,
}

/// How long a server may take to close an answer that is whole, such as one with a stop reason but
/// without its usage or its last mark.
const END_GRACE: Duration = Duration::from_secs(10);

/// How long what follows the last event may take. It is a few bytes that are mostly there already.
const DRAIN_LIMIT: Duration = Duration::from_secs(2);

impl HttpSource {
    pub(super) fn new(call: Arc<Call>, context: Context) -> Self {
        let message = AssistantMessage::pending(&call.model, crate::now_ms());
        Self {
            builder: MessageBuilder::new(message),
            decoder: call.wire.decoder(&call.model, &context, &call.options),
            parser: SseParser::new(),
            stage: Stage::Opening(Box::pin(Arc::clone(&call).open(context))),
            began: Instant::now(),
            waiting_since: None,
            page: None,
            cancelled: Box::pin(call.options.cancel.clone().cancelled_owned()),
            alarm: Alarm::default(),
            call,
        }
    }

    async fn work(&mut self) -> bool {
        let Some(step) = self.wait().await else { return false };
        self.waiting_since = None;
        self.take(step);
        true
    }

    /// Waits for the network or the caller's cancellation, which goes first. `None` when all is
    /// over.
    async fn wait(&mut self) -> Option<Step> {
        let since = *self.waiting_since.get_or_insert_with(tokio::time::Instant::now);
        let is_whole = self.decoder.is_whole();
        let patience = match self.call.patience() {
            patience if !is_whole => patience,
            patience => Some(patience.map_or(END_GRACE, |patience| patience.min(END_GRACE))),
        };
        let Self { call, stage, cancelled, alarm, .. } = self;
        Some(match stage {
            Stage::Over => return None,
            Stage::Opening(opening) => tokio::select! {
                biased;
                () = cancelled => Step::Aborted,
                opened = opening => Step::Opened(opened),
            },
            Stage::Reading(response) => tokio::select! {
                biased;
                () = cancelled => Step::Aborted,
                chunk = response.chunk() => match chunk {
                    Ok(Some(chunk)) => Step::Chunk(chunk),
                    Ok(None) => Step::End,
                    Err(error) => Step::Broken(failure::broken_body(&error)),
                },
                () = alarm.rings(patience.map(|patience| since + patience)) => {
                    if is_whole { Step::End } else { Step::Broken(call.silence()) }
                }
            },
        })
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Opened(Ok(response)) => {
                self.page = is_page(&response).then(Vec::new);
                self.stage = Stage::Reading(Box::new(response));
            }
            Step::Opened(Err(failed)) => {
                self.builder.message_mut().retry_after_ms = failed.retry_after_ms;
                self.break_off(failed.text);
            }
            Step::Chunk(bytes) => self.decode(&bytes),
            Step::End => {
                let Self { call, builder, decoder, parser, page, .. } = self;
                parser.finish(|name, data| {
                    *page = None;
                    event(call, decoder.as_mut(), builder, name, data);
                });
                if let Some(page) = page.take().filter(|page| !page.is_empty()) {
                    let body = String::from_utf8_lossy(&page);
                    let text = call.wire.error_text(&call.model, StatusCode::OK.as_u16(), &body);
                    return self.break_off(text);
                }
                decoder.end(builder);
                self.break_off("Stream ended without its closing event".to_owned());
            }
            Step::Broken(text) => {
                self.decoder.interrupted(Interruption::Broken, &mut self.builder);
                self.break_off(text);
            }
            Step::Aborted => {
                self.decoder.interrupted(Interruption::Aborted, &mut self.builder);
                self.stage = Stage::Over;
                self.builder.abort();
            }
        }
    }

    fn decode(&mut self, bytes: &[u8]) {
        let Self { call, builder, decoder, parser, page, .. } = self;
        if let Some(page) = page {
            let room = MAX_ERROR_BODY.saturating_sub(page.len());
            page.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        }
        let parsed = parser.push(bytes, |name, data| {
            *page = None;
            event(call, decoder.as_mut(), builder, name, data);
        });
        if let Err(too_large @ EventTooLarge) = parsed {
            self.take(Step::Broken(too_large.to_string()));
        } else if self.builder.is_ended()
            && let Stage::Reading(response) = std::mem::replace(&mut self.stage, Stage::Over)
        {
            drain(*response);
        }
    }

    /// Lets go of the connection; ends the message unless the decoder has done so.
    fn break_off(&mut self, text: String) {
        self.stage = Stage::Over;
        self.builder.fail(StopReason::Error, text);
    }
}

fn event(
    call: &Call,
    decoder: &mut dyn Decoder,
    builder: &mut MessageBuilder,
    name: Option<&str>,
    data: &str,
) {
    if builder.is_ended() {
        return;
    }
    if let Some(hooks) = &call.options.hooks {
        hooks.on_stream_event(name, data, &call.model);
    }
    // Some servers cut an emoji in two, half a surrogate pair an event.
    match data.contains("\\u").then(|| repair_surrogates(data)).flatten() {
        Some(repaired) => decoder.event(name, &repaired, builder),
        None => decoder.event(name, data, builder),
    }
}

impl Alarm {
    /// Waits for the moment; for ever if there is none.
    async fn rings(&mut self, at: Option<tokio::time::Instant>) {
        let Some(at) = at else { return std::future::pending().await };
        let timer = self.0.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if timer.deadline() > at {
            timer.as_mut().reset(at);
        }
        // The timer may still be set for an earlier piece.
        while timer.deadline() < at {
            timer.as_mut().await;
            timer.as_mut().reset(at);
        }
        timer.as_mut().await;
    }
}

/// Reads what follows the last event, beside everything else: a connection that is read to its end
/// serves the next request, and a new one costs several round trips.
fn drain(mut response: Response) {
    tokio::spawn(async move {
        let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
        // Too slow: the connection is dropped with the response.
        let _in_time = tokio::time::timeout(DRAIN_LIMIT, rest).await;
    });
}

impl EventSource for HttpSource {
    fn pop(&mut self) -> Option<AssistantEvent> {
        let mut event = self.builder.pop()?;
        if let AssistantEvent::Done { message, .. } | AssistantEvent::Error { error: message, .. } =
            &mut event
        {
            let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
            let message = Arc::make_mut(message);
            message.duration_ms = Some(elapsed);
            if let Some(text) = &mut message.error_message {
                self.call.redact(text);
            }
        }
        Some(event)
    }

    fn advance(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(self.work())
    }

    fn partial(&self) -> &AssistantMessage {
        self.builder.message()
    }
}

impl fmt::Debug for HttpSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSource").field("model", &self.call.model.id).finish_non_exhaustive()
    }
}
