//! What is sent to ask for thinking, or for none.

use super::*;

/// Format, level map, whether an effort is understood, and the fields at `off`, `low` and `xhigh`.
type Case = (&'static str, Value, bool, Value, Value, Value);

fn cases() -> Vec<Case> {
    let none = || json!({});
    let mapped = || json!({"off": "none", "low": "LOW", "xhigh": "XH"});
    let no_off = || json!({"off": null});
    let effort = |word: &str| json!({"reasoning_effort": word});
    let nested = |word: &str| json!({"reasoning": {"effort": word}});
    let switch = |on: bool| json!({"type": if on { "enabled" } else { "disabled" }});
    let zai = |word: &str| json!({"thinking": {"type": "enabled", "clear_thinking": false}, "reasoning_effort": word});
    vec![
        ("openai", none(), true, none(), effort("low"), effort("high")),
        ("openai", none(), false, none(), none(), none()),
        ("openai", mapped(), true, effort("none"), effort("LOW"), effort("XH")),
        ("openai", no_off(), true, none(), effort("low"), effort("high")),
        ("openrouter", none(), false, nested("none"), nested("low"), nested("high")),
        ("openrouter", mapped(), true, nested("none"), nested("LOW"), nested("XH")),
        ("openrouter", json!({"off": "zero"}), true, nested("zero"), nested("low"), nested("high")),
        ("openrouter", no_off(), true, none(), nested("low"), nested("high")),
        (
            "deepseek",
            mapped(),
            true,
            json!({"thinking": switch(false)}),
            json!({"thinking": switch(true), "reasoning_effort": "LOW"}),
            json!({"thinking": switch(true), "reasoning_effort": "XH"}),
        ),
        (
            "deepseek",
            no_off(),
            false,
            none(),
            json!({"thinking": switch(true)}),
            json!({"thinking": switch(true)}),
        ),
        ("zai", none(), true, json!({"thinking": switch(false)}), zai("low"), zai("high")),
        ("zai", no_off(), true, json!({"thinking": switch(false)}), zai("low"), zai("high")),
        (
            "together",
            none(),
            true,
            json!({"reasoning": {"enabled": false}}),
            json!({"reasoning": {"enabled": true}, "reasoning_effort": "low"}),
            json!({"reasoning": {"enabled": true}, "reasoning_effort": "high"}),
        ),
        (
            "together",
            no_off(),
            false,
            json!({"reasoning": {"enabled": false}}),
            json!({"reasoning": {"enabled": true}}),
            json!({"reasoning": {"enabled": true}}),
        ),
        (
            "qwen",
            mapped(),
            true,
            json!({"enable_thinking": false}),
            json!({"enable_thinking": true, "reasoning_effort": "LOW"}),
            json!({"enable_thinking": true, "reasoning_effort": "XH"}),
        ),
        (
            "qwen",
            no_off(),
            false,
            json!({"enable_thinking": false}),
            json!({"enable_thinking": true}),
            json!({"enable_thinking": true}),
        ),
        (
            "string-thinking",
            none(),
            true,
            json!({"thinking": "none"}),
            json!({"thinking": "low"}),
            json!({"thinking": "high"}),
        ),
        (
            "string-thinking",
            no_off(),
            true,
            none(),
            json!({"thinking": "low"}),
            json!({"thinking": "high"}),
        ),
        ("ant-ling", none(), true, none(), none(), none()),
        ("ant-ling", mapped(), true, effort("none"), nested("LOW"), nested("XH")),
    ]
}

fn template_cases() -> Vec<Case> {
    let none = || json!({});
    let mapped = || json!({"off": "none", "low": "LOW", "xhigh": "XH"});
    let kwargs = |on: bool| json!({"chat_template_kwargs": {"enable_thinking": on, "preserve_thinking": true}});
    vec![
        ("qwen-chat-template", mapped(), true, kwargs(false), kwargs(true), kwargs(true)),
        (
            "chat-template",
            none(),
            true,
            json!({"chat_template_kwargs": {"on": false, "fixed": 1, "nothing": null}}),
            json!({"chat_template_kwargs":
                {"on": true, "how": "low", "sum": 2048, "only": "low", "fixed": 1, "nothing": null}}),
            json!({"chat_template_kwargs":
                {"on": true, "how": "high", "sum": 7168, "only": "high", "fixed": 1, "nothing": null}}),
        ),
        (
            "chat-template",
            mapped(),
            false,
            json!({"chat_template_kwargs": {"on": false, "how": "none", "fixed": 1, "nothing": null}}),
            json!({"chat_template_kwargs":
                {"on": true, "how": "LOW", "sum": 2048, "only": "LOW", "fixed": 1, "nothing": null}}),
            json!({"chat_template_kwargs":
                {"on": true, "how": "XH", "sum": 7168, "only": "XH", "fixed": 1, "nothing": null}}),
        ),
        (
            "baseten",
            mapped(),
            true,
            json!({"chat_template_args": {"on": false}, "reasoning_effort": "none"}),
            json!({"chat_template_args": {"on": true, "only": "LOW"}, "reasoning_effort": "LOW"}),
            json!({"chat_template_args": {"on": true, "only": "XH"}, "reasoning_effort": "XH"}),
        ),
    ]
}

#[test]
fn every_dialect_says_level_and_off_in_its_own_words() {
    for (format, map, takes_effort, off, low, xhigh) in cases().into_iter().chain(template_cases())
    {
        let over = json!({
            "reasoning": true,
            "thinkingLevelMap": map,
            "compat": {
                "thinkingFormat": format,
                "supportsReasoningEffort": takes_effort,
                "chatTemplateKwargs": {
                    "on": {"$var": "thinking.enabled"},
                    "how": {"$var": "thinking.effort"},
                    "sum": {"$var": "thinking.budget"},
                    "only": {"$var": "thinking.effort", "omitWhenOff": true},
                    "fixed": 1,
                    "nothing": null,
                },
                "chatTemplateArgs": {
                    "on": {"$var": "thinking.enabled"},
                    "only": {"$var": "thinking.effort", "omitWhenOff": true},
                },
            },
        });
        for (level, expected) in [("off", off), ("low", low), ("xhigh", xhigh)] {
            let found = extras(over.clone(), level);
            assert_eq!(found, expected, "{format} {map} effort={takes_effort} at {level}");
        }
    }
}

#[test]
fn a_model_that_does_not_reason_is_asked_nothing() {
    for format in ["openai", "openrouter", "deepseek", "zai", "qwen", "together", "chat-template"] {
        let compat = json!({"thinkingFormat": format, "chatTemplateKwargs": {"k": 1}});
        assert_eq!(extras(json!({"compat": compat}), "high"), json!({}), "{format}");
    }
}

#[test]
fn a_budget_field_leaves_1024_tokens_to_the_answer() {
    let over =
        |max: u64, compat: Value| json!({"reasoning": true, "maxTokens": max, "compat": compat});
    let field = || json!({"thinkingTokenBudgetField": "thinking_budget"});
    let cases = [
        ("capped", over(8192, field()), "high", json!({"thinking_budget": 7168})),
        ("uncapped", over(8192, field()), "low", json!({"thinking_budget": 2048})),
        ("no room", over(1000, field()), "high", json!({})),
        ("off", over(8192, field()), "off", json!({})),
        (
            "vLLM's name",
            over(8192, json!({"supportsThinkingTokenBudget": true})),
            "low",
            json!({"thinking_token_budget": 2048}),
        ),
        (
            "the field's name wins",
            over(8192, with(field(), json!({"supportsThinkingTokenBudget": true}))),
            "low",
            json!({"thinking_budget": 2048}),
        ),
    ];
    for (case, over, level, expected) in cases {
        let mut found = extras(over, level);
        found.as_object_mut().unwrap().shift_remove("reasoning_effort");
        assert_eq!(found, expected, "{case}");
    }
}

#[test]
fn own_budgets_replace_the_built_in_ones() {
    let compat = json!({"thinkingTokenBudgetField": "thinking_budget_tokens"});
    let mut options = simple("low");
    options.thinking_budgets.low = Some(77);
    let model = model(json!({"reasoning": true, "compat": compat}));
    let body = request(&model, &context(json!({})), options).unwrap().body.to_value();
    assert_eq!(body["thinking_budget_tokens"], 77);
}

#[test]
fn the_direct_door_sends_the_level_as_it_is() {
    let effort = |level: &str| Options {
        reasoning_effort: Some(level.parse().unwrap()),
        ..Options::default()
    };
    let cases = [
        (json!({"reasoning": true}), "xhigh", "xhigh"),
        (json!({"reasoning": true, "thinkingLevelMap": {"low": null}}), "low", "low"),
        (json!({"reasoning": true, "thinkingLevelMap": {"low": "min"}}), "low", "min"),
    ];
    for (over, level, expected) in cases {
        let body = direct(over, effort(level));
        assert_eq!(body["reasoning_effort"], expected);
        assert!(body.get("max_completion_tokens").is_none(), "no limit unless asked for");
    }
}
