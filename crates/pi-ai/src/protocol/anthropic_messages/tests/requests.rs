//! URL, headers and everything in the body but the messages.

use serde_json::{Value, json};

use super::{context, header, model, plain, question, sent_headers, simple, simple_request};
use crate::protocol::HttpWire;
use crate::protocol::anthropic_messages::{
    AnthropicMessages, Options, ThinkingDisplay, ToolChoice,
};
use crate::types::{
    CacheRetention, Model, SimpleStreamOptions, SimpleToolChoice, StreamOptions, ThinkingBudgets,
    ThinkingLevel,
};

const INTERLEAVED: &str = "interleaved-thinking-2025-05-14";

fn with_tool(name: &str) -> crate::types::Context {
    context(json!([
        {"role": "system", "content": "S",
         "toolsAdded": [{"name": name, "description": "d", "parameters": {"type": "object"}}]},
        {"role": "user", "content": "q"},
    ]))
}

/// The request of the protocol's own options.
fn own_request(model: &Model, own: Options, base: StreamOptions) -> Value {
    let options = StreamOptions { protocol: own.into(), ..base };
    AnthropicMessages::new().request(model, &question(), &options).unwrap().body.to_value()
}

#[test]
fn the_url_hangs_below_the_base() {
    let cases = [
        ("", "https://api.anthropic.com/v1/messages?beta=true"),
        ("https://host.test/a", "https://host.test/a/v1/messages?beta=true"),
        ("https://host.test/a/", "https://host.test/a/v1/messages?beta=true"),
    ];
    for (base, url) in cases {
        let model = model(json!({"baseUrl": base}));
        let request = simple_request(&model, &question(), simple(plain(), ThinkingLevel::Off));
        assert_eq!(request.unwrap().url, url);
    }
}

#[test]
fn the_key_goes_where_its_kind_belongs() {
    let cases = [
        ("anthropic", "sk-ant-api03-x", "x-api-key", "sk-ant-api03-x", "authorization"),
        ("anthropic", "sk-ant-oat01-x", "authorization", "Bearer sk-ant-oat01-x", "x-api-key"),
        ("github-copilot", "tid=x", "authorization", "Bearer tid=x", "x-api-key"),
    ];
    for (provider, key, name, value, absent) in cases {
        let model = model(json!({"provider": provider}));
        let options = StreamOptions { api_key: Some(key.into()), ..plain() };
        let request = simple_request(&model, &question(), simple(options, ThinkingLevel::Off));
        let request = request.unwrap();
        assert_eq!(header(&request, name), Some(value));
        assert_eq!(header(&request, absent), None);
        assert_eq!(request.body.to_value().get("system"), None, "no identity but our own");
        assert!(
            !format!("{:?}", request.default_headers).contains(key),
            "keys are kept out of debug output"
        );
    }
}

#[test]
fn a_header_may_stand_for_the_key() {
    let model = model(json!({}));
    let with = |key: Option<&str>, headers: &[(&str, Option<&str>)]| {
        let options = StreamOptions {
            api_key: key.map(str::to_owned),
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
                .collect(),
            ..plain()
        };
        simple_request(&model, &question(), simple(options, ThinkingLevel::Off))
    };
    let missing = Err("No API key for provider: anthropic".to_owned());
    assert_eq!(with(None, &[]), missing);
    assert_eq!(with(Some(" "), &[]), missing);
    assert_eq!(with(None, &[("Authorization", Some(" "))]), missing);
    for name in ["Authorization", "x-api-key", "cf-aig-authorization"] {
        let request = with(None, &[(name, Some("Bearer z"))]).unwrap();
        assert_eq!(header(&request, "x-api-key"), None);
    }
    let error = with(Some("k\0"), &[]).unwrap_err();
    assert_eq!(error, "The value of header x-api-key cannot be sent", "without the value");
}

