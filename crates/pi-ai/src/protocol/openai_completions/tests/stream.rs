//! Decoding, from recordings of our own making.

use super::*;
use crate::protocol::Interruption;

/// Lines of the events between `start` and the end of the blocks, without `start`.
fn lines(body: &str) -> Vec<String> {
    let events = decode(json!({}), body);
    let lines = trace(&events);
    assert_eq!(lines.first().map(String::as_str), Some("start"));
    lines.into_iter().skip(1).collect()
}

fn calls(deltas: &[Value]) -> String {
    deltas.iter().map(|call| delta(json!({"tool_calls": [call]}))).collect::<String>()
        + &finish("tool_calls")
}

#[test]
fn all_blocks_end_at_the_end_of_the_stream_in_block_order() {
    let body = delta(json!({"reasoning": "r", "content": "c",
        "tool_calls": [{"index": 0, "id": "i", "function": {"name": "x", "arguments": "{\"q\""}}]}))
        + &delta(json!({"content": "d", "reasoning": "s"}))
        + &delta(json!({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]}))
        + &finish("tool_calls");
    assert_eq!(
        lines(&body),
        [
            "0 thinking",
            "0 + r",
            "1 text",
            "1 + c",
            "2 call i x",
            "2 + {\"q\"",
            "0 + s",
            "1 + d",
            "2 + :1}",
            "0 = rs",
            "1 = cd",
            "2 = i x {\"q\":1}",
            "done toolUse",
        ]
    );
}

#[test]
fn reasoning_is_taken_from_the_first_field_that_says_something() {
    let body = delta(json!({"reasoning_content": "x", "reasoning": "x"}))
        + &delta(json!({"reasoning_content": "", "reasoning": "y"}))
        + &delta(json!({"reasoning_text": "z", "content": ""}))
        + &finish("stop");
    assert_eq!(lines(&body), ["0 thinking", "0 + x", "0 + y", "0 + z", "0 = xyz", "done stop"]);
    let signature = |over: Value, body: &str| {
        json!(message(&decode(over, body)).content[0])["thinkingSignature"].clone()
    };
    assert_eq!(signature(json!({}), &body), "reasoning_content");
    let plain = delta(json!({"reasoning": "x"})) + &finish("stop");
    assert_eq!(signature(json!({}), &plain), "reasoning");
    assert_eq!(signature(json!({"provider": "opencode-go"}), &plain), "reasoning_content");
}

#[test]
fn stop_reasons_are_mapped_and_the_raw_word_is_kept() {
    let cases = [
        ("stop", "done stop"),
        ("end", "done stop"),
        ("length", "done length"),
        ("tool_calls", "done toolUse"),
        ("function_call", "done toolUse"),
        ("content_filter", "error Provider finish_reason: content_filter"),
        ("network_error", "error Provider finish_reason: network_error"),
        ("weird", "error Provider finish_reason: weird"),
    ];
    for (word, expected) in cases {
        let events = decode(json!({}), &(delta(json!({"content": "a"})) + &finish(word)));
        assert_eq!(trace(&events), ["start", "0 text", "0 + a", "0 = a", expected]);
        assert_eq!(message(&events).raw_stop_reason.as_deref(), Some(word));
    }
}

#[test]
fn a_stream_without_stop_reason_is_an_error_unless_the_host_never_tells_one() {
    let text = delta(json!({"content": "a"}));
    let call = delta(
        json!({"tool_calls": [{"index": 0, "id": "i", "function": {"name": "x", "arguments": "{}"}}]}),
    );
    let silent = json!({"compat": {"supportsFinishReason": false}});
    let cases = [
        (json!({}), text.clone(), "error Stream ended without finish_reason"),
        (json!({}), text.clone() + "data: [DONE]\n\n", "error Stream ended without finish_reason"),
        (json!({}), String::new(), "error Stream ended without finish_reason"),
        (silent.clone(), text, "done stop"),
        (silent.clone(), call, "done toolUse"),
        (silent, String::new(), "done stop"),
    ];
    for (over, body, expected) in cases {
        assert_eq!(trace(&decode(over, &body)).last().unwrap(), expected, "{body}");
    }
}

