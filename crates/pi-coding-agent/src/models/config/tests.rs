use pi_ai::Model;
use pi_ai::auth::{Environment, NoCommands};

use super::*;

fn parse(text: &str) -> ModelsConfig {
    ModelsConfig::parse(Path::new("/a/models.json"), text)
}

fn problems(text: &str) -> Vec<String> {
    parse(text).problems().iter().map(ToString::to_string).collect()
}

/// The model `m` of a provider `p` whose `models` has `model` as its only entry.
fn model(model: &str) -> Model {
    let text = format!(
        r#"{{"providers":{{"p":{{"baseUrl":"http://h","api":"wire","models":[{model}]}}}}}}"#
    );
    let config = parse(&text);
    assert!(config.problems().is_empty(), "{:?}", config.problems());
    let provider = config.provider("p").unwrap();
    custom_model("p", provider, "m", provider.models.get("m").unwrap(), None).unwrap()
}

#[test]
fn comments_trailing_commas_and_a_byte_order_mark_are_fine() {
    let text = "\u{feff}// head\n{ /* x */ \"$schema\": \"s\", \"providers\": { \"p\": {\n\
                \"baseUrl\": \"http://h\", \"api\": \"wire\", \"models\": [ { \"id\": \"m\", }, ], }, }, }";
    let config = parse(text);
    assert!(config.problems().is_empty(), "{:?}", config.problems());
    assert!(config.provider("p").unwrap().models.contains_key("m"));
    for nothing in ["", "  \n", "{}", "// only a comment", "{\"providers\":{}}"] {
        assert!(problems(nothing).is_empty(), "{nothing:?}");
    }
}

#[test]
fn a_syntax_error_is_reported_with_path_line_and_column() {
    let cases = [
        ("{ \"providers\": {\n  \"p\": {,} } }", "/a/models.json:2:9: "),
        ("{ \"providers\": { ", "/a/models.json:1:"),
        ("{ 'providers': {} }", "/a/models.json:1:3: "),
        ("{ providers: {} }", "/a/models.json:1:3: "),
    ];
    for (text, start) in cases {
        let found = problems(text);
        assert!(found.len() == 1 && found[0].starts_with(start), "{text}: {found:?}");
    }
}

#[test]
fn faults_are_named_with_their_place_and_only_they_are_left_out() {
    let text = r#"{"providers":{
        "ok":{"baseUrl":"http://h","api":"wire","apiKey":7,"models":[
            {"id":"z","contextWindow":"big"},{"name":"no id"},{"id":3},{"id":"y"},
            {"id":"x","input":["text","audio"]},{"id":"w","cost":1},7]},
        "no-api":{"baseUrl":"http://h","models":[{"id":"m"},{"id":"n","api":"wire"}]},
        "no-url":{"api":"wire","models":[{"id":"m"},{"id":"n","baseUrl":"http://h"}]},
        "groq":{"models":[{"id":"m"}]},
        "list":[],
        "radius":{"oauth":"radius"}}}"#;
    let config = parse(text);
    let found: Vec<String> = config.problems().iter().map(ToString::to_string).collect();
    let expected = [
        "2:58: providers.ok.apiKey: must be a text",
        "3:39: providers.ok.models.0.contextWindow: must be a whole number",
        "3:46: providers.ok.models.1.id: is missing",
        "3:69: providers.ok.models.2.id: must be a text",
        "4:31: providers.ok.models.4.input: must be a list of \"text\" and \"image\"",
        "4:66: providers.ok.models.5.cost: must be an object of prices",
        "4:69: providers.ok.models.6.id: is missing",
        "5:50: providers.no-api.models.0: no \"api\" specified; set it for the provider or the model",
        "6:42: providers.no-url.models.0: no \"baseUrl\" specified; set it for the provider or the model",
        "8:16: providers.list: must be an object",
        "9:27: providers.radius.oauth: signing in is not supported by this build of pi",
    ];
    let expected: Vec<String> =
        expected.iter().map(|text| format!("/a/models.json:{text}")).collect();
    assert_eq!(found, expected);
    let ids =
        |id: &str| -> Vec<String> { config.provider(id).unwrap().models.keys().cloned().collect() };
    assert_eq!(ids("ok"), ["y"]);
    assert_eq!(ids("no-api"), ["n"]);
    assert_eq!(ids("no-url"), ["n"]);
    assert_eq!(ids("groq"), ["m"]);
}

