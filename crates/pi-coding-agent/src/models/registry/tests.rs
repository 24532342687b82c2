use pi_agent::env::ProcessGroups;
use pi_ai::auth::{CommandError, CommandRunner, Secret};
use pi_ai::faux::FauxProvider;

use super::*;
use pi_ai::StreamOptions;

/// Prints the command; `false` fails.
#[derive(Debug)]
struct Commands;

impl CommandRunner for Commands {
    fn run(&self, command: &str, _environment: &Environment) -> Result<Secret, CommandError> {
        match command {
            "false" => Err(CommandError::Failed { status: "exit status: 1".to_owned() }),
            _ => Ok(Secret::new(format!(" {command}\n"))),
        }
    }
}

pub(in crate::models) fn registry(
    models: &str,
    auth: &str,
    environment: &[(&str, &str)],
) -> ModelRegistry {
    let config = ModelsConfig::parse(Path::new("models.json"), models);
    let credentials = Credentials::parse(Path::new("auth.json"), auth);
    let environment = environment.iter().copied().collect();
    let keys = KeyResolver::new(environment, credentials, Arc::new(Commands));
    let faux = Arc::new(FauxProvider::default());
    let mut protocols = Protocols::empty();
    for api in ["openai-completions", "anthropic-messages", "faux"] {
        protocols.register(api, Arc::clone(&faux) as _);
    }
    ModelRegistry::new(config, keys, protocols)
}

const FX: &str = r#"{"providers":{
    "fx":{"baseUrl":"http://fx","api":"openai-completions","apiKey":"k1","models":[{"id":"m1"},{"id":"m2"}]},
    "nokey":{"baseUrl":"http://n","api":"openai-completions","apiKey":"$NOPE","models":[{"id":"m1"}]}}}"#;

fn faux(visibility: Visibility) -> RegisteredProvider {
    RegisteredProvider {
        id: "faux".to_owned(),
        name: "Faux".to_owned(),
        models: vec![Arc::new(FauxProvider::model())],
        protocol: None,
        key: ProviderKey::NotNeeded,
        visibility,
    }
}

fn available(registry: &ModelRegistry) -> Vec<String> {
    registry.available().iter().map(|m| format!("{}/{}", m.provider, m.id)).collect()
}

#[test]
fn finding_a_custom_model_does_not_touch_the_catalogue() {
    let registry = registry(FX, "{}", &[("ANTHROPIC_API_KEY", "k")]);
    let model = registry.find("fx", "m1").unwrap();
    registry.request_auth(&model, None).unwrap();
    assert!(registry.has_key("fx"));
    assert!(registry.find("fx", "none").is_none());
    assert_eq!(registry.provider_id("FX"), Some("fx"));
    assert!(registry.find("anthropic", "claude-sonnet-5").is_some());
    assert_eq!(registry.loaded().count(), 0);
}

#[test]
fn listing_parses_only_providers_with_a_key() {
    let registry = registry(FX, "{}", &[("GROQ_API_KEY", "k")]);
    let models = available(&registry);
    assert!(models.contains(&"groq/openai/gpt-oss-120b".to_owned()));
    assert!(models.ends_with(&["fx/m1".to_owned(), "fx/m2".to_owned()]), "{models:?}");
    assert_eq!(registry.loaded().collect::<Vec<_>>(), ["groq"]);
    let listed = registry.provider_ids().into_iter().flat_map(|id| registry.models(id));
    assert_eq!(listed.count(), 1698 + 3);
}

#[test]
fn models_whose_protocol_is_not_spoken_are_not_available() {
    let registry = registry("{}", "{}", &[("GEMINI_API_KEY", "k"), ("OPENCODE_API_KEY", "k")]);
    let models = registry.available();
    assert!(!models.iter().any(|model| model.provider == "google"));
    assert!(models.iter().any(|model| model.provider == "opencode"));
    assert!(models.iter().all(|model| registry.speaks(model)));
    assert!(registry.supported("google").is_err());
    assert!(registry.supported("opencode").is_ok() && registry.supported("fx").is_ok());
}

#[test]
fn a_broken_file_leaves_built_in_models_working() {
    let registry = registry("{ nope", "{}", &[("GROQ_API_KEY", "k")]);
    assert_eq!(registry.config_problems().len(), 1);
    assert!(registry.find("groq", "openai/gpt-oss-120b").is_some());
}

