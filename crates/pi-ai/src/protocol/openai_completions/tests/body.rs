//! Body fields, headers and detection.

use super::*;
use crate::protocol::openai_completions::ToolChoice;
use crate::types::CacheRetention;

#[test]
fn an_unknown_host_gets_the_plain_form() {
    let parts = json!({"systemPrompt": "S", "tools": [tool("read")]});
    let request = request(&model(json!({})), &context(parts), simple("off")).unwrap();
    assert_eq!(request.url, "http://host.test/v1/chat/completions");
    assert_eq!(request.default_headers["authorization"], "Bearer k");
    assert_eq!(
        request.body.to_value(),
        json!({
            "model": "m",
            "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}],
            "stream": true,
            "stream_options": {"include_usage": true},
            "store": false,
            "max_completion_tokens": 8192,
            "tools": [{"type": "function", "function": tool("read")}],
        })
    );
}

#[test]
fn the_endpoint_keeps_the_query_of_the_base() {
    for (base, expected) in [
        ("http://h/v1/", "http://h/v1/chat/completions"),
        ("http://h/v1?a=b", "http://h/v1/chat/completions?a=b"),
    ] {
        let model = model(json!({"baseUrl": base}));
        assert_eq!(request(&model, &context(json!({})), simple("off")).unwrap().url, expected);
    }
}

#[test]
fn hosts_are_detected_by_provider_or_url_whatever_its_case() {
    let low = |word: &str| json!({"reasoning_effort": word});
    let deepseek =
        json!({"max_tokens": 8192, "thinking": {"type": "enabled"}, "reasoning_effort": "low"});
    let zai = json!({"max_tokens": 8192, "thinking": {"type": "enabled", "clear_thinking": false}});
    let together = json!({"max_tokens": 8192, "reasoning": {"enabled": true}});
    let old = json!({"max_tokens": 8192});
    // Provider, URL, whether `store` is sent, what else is sent.
    let cases = [
        ("mine", "http://host.test/v1", true, low("low")),
        ("mine", "https://deepseek.example", true, low("low")),
        ("groq", "", true, low("low")),
        ("deepseek", "", false, deepseek.clone()),
        ("mine", "https://API.DeepSeek.com", false, deepseek),
        ("zai", "", false, zai.clone()),
        ("zai-coding-cn", "", false, zai.clone()),
        ("mine", "https://open.bigmodel.cn/api", false, zai),
        ("together", "", false, together.clone()),
        ("mine", "https://api.together.xyz/v1", false, together),
        ("moonshotai", "", false, old.clone()),
        ("mine", "https://api.moonshot.cn/v1", false, old.clone()),
        ("nvidia", "", false, old.clone()),
        ("ant-ling", "", false, old.clone()),
        ("cloudflare-ai-gateway", "", false, old),
        ("cloudflare-workers-ai", "", false, low("low")),
        (
            "mine",
            "https://llm.chutes.ai/v1",
            false,
            json!({"max_tokens": 8192, "reasoning_effort": "low"}),
        ),
        ("xai", "", false, json!({})),
        ("cerebras", "", false, low("low")),
        ("opencode", "", false, low("low")),
        ("openrouter", "", true, json!({"reasoning": {"effort": "low"}})),
        ("mine", "https://openrouter.ai/api/v1", true, json!({"reasoning": {"effort": "low"}})),
    ];
    for (provider, url, store, expected) in cases {
        let model = model(json!({"provider": provider, "baseUrl": url, "reasoning": true}));
        let body = request(&model, &context(json!({})), simple("low")).unwrap().body.to_value();
        assert_eq!(body.get("store").is_some(), store, "{provider} {url}");
        assert_eq!(rest_of(body), expected, "{provider} {url}");
    }
}

#[test]
fn declared_compat_wins_field_by_field_over_detection() {
    let over = json!({"provider": "deepseek", "reasoning": true,
        "compat": {"supportsStore": true, "maxTokensField": "max_completion_tokens", "thinkingFormat": 7}});
    let body = request(&model(over), &context(json!({})), simple("off")).unwrap().body.to_value();
    assert_eq!(body["store"], false);
    assert_eq!(body["max_completion_tokens"], 8192);
    assert_eq!(body["thinking"], json!({"type": "disabled"}), "still detected");
}

