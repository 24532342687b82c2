//! From a conversation to the head of a good answer: builds the request, sends it, sends it again
//! where that helps.

use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use jiff::Timestamp;
use reqwest::Response;

use super::client::HttpTransport;
use super::{failure, headers, provider_retry};
use crate::protocol::{HttpRequest, HttpWire, RequestBody, shown_url};
use crate::types::Context;
use crate::types::{Model, StreamOptions};

/// Largest error body read, in bytes: far more than any text shown, far less than memory.
pub(super) const MAX_ERROR_BODY: usize = 256 * 1024;

/// Headers whose value is a secret.
const KEY_HEADERS: [&str; 5] =
    ["authorization", "x-api-key", "api-key", "x-goog-api-key", "cf-aig-authorization"];

/// Shorter texts are placeholders for servers without keys, and too likely to be part of a word.
const MIN_KEY: usize = 8;

/// One call of a model, shared by the driver and the sending future.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) wire: Arc<dyn HttpWire>,
    pub(super) transport: Arc<HttpTransport>,
    pub(super) model: Arc<Model>,
    pub(super) options: StreamOptions,
}

/// Why there is no answer to read.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) text: String,
    /// What the server asked to wait, in milliseconds.
    pub(super) retry_after_ms: Option<u64>,
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self { text, retry_after_ms: None }
    }
}

impl Call {
    /// The longest silence allowed.
    pub(super) fn patience(&self) -> Option<Duration> {
        // Zero means no limit: it could not mean that nothing may take any time.
        self.options.timeout_ms.filter(|ms| *ms > 0).map(Duration::from_millis)
    }

    /// Sends the request until an answer is good, and gives that answer with its body unread.
    pub(super) async fn open(self: Arc<Self>, context: Context) -> Result<Response, Failure> {
        let request = self.wire.request(&self.model, &context, &self.options)?;
        drop(context);
        let mut letter = self.seal(&request).await?;
        let mut may_fall_back = true;
        let mut attempt = 0;
        loop {
            let error = match self.send(&letter).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            if may_fall_back
                && let Some(status) = error.status
                && let Some(other) =
                    self.wire.fallback(&self.model, &self.options, &request, status, &error.body)
            {
                may_fall_back = false;
                letter = self.seal(&other).await?;
                continue;
            }
            if !error.worth_another_try || attempt >= self.options.max_retries {
                return Err(error.into());
            }
            let max_delay = self.options.max_retry_delay_ms;
            match provider_retry::delay(attempt, error.server_delay, max_delay) {
                Ok(delay) => tokio::time::sleep(delay).await,
                Err(refusal) => {
                    let failure = Failure::from(error);
                    return Err(Failure { text: format!("{refusal} {}", failure.text), ..failure });
                }
            }
            attempt += 1;
        }
    }

    /// Settles the headers and runs the hooks.
    async fn seal(&self, request: &HttpRequest) -> Result<Letter, Failure> {
        let mut headers = headers::settle(request, &self.model, &self.options, &self.transport)?;
        let mut body = request.body.clone();
        if let Some(hooks) = &self.options.hooks {
            hooks.on_headers(&mut headers, &self.model).await;
            if let Some(other) = hooks.on_payload(&body, &self.model).await {
                body = other.into();
            }
        }
        Ok(Letter { url: request.url.clone(), headers, body })
    }

    async fn send(&self, letter: &Letter) -> Result<Response, SendError> {
        let client = self
            .transport
            .client()
            .map_err(|error| SendError::final_with(failure::chain(error)))?;
        let sending = client
            .post(&letter.url)
            .headers(letter.headers.clone())
            .body(letter.body.bytes().clone())
            .send();
        let response = match self.with_patience(sending).await {
            Some(Ok(response)) => response,
            Some(Err(error)) if error.is_builder() => {
                return Err(SendError::final_with(format!(
                    "Invalid URL {:?}",
                    shown_url(&letter.url)
                )));
            }
            Some(Err(error)) => {
                let direct = !self.transport.may_use_proxy();
                return Err(SendError::passing(failure::no_answer(&error, &letter.url, direct)));
            }
            None => return Err(SendError::passing(self.silence())),
        };
        if let Some(hooks) = &self.options.hooks {
            hooks.on_response(response.status().as_u16(), response.headers(), &self.model).await;
        }
        if response.status().is_success() {
            return Ok(response);
        }
        Err(self.refused(response).await)
    }

    /// Takes the keys of this call out of a text: some servers repeat what they refuse.
    pub(super) fn redact(&self, text: &mut String) {
        let of_headers = self.options.headers.iter().filter_map(|(name, value)| {
            let carries_key = KEY_HEADERS.iter().any(|key| name.eq_ignore_ascii_case(key));
            let value = value.as_deref().filter(|_| carries_key)?;
            Some(value.strip_prefix("Bearer ").unwrap_or(value))
        });
        for key in self.options.api_key.as_deref().into_iter().chain(of_headers) {
            if key.len() >= MIN_KEY && text.contains(key) {
                *text = text.replace(key, "[redacted]");
            }
        }
    }

    /// Reads an error answer.
    async fn refused(&self, mut response: Response) -> SendError {
        let status = response.status();
        let worth_another_try = provider_retry::is_worth_another_try(status, response.headers());
        let server_delay = provider_retry::server_delay(response.headers(), Timestamp::now());
        let mut body = Vec::new();
        // A body that breaks off still says more than none.
        while let Some(Ok(Some(chunk))) = self.with_patience(response.chunk()).await {
            let room = MAX_ERROR_BODY.saturating_sub(body.len());
            body.extend_from_slice(chunk.get(..room).unwrap_or(&chunk));
            if body.len() >= MAX_ERROR_BODY {
                break;
            }
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        let text = self.wire.error_text(&self.model, status.as_u16(), &body);
        SendError { text, status: Some(status.as_u16()), body, worth_another_try, server_delay }
    }

    /// `None` when nothing came for too long.
    async fn with_patience<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        match self.patience() {
            Some(limit) => tokio::time::timeout(limit, work).await.ok(),
            None => Some(work.await),
        }
    }

    pub(super) fn silence(&self) -> String {
        failure::silence(self.patience().unwrap_or_default())
    }
}

/// Whether an answer says to be no stream but a page or a JSON text: a portal, a wrong address, or
/// an error behind a good status. Some servers say so of streams too.
pub(super) fn is_page(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    kind.is_some_and(|kind| kind.starts_with("text/html") || kind.starts_with("application/json"))
}

/// A request as it goes out, again and again if it must.
struct Letter {
    url: String,
    headers: HeaderMap,
    body: RequestBody,
}

/// One try that failed.
struct SendError {
    text: String,
    /// `None`: there was no answer.
    status: Option<u16>,
    body: String,
    worth_another_try: bool,
    server_delay: Option<Duration>,
}

impl SendError {
    fn final_with(text: String) -> Self {
        Self {
            text,
            status: None,
            body: String::new(),
            worth_another_try: false,
            server_delay: None,
        }
    }

    /// The connection failed, as it may do on the way to a good host.
    fn passing(text: String) -> Self {
        Self { worth_another_try: true, ..Self::final_with(text) }
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Self {
        let retry_after_ms =
            error.server_delay.map(|delay| u64::try_from(delay.as_millis()).unwrap_or(u64::MAX));
        Self { text: error.text, retry_after_ms }
    }
}