#[test]
fn headers_of_the_model_beat_ours() {
    let headers = json!({"X-A": "a", "anthropic-beta": "m", "x-session-affinity": "m"});
    let model = model(json!({"headers": headers, "compat": {"sendSessionAffinityHeaders": true}}));
    let options = StreamOptions {
        session_id: Some("s".into()),
        cache_retention: CacheRetention::Short,
        ..plain()
    };
    let low = simple(options, ThinkingLevel::Low);
    let request = simple_request(&model, &question(), low).unwrap();
    assert_eq!(header(&request, "anthropic-beta"), Some(INTERLEAVED));
    let sent = sent_headers(&request, &model);
    assert_eq!(sent["x-a"], "a");
    assert_eq!(sent["anthropic-beta"], "m");
    assert_eq!(sent["x-session-affinity"], "s", "but not what the conversation asks for");
}

#[test]
fn betas_name_what_the_request_uses() {
    let fallback = json!([{"model": "m2", "provider": "anthropic"}]);
    let cases = [
        (json!({}), ThinkingLevel::Off, None),
        (json!({}), ThinkingLevel::Low, Some(INTERLEAVED.to_owned())),
        (json!({"forceAdaptiveThinking": true}), ThinkingLevel::Low, None),
        (
            json!({"supportsEagerToolInputStreaming": false, "allowedFallbackModels": fallback}),
            ThinkingLevel::Low,
            Some(format!(
                "fine-grained-tool-streaming-2025-05-14,{INTERLEAVED},\
                 server-side-fallback-2026-07-01"
            )),
        ),
        (
            json!({"forceAdaptiveThinking": true, "supportsMidConvoEffort": true,
                   "supportsMidConvoSystemMessages": true, "supportsMidConvoToolChanges": true}),
            ThinkingLevel::Low,
            Some(
                "mid-conversation-output-config-2026-07-01,thinking-binding-controls-2026-08-01,\
                 inline-tools-2026-09-15"
                    .to_owned(),
            ),
        ),
    ];
    for (compat, level, expected) in cases {
        let model = model(json!({"compat": compat}));
        let request = simple_request(&model, &with_tool("t"), simple(plain(), level)).unwrap();
        assert_eq!(header(&request, "anthropic-beta"), expected.as_deref(), "{compat}");
    }
}

#[test]
fn the_session_header_depends_on_the_host_and_on_caching() {
    let affinity = json!({"sendSessionAffinityHeaders": true});
    let short = CacheRetention::Short;
    let cases = [
        (json!({}), short, None),
        (json!({"compat": affinity}), short, Some("x-session-affinity")),
        (json!({"compat": affinity}), CacheRetention::None, None),
        (json!({"provider": "openrouter"}), short, Some("x-session-id")),
        (json!({"baseUrl": "https://openrouter.ai/api"}), short, Some("x-session-id")),
        (
            json!({"provider": "openrouter", "compat": {"sendSessionAffinityHeaders": false}}),
            short,
            None,
        ),
    ];
    for (fields, cache_retention, expected) in cases {
        let model = model(fields.clone());
        let options = StreamOptions { session_id: Some("s1".into()), cache_retention, ..plain() };
        let request = simple_request(&model, &question(), simple(options, ThinkingLevel::Off));
        let request = request.unwrap();
        for name in ["x-session-affinity", "x-session-id"] {
            let value = (expected == Some(name)).then_some("s1");
            assert_eq!(header(&request, name), value, "{fields} {name}");
        }
    }
}

#[test]
fn copilot_is_told_whose_turn_it_is_and_of_pictures() {
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let call = json!({"role": "assistant", "stopReason": "toolUse", "content":
        [{"type": "toolCall", "id": "1", "name": "r", "arguments": {}}]});
    let cases = [
        (json!([{"role": "user", "content": "q"}]), "user", None),
        (json!([{"role": "user", "content": [image]}]), "user", Some("true")),
        (
            json!([{"role": "user", "content": "q"}, call,
                   {"role": "toolResult", "toolCallId": "1", "content": [image]}]),
            "agent",
            Some("true"),
        ),
        (
            json!([{"role": "user", "content": "q"}, {"role": "system", "content": "n"}]),
            "user",
            None,
        ),
    ];
    let model = model(json!({"provider": "github-copilot"}));
    for (messages, initiator, vision) in cases {
        let request =
            simple_request(&model, &context(messages), simple(plain(), ThinkingLevel::Off));
        let request = request.unwrap();
        assert_eq!(header(&request, "x-initiator"), Some(initiator));
        assert_eq!(header(&request, "openai-intent"), Some("conversation-edits"));
        assert_eq!(header(&request, "copilot-vision-request"), vision);
    }
}