#[test]
fn odd_chunks_are_no_reason_to_fail() {
    let body = "data: null\n\n".to_owned()
        + ": comment\n\n"
        + &sse(json!({"id": "", "choices": []}))
        + &sse(json!({"id": 7, "model": null, "choices": null, "usage": null, "error": null}))
        + &sse(json!({"id": "x1", "model": "m-dated", "choices": [{"delta": null}]}))
        + &sse(
            json!({"id": "x2", "model": "m-other", "choices": [{"delta": {"role": "assistant", "content": null}}]}),
        )
        + &sse(
            json!({"choices": [{"delta": {"content": [{"type": "text", "text": "pa"}, {"text": "rts"}]}}]}),
        )
        + &sse(json!({"choices": [{"delta": {"content": {"odd": 1}, "tool_calls": null}}]}))
        + &sse(
            json!({"choices": [{"index": 1, "delta": {"content": "!"}}, {"delta": {"content": "no"}}]}),
        )
        + &finish("stop")
        + &delta(json!({"content": "after the end"}));
    let events = decode(json!({}), &body);
    assert_eq!(
        trace(&events),
        ["start", "0 text", "0 + parts", "0 + !", "0 = parts!", "done stop"]
    );
    let message = message(&events);
    assert_eq!(message.response_id.as_deref(), Some("x1"));
    assert_eq!(message.response_model.as_deref(), Some("m-dated"));
}

#[test]
fn a_refusal_is_shown_as_text() {
    let body = delta(json!({"refusal": "No."})) + &finish("stop");
    assert_eq!(lines(&body), ["0 text", "0 + No.", "0 = No.", "done stop"]);
}