#[test]
fn the_developer_role_is_for_openai_and_models_that_reason() {
    let cases = [
        (json!({"provider": "openai", "reasoning": true}), "developer"),
        (json!({"provider": "openai"}), "system"),
        (json!({"baseUrl": "https://api.OpenAI.com/v1", "reasoning": true}), "developer"),
        (json!({"reasoning": true, "compat": {"supportsDeveloperRole": true}}), "developer"),
        (json!({"compat": {"supportsDeveloperRole": true}}), "system"),
        (
            json!({"provider": "openai", "reasoning": true, "compat": {"supportsDeveloperRole": false}}),
            "system",
        ),
        (json!({"provider": "groq", "reasoning": true}), "system"),
    ];
    for (over, role) in cases {
        let context = context(json!({"systemPrompt": "S"}));
        let body = request(&model(over.clone()), &context, simple("off")).unwrap().body.to_value();
        assert_eq!(body["messages"][0], json!({"role": role, "content": "S"}), "{over}");
    }
}

#[test]
fn single_switches_add_or_remove_their_field() {
    let cases = [
        (json!({"supportsStore": false}), "store", None),
        (json!({"supportsUsageInStreaming": false}), "stream_options", None),
        (json!({"maxTokensField": "max_tokens"}), "max_tokens", Some(json!(8192))),
        (json!({"vllmPriority": -5}), "priority", Some(json!(-5))),
        (json!({"vllmPriority": 0}), "priority", Some(json!(0))),
        (
            json!({"openRouterRouting": {"only": ["a"], "sort": "price"}}),
            "provider",
            Some(json!({"only": ["a"], "sort": "price"})),
        ),
        (
            json!({"vercelGatewayRouting": {"only": ["a"], "order": ["b"]}}),
            "providerOptions",
            Some(json!({"gateway": {"only": ["a"], "order": ["b"]}})),
        ),
        (json!({"vercelGatewayRouting": {}}), "providerOptions", None),
        (json!({"zaiToolStream": true}), "tool_stream", None),
    ];
    for (compat, field, expected) in cases {
        let model = model(json!({"compat": compat}));
        let body = request(&model, &context(json!({})), simple("off")).unwrap().body.to_value();
        assert_eq!(body.get(field), expected.as_ref(), "{compat}");
    }
    let zai = model(json!({"compat": {"zaiToolStream": true}}));
    let tools = context(json!({"tools": [tool("read")]}));
    assert_eq!(request(&zai, &tools, simple("off")).unwrap().body.to_value()["tool_stream"], true);
}

