//! The whole request.

use serde_json::{Map, Value, json};

use super::compat::Compat;
use super::content::{self, Turns};
use super::headers::{self, BetaNeeds};
use super::options::Options;
use super::strict_memory::StrictMemory;
use super::thinking::Thinking;
use super::tools::ToolWriter;
use crate::handoff::{HandoffRules, Prepared, ToolPlacement, initial_tools, prepare};
use crate::protocol::body::cache_marker;
use crate::protocol::request_body::MESSAGES_GO_HERE;
use crate::protocol::{HttpRequest, RequestBody};
use crate::types::Context;
use crate::types::{AssistantMessage, Model, StreamOptions};

const DEFAULT_BASE_URL: &str = "https://api.anthropic.com";
/// Longest tool-call id the API takes.
const MAX_ID_CHARS: usize = 64;

/// Builds the request.
///
/// # Errors
/// No key, a header or an option that cannot be sent, or a tool that must be strict and cannot be.
pub(super) fn build(
    model: &Model,
    context: &Context,
    options: &StreamOptions,
    memory: &StrictMemory,
) -> Result<HttpRequest, String> {
    let compat = Compat::of(model);
    let own = Options::read(&options.protocol)?;
    let thinking = Thinking::of(model, &compat, &own);
    let frozen_tools =
        compat.tool_changes && compat.mid_conversation_system && !initial_tools(context).is_empty();
    let prepared = prepare(
        context,
        &HandoffRules {
            model,
            mid_conversation_system: compat.mid_conversation_system,
            tool_placement: if frozen_tools { ToolPlacement::Changes } else { ToolPlacement::None },
            tool_call_id: &tool_call_id,
        },
    );
    let needs = BetaNeeds {
        compat: &compat,
        options: &own,
        thinking: &thinking,
        has_tools: !prepared.tools.is_empty(),
        changes_tools_in_place: frozen_tools,
    };
    let default_headers = headers::defaults(model, options, &needs)?;
    let conversation_headers = headers::of_conversation(model, context, options, &compat)?;
    let prefer_strict = !memory.is_over_limit(options.session_id.as_deref());
    let plan = Plan {
        model,
        options,
        own: &own,
        thinking: &thinking,
        cache_control: cache_marker(options.cache_retention, compat.long_cache_retention),
        frozen_tools,
    };
    let tools = ToolWriter { compat: &compat, prefer_strict, memory };
    let body = plan.body(&prepared, &tools)?;
    Ok(HttpRequest { url: url(model), default_headers, conversation_headers, body })
}

struct Plan<'a> {
    model: &'a Model,
    options: &'a StreamOptions,
    own: &'a Options,
    thinking: &'a Thinking,
    cache_control: Option<Value>,
    frozen_tools: bool,
}

impl Plan<'_> {
    fn body(&self, prepared: &Prepared, tools: &ToolWriter<'_>) -> Result<RequestBody, String> {
        let compat = tools.compat;
        let cache_control = self.cache_control.as_ref();
        let turns = Turns {
            provider: &self.model.provider,
            compat,
            effort: self.thinking.managed_effort(),
            cache_control,
        };
        let messages = turns.write(&prepared.messages, tools)?;

        let mut body = Map::new();
        body.insert("model".into(), json!(self.model.id));
        let (name, place) = MESSAGES_GO_HERE;
        body.insert(name.into(), place.clone());
        let max_tokens = self.options.max_tokens.unwrap_or(self.model.max_tokens);
        body.insert("max_tokens".into(), json!(max_tokens));
        body.insert("stream".into(), json!(true));
        if !prepared.system_prompt.trim().is_empty() {
            let mut block = content::text(&prepared.system_prompt);
            content::mark(&mut block, cache_control);
            body.insert("system".into(), Value::Array(vec![block]));
        }
        if let Some(temperature) = self.options.temperature
            && compat.temperature
            && !compat.managed_effort
            && !self.thinking.is_on()
        {
            body.insert("temperature".into(), json!(temperature));
        }
        if !prepared.tools.is_empty() {
            let list = tools.list(&prepared.tools, self.frozen_tools, cache_control)?;
            body.insert("tools".into(), Value::Array(list));
        }
        self.thinking.write(self.own, &mut body);
        if !compat.fallback_models.is_empty() {
            let models = compat.fallback_models.iter();
            let models = models.map(|fallback| json!({"model": fallback.model})).collect();
            body.insert("fallbacks".into(), Value::Array(models));
        }
        let metadata = self.options.metadata.as_ref();
        if let Some(Value::String(user)) = metadata.and_then(|metadata| metadata.get("user_id")) {
            body.insert("metadata".into(), json!({"user_id": user}));
        }
        if let Some(choice) = &self.own.tool_choice {
            body.insert("tool_choice".into(), choice.wire());
        }
        Ok(RequestBody::new(&body, messages))
    }
}

fn url(model: &Model) -> String {
    let base = match model.base_url.trim_end_matches('/') {
        "" => DEFAULT_BASE_URL,
        base => base,
    };
    format!("{base}/v1/messages?beta=true")
}

/// The API takes letters, digits, `_` and `-`; the model's own ids are known to fit.
fn tool_call_id(id: &str, _answer: &AssistantMessage, own: bool) -> String {
    if own {
        return id.to_owned();
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    id.chars().map(|c| if fits(c) { c } else { '_' }).take(MAX_ID_CHARS).collect()
}