#[test]
fn calls_are_told_apart_by_index_else_by_id() {
    let f = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
    let cases: Vec<(&str, Vec<Value>, Vec<&str>)> = vec![
        (
            "interleaved by index",
            vec![
                json!({"index": 0, "id": "a", "function": f("x", "{\"q\":")}),
                json!({"index": 1, "id": "b", "function": f("y", "{")}),
                json!({"index": 0, "function": {"arguments": "1}"}}),
                json!({"index": 1, "function": {"arguments": "}"}}),
            ],
            vec!["0 = a x {\"q\":1}", "1 = b y {}"],
        ),
        (
            "by id",
            vec![
                json!({"id": "a", "function": f("x", "{")}),
                json!({"id": "a", "function": {"arguments": "}"}}),
                json!({"id": "b", "function": f("y", "{}")}),
            ],
            vec!["0 = a x {}", "1 = b y {}"],
        ),
        (
            "neither: fragments join the last call",
            vec![
                json!({"function": f("x", "{")}),
                json!({"function": {"arguments": "}"}}),
                json!({"function": f("y", "{}")}),
            ],
            vec!["0 =  x {}", "1 =  y {}"],
        ),
        (
            "name and id come late, once",
            vec![
                json!({"index": 0, "function": {"arguments": ""}}),
                json!({"index": 0, "id": "late", "function": f("x", "{")}),
                json!({"index": 0, "function": f("other", "}")}),
            ],
            vec!["0 = late x {}"],
        ),
        (
            "every call numbered 0",
            vec![
                json!({"index": 0, "id": "a", "function": f("x", "{}")}),
                json!({"index": 0, "id": "b", "function": f("y", "{")}),
                json!({"index": 0, "function": {"arguments": "}"}}),
            ],
            vec!["0 = a x {}", "1 = b y {}"],
        ),
        (
            "one id for two calls",
            vec![
                json!({"index": 0, "id": "a", "function": f("x", "{}")}),
                json!({"index": 1, "id": "a", "function": f("y", "{")}),
                json!({"index": 1, "id": "a", "function": f("y", "}")}),
            ],
            vec!["0 = a x {}", "1 = a_2 y {}"],
        ),
        (
            "no arguments at all",
            vec![json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": null}})],
            vec!["0 = a x {}"],
        ),
        (
            "arguments as an object",
            vec![
                json!({"index": 0, "id": "a", "function": {"name": "x", "arguments": {"q": [1]}}}),
            ],
            vec!["0 = a x {\"q\":[1]}"],
        ),
        (
            "an empty custom object beside the function",
            vec![json!({"index": 0, "id": "a", "custom": {}, "function": f("x", "{\"q\":1}")})],
            vec!["0 = a x {\"q\":1}"],
        ),
        (
            "cut off arguments",
            vec![json!({"index": 0, "id": "a", "function": f("x", "{\"q\":")})],
            vec!["0 = a x {} broken"],
        ),
        (
            "no object",
            vec![json!({"index": 0, "id": "a", "function": f("x", "[1]")})],
            vec!["0 = a x {} broken"],
        ),
        (
            "raw line break",
            vec![json!({"index": 0, "id": "a", "function": f("x", "{\"q\":\"1\n2\"}")})],
            vec!["0 = a x {\"q\":\"1\\n2\"}"],
        ),
    ];
    for (case, deltas, expected) in cases {
        let ends: Vec<String> =
            lines(&calls(&deltas)).into_iter().filter(|line| line.contains(" = ")).collect();
        assert_eq!(ends, expected, "{case}");
    }
}

#[test]
fn text_of_grammar_tools_is_framed_as_arguments() {
    let custom = |fields: Value| delta(json!({"tool_calls": [fields]}));
    let body = custom(json!({"index": 0, "id": "a", "custom": {"name": "g", "input": "li\"ne"}}))
        + &custom(json!({"index": 0, "custom": {"input": "\n2"}}))
        + &custom(json!({"index": 1, "id": "b", "custom": {"name": "unknown", "input": "z"}}))
        + &finish("tool_calls");
    let tool = json!({"name": "g", "description": "D", "parameters":
        {"type": "object", "properties": {"patch": {"type": "string"}}, "required": ["patch"]},
        "constrainedSampling": {"type": "grammar", "variants": {"openai_lark": "start: X"}}});
    let model = model(json!({"compat": {"supportsOpenAIGrammarTools": true}}));
    let context = context(json!({"tools": [tool]}));
    let events = decode_with(model, &context, [body.as_bytes()]);
    assert_eq!(
        trace(&events),
        [
            "start",
            "0 call a g",
            "0 + {\"patch\":\"li\\\"ne",
            "0 + \\n2",
            "1 call b unknown",
            "1 + {\"input\":\"z",
            "0 + \"}",
            "0 = a g {\"patch\":\"li\\\"ne\\n2\"}",
            "1 + \"}",
            "1 = b unknown {\"input\":\"z\"}",
            "done toolUse",
        ]
    );
}

#[test]
fn reasoning_details_are_joined_and_kept_as_the_signature() {
    let kept = |details: &[Value]| -> Value {
        let body: String =
            details.iter().map(|d| delta(json!({"reasoning_details": d}))).collect::<String>()
                + &delta(json!({"content": "a"}))
                + &finish("stop");
        let events = decode(json!({}), &body);
        let thinking = json!(message(&events).content[0]);
        serde_json::from_str(thinking["thinkingSignature"].as_str().unwrap()).unwrap()
    };
    let text = |text: &str| json!({"type": "reasoning.text", "text": text, "index": 0});
    let sealed = |data: &str| json!({"type": "reasoning.encrypted", "data": data, "id": "t"});
    let summary = |text: &str, index: u64| json!({"type": "reasoning.summary", "summary": text, "index": index});
    assert_eq!(
        kept(&[
            json!([text("ab")]),
            json!([with(text("cd"), json!({"signature": "SG", "format": null}))]),
            json!([sealed("E1")]),
            json!([sealed("E2"), summary("s1", 1)]),
            json!([summary("s2", 2)]),
            json!([text("again")]),
        ]),
        json!([
            {"type": "reasoning.text", "text": "abcd", "index": 0, "signature": "SG"},
            sealed("E1"),
            sealed("E2"),
            summary("s1s2", 1),
            text("again"),
        ])
    );
}

#[test]
fn sealed_details_before_their_call_are_kept() {
    let body = delta(
        json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "E", "id": "i"}]}),
    ) + &delta(json!({"reasoning_details": []}))
        + &calls(&[json!({"index": 0, "id": "i", "function": {"name": "x", "arguments": "{}"}})]);
    assert_eq!(
        lines(&body),
        ["0 thinking", "1 call i x", "1 + {}", "0 = ", "1 = i x {}", "done toolUse"]
    );
}