#[test]
fn sampling_parameters_come_last_from_model_level_and_caller() {
    let over = json!({"reasoning": true, "samplingParams": {"top_p": 0.5, "temperature": 0.1, "x": 1},
        "samplingParamsByThinkingLevel": {"high": {"top_p": 0.9, "y": 2}, "off": {"z": 3}}});
    let mut options = simple("high");
    options.base.temperature = Some(0.7);
    options.base.sampling_params = json!({"x": 5, "stream": false}).as_object().cloned();
    let body = request(&model(over.clone()), &context(json!({})), options).unwrap().body.to_value();
    for (name, value) in [
        ("top_p", json!(0.9)),
        ("temperature", json!(0.1)),
        ("x", json!(5)),
        ("y", json!(2)),
        ("stream", json!(false)),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    assert_eq!(body.get("z"), None);
    let direct = direct(over, Options::default());
    assert_eq!((&direct["top_p"], &direct["z"]), (&json!(0.5), &json!(3)), "the direct door too");
}

#[test]
fn tool_choice_is_sent_even_without_tools() {
    let choice = |choice: ToolChoice| Options { tool_choice: Some(choice), ..Options::default() };
    let named = direct(json!({}), choice(ToolChoice::Function("x".to_owned())));
    assert_eq!(named["tool_choice"], json!({"type": "function", "function": {"name": "x"}}));
    assert_eq!(direct(json!({}), choice(ToolChoice::Required))["tool_choice"], "required");
    let mut options = simple("off");
    options.tool_choice = Some(crate::types::SimpleToolChoice::None);
    let body = request(&model(json!({})), &context(json!({})), options).unwrap().body.to_value();
    assert_eq!(body["tool_choice"], "none");
}

#[test]
fn options_survive_the_way_through_protocol_options() {
    let options = Options {
        reasoning_effort: Some(ThinkingLevel::Max),
        tool_choice: Some(ToolChoice::Function("x".to_owned())),
        ..Options::default()
    };
    assert_eq!(Options::read(&ProtocolOptions::from(options.clone())), Ok(options));
    let broken = json!({"reasoningEffort": "much"}).as_object().unwrap().clone();
    let error = Options::read(&broken).unwrap_err();
    assert!(error.starts_with("Invalid request option: "), "{error}");
}

#[test]
fn the_cache_key_goes_where_it_is_understood() {
    let openai = "https://api.openai.com/v1";
    let other = "http://host.test/v1";
    let (none, short, long) = (CacheRetention::None, CacheRetention::Short, CacheRetention::Long);
    // Mode, URL, retention, whether long is supported; then whether key and retention are sent.
    let cases = [
        ("auto", openai, short, false, true, false),
        ("auto", other, short, true, false, false),
        ("auto", other, long, true, true, true),
        ("auto", other, long, false, false, false),
        ("auto", openai, long, false, true, false),
        ("auto", openai, none, true, false, false),
        ("enabled", other, short, false, true, false),
        ("enabled", other, none, true, false, false),
        ("disabled", openai, short, true, false, false),
        ("disabled", openai, long, true, false, true),
    ];
    for (mode, url, retention, supported, key, kept) in cases {
        let model = model(json!({"baseUrl": url,
            "compat": {"promptCacheKeyMode": mode, "supportsLongCacheRetention": supported}}));
        let mut options = simple("off");
        options.base.session_id = Some("ü".repeat(70));
        options.base.cache_retention = retention;
        let body = request(&model, &context(json!({})), options).unwrap().body.to_value();
        let case = format!("{mode} {url} {retention:?} {supported}");
        let expected = key.then(|| json!("ü".repeat(64)));
        assert_eq!(body.get("prompt_cache_key"), expected.as_ref(), "{case}");
        let expected = kept.then(|| json!("24h"));
        assert_eq!(body.get("prompt_cache_retention"), expected.as_ref(), "{case}");
    }
}

#[test]
fn session_headers_are_sent_in_the_hosts_format_or_not_at_all() {
    let all = ["session_id", "x-client-request-id", "x-session-affinity", "x-session-id"];
    let on = |format: &str| json!({"compat": {"sendSessionAffinityHeaders": true, "sessionAffinityFormat": format}});
    let cases = [
        (json!({}), CacheRetention::Short, [false, false, false, false]),
        (on("openai"), CacheRetention::Short, [true, true, true, false]),
        (on("openai-nosession"), CacheRetention::Short, [false, true, true, false]),
        (on("openrouter"), CacheRetention::Short, [false, false, false, true]),
        (json!({"provider": "openrouter"}), CacheRetention::Short, [false, false, false, true]),
        (on("openai"), CacheRetention::None, [false, false, false, false]),
    ];
    for (over, retention, expected) in cases {
        let mut options = simple("off");
        options.base.session_id = Some("sid".to_owned());
        options.base.cache_retention = retention;
        let request = request(&model(over.clone()), &context(json!({})), options).unwrap();
        let headers = request.conversation_headers;
        assert_eq!(all.map(|name| headers.contains_key(name)), expected, "{over}");
    }
}

#[test]
fn a_request_needs_a_key_or_a_header_that_stands_for_one() {
    let attempt = |over: Value, key: Option<&str>, header: Option<(&str, &str)>| {
        let mut options = simple("off");
        options.base.api_key = key.map(str::to_owned);
        options.base.headers = header
            .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
            .into_iter()
            .collect();
        request(&model(over), &context(json!({})), options)
    };
    let refusal = "No API key for provider: custom".to_owned();
    assert_eq!(attempt(json!({}), None, None).unwrap_err(), refusal);
    assert_eq!(attempt(json!({}), Some(" "), None).unwrap_err(), refusal);
    assert_eq!(attempt(json!({}), None, Some(("Authorization", " "))).unwrap_err(), refusal);
    for name in ["Authorization", "cf-aig-authorization"] {
        let request = attempt(json!({}), None, Some((name, "Bearer z"))).unwrap();
        assert!(!request.default_headers.contains_key("authorization"), "{name}");
    }
    let request = attempt(json!({}), Some(" k\n"), None).unwrap();
    assert_eq!(request.default_headers["authorization"], "Bearer k", "below the model's own");
    assert!(request.default_headers["authorization"].is_sensitive());
}

#[test]
fn strict_is_told_only_where_it_is_understood() {
    let constrained = |name: &str, strict: &str| {
        with(tool(name), json!({"constrainedSampling": {"type": "json_schema", "strict": strict}}))
    };
    let tools = |over: Value, tools: Value| {
        let context = context(json!({"tools": tools}));
        request(&model(over), &context, simple("off"))
            .map(|request| request.body.to_value()["tools"].clone())
    };
    let strictness = |tools: Value| -> Vec<Option<bool>> {
        tools.as_array().unwrap().iter().map(|t| t["function"]["strict"].as_bool()).collect()
    };
    let on = || json!({"compat": {"supportsStrictMode": true}});
    let mixed = || json!([constrained("a", "prefer"), tool("b")]);

    assert_eq!(strictness(tools(json!({}), mixed()).unwrap()), [None, None]);
    assert_eq!(strictness(tools(on(), mixed()).unwrap()), [Some(true), Some(false)]);
    let refused = tools(json!({}), json!([constrained("a", "require")])).unwrap_err();
    assert!(refused.contains("\"a\""), "{refused}");

    let strict = tools(on(), json!([constrained("a", "require")])).unwrap();
    let parameters = &strict[0]["function"]["parameters"];
    assert_eq!(parameters["required"], json!(["path", "limit"]));
    assert_eq!(parameters["additionalProperties"], false);

    let untyped = with(
        constrained("a", "prefer"),
        json!({"parameters":
        {"type": "object", "properties": {"a": {}}, "required": ["a"]}}),
    );
    assert_eq!(strictness(tools(on(), json!([untyped])).unwrap()), [Some(false)]);
}

#[test]
fn cerebras_gets_all_tools_strict_or_none() {
    let constrained = |name: &str, strict: &str| {
        with(tool(name), json!({"constrainedSampling": {"type": "json_schema", "strict": strict}}))
    };
    let build = |tools: Value| {
        let model = model(json!({"provider": "cerebras", "compat": {"supportsStrictMode": true}}));
        request(&model, &context(json!({"tools": tools})), simple("off")).map(|request| {
            let tools = request.body.to_value()["tools"].as_array().unwrap().clone();
            tools.iter().map(|tool| tool["function"]["strict"] == true).collect::<Vec<_>>()
        })
    };
    assert_eq!(build(json!([constrained("a", "prefer"), tool("b")])), Ok(vec![false, false]));
    let all = json!([constrained("a", "prefer"), constrained("b", "require")]);
    assert_eq!(build(all), Ok(vec![true, true]));
    assert!(build(json!([constrained("a", "require"), tool("b")])).is_err());
}

#[test]
fn copilot_keeps_optional_arguments_optional() {
    let optional = with(
        tool("a"),
        json!({"constrainedSampling": {"type": "json_schema", "strict": "prefer"}}),
    );
    let required = with(
        optional.clone(),
        json!({"name": "b", "parameters":
        {"type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]}}),
    );
    let model =
        model(json!({"provider": "github-copilot", "compat": {"supportsStrictMode": true}}));
    let context = context(json!({"tools": [optional, required]}));
    let body = request(&model, &context, simple("off")).unwrap().body.to_value();
    assert_eq!(body["tools"][0]["function"]["strict"], false);
    assert_eq!(body["tools"][1]["function"]["strict"], true);
}

#[test]
fn grammar_tools_become_custom_tools_where_understood() {
    let grammar = |variants: Value, parameters: Value| {
        json!({"name": "g", "description": "GD", "parameters": parameters,
            "constrainedSampling": {"type": "grammar", "variants": variants}})
    };
    let one = || json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]});
    let build = |supported: bool, tool: Value| {
        let model = model(json!({"compat": {"supportsOpenAIGrammarTools": supported}}));
        request(&model, &context(json!({"tools": [tool]})), simple("off"))
            .map(|request| request.body.to_value()["tools"][0].clone())
    };
    let both = json!({"openai_lark": "start: X", "openai_regex": "a+"});
    assert_eq!(
        build(true, grammar(both.clone(), one())).unwrap(),
        json!({"type": "custom", "custom": {"name": "g", "description": "GD",
            "format": {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: X"}}}})
    );
    let regex = build(true, grammar(json!({"openai_regex": "a+"}), one())).unwrap();
    assert_eq!(
        regex["custom"]["format"]["grammar"],
        json!({"syntax": "regex", "definition": "a+"})
    );
    assert_eq!(build(false, grammar(json!({}), one())).unwrap()["type"], "function");

    let refusals = [
        (json!({}), one(), "no supported grammar variant was provided"),
        (
            both.clone(),
            json!({"type": "object", "properties": {}}),
            "exactly one required string property",
        ),
        (
            both.clone(),
            json!({"type": "object", "required": ["a", "b"]}),
            "exactly one required string property",
        ),
        (
            both,
            json!({"type": "object", "properties": {"a": {"type": "number"}}, "required": ["a"]}),
            "property a must have type string",
        ),
    ];
    for (variants, parameters, reason) in refusals {
        let error = build(true, grammar(variants, parameters)).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}

#[test]
fn tools_are_left_out_when_there_are_none_unless_history_needs_them() {
    let history = json!({"messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [{"type": "toolCall", "id": "a", "name": "read", "arguments": {}}],
            "stopReason": "toolUse"},
        {"role": "toolResult", "toolCallId": "a", "content": [{"type": "text", "text": "r"}]},
    ]});
    let needs = json!({"compat": {"requiresToolsWithToolHistory": true}});
    let cases = [
        (json!({}), history.clone(), None),
        (needs.clone(), history, Some(json!([]))),
        (needs, json!({}), None),
    ];
    for (over, parts, expected) in cases {
        let body = request(&model(over), &context(parts), simple("off")).unwrap().body.to_value();
        assert_eq!(body.get("tools"), expected.as_ref());
    }
}
