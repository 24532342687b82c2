//! The request: URL, headers and body.

use http::HeaderMap;
use serde_json::{Map, Value, json};

use super::cache;
use super::compat::{Compat, MaxTokensField};
use super::ids::foreign_call_id;
use super::messages::{MessageRules, wire_messages};
use super::options::Options;
use super::thinking::add_thinking;
use super::tools::{grammar_properties, wire_tools};
use crate::handoff::{HandoffRules, Prepared, ToolPlacement, prepare};
use crate::protocol::headers::{add_bearer, add_header, add_vendor_headers, key};
use crate::protocol::request_body::MESSAGES_GO_HERE;
use crate::protocol::{HttpRequest, RequestBody};
use crate::types::Context;
use crate::types::{AssistantMessage, Message, Model, StreamOptions, Tool};

/// Any of these with a value stands for a key.
const CREDENTIALS: [&str; 2] = ["authorization", "cf-aig-authorization"];

/// Builds the request.
///
/// # Errors
/// No key, unreadable options, or a tool that cannot be declared as it must be.
pub(super) fn build(
    model: &Model,
    context: &Context,
    options: &StreamOptions,
) -> Result<HttpRequest, String> {
    let compat = Compat::of(model);
    Ok(HttpRequest {
        url: endpoint(&model.base_url),
        default_headers: default_headers(model, options)?,
        conversation_headers: conversation_headers(model, &compat, context, options)?,
        body: body(model, &compat, context, options)?,
    })
}

fn default_headers(model: &Model, options: &StreamOptions) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    add_header(&mut headers, "accept", "application/json")?;
    if let Some(key) = key(model, options, &CREDENTIALS)? {
        add_bearer(&mut headers, key)?;
    }
    Ok(headers)
}

fn conversation_headers(
    model: &Model,
    compat: &Compat,
    context: &Context,
    options: &StreamOptions,
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    add_vendor_headers(&mut headers, model, context, options)?;
    cache::add_session_headers(&mut headers, compat, options)?;
    Ok(headers)
}

/// `<base>/chat/completions`, in front of the base's query if it has one.
fn endpoint(base_url: &str) -> String {
    let (path, query) = match base_url.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (base_url, String::new()),
    };
    format!("{}/chat/completions{query}", path.trim_end_matches('/'))
}

fn body(
    model: &Model,
    compat: &Compat,
    context: &Context,
    stream: &StreamOptions,
) -> Result<RequestBody, String> {
    let options = Options::read(&stream.protocol)?;
    let prepared = prepared_for(model, compat, context);
    let grammars = grammar_properties(all_tools(&prepared.tools, &prepared.messages), compat)?;
    let rules = MessageRules { model, compat, grammar_properties: &grammars };
    let mut messages = wire_messages(&prepared, rules)?;
    let mut tools = wire_tools(&prepared.tools, compat)?;
    cache::mark(messages.open_mut(), &mut tools, compat, stream);
    let has_tools = !tools.is_empty();
    let tells_tools = has_tools || (compat.tools_with_tool_history && has_tool_history(&prepared));

    let mut body = Map::new();
    body.insert("model".into(), json!(model.id));
    let (name, place) = MESSAGES_GO_HERE;
    body.insert(name.into(), place.clone());
    body.insert("stream".into(), json!(true));
    cache::add_cache_fields(&mut body, compat, stream);
    if compat.usage_in_streaming {
        body.insert("stream_options".into(), json!({"include_usage": true}));
    }
    if compat.store {
        body.insert("store".into(), json!(false));
    }
    if let Some(limit) = stream.max_tokens.filter(|limit| *limit > 0) {
        let field = match compat.max_tokens_field {
            MaxTokensField::MaxTokens => "max_tokens",
            MaxTokensField::MaxCompletionTokens => "max_completion_tokens",
        };
        body.insert(field.into(), json!(limit));
    }
    if let Some(temperature) = stream.temperature {
        body.insert("temperature".into(), json!(temperature));
    }
    if tells_tools {
        body.insert("tools".into(), Value::Array(tools));
    }
    if has_tools && compat.zai_tool_stream {
        body.insert("tool_stream".into(), json!(true));
    }
    if let Some(choice) = options.tool_choice.clone() {
        body.insert("tool_choice".into(), choice.into());
    }
    add_thinking(&mut body, model, compat, stream, &options);
    add_routing(&mut body, compat);
    add_sampling(&mut body, model, stream, &options);
    Ok(RequestBody::new(&body, messages))
}

fn prepared_for(model: &Model, compat: &Compat, context: &Context) -> Prepared {
    let rename = |id: &str, _answer: &AssistantMessage, is_own: bool| {
        if is_own { id.to_owned() } else { foreign_call_id(id, compat) }
    };
    let rules = HandoffRules {
        model,
        mid_conversation_system: compat.mid_conversation_system,
        tool_placement: if compat.mid_conversation_tools {
            ToolPlacement::Additions
        } else {
            ToolPlacement::None
        },
        tool_call_id: &rename,
    };
    prepare(context, &rules)
}

/// The tools of the list and those added later.
pub(super) fn all_tools<'a>(
    tools: &'a [Tool],
    messages: &'a [Message],
) -> impl Iterator<Item = &'a Tool> {
    let later = messages.iter().filter_map(|message| match message {
        Message::System(system) => system.tools_added.as_deref(),
        Message::User(_) | Message::Assistant(_) | Message::ToolResult(_) => None,
    });
    tools.iter().chain(later.flatten())
}

fn has_tool_history(prepared: &Prepared) -> bool {
    prepared.messages.iter().any(|message| match message {
        Message::Assistant(answer) => answer.tool_calls().next().is_some(),
        Message::ToolResult(_) => true,
        Message::System(_) | Message::User(_) => false,
    })
}

fn add_routing(body: &mut Map<String, Value>, compat: &Compat) {
    if let Some(priority) = &compat.vllm_priority {
        body.insert("priority".into(), priority.clone());
    }
    if let Some(routing) = &compat.open_router_routing {
        body.insert("provider".into(), routing.clone());
    }
    if let Some(routing) = &compat.vercel_gateway_routing {
        let known: Map<String, Value> = ["only", "order"]
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), routing.get(*name)?.clone())))
            .collect();
        if !known.is_empty() {
            body.insert("providerOptions".into(), json!({"gateway": known}));
        }
    }
}

/// Sampling parameters, weak to strong: the model's, its level's, the caller's. They come last and
/// may override any field.
fn add_sampling(
    body: &mut Map<String, Value>,
    model: &Model,
    stream: &StreamOptions,
    options: &Options,
) {
    let of_level = model.sampling_params_by_thinking_level.as_ref();
    let layers = [
        model.sampling_params.as_ref(),
        of_level.and_then(|levels| levels.get(&options.level())),
        stream.sampling_params.as_ref(),
    ];
    for (name, value) in layers.into_iter().flatten().flatten() {
        body.insert(name.clone(), value.clone());
    }
}