#[test]
fn thinking_follows_the_level_and_the_model() {
    let budget =
        |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens, "display": "summarized"});
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let disabled = json!({"type": "disabled"});
    let effort = |word: &str| json!({"effort": word});
    let adaptive_with =
        |map: Value| json!({"compat": {"forceAdaptiveThinking": true}, "thinkingLevelMap": map});
    let cases = [
        (json!({}), ThinkingLevel::Off, disabled.clone(), Value::Null),
        (json!({}), ThinkingLevel::Minimal, budget(1024), Value::Null),
        (json!({}), ThinkingLevel::Low, budget(2048), Value::Null),
        (json!({}), ThinkingLevel::Medium, budget(8192), Value::Null),
        (json!({}), ThinkingLevel::High, budget(16_384), Value::Null),
        (json!({}), ThinkingLevel::Max, budget(16_384), Value::Null),
        (json!({"reasoning": false}), ThinkingLevel::High, Value::Null, Value::Null),
        (json!({"thinkingLevelMap": {"off": null}}), ThinkingLevel::Off, Value::Null, Value::Null),
        (
            json!({"thinkingLevelMap": {"off": "none"}}),
            ThinkingLevel::Off,
            disabled.clone(),
            Value::Null,
        ),
        (adaptive_with(json!({})), ThinkingLevel::Off, disabled, Value::Null),
        (adaptive_with(json!({})), ThinkingLevel::Minimal, adaptive.clone(), effort("low")),
        (adaptive_with(json!({})), ThinkingLevel::Medium, adaptive.clone(), effort("medium")),
        (adaptive_with(json!({})), ThinkingLevel::Max, adaptive.clone(), effort("high")),
        (
            adaptive_with(json!({"xhigh": "ultra"})),
            ThinkingLevel::Xhigh,
            adaptive.clone(),
            effort("ultra"),
        ),
        (
            adaptive_with(json!({"minimal": null, "low": "quick"})),
            ThinkingLevel::Minimal,
            adaptive,
            effort("quick"),
        ),
    ];
    for (fields, level, thinking, output_config) in cases {
        let model = model(fields.clone());
        let request = simple_request(&model, &question(), simple(plain(), level)).unwrap();
        assert_eq!(request.body.to_value()["thinking"], thinking, "{fields} {level}");
        assert_eq!(request.body.to_value()["output_config"], output_config, "{fields} {level}");
    }
}

