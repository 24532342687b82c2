use super::super::registry::tests::registry;
use super::*;

const FX: &str = r#"{"providers":{
    "fx":{"baseUrl":"http://h","api":"openai-completions","apiKey":"k","models":[
        {"id":"m1","name":"Fake One","reasoning":true,"maxTokens":8192},{"id":"m2","name":"Fake Two"},
        {"id":"org/x:free"},{"id":"a[b]c"},{"id":"son-4-20250101","name":"Son dated"},{"id":"son-4"}]},
    "gx":{"baseUrl":"http://h","api":"openai-completions","apiKey":"k","models":[{"id":"m1"},{"id":"zed"}]},
    "nokey":{"baseUrl":"http://h","api":"openai-completions","apiKey":"$NOPE","models":[{"id":"m1"},{"id":"lone"}]},
    "p/q":{"baseUrl":"http://h","api":"openai-completions","apiKey":"k","models":[{"id":"s"},{"id":"k:high"},{"id":"k"}]},
    "p":{"baseUrl":"http://h","api":"openai-completions","apiKey":"k","models":[{"id":"q/s"},{"id":"q/t"}]},
    "odd":{"baseUrl":"http://h","api":"unspoken","apiKey":"k","models":[{"id":"o"}]}}}"#;

fn fx() -> ModelRegistry {
    registry(FX, "{}", &[])
}

/// `provider/id`, with `:level` when one was named and ` (warning)` when there was one.
fn shown(provider: &str, id: &str, level: Option<ThinkingLevel>) -> String {
    let level = level.map(|level| format!(":{level}")).unwrap_or_default();
    format!("{provider}/{id}{level}")
}