#[test]
fn usage_is_read_wherever_hosts_put_it() {
    let chunk = |usage: Value| sse(json!({"id": "r", "choices": [], "usage": usage}));
    let in_choice = |usage: Value| sse(json!({"choices": [{"delta": {}, "usage": usage}]}));
    let base = || json!({"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 999});
    // Body, then input, output, cache read, cache write, reasoning.
    let cases = [
        ("plain", chunk(base()), [100, 20, 0, 0, 0]),
        (
            "OpenAI's details",
            chunk(with(
                base(),
                json!({"prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 10},
                "completion_tokens_details": {"reasoning_tokens": 5}}),
            )),
            [30, 20, 60, 10, 5],
        ),
        (
            "DeepSeek's hits",
            chunk(with(base(), json!({"prompt_cache_hit_tokens": 70, "reasoning_tokens": 1}))),
            [30, 20, 70, 0, 1],
        ),
        (
            "Kimi's cached tokens",
            in_choice(with(base(), json!({"cached_tokens": 40}))),
            [60, 20, 40, 0, 0],
        ),
        (
            "OpenAI's zero is an answer",
            chunk(with(
                base(),
                json!({"prompt_tokens_details": {"cached_tokens": 0}, "cached_tokens": 3}),
            )),
            [100, 20, 0, 0, 0],
        ),
        (
            "more cached than sent",
            chunk(with(base(), json!({"prompt_tokens_details": {"cached_tokens": 170}}))),
            [0, 20, 170, 0, 0],
        ),
        (
            "nulls and fractions",
            chunk(
                json!({"prompt_tokens": 100.0, "completion_tokens": null, "prompt_tokens_details": null}),
            ),
            [100, 0, 0, 0, 0],
        ),
        (
            "the last report counts",
            chunk(json!({"prompt_tokens": 1})) + &chunk(base()),
            [100, 20, 0, 0, 0],
        ),
        (
            "absurd counts are bounded",
            chunk(json!({"prompt_tokens": 1e300, "completion_tokens": -5})),
            [1 << 53, 0, 0, 0, 0],
        ),
        (
            "nonsense is passed over",
            chunk(base()) + &chunk(json!({"prompt_tokens": "many"})),
            [100, 20, 0, 0, 0],
        ),
    ];
    for (case, body, [input, output, cache_read, cache_write, reasoning]) in cases {
        let events = decode(json!({}), &(body + &finish("stop")));
        let usage = &message(&events).usage;
        let counts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
        assert_eq!(counts, [input, output, cache_read, cache_write], "{case}");
        assert_eq!(usage.reasoning, Some(reasoning), "{case}");
        assert_eq!(usage.total_tokens, input + output + cache_read + cache_write, "{case}");
        assert_eq!(usage.cost.total_from_provider, Some(false), "{case}");
    }
    let silent = decode(json!({}), &finish("stop"));
    assert_eq!(message(&silent).usage, crate::types::Usage::default(), "nothing reported");
}

#[test]
fn usage_outside_of_the_choice_wins() {
    let body = sse(json!({"usage": {"prompt_tokens": 1},
        "choices": [{"delta": {}, "usage": {"prompt_tokens": 9}}]}))
        + &finish("stop");
    assert_eq!(message(&decode(json!({}), &body)).usage.input, 1);
}

#[test]
fn the_billed_cost_replaces_the_estimate_where_it_is_whole() {
    let estimate = 0.000_013_999_999_999_999_998;
    let openrouter = || json!({"provider": "openrouter"});
    let upstream = |cost: f64| json!({"upstream_inference_cost": cost});
    // Model, what usage says of costs, the total and whether it is the provider's.
    let cases = [
        (openrouter(), json!({"cost": 0.5, "is_byok": false}), 0.5, true),
        (openrouter(), json!({"cost": 0, "is_byok": false}), 0.0, true),
        (
            openrouter(),
            json!({"cost": 0.5, "is_byok": true, "cost_details": upstream(0.25)}),
            0.75,
            true,
        ),
        (openrouter(), json!({"cost": 0.5, "is_byok": true}), estimate, false),
        (openrouter(), json!({"cost": 0.5}), estimate, false),
        (openrouter(), json!({"cost": -1, "is_byok": false}), estimate, false),
        (json!({}), json!({"cost": 0.5, "is_byok": false}), estimate, false),
        (
            json!({"baseUrl": "https://openrouter.ai/api/v1"}),
            json!({"cost": 0.5, "is_byok": false}),
            0.5,
            true,
        ),
    ];
    for (over, costs, total, from_provider) in cases {
        let usage = with(json!({"prompt_tokens": 10, "completion_tokens": 2}), costs);
        let events = decode(over, &(sse(json!({"usage": usage})) + &finish("stop")));
        let cost = &message(&events).usage.cost;
        assert_eq!((cost.total, cost.total_from_provider), (total, Some(from_provider)), "{usage}");
    }
}

#[test]
fn errors_in_the_stream_end_it_and_leave_blocks_open() {
    let before = delta(json!({"content": "a"}));
    let cases = [
        (sse(json!({"error": {"message": "boom", "metadata": {"raw": "RAW"}}})), "error boom\nRAW"),
        (sse(json!({"error": "plain", "choices": []})), "error \"plain\""),
        ("event: error\n".to_owned() + &sse(json!({"error": {"message": "named"}})), "error named"),
        ("event: error\n".to_owned() + &sse(json!({"message": "flat"})), "error flat"),
        (
            "data: {broken\n\n".to_owned(),
            "error Error reading response: malformed server-sent event JSON.",
        ),
    ];
    for (error, expected) in cases {
        let events = decode(json!({}), &(before.clone() + &error + &finish("stop")));
        assert_eq!(trace(&events), ["start", "0 text", "0 + a", expected]);
        assert_eq!(message(&events).response_id.as_deref(), Some("r1"));
    }
}

#[test]
fn an_abort_ends_open_blocks_and_a_broken_connection_does_not() {
    for (how, ends) in [(Interruption::Aborted, vec!["0 = a"]), (Interruption::Broken, vec![])] {
        let model = Arc::new(model(json!({})));
        let mut decoder =
            OpenAiCompletions.decoder(&model, &Context::default(), &StreamOptions::default());
        let mut out = MessageBuilder::new(AssistantMessage::pending(&model, 0));
        let data = json!({"choices": [{"delta": {"content": "a"}}]}).to_string();
        decoder.event(None, &data, &mut out);
        decoder.interrupted(how, &mut out);
        let lines = trace(&std::iter::from_fn(|| out.pop()).collect::<Vec<_>>());
        let expected: Vec<&str> = ["start", "0 text", "0 + a"].into_iter().chain(ends).collect();
        assert_eq!(lines, expected, "{how:?}");
    }
}