#[test]
fn a_model_needs_only_an_id() {
    let model = model(r#"{"id":"m"}"#);
    assert_eq!((model.name.as_str(), model.provider.as_str()), ("m", "p"));
    assert_eq!((model.api.as_str(), model.base_url.as_str()), ("wire", "http://h"));
    assert!(!model.reasoning);
    assert_eq!(model.input, [pi_ai::Modality::Text]);
    assert_eq!((model.context_window, model.max_tokens), (128_000, 16_384));
    assert_eq!(model.cost, pi_ai::ModelCost::default());
    assert_eq!((model.compat, model.headers), (None, None));
}

#[test]
fn fields_of_a_model_win_over_the_provider() {
    let model = model(
        r#"{"id":"m","name":"M","api":"other","baseUrl":"http://m","reasoning":true,"input":["text","image"],
            "contextWindow":1e6,"maxTokens":8192.0,"unknown":1,
            "cost":{"input":-1,"output":2,"cacheRead":0,"cacheWrite":0,
                    "tiers":[{"inputTokensAbove":1e5,"input":3,"output":4,"cacheRead":0,"cacheWrite":0}]},
            "thinkingLevelMap":{"off":null,"high":"HIGH"},"promptCache":{"short":300},
            "samplingParamsByThinkingLevel":{"high":{"top_k":20}}}"#,
    );
    assert_eq!((model.name.as_str(), model.api.as_str()), ("M", "other"));
    assert_eq!(model.base_url, "http://m");
    assert!(model.reasoning && model.sees_images());
    assert_eq!((model.context_window, model.max_tokens), (1_000_000, 8192));
    assert_eq!((model.cost.input, model.cost.output), (0.0, 2.0));
    assert_eq!(model.cost.tiers.unwrap()[0].input_tokens_above, 100_000);
    assert_eq!(model.thinking_level_map.unwrap().len(), 2);
    assert_eq!(model.prompt_cache.unwrap().short, Some(300));
}

#[test]
fn overrides_merge_objects_one_level_deep_and_replace_the_rest() {
    let base = model(
        r#"{"id":"m","cost":{"input":1,"output":2,"cacheRead":3,"cacheWrite":4},"input":["text","image"],
            "compat":{"a":1,"deep":{"x":1}},"samplingParamsByThinkingLevel":{"high":{"k":1,"p":2}}}"#,
    );
    let config = parse(
        r#"{"providers":{"p":{"modelOverrides":{"m":{"cost":{"input":9},"input":["text"],"name":"N",
            "compat":{"b":2,"deep":{"y":1}},"samplingParamsByThinkingLevel":{"high":{"k":7},"low":{"k":8}}}}}}}"#,
    );
    let changes = config.provider("p").unwrap().overrides.get("m").unwrap();
    let model = apply_override(&base, changes).unwrap();
    assert_eq!((model.cost.input, model.cost.output, model.cost.cache_write), (9.0, 2.0, 4.0));
    assert_eq!(model.input, [pi_ai::Modality::Text]);
    assert_eq!(model.name, "N");
    let compat = serde_json::to_string(&model.compat.unwrap()).unwrap();
    assert_eq!(compat, r#"{"a":1,"deep":{"y":1},"b":2}"#);
    let sampling =
        serde_json::to_string(&model.sampling_params_by_thinking_level.unwrap()).unwrap();
    assert_eq!(sampling, r#"{"high":{"k":7,"p":2},"low":{"k":8}}"#);
}

#[test]
fn keys_and_headers_are_templates_and_stay_hidden() {
    let config = parse(
        r#"{"providers":{"p":{"apiKey":"pre-$KEY","authHeader":true,"headers":{"X-A":"sk-1"},
            "modelOverrides":{"m":{"headers":{"x-b":"$KEY"}}}}}}"#,
    );
    let provider = config.provider("p").unwrap();
    let environment: Environment = [("KEY", "k")].into_iter().collect();
    let resolve = |template: &Template| {
        template.resolve(&environment, &NoCommands).unwrap().expose().to_owned()
    };
    assert_eq!(resolve(provider.key.as_ref().unwrap()), "pre-k");
    assert_eq!(resolve(provider.headers.get("x-a").unwrap()), "sk-1");
    assert_eq!(resolve(provider.overrides["m"].headers.get("x-b").unwrap()), "k");
    assert!(provider.auth_header);
    let text = format!("{config:?}");
    assert!(!text.contains("sk-1") && !text.contains("pre-"), "{text}");
}

#[test]
fn a_missing_file_says_nothing_and_an_unreadable_one_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    assert!(ModelsConfig::read(&folder.path().join("models.json")).problems().is_empty());
    let unreadable = ModelsConfig::read(folder.path());
    assert!(unreadable.problems()[0].to_string().starts_with("cannot read "));
}