fn reference(registry: &ModelRegistry, provider: Option<&str>, text: &str) -> String {
    match resolve_reference(registry, text, provider) {
        Ok(Reference { model, thinking, warning }) => {
            let warning = warning.map(|warning| format!(" ({warning})")).unwrap_or_default();
            format!("{}{warning}", shown(&model.provider, &model.id, thinking))
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn references_mean_what_they_mean_to_the_typescript_pi() {
    let custom = |id: &str, provider: &str| {
        format!(" (Model \"{id}\" not found for provider \"{provider}\". Using custom model id.)")
    };
    let not_found = |text: &str| {
        format!("Model \"{text}\" not found. Use --list-models to see available models.")
    };
    let cases = [
        ("fx/m1", "fx/m1".to_owned()),
        ("m2", "fx/m2".to_owned()),
        ("two", "fx/m2".to_owned()),
        ("zed", "gx/zed".to_owned()),
        ("ze:high", "gx/zed:high".to_owned()),
        ("lone", "nokey/lone".to_owned()),
        ("FX/M1", "fx/m1".to_owned()),
        ("SON-4", "fx/son-4".to_owned()),
        ("son", "fx/son-4".to_owned()),
        ("fx/so", "fx/son-4".to_owned()),
        ("fake", "fx/m2".to_owned()),
        ("fx/fake:low", "fx/m2:low".to_owned()),
        ("fx/m1:high", "fx/m1:high".to_owned()),
        ("org/x:free", "fx/org/x:free".to_owned()),
        ("org/x:free:low", "fx/org/x:free:low".to_owned()),
        ("a[b]c", "fx/a[b]c".to_owned()),
        ("k:high", "p/q/k:high".to_owned()),
        ("k:high:low", "p/q/k:high:low".to_owned()),
        ("p/q/s", "p/q/s".to_owned()),
        // Literal first: the id `q/t` of provider `p`, not a part of a name in `p/q`.
        ("p/q/t", "p/q/t".to_owned()),
        ("fx/none", format!("fx/none{}", custom("none", "fx"))),
        ("fx/none:high", format!("fx/none:high{}", custom("none", "fx"))),
        ("fx/none:huge", format!("fx/none:huge{}", custom("none:huge", "fx"))),
        ("nope", not_found("nope")),
        ("nope/none", not_found("nope/none")),
        ("m2:huge", not_found("m2:huge")),
        ("gx", not_found("gx")),
        ("gx/", not_found("gx/")),
        ("fx/:high", not_found("fx/:high")),
        (
            "m1",
            "Model \"m1\" is ambiguous across providers: fx/m1, gx/m1, nokey/m1. More than one \
             matching provider is authenticated. Use --provider or provider/model."
                .to_owned(),
        ),
    ];
    let registry = fx();
    for (text, expected) in cases {
        assert_eq!(reference(&registry, None, text), expected, "{text}");
    }
}

#[test]
fn a_named_provider_narrows_the_search() {
    let registry = fx();
    let custom = "gx/fake (Model \"fake\" not found for provider \"gx\". Using custom model id.)";
    let cases = [
        ("fx", "m1:xhigh", "fx/m1:xhigh"),
        ("FX", "m1", "fx/m1"),
        ("fx", "fx/m1", "fx/m1"),
        ("fx", "fake", "fx/m2"),
        ("gx", "fake", custom),
        (
            "fx-nope",
            "gx/m1",
            "Unknown provider \"fx-nope\". Use --list-models to see available providers/models.",
        ),
    ];
    for (provider, text, expected) in cases {
        assert_eq!(reference(&registry, Some(provider), text), expected, "{provider} {text}");
    }
}

#[test]
fn a_bare_id_of_several_providers_takes_the_one_with_a_key() {
    let id = "openai/gpt-oss-120b";
    let one = registry("{}", "{}", &[("GROQ_API_KEY", "k")]);
    assert_eq!(reference(&one, None, id), "groq/openai/gpt-oss-120b");
    let none = reference(&registry("{}", "{}", &[]), None, id);
    assert!(none.contains("providers: baseten/openai/gpt-oss-120b, groq/"), "{none}");
    assert!(none.contains("No matching provider is authenticated."), "{none}");
    assert_eq!(reference(&one, None, "cerebras/gpt-oss-120b"), "cerebras/gpt-oss-120b");
    assert_eq!(reference(&one, None, "gpt-oss-120b"), "cerebras/gpt-oss-120b");
}

#[test]
fn exact_references_parse_no_list() {
    let registry = registry(FX, "{}", &[("GROQ_API_KEY", "k")]);
    for text in ["fx/m1", "groq/openai/gpt-oss-120b", "zed", "claude-sonnet-5"] {
        resolve_reference(&registry, text, None).ok();
    }
    resolve_reference(&registry, "fx/none", None).unwrap();
    assert_eq!(registry.loaded().count(), 0);
}

#[test]
fn a_custom_id_has_the_settings_of_its_provider() {
    let fx_none = resolve_reference(&fx(), "fx/none", None).unwrap().model;
    assert_eq!((fx_none.id.as_str(), fx_none.name.as_str()), ("none", "none"));
    assert_eq!((fx_none.max_tokens, fx_none.reasoning), (8192, true));
    let groq = resolve_reference(&fx(), "groq/nonexist", None).unwrap().model;
    assert_eq!(
        (groq.max_tokens, groq.base_url.as_str()),
        (65_536, "https://api.groq.com/openai/v1")
    );
}

fn scope(patterns: &[&str]) -> (Vec<String>, Vec<String>) {
    let patterns: Vec<String> = patterns.iter().map(|pattern| pattern.to_string()).collect();
    let Scope { models, warnings } = resolve_scope(&fx(), &patterns);
    let models = models.iter().map(|s| shown(&s.model.provider, &s.model.id, s.thinking)).collect();
    (models, warnings)
}

#[test]
fn scope_patterns_find_usable_models() {
    let cases: &[(&[&str], &[&str], &[&str])] = &[
        (&["gx/*"], &["gx/m1", "gx/zed"], &[]),
        (&["zz*", "m2", ""], &["fx/m2"], &["No models match pattern \"zz*\""]),
        (&["zz", "zz"], &[], &["No models match pattern \"zz\""]),
        (
            &["m1:low"],
            &["fx/m1:low", "gx/m1:low"],
            &[
                "Pattern \"m1:low\" matches several providers: fx, gx. Use provider/id to choose one.",
            ],
        ),
        (
            &["gx/m1:huge"],
            &["gx/m1"],
            &["Invalid thinking level \"huge\" in pattern \"gx/m1:huge\". Using default instead."],
        ),
        (&["gx/m1:low", "fx/m2"], &["gx/m1:low", "fx/m2"], &[]),
        (&["lone"], &[], &["No models match pattern \"lone\""]),
        (&["gx/*:low"], &["gx/m1:low", "gx/zed:low"], &[]),
        (&["gx/zed:high", "gx/*"], &["gx/zed:high", "gx/m1"], &[]),
        (&["fx/son-?"], &["fx/son-4"], &[]),
        (&["a[b]c"], &["fx/a[b]c"], &[]),
        (&["org/*"], &["fx/org/x:free"], &[]),
        (&["one"], &["fx/m1"], &[]),
        (&["Two:off"], &["fx/m2:off"], &[]),
        (&["son"], &["fx/son-4"], &[]),
        (&["fx/one:low"], &["fx/m1:low"], &[]),
        (&["FX/M1"], &["fx/m1"], &[]),
        (&["gx"], &[], &["No models match pattern \"gx\""]),
        (&["fx/none"], &[], &["No models match pattern \"fx/none\""]),
        (&["k:high"], &["p/q/k:high"], &[]),
        (&["odd/o"], &[], &["No models match pattern \"odd/o\""]),
    ];
    for (patterns, models, warnings) in cases {
        let (found, said) = scope(patterns);
        assert_eq!(found, *models, "{patterns:?}");
        assert_eq!(said, *warnings, "{patterns:?}");
    }
}

struct Start<'a> {
    request: ModelRequest<'a>,
    defaults: ModelDefaults,
    session: Option<SessionChoice<'a>>,
}

fn start<'a>() -> Start<'a> {
    Start { request: ModelRequest::default(), defaults: ModelDefaults::default(), session: None }
}

impl Start<'_> {
    fn choose(&self) -> Result<ModelChoice, ModelError> {
        choose_model(&fx(), self.request, &self.defaults, self.session)
    }

    fn shown(&self) -> String {
        let choice = self.choose().unwrap();
        shown(&choice.model.provider, &choice.model.id, Some(choice.thinking))
    }
}

fn defaults(provider: &str, model: &str) -> ModelDefaults {
    ModelDefaults {
        provider: Some(provider.to_owned()),
        model: Some(model.to_owned()),
        ..ModelDefaults::default()
    }
}

#[test]
fn thinking_at_start_follows_the_measured_order() {
    let high =
        |model| ModelDefaults { thinking: Some(ThinkingLevel::High), ..defaults("fx", model) };
    let per_model = ModelDefaults {
        thinking_by_model: [("fx/m1".to_owned(), ThinkingLevel::Low)].into(),
        ..high("m1")
    };
    let named = |model| ModelRequest { model: Some(model), ..ModelRequest::default() };
    let explicit = |model| ModelRequest { thinking: Some(ThinkingLevel::High), ..named(model) };
    let cases = [
        (named("fx/m1"), defaults("fx", "m1"), "fx/m1:medium"),
        (named("fx/m1"), high("m1"), "fx/m1:high"),
        (ModelRequest::default(), per_model.clone(), "fx/m1:low"),
        (named("fx/m1:minimal"), per_model, "fx/m1:minimal"),
        (explicit("fx/m1:minimal"), ModelDefaults::default(), "fx/m1:high"),
        (named("fx/m1:xhigh"), ModelDefaults::default(), "fx/m1:high"),
        (named("fx/m1:off"), ModelDefaults::default(), "fx/m1:off"),
        (explicit("fx/m2"), ModelDefaults::default(), "fx/m2:off"),
        (named("fx/none:low"), ModelDefaults::default(), "fx/none:low"),
    ];
    for (request, defaults, expected) in cases {
        let start = Start { request, defaults, session: None };
        assert_eq!(start.shown(), expected, "{request:?}");
    }
}

#[test]
fn the_default_model_is_taken_from_the_scope_or_else_its_first() {
    let enabled = |provider, model, patterns: &[&str]| ModelDefaults {
        enabled: patterns.iter().map(|pattern| pattern.to_string()).collect(),
        ..defaults(provider, model)
    };
    let cases = [
        (enabled("fx", "m1", &["gx/zed", "fx/m1:low"]), "fx/m1:low"),
        (enabled("fx", "m2", &["gx/zed", "fx/m1:low"]), "gx/zed:off"),
        (enabled("fx", "m2", &["nothing"]), "fx/m2:off"),
        (enabled("fx", "m2", &[]), "fx/m2:off"),
    ];
    for (defaults, expected) in cases {
        let start = Start { defaults, ..start() };
        assert_eq!(start.shown(), expected);
    }
    let patterns = ["gx/zed".to_owned()];
    let request = ModelRequest { scope: Some(&patterns), ..ModelRequest::default() };
    let start = Start { request, defaults: enabled("fx", "m1", &["fx/*"]), session: None };
    assert_eq!(start.shown(), "gx/zed:off");
    assert_eq!(start.choose().unwrap().scope.map(|scope| scope.len()), Some(1));
}

#[test]
fn a_default_that_cannot_be_used_is_skipped() {
    for (provider, model) in [("nokey", "lone"), ("fx", "gone"), ("odd", "o"), ("gone", "x")] {
        let start = Start { defaults: defaults(provider, model), ..start() };
        assert_eq!(start.shown(), "fx/m1:medium", "{provider}/{model}");
    }
    let provider_alone = ModelDefaults { model: None, ..defaults("gx", "") };
    assert_eq!(Start { defaults: provider_alone, ..start() }.shown(), "fx/m1:medium");
}

#[test]
fn the_first_usable_default_of_a_built_in_provider_comes_before_other_models() {
    let choose = |environment: &[(&str, &str)]| {
        let registry = registry(FX, "{}", environment);
        let defaults = ModelDefaults::default();
        let choice = choose_model(&registry, ModelRequest::default(), &defaults, None).unwrap();
        assert_eq!(registry.loaded().count(), 0);
        format!("{}/{}", choice.model.provider, choice.model.id)
    };
    let (groq, openrouter) = (("GROQ_API_KEY", "k"), ("OPENROUTER_API_KEY", "k"));
    let google = ("GEMINI_API_KEY", "k");
    assert_eq!(choose(&[groq]), "groq/openai/gpt-oss-120b");
    assert_eq!(choose(&[groq, openrouter]), "openrouter/moonshotai/kimi-k2.7-code");
    assert_eq!(choose(&[google, groq]), "groq/openai/gpt-oss-120b");
    assert_eq!(choose(&[google]), "fx/m1");
}

#[test]
fn a_resumed_session_keeps_its_model_and_level_or_says_why_not() {
    let session =
        |provider, model| SessionChoice { provider, model, thinking: Some(ThinkingLevel::Minimal) };
    let enabled = ModelDefaults { enabled: vec!["gx/zed".to_owned()], ..defaults("fx", "m2") };
    let kept = Start { session: Some(session("fx", "m1")), defaults: enabled, ..start() };
    assert_eq!(kept.shown(), "fx/m1:minimal");
    let lost = Start { session: Some(session("nokey", "lone")), ..start() };
    assert_eq!(lost.shown(), "fx/m1:minimal");
    assert_eq!(
        lost.choose().unwrap().warnings,
        ["Could not restore model nokey/lone. Using fx/m1."]
    );
    let named = ModelRequest { model: Some("gx/zed"), ..ModelRequest::default() };
    let named = Start { request: named, session: Some(session("fx", "m1")), ..start() };
    assert_eq!(named.shown(), "gx/zed:off");
}

#[test]
fn impossible_requests_are_errors() {
    let error = |request| Start { request, ..start() }.choose().unwrap_err().to_string();
    let base = ModelRequest::default();
    assert_eq!(
        error(ModelRequest { provider: Some("fx"), ..base }),
        "--provider requires --model (for example: --provider fx --model <pattern>)"
    );
    let key_alone =
        "--api-key requires a model to be specified via --model, --provider/--model, or --models";
    assert_eq!(error(ModelRequest { has_key: true, ..base }), key_alone);
    let unmatched = ["nothing".to_owned()];
    assert_eq!(error(ModelRequest { has_key: true, scope: Some(&unmatched), ..base }), key_alone);
    let unspoken = error(ModelRequest { model: Some("odd/o"), ..base });
    assert!(
        unspoken.starts_with("Model \"odd/o\" speaks unspoken, which this build"),
        "{unspoken}"
    );
}

#[test]
fn nothing_usable_is_an_error_with_guidance() {
    let registry = registry("{}", "{}", &[("GEMINI_API_KEY", "k")]);
    let request = ModelRequest::default();
    let error = choose_model(&registry, request, &ModelDefaults::default(), None).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("No API key found for the selected model.\n\n"), "{text}");
    assert!(text.contains("ANTHROPIC_API_KEY") && text.contains("models.json"), "{text}");
}

#[test]
fn an_empty_model_counts_as_none() {
    let request = ModelRequest { model: Some(""), ..ModelRequest::default() };
    assert_eq!(Start { request, ..start() }.shown(), "fx/m1:medium");
}
