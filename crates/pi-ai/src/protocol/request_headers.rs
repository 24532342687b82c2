//! Headers every HTTP protocol sends alike, in their order of precedence.
//!
//! From weak to strong: identity, the protocol's defaults, the model's own headers, headers computed
//! from the conversation, the caller's headers. The caller may delete any of them.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use super::vendor::Vendor;
use crate::stream::Context;
use crate::types::{
    CacheRetention, InputBlock, Message, Model, StreamOptions, UserContent,
};

/// Headers of one request while they are put together.
#[derive(Debug)]
pub struct RequestHeaders<'a> {
    model: &'a Model,
    options: &'a StreamOptions,
    defaults: Vec<(&'static str, String)>,
    computed: Vec<(&'static str, String)>,
}

impl<'a> RequestHeaders<'a> {
    pub fn new(model: &'a Model, options: &'a StreamOptions) -> Self {
        Self { model, options, defaults: Vec::new(), computed: Vec::new() }
    }

    /// A header of the protocol itself, such as the one that carries the key.
    pub fn default_header(&mut self, name: &'static str, value: impl Into<String>) {
        self.defaults.push((name, value.into()));
    }

    /// A header computed from options or conversation, such as a session's.
    pub fn computed_header(&mut self, name: &'static str, value: impl Into<String>) {
        self.computed.push((name, value.into()));
    }

    /// All headers. `context` decides the ones GitHub Copilot bills and routes by.
    ///
    /// # Errors
    /// A name or value that cannot stand in an HTTP header; the value is not shown.
    pub fn assemble(self, context: &Context) -> Result<HeaderMap, String> {
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        set(&mut headers, "user-agent", &self.user_agent())?;
        for (name, value) in self.attribution() {
            set(&mut headers, name, value)?;
        }
        for (name, value) in &self.defaults {
            set(&mut headers, name, value)?;
        }
        for (name, value) in self.model.headers.iter().flatten() {
            set(&mut headers, name, value)?;
        }
        if Vendor::GitHubCopilot.serves(self.model) {
            for (name, value) in copilot_headers(context) {
                set(&mut headers, name, value)?;
            }
        }
        if let Some(session) = self.open_code_session() {
            set(&mut headers, "x-opencode-session", session)?;
        }
        for (name, value) in &self.computed {
            set(&mut headers, name, value)?;
        }
        for (name, value) in &self.options.headers {
            match value {
                Some(value) => set(&mut headers, name, value)?,
                None => drop(headers.remove(name.as_str())),
            }
        }
        Ok(headers)
    }

    fn user_agent(&self) -> String {
        self.options.identity.user_agent.clone().unwrap_or_else(|| {
            let version = env!("CARGO_PKG_VERSION");
            format!("pi/{version} ({}; {})", std::env::consts::OS, std::env::consts::ARCH)
        })
    }

    fn attribution(&self) -> &'static [(&'static str, &'static str)] {
        if !self.options.identity.attribution {
            return &[];
        }
        if Vendor::OpenRouter.serves(self.model) {
            &[
                ("http-referer", "https://pi.dev"),
                ("x-openrouter-title", "pi"),
                ("x-openrouter-categories", "cli-agent"),
            ]
        } else if Vendor::Nvidia.serves(self.model) {
            &[("x-billing-invoke-origin", "Pi")]
        } else if Vendor::OpenCode.serves(self.model) {
            &[("x-opencode-client", "pi")]
        } else {
            &[]
        }
    }

    fn open_code_session(&self) -> Option<&'a str> {
        let session = self.options.session_id.as_deref()?;
        let caching = self.options.cache_retention != CacheRetention::None;
        (caching && Vendor::OpenCode.serves(self.model)).then_some(session)
    }
}

/// Whether any of `names` carries something; such a request needs no key.
pub fn carries_credential(headers: &HeaderMap, names: &[&str]) -> bool {
    names.iter().any(|name| {
        headers.get(*name).is_some_and(|value| !value.as_bytes().trim_ascii().is_empty())
    })
}

/// Copilot counts a request against the user's allowance when the user began it.
fn copilot_headers(context: &Context) -> Vec<(&'static str, &'static str)> {
    let by_user = matches!(
        context.messages.iter().rfind(|message| !matches!(message, Message::System(_))),
        Some(Message::User(_)) | None
    );
    let mut headers = vec![
        ("x-initiator", if by_user { "user" } else { "agent" }),
        ("openai-intent", "conversation-edits"),
    ];
    if context.messages.iter().any(shows_image) {
        headers.push(("copilot-vision-request", "true"));
    }
    headers
}

fn shows_image(message: &Message) -> bool {
    let blocks = match message {
        Message::User(user) => match &user.content {
            UserContent::Blocks(blocks) => blocks.as_slice(),
            UserContent::Text(_) => return false,
        },
        Message::ToolResult(result) => result.content.as_slice(),
        Message::System(_) | Message::Assistant(_) => return false,
    };
    blocks.iter().any(|block| matches!(block, InputBlock::Image(_)))
}

fn set(headers: &mut HeaderMap, name: &str, value: &str) -> Result<(), String> {
    let parsed_name = HeaderName::from_bytes(name.as_bytes());
    let parsed_value = HeaderValue::from_bytes(value.as_bytes());
    match (parsed_name, parsed_value) {
        (Ok(name), Ok(value)) => {
            headers.insert(name, value);
            Ok(())
        }
        (Err(_), _) => Err(format!("{name:?} is not a valid HTTP header name")),
        (_, Err(_)) => {
            Err(format!("The value of the HTTP header {name:?} contains control characters"))
        }
    }
}