#[test]
fn a_managed_model_that_cannot_be_off_thinks_hard_by_default() {
    let managed = |map: Value| {
        model(json!({"thinkingLevelMap": map, "compat": {
            "forceAdaptiveThinking": true, "supportsMidConvoEffort": true}}))
    };
    let thinking = json!({"type": "adaptive", "display": "summarized",
                          "block_binding": {"prefix_mismatch_behavior": "drop_block"}});
    for (level, effort) in [(ThinkingLevel::Off, "high"), (ThinkingLevel::Medium, "medium")] {
        let options = StreamOptions { temperature: Some(0.5), ..plain() };
        let body =
            simple_request(&managed(json!({"off": null})), &question(), simple(options, level))
                .unwrap()
                .body
                .to_value();
        assert_eq!(body["thinking"], thinking);
        assert_eq!(body["output_config"], json!({"effort": "low"}), "never changes");
        assert_eq!(body["messages"][1]["output_config"], json!({"effort": effort}));
        assert_eq!(body.get("temperature"), None);
    }
    let off = simple_request(&managed(json!({})), &question(), simple(plain(), ThinkingLevel::Off))
        .unwrap()
        .body
        .to_value();
    assert_eq!(off["thinking"], json!({"type": "disabled"}));
    assert_eq!(off["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn the_output_limit_leaves_room_for_the_answer() {
    let high = ThinkingLevel::High;
    let cases = [
        // Window, model limit, asked for, level, then max_tokens and budget.
        (200_000, 64_000, None, ThinkingLevel::Off, 64_000, None),
        (200_000, 64_000, Some(1234), ThinkingLevel::Off, 1234, None),
        (200_000, 64_000, None, high, 64_000, Some(16_384)),
        (200_000, 64_000, Some(4096), high, 20_480, Some(16_384)),
        (200_000, 64_000, Some(500), high, 16_884, Some(15_860)),
        (200_000, 4096, None, high, 4096, Some(3072)),
        (200_000, 1024, None, high, 1024, None),
        (32_000, 64_000, None, high, 27_903, Some(16_384)),
        (20_000, 64_000, None, high, 17_142, Some(16_118)),
        (20_000, 64_000, Some(8000), high, 17_142, Some(16_118)),
    ];
    for (window, limit, asked, level, max_tokens, budget) in cases {
        let model = model(json!({"contextWindow": window, "maxTokens": limit}));
        let options = StreamOptions { max_tokens: asked, ..plain() };
        let body =
            simple_request(&model, &question(), simple(options, level)).unwrap().body.to_value();
        assert_eq!(body["max_tokens"], max_tokens, "{window} {limit} {asked:?}");
        assert_eq!(body["thinking"].get("budget_tokens"), budget.map(Value::from).as_ref());
    }
}

#[test]
fn budgets_of_the_user_count_per_level() {
    let thinking_budgets = ThinkingBudgets { low: Some(3000), ..ThinkingBudgets::default() };
    for (level, tokens) in [(ThinkingLevel::Low, 3000), (ThinkingLevel::Medium, 8192)] {
        let options = SimpleStreamOptions {
            thinking_budgets: thinking_budgets.clone(),
            ..simple(plain(), level)
        };
        let body = simple_request(&model(json!({})), &question(), options).unwrap().body.to_value();
        assert_eq!(body["thinking"]["budget_tokens"], tokens);
    }
}

#[test]
fn temperature_is_only_sent_where_it_is_taken() {
    let rejecting = json!({"compat": {"supportsTemperature": false}});
    for (fields, level, expected) in [
        (json!({}), ThinkingLevel::Off, json!(0.5)),
        (json!({"reasoning": false}), ThinkingLevel::Off, json!(0.5)),
        (json!({}), ThinkingLevel::Low, Value::Null),
        (rejecting, ThinkingLevel::Off, Value::Null),
    ] {
        let options = StreamOptions { temperature: Some(0.5), ..plain() };
        let body = simple_request(&model(fields), &question(), simple(options, level))
            .unwrap()
            .body
            .to_value();
        assert_eq!(body["temperature"], expected);
    }
}

#[test]
fn a_bare_request_carries_only_what_it_needs() {
    let request =
        simple_request(&model(json!({})), &question(), simple(plain(), ThinkingLevel::Off));
    let body = request.unwrap().body.to_value();
    let keys: Vec<_> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["model", "messages", "max_tokens", "stream", "thinking"]);
}

#[test]
fn own_options_reach_the_wire() {
    let adaptive = model(json!({"compat": {"forceAdaptiveThinking": true}}));
    let on = Options { thinking_enabled: Some(true), ..Options::default() };
    assert_eq!(own_request(&adaptive, on.clone(), plain()).get("output_config"), None);
    let effort = Options { effort: Some("max".into()), ..on.clone() };
    assert_eq!(own_request(&adaptive, effort, plain())["output_config"]["effort"], "max");
    let budget = model(json!({}));
    let omitted = Options { thinking_display: Some(ThinkingDisplay::Omitted), ..on.clone() };
    assert_eq!(
        own_request(&budget, omitted, plain())["thinking"],
        json!({"type": "enabled", "budget_tokens": 1024, "display": "omitted"})
    );
    assert_eq!(own_request(&budget, Options::default(), plain()).get("thinking"), None);

    let options = StreamOptions {
        protocol: Options { interleaved_thinking: Some(false), ..on }.into(),
        ..plain()
    };
    let request = AnthropicMessages::new().request(&budget, &question(), &options).unwrap();
    assert_eq!(header(&request, "anthropic-beta"), None);
}

#[test]
fn tool_choices_have_their_own_words() {
    let cases = [
        (ToolChoice::Auto, json!("auto"), json!({"type": "auto"})),
        (ToolChoice::Any, json!("any"), json!({"type": "any"})),
        (ToolChoice::None, json!("none"), json!({"type": "none"})),
        (
            ToolChoice::Tool("t".into()),
            json!({"type": "tool", "name": "t"}),
            json!({"type": "tool", "name": "t"}),
        ),
    ];
    for (choice, written, sent) in cases {
        assert_eq!(serde_json::to_value(&choice).unwrap(), written);
        assert_eq!(serde_json::from_value::<ToolChoice>(written).unwrap(), choice);
        let own = Options { tool_choice: Some(choice), ..Options::default() };
        assert_eq!(own_request(&model(json!({})), own, plain())["tool_choice"], sent);
    }
    let options = SimpleStreamOptions {
        tool_choice: Some(SimpleToolChoice::None),
        ..simple(plain(), ThinkingLevel::Off)
    };
    let body = simple_request(&model(json!({})), &with_tool("t"), options).unwrap().body.to_value();
    assert_eq!(body["tool_choice"], json!({"type": "none"}));
}

#[test]
fn an_option_of_the_wrong_kind_is_an_error() {
    let mut options = plain();
    options.protocol.insert("thinkingBudgetTokens".into(), json!("many"));
    let error = AnthropicMessages::new().request(&model(json!({})), &question(), &options);
    assert!(error.unwrap_err().starts_with("Invalid request option: "));
}

#[test]
fn only_a_textual_user_id_of_the_metadata_is_sent() {
    for (metadata, expected) in [
        (json!({"user_id": "u1", "other": 1}), json!({"user_id": "u1"})),
        (json!({"user_id": 5}), Value::Null),
        (json!({"other": "x"}), Value::Null),
    ] {
        let options = StreamOptions { metadata: metadata.as_object().cloned(), ..plain() };
        let body = own_request(&model(json!({})), Options::default(), options);
        assert_eq!(body["metadata"], expected);
    }
}

#[test]
fn cache_markers_end_prompt_tools_and_conversation() {
    let short = json!({"type": "ephemeral"});
    let long = json!({"type": "ephemeral", "ttl": "1h"});
    let no_hour =
        json!({"supportsLongCacheRetention": false, "supportsCacheControlOnTools": false});
    let cases = [
        (json!({}), CacheRetention::None, Value::Null, Value::Null),
        (json!({}), CacheRetention::Short, short.clone(), short.clone()),
        (json!({}), CacheRetention::Long, long.clone(), long),
        (no_hour, CacheRetention::Long, short, Value::Null),
    ];
    for (compat, cache_retention, marker, on_tool) in cases {
        let options = StreamOptions { cache_retention, ..plain() };
        let model = model(json!({"compat": compat}));
        let body = simple_request(&model, &with_tool("t"), simple(options, ThinkingLevel::Off));
        let body = body.unwrap().body.to_value();
        assert_eq!(body["system"][0]["cache_control"], marker);
        assert_eq!(body["tools"][0]["cache_control"], on_tool);
        let content = &body["messages"][0]["content"];
        assert_eq!(content[0]["cache_control"], marker);
        assert_eq!(content.is_string(), marker.is_null());
    }
}

#[test]
fn fallback_models_are_named() {
    let allowed =
        json!([{"model": "a", "provider": "p", "cost": {"input": 1}}, {"odd": 1}, {"model": "b"}]);
    let model = model(json!({"compat": {"allowedFallbackModels": allowed}}));
    let body = own_request(&model, Options::default(), plain());
    assert_eq!(body["fallbacks"], json!([{"model": "a"}, {"model": "b"}]));
}
