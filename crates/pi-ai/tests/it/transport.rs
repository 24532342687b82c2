//! The transport against a real server on loopback.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderValue};
use pi_ai::MessageBuilder;
use pi_ai::RequestHooks;
use pi_ai::faux::FauxProvider;
use pi_ai::protocol::{Decoder, HttpRequest, HttpWire, Interruption, Protocol, RequestBody};
use pi_ai::transport::{HttpProtocol, HttpTransport, TransportConfig};
use pi_ai::{AssistantStream, Context};
use pi_ai::{Model, SimpleStreamOptions, StopReason, StreamOptions};
use pi_test::ModelServer;
use serde_json::{Value, json};

mod abort;
mod failures;
mod pace;
mod proxy;
mod request;
mod retries;

/// A protocol of the tests' own: each event's data is text, `[DONE]` ends the answer.
#[derive(Debug, Default)]
struct TestWire {
    /// Status that gets one other request.
    fallback_on: Option<u16>,
}

impl HttpWire for TestWire {
    fn simple_options(
        &self,
        _model: &Model,
        _context: &Context,
        options: SimpleStreamOptions,
    ) -> StreamOptions {
        StreamOptions { max_tokens: Some(77), ..options.base }
    }

    fn request(
        &self,
        model: &Model,
        context: &Context,
        options: &StreamOptions,
    ) -> Result<HttpRequest, String> {
        let Some(key) = &options.api_key else {
            return Err(format!("No API key for provider: {}", model.provider));
        };
        let mut default_headers = HeaderMap::new();
        default_headers.insert("x-api-key", HeaderValue::from_str(key).unwrap());
        let body = json!({
            "stream": true, "prompt": context.system_prompt, "max": options.max_tokens,
        });
        Ok(HttpRequest {
            url: format!("{}/talk", model.base_url),
            default_headers,
            conversation_headers: HeaderMap::new(),
            body: body.into(),
        })
    }

    fn decoder(
        &self,
        _model: &Arc<Model>,
        _context: &Context,
        _options: &StreamOptions,
    ) -> Box<dyn Decoder> {
        Box::new(TestDecoder { block: None })
    }

    fn error_text(&self, _model: &Model, status: u16, body: &str) -> String {
        format!("{status}: {body}")
    }

    fn fallback(
        &self,
        _model: &Model,
        _options: &StreamOptions,
        request: &HttpRequest,
        status: u16,
        body: &str,
    ) -> Option<HttpRequest> {
        let mut other = request.clone();
        let mut changed = request.body.to_value();
        changed["instead_of"] = json!(body);
        other.body = changed.into();
        (Some(status) == self.fallback_on).then_some(other)
    }
}

struct TestDecoder {
    block: Option<usize>,
}

impl Decoder for TestDecoder {
    fn event(&mut self, _name: Option<&str>, data: &str, out: &mut MessageBuilder) {
        if data == "[DONE]" {
            self.end(out);
            return;
        }
        let block = *self.block.get_or_insert_with(|| out.text_start());
        out.text_delta(block, data);
    }

    fn end(&mut self, out: &mut MessageBuilder) {
        match self.block {
            Some(block) => {
                out.text_end(block);
                out.finish(StopReason::Stop);
            }
            None => out.fail(StopReason::Error, "Stream ended without finish_reason"),
        }
    }

    fn interrupted(&mut self, how: Interruption, out: &mut MessageBuilder) {
        out.message_mut().raw_stop_reason = Some(format!("{how:?}"));
    }
}

/// Writes down what happens to a request, and changes it a little.
#[derive(Debug, Default)]
struct Diary(Mutex<Vec<String>>);

impl Diary {
    fn note(&self, text: String) {
        self.0.lock().unwrap().push(text);
    }

    fn pages(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl RequestHooks for Diary {
    fn on_payload<'a>(
        &'a self,
        body: &'a RequestBody,
        _: &'a Model,
    ) -> BoxFuture<'a, Option<Value>> {
        self.note("payload".to_owned());
        let mut body = body.to_value();
        body["hooked"] = json!(true);
        body["hooks"] = json!(body["hooks"].as_u64().unwrap_or_default() + 1);
        Box::pin(std::future::ready(Some(body)))
    }

    fn on_headers<'a>(&'a self, headers: &'a mut HeaderMap, _: &'a Model) -> BoxFuture<'a, ()> {
        self.note(format!("headers with user-agent: {}", headers.contains_key("user-agent")));
        headers.insert("x-hooked", HeaderValue::from_static("yes"));
        Box::pin(std::future::ready(()))
    }

    fn on_response<'a>(&'a self, status: u16, _: &'a HeaderMap, _: &'a Model) -> BoxFuture<'a, ()> {
        self.note(format!("response {status}"));
        Box::pin(std::future::ready(()))
    }

    fn on_stream_event(&self, event: Option<&str>, data: &str, _: &Model) {
        self.note(format!("event {event:?} {data}"));
    }
}

fn protocol() -> HttpProtocol {
    protocol_with(TestWire::default(), TransportConfig::default())
}

fn protocol_with(wire: TestWire, config: TransportConfig) -> HttpProtocol {
    HttpProtocol::new(wire, Arc::new(HttpTransport::new(config)))
}

fn model(base_url: &str) -> Arc<Model> {
    Arc::new(Model { base_url: base_url.to_owned(), ..FauxProvider::model() })
}

fn options() -> StreamOptions {
    StreamOptions { api_key: Some("sk-secret".to_owned()), ..StreamOptions::default() }
}

fn ask(server: &ModelServer, options: StreamOptions) -> AssistantStream {
    protocol().stream(model(&server.url()), Context::default(), options)
}

/// Framed events of these texts and the closing one.
fn talk(texts: &[&str]) -> pi_test::Reply {
    let events = texts.iter().copied().chain(["[DONE]"]);
    pi_test::Reply::events(events.map(|text| format!("data: {text}\n\n")))
}

/// A name no resolver is asked about: its first label is longer than DNS allows.
fn unknown_host() -> String {
    format!("{}.invalid", "x".repeat(64))
}

const MOMENT: Duration = Duration::from_millis(30);
