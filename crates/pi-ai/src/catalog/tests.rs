use super::*;
use crate::providers;
use crate::types::{Modality, ThinkingLevel};

#[test]
fn every_embedded_line_is_a_chat_model_of_its_provider() {
    let catalog = Catalog::embedded();
    let mut count = 0;
    for provider in catalog.providers() {
        let ids: Vec<&str> = catalog.ids(provider).collect();
        let models = catalog.models(provider);
        assert_eq!(models.len(), ids.len(), "{provider}");
        for (model, id) in models.iter().zip(&ids) {
            assert_eq!(model.id, *id);
            assert_eq!(model.provider, provider, "{id}");
            assert!(model.context_window > 0 && model.max_tokens > 0, "{provider}/{id}");
            assert!(!model.input.contains(&Modality::Other), "{provider}/{id}");
        }
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{provider} is sorted");
        count += models.len();
    }
    assert_eq!(count, 1698);
    assert_eq!(catalog.providers().count(), 42);
}

#[test]
fn default_models_of_providers_exist() {
    let catalog = Catalog::embedded();
    for provider in providers::all() {
        if let Some(model) = &provider.default_model {
            assert!(catalog.find(&provider.id, model).is_some(), "{}/{model}", provider.id);
        }
    }
}

#[test]
fn facts_of_a_model_survive() {
    let model = Catalog::embedded().find("anthropic", "claude-fable-5").unwrap();
    assert_eq!(model.name, "Claude Fable 5");
    assert_eq!(model.api, "anthropic-messages");
    assert_eq!(model.base_url, "https://api.anthropic.com");
    assert!(model.reasoning && model.sees_images());
    assert_eq!((model.context_window, model.max_tokens), (1_000_000, 128_000));
    assert_eq!((model.cost.input, model.cost.cache_write), (10.0, 12.5));
    let levels = model.thinking_level_map.as_ref().unwrap();
    assert_eq!(levels.get(&ThinkingLevel::Off), Some(&None));
    assert!(model.compat.as_ref().unwrap().contains_key("allowedFallbackModels"));
}

#[test]
fn no_model_names_another_product_in_its_headers() {
    let catalog = Catalog::embedded();
    for provider in catalog.providers() {
        for model in catalog.models(provider) {
            for name in model.headers.iter().flat_map(|headers| headers.keys()) {
                assert_eq!(name, "NVCF-POLL-SECONDS", "{provider}/{}", model.id);
            }
        }
    }
}

#[test]
fn only_what_is_asked_for_is_parsed() {
    let catalog = Catalog::embedded();
    assert!(catalog.find("anthropic", "claude-sonnet-5").is_some());
    assert!(catalog.find("anthropic", "no such model").is_none());
    assert_eq!(catalog.ids("openrouter").count(), 417);
    assert_eq!(catalog.loaded().count(), 0);
    catalog.models("groq");
    assert_eq!(catalog.loaded().collect::<Vec<_>>(), ["groq"]);
    let first = catalog.find("groq", "openai/gpt-oss-120b").unwrap();
    let second = catalog.find("groq", "openai/gpt-oss-120b").unwrap();
    assert!(Arc::ptr_eq(&first, &second));
}

#[test]
fn foreign_lines_and_keys_do_no_harm() {
    let catalog = Catalog::new(&[(
        "acme",
        concat!(
            "[\n",
            r#"{"id":"image","provider":"acme","type":"image","name":"I","api":"pictures"},"#,
            "\n",
            r#"{"id":"odd","provider":"acme","name":7},"#,
            "\n",
            r#"{"id":"chat","provider":"acme","type":"chat","name":"C","api":"wire","lab":"x","#,
            r#""cost":{"input":-1,"output":2,"cacheRead":0,"cacheWrite":0,"tiers":"#,
            r#"[{"inputTokensAbove":5,"input":-3,"output":1,"cacheRead":0,"cacheWrite":0}]}}"#,
            "\n]\n"
        ),
    )]);
    let ids: Vec<&str> = catalog.models("acme").iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["chat"]);
    let cost = &catalog.models("acme")[0].cost;
    assert_eq!((cost.input, cost.output), (0.0, 2.0));
    assert_eq!(cost.tiers.as_ref().unwrap()[0].input, 0.0);
    for id in ["image", "odd"] {
        assert!(Catalog::new(&[("acme", "")]).find("acme", id).is_none());
        assert!(catalog.find("acme", id).is_none());
    }
    assert!(catalog.models("nobody").is_empty());
}