#[test]
fn an_address_and_headers_alone_redirect_a_built_in_provider() {
    let models = r#"{"providers":{"groq":{"baseUrl":"http://proxy","headers":{"X-H":"v"},
        "compat":{"supportsStore":true}}}}"#;
    let registry = registry(models, "{}", &[("GROQ_API_KEY", "k")]);
    let model = registry.find("groq", "openai/gpt-oss-120b").unwrap();
    assert_eq!(model.base_url, "http://proxy");
    assert!(model.reasoning);
    assert_eq!(model.compat.as_ref().unwrap()["supportsStore"], true);
    let auth = registry.request_auth(&model, None).unwrap();
    assert_eq!(auth.api_key, Some(Secret::new("k")));
    assert_eq!(auth.headers["x-h"].as_deref(), Some("v"));
    assert_eq!(registry.models("groq").len(), 7);
}

#[test]
fn models_are_added_and_replaced_by_id_and_overrides_patch() {
    let models = r#"{"providers":{"openrouter":{"models":[{"id":"custom"},{"id":"openai/gpt-4o","name":"Mine"}],
        "modelOverrides":{"openai/gpt-4o-mini":{"maxTokens":77},"nope":{"name":"x"}}}}}"#;
    let registry = registry(models, "{}", &[]);
    let custom = registry.find("openrouter", "custom").unwrap();
    assert_eq!(custom.api, "openai-completions");
    assert_eq!(custom.base_url, "https://openrouter.ai/api/v1");
    assert_eq!((custom.context_window, custom.max_tokens), (128_000, 16_384));
    let replaced = registry.find("openrouter", "openai/gpt-4o").unwrap();
    assert_eq!((replaced.name.as_str(), replaced.context_window), ("Mine", 128_000));
    let patched = registry.find("openrouter", "openai/gpt-4o-mini").unwrap();
    assert_eq!(patched.max_tokens, 77);
    assert!(patched.sees_images());
    assert!(registry.find("openrouter", "nope").is_none());
    assert_eq!(registry.models("openrouter").len(), 418);
}

#[test]
fn registered_providers_come_last_and_can_be_changed_by_the_file() {
    let models = r#"{"providers":{"faux":{"modelOverrides":{"faux-1":{"name":"Changed"}}}}}"#;
    let mut registry = registry(models, "{}", &[]);
    registry.register(faux(Visibility::Listed));
    let model = registry.find("faux", "faux-1").unwrap();
    assert_eq!(model.name, "Changed");
    assert_eq!(available(&registry), ["faux/faux-1"]);
    assert_eq!(registry.provider_name("faux"), "Faux");
    let auth = registry.request_auth(&model, None).unwrap();
    assert_eq!((auth.api_key, auth.source), (None, None));
}

#[test]
fn a_provider_on_request_is_found_by_name_and_nowhere_listed() {
    let mut registry = registry("{}", "{}", &[]);
    registry.register(faux(Visibility::OnRequest));
    assert!(registry.find("faux", "faux-1").is_some());
    assert_eq!(registry.provider_id("faux"), Some("faux"));
    assert!(available(&registry).is_empty());
    assert!(!registry.provider_ids().contains(&"faux"));
}

#[test]
fn a_registered_provider_may_need_a_key() {
    let mut registry = registry("{}", r#"{"stored":{"type":"api_key","key":"s"}}"#, &[("K", "t")]);
    for (id, key, expected) in [
        ("template", ProviderKey::Template(Template::parse("$K")), Some("t")),
        ("stored", ProviderKey::Stored, Some("s")),
        ("none", ProviderKey::Stored, None),
    ] {
        registry.register(RegisteredProvider {
            id: id.to_owned(),
            key,
            ..faux(Visibility::Listed)
        });
        let model = Model { provider: id.to_owned(), ..FauxProvider::model() };
        let key = registry.request_auth(&model, None).ok().and_then(|auth| auth.api_key);
        assert_eq!(key.as_ref().map(Secret::expose), expected, "{id}");
        assert_eq!(registry.has_key(id), expected.is_some(), "{id}");
    }
}

#[test]
fn key_and_header_values_are_resolved_for_each_request() {
    let models = r#"{"providers":{"h":{"baseUrl":"http://h","api":"openai-completions","apiKey":"!print",
        "authHeader":true,"headers":{"x-h":"a-${KK}-$$-$!","X-Both":"provider"},
        "models":[{"id":"m","headers":{"x-both":"model"}},{"id":"n"}]}}}"#;
    let registry = registry(models, "{}", &[("KK", "kkk")]);
    let auth = registry.request_auth(&registry.find("h", "m").unwrap(), None).unwrap();
    assert_eq!(auth.api_key, Some(Secret::new("print")));
    let headers: Vec<(&str, &str)> = auth
        .headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_deref().unwrap_or_default()))
        .collect();
    assert_eq!(
        headers,
        [("authorization", "Bearer print"), ("x-h", "a-kkk-$-!"), ("x-both", "model")]
    );
    let explicit = Secret::new("cli");
    let auth = registry.request_auth(&registry.find("h", "n").unwrap(), Some(&explicit)).unwrap();
    assert_eq!(auth.headers["authorization"].as_deref(), Some("Bearer cli"));
    assert_eq!(auth.headers["x-both"].as_deref(), Some("provider"));
    let mut options = StreamOptions::default();
    auth.apply(&mut options);
    assert_eq!(options.api_key.as_deref(), Some("cli"));
    assert_eq!(options.headers["x-h"].as_deref(), Some("a-kkk-$-!"));
    assert!(!format!("{auth:?}").contains("cli"));
}

