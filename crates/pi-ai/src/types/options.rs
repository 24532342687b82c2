//! What a caller may ask of one request.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use super::model::ThinkingLevel;
use crate::hooks::RequestHooks;

/// Options every protocol understands.
///
/// Its `Debug` form shows neither the key nor header values.
#[derive(Clone, Default)]
pub struct StreamOptions {
    /// Cancelling ends the stream with an `aborted` message and closes the connection.
    pub cancel: CancellationToken,
    /// Watch and change the request on its way out.
    pub hooks: Option<Arc<dyn RequestHooks>>,
    pub api_key: Option<String>,
    /// Extra headers; `None` deletes one that would be sent.
    pub headers: IndexMap<String, Option<String>>,
    pub identity: Identity,
    pub temperature: Option<f64>,
    /// Most tokens the answer may have.
    pub max_tokens: Option<u64>,
    /// Body fields that override what the protocol computed, for protocols that take such
    /// (`openai-completions`); others leave them out.
    pub sampling_params: Option<Map<String, Value>>,
    /// Facts for the provider's own records; each protocol sends what its API knows.
    pub metadata: Option<Map<String, Value>>,
    pub cache_retention: CacheRetention,
    /// Keeps a conversation on one cache; sent as each protocol does.
    pub session_id: Option<String>,
    /// Longest silence on the wire in milliseconds; `None` waits for ever.
    pub timeout_ms: Option<u64>,
    /// HTTP-level retries, invisible in the events.
    pub max_retries: u32,
    /// Longest wait a server may ask for in milliseconds; 0 takes any.
    pub max_retry_delay_ms: Option<u64>,
    /// Options of one protocol, under their documented names.
    pub protocol: ProtocolOptions,
}

impl fmt::Debug for StreamOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&String> = self.headers.keys().collect();
        f.debug_struct("StreamOptions")
            .field("cancelled", &self.cancel.is_cancelled())
            .field("api_key", &self.api_key.as_ref().map(|_| "[redacted]"))
            .field("headers", &headers)
            .field("identity", &self.identity)
            .field("temperature", &self.temperature)
            .field("max_tokens", &self.max_tokens)
            .field("sampling_params", &self.sampling_params)
            .field("cache_retention", &self.cache_retention)
            .field("session_id", &self.session_id)
            .field("timeout_ms", &self.timeout_ms)
            .field("max_retries", &self.max_retries)
            .field("max_retry_delay_ms", &self.max_retry_delay_ms)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

/// Options in words every protocol translates.
#[derive(Debug, Clone, Default)]
pub struct SimpleStreamOptions {
    pub base: StreamOptions,
    /// `Off` asks for no thinking.
    pub reasoning: ThinkingLevel,
    pub tool_choice: Option<SimpleToolChoice>,
    pub thinking_budgets: ThinkingBudgets,
}

/// Options only one protocol knows, by their JSON names. Each protocol module has a typed struct
/// that converts into this.
pub type ProtocolOptions = Map<String, Value>;

/// Tool choice every protocol can express.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SimpleToolChoice {
    Auto,
    None,
}

/// How long the provider should keep the prompt cached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheRetention {
    None,
    #[default]
    Short,
    Long,
}

/// Thinking tokens per level; absent ones take the built-in number.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ThinkingBudgets {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimal: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<u64>,
}

/// How the client names itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Identity {
    /// Whole `User-Agent`; `None` sends `pi/<version> (<os>; <arch>)`.
    pub user_agent: Option<String>,
    /// Product attribution headers for providers that keep such statistics.
    pub attribution: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_holds_no_secret() {
        let options = StreamOptions {
            api_key: Some("sk-secret-1".to_owned()),
            headers: [("x-token".to_owned(), Some("sk-secret-2".to_owned()))].into(),
            ..StreamOptions::default()
        };
        let text = format!("{options:?}");
        assert!(text.contains("x-token") && !text.contains("sk-secret"), "{text}");
    }
}