#[test]
fn keys_travel_as_the_provider_table_says() {
    let environment = [
        ("ANTHROPIC_AUTH_TOKEN", "tok"),
        ("CLOUDFLARE_API_KEY", "cf"),
        ("CLOUDFLARE_ACCOUNT_ID", "acc"),
        ("CLOUDFLARE_GATEWAY_ID", "gw"),
    ];
    let registry = registry("{}", "{}", &environment);
    let anthropic = registry.find("anthropic", "claude-haiku-4-5").unwrap();
    let auth = registry.request_auth(&anthropic, None).unwrap();
    assert_eq!(auth.api_key, None);
    assert_eq!(auth.headers["authorization"].as_deref(), Some("Bearer tok"));

    let gateway = registry.default_model("cloudflare-ai-gateway").unwrap();
    let auth = registry.request_auth(&gateway, None).unwrap();
    assert_eq!(auth.base_url, "https://gateway.ai.cloudflare.com/v1/acc/gw/compat");
    assert_eq!(auth.addressed(&gateway).base_url, auth.base_url);
    assert_eq!(auth.api_key, None);
    assert_eq!(auth.headers["cf-aig-authorization"].as_deref(), Some("Bearer cf"));
    assert_eq!((&auth.headers["authorization"], &auth.headers["x-api-key"]), (&None, &None));
}

#[test]
fn an_address_can_come_from_the_environment() {
    let resource = [("AZURE_OPENAI_API_KEY", "k"), ("AZURE_OPENAI_RESOURCE_NAME", "res")];
    let registry = registry("{}", "{}", &resource);
    let model = registry.find("azure", "deepseek-v4-pro").unwrap();
    let auth = registry.request_auth(&model, None).unwrap();
    assert_eq!(auth.base_url, "https://res.openai.azure.com/openai/v1");
}

#[test]
fn a_missing_key_is_explained_without_secrets() {
    let models = r#"{"providers":{"hm":{"baseUrl":"http://h","api":"faux","apiKey":"sk-1",
        "headers":{"x-h":"sk-2-$NOPE"},"models":[{"id":"m"}]}}}"#;
    let auth = r#"{"groq":{"type":"api_key","key":"sk-3-$NOPE"}}"#;
    let registry = registry(models, auth, &[]);
    let error = |provider: &str| {
        let model = registry.default_model(provider).unwrap();
        registry.request_auth(&model, None).unwrap_err().to_string()
    };
    let text = error("openai");
    assert!(text.starts_with("No API key found for openai.\n\n"), "{text}");
    for part in ["OPENAI_API_KEY", "auth.json", "models.json", "--api-key"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = error("groq");
    assert!(text.contains("but environment variable NOPE is not set."), "{text}");
    assert!(!text.contains("sk-"), "{text}");
    assert_eq!(
        error("hm"),
        "The header \"x-h\" of hm could not be resolved: environment variable NOPE is not set"
    );
}

#[test]
fn files_of_the_agent_directory_are_read_and_their_problems_kept() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("models.json"), FX).unwrap();
    std::fs::write(
        folder.path().join("auth.json"),
        r#"{"nokey":{"type":"api_key","key":"!printf '%s' \"$MINE\""},"fx":7}"#,
    )
    .unwrap();
    let environment = [("PATH", "/usr/bin:/bin"), ("MINE", "from a command")].into_iter().collect();
    let commands = ShellCommands::new(ProcessGroups::default());
    let registry = ModelRegistry::load(folder.path(), environment, commands, Protocols::empty());
    let auth = registry.request_auth(&registry.find("nokey", "m1").unwrap(), None).unwrap();
    assert_eq!(auth.api_key, Some(Secret::new("from a command")));
    assert_eq!(registry.credential_problems().count(), 1);
    assert!(registry.request_auth(&registry.find("fx", "m1").unwrap(), None).is_err());
}
