//! The built-in providers: names, protocols, defaults, and which variables hold their keys.
//!
//! One data table, `data/providers.json`, one provider a line, in the order in which start-up looks
//! for a usable one. How a provider differs on the wire is told by compat flags of its models, never
//! here. Nothing here reads the environment.

use serde::Deserialize;

use crate::auth::Environment;
use crate::rows::{row_id, rows};

/// A built-in provider.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Provider {
    pub id: String,
    pub name: String,
    /// Where most of its models live; each model carries its own.
    pub base_url: Option<String>,
    /// Protocols its chat models speak. Empty: it has no chat models.
    pub apis: Vec<String>,
    /// Id of the model to start with.
    pub default_model: Option<String>,
    /// What its key is called, for people.
    pub key_name: Option<String>,
    /// Name of its sign-in, which this build does not offer.
    pub login: Option<String>,
    /// Variables that may hold the key, in look-up order.
    pub keys: Vec<KeyVariable>,
    /// How keys are sent that say nothing else.
    #[serde(default)]
    pub send: KeySend,
    /// Groups of variables of which one each must be set beside the key.
    #[serde(default)]
    pub needs: Vec<Vec<String>>,
    /// Sets of variables that stand for a key: the protocol signs with what they point to.
    #[serde(default)]
    pub ambient: Vec<Vec<String>>,
    /// Addresses to try in order for models without one; `{NAME}` is a variable.
    #[serde(default)]
    pub base_urls: Vec<String>,
    /// Keys that begin so belong to another application's sign-in and are not used.
    pub refused_key_prefix: Option<String>,
}

/// A variable that may hold a key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KeyVariable {
    pub env: String,
    /// Absent: as the provider's keys are sent.
    pub send: Option<KeySend>,
}

/// How a key travels.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeySend {
    /// As the protocol sends keys.
    #[default]
    Protocol,
    /// `Authorization: Bearer`, whatever the protocol does.
    Bearer,
    /// `Bearer` in the header named, with the protocol's own key headers taken out.
    Header(String),
}

/// No chat model of a provider can be reached by this build.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsupported {
    #[error("Provider {provider:?} has no chat models.")]
    NoChat { provider: String },
    #[error(
        "Provider {provider:?} speaks {}, which this build of pi does not. Choose a model of another provider (see --list-models).",
        apis.join(" and ")
    )]
    Protocols { provider: String, apis: Vec<String> },
}

/// A variable an address refers to is not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("environment variable {variable} is not set")]
pub struct UnsetInUrl {
    pub variable: String,
}

const TABLE: &str = include_str!("../data/providers.json");

/// Every built-in provider, in start-up order.
pub fn all() -> Vec<Provider> {
    rows(TABLE).filter_map(|row| serde_json::from_str(row).ok()).collect()
}

/// One provider. Parses no other.
pub fn find(id: &str) -> Option<Provider> {
    let line = rows(TABLE).find(|row| row_id(row) == Some(id))?;
    serde_json::from_str(line).ok()
}

/// Ids of the built-in providers, in start-up order, without parsing them.
pub fn ids() -> impl Iterator<Item = &'static str> {
    rows(TABLE).filter_map(row_id)
}

impl Provider {
    /// Whether at least one of the provider's protocols is among those `speaks` knows.
    ///
    /// # Errors
    /// A sentence for people.
    pub fn supported(&self, speaks: impl Fn(&str) -> bool) -> Result<(), Unsupported> {
        let provider = self.id.clone();
        if self.apis.is_empty() {
            return Err(Unsupported::NoChat { provider });
        }
        if self.apis.iter().any(|api| speaks(api)) {
            return Ok(());
        }
        Err(Unsupported::Protocols { provider, apis: self.apis.clone() })
    }

    /// The first needed group of variables of which none is set, as `A or B`.
    pub fn missing_need(&self, environment: &Environment) -> Option<String> {
        let unset =
            |group: &&Vec<String>| !group.iter().any(|name| environment.get(name).is_some());
        self.needs.iter().find(unset).map(|group| group.join(" or "))
    }

    /// Whether signing material lies in the environment.
    pub fn has_ambient(&self, environment: &Environment) -> bool {
        let set = |names: &Vec<String>| names.iter().all(|name| environment.get(name).is_some());
        self.ambient.iter().any(set)
    }
}

/// Puts variables in for `{NAME}` in an address. Other braces stay as they are.
///
/// # Errors
/// A variable is not set.
pub fn fill_url(url: &str, environment: &Environment) -> Result<String, UnsetInUrl> {
    let is_name = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let mut filled = String::new();
    let mut rest = url;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        match after.split_once('}').filter(|(name, _)| is_name(name)) {
            Some((name, tail)) => {
                let value = environment.get(name);
                filled.push_str(value.ok_or_else(|| UnsetInUrl { variable: name.to_owned() })?);
                rest = tail;
            }
            None => {
                filled.push('{');
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find_or_panic(id: &str) -> Provider {
        find(id).unwrap_or_else(|| panic!("{id}"))
    }

    #[test]
    fn the_table_holds_every_provider_once() {
        let all = all();
        assert_eq!(all.len(), 43);
        let ids: Vec<&str> = all.iter().map(|provider| provider.id.as_str()).collect();
        assert_eq!(ids, super::ids().collect::<Vec<_>>());
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), 43);
        for id in ids {
            assert_eq!(find_or_panic(id).id, id);
        }
        assert!(find("nobody").is_none());
    }

    #[test]
    fn start_up_looks_at_providers_in_the_measured_order() {
        let ids: Vec<&str> = ids().collect();
        let place = |id: &str| ids.iter().position(|other| *other == id);
        for pair in [
            ("anthropic", "openai"),
            ("openai", "azure"),
            ("deepseek", "google"),
            ("openrouter", "groq"),
            ("groq", "cerebras"),
            ("huggingface", "together"),
            ("meta", "cloudflare-workers-ai"),
        ] {
            assert!(place(pair.0) < place(pair.1), "{pair:?}");
        }
    }

    #[test]
    fn variables_stand_in_look_up_order() {
        let variables = |id: &str| -> Vec<String> {
            find_or_panic(id).keys.into_iter().map(|key| key.env).collect()
        };
        let cases: &[(&str, &[&str])] = &[
            ("anthropic", &["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_OAUTH_TOKEN", "ANTHROPIC_API_KEY"]),
            ("openai", &["OPENAI_API_KEY"]),
            ("openai-codex", &[]),
            ("google", &["GEMINI_API_KEY"]),
            ("huggingface", &["HF_TOKEN"]),
            ("github-copilot", &["COPILOT_GITHUB_TOKEN"]),
            ("vercel-ai-gateway", &["AI_GATEWAY_API_KEY"]),
            ("moonshotai-cn", &["MOONSHOT_API_KEY"]),
            (
                "qwen-token-plan-cn",
                &["QWEN_TOKEN_PLAN_TEAM_CN_API_KEY", "QWEN_TOKEN_PLAN_CN_API_KEY"],
            ),
            (
                "qwen-token-plan-individual",
                &["QWEN_TOKEN_PLAN_INDIVIDUAL_API_KEY", "QWEN_TOKEN_PLAN_API_KEY"],
            ),
            ("xiaomi-token-plan-ams", &["XIAOMI_TOKEN_PLAN_AMS_API_KEY"]),
            ("zai-coding-cn", &["ZAI_CODING_CN_API_KEY"]),
        ];
        for (id, expected) in cases {
            assert_eq!(variables(id), *expected, "{id}");
        }
    }

    #[test]
    fn keys_are_sent_as_the_data_says() {
        let anthropic = find_or_panic("anthropic");
        assert_eq!(anthropic.keys[0].send, Some(KeySend::Bearer));
        assert_eq!(anthropic.keys[2].send, None);
        assert_eq!(anthropic.send, KeySend::Protocol);
        assert_eq!(find_or_panic("github-copilot").send, KeySend::Bearer);
        let gateway = find_or_panic("cloudflare-ai-gateway");
        assert_eq!(gateway.send, KeySend::Header("cf-aig-authorization".to_owned()));
    }

    #[test]
    fn a_provider_without_a_spoken_protocol_says_so() {
        let speaks = |api: &str| api == "anthropic-messages" || api == "openai-completions";
        for id in ["anthropic", "groq", "openrouter", "opencode", "fireworks"] {
            assert_eq!(find_or_panic(id).supported(speaks), Ok(()), "{id}");
        }
        let error = find_or_panic("google").supported(speaks).unwrap_err().to_string();
        assert!(
            error.contains("\"google\" speaks google-generative-ai, which this build"),
            "{error}"
        );
        let error = find_or_panic("typesafe").supported(speaks).unwrap_err().to_string();
        assert_eq!(error, "Provider \"typesafe\" has no chat models.");
    }

    #[test]
    fn needs_and_ambient_credentials_are_read_from_the_environment() {
        let environment = |names: &[&str]| -> Environment {
            names.iter().map(|name| (name.to_string(), "x".to_owned())).collect()
        };
        let gateway = find_or_panic("cloudflare-ai-gateway");
        let account = environment(&["CLOUDFLARE_ACCOUNT_ID"]);
        assert_eq!(gateway.missing_need(&account).as_deref(), Some("CLOUDFLARE_GATEWAY_ID"));
        let both = environment(&["CLOUDFLARE_ACCOUNT_ID", "CLOUDFLARE_GATEWAY_ID"]);
        assert_eq!(gateway.missing_need(&both), None);
        let azure = find_or_panic("azure");
        assert_eq!(
            azure.missing_need(&Environment::default()).as_deref(),
            Some("AZURE_OPENAI_BASE_URL or AZURE_OPENAI_RESOURCE_NAME")
        );
        let bedrock = find_or_panic("amazon-bedrock");
        assert!(bedrock.has_ambient(&environment(&["AWS_PROFILE"])));
        assert!(!bedrock.has_ambient(&environment(&["AWS_ACCESS_KEY_ID"])));
    }

    #[test]
    fn addresses_are_filled_from_the_environment() {
        let environment: Environment = [("ACC", "a1"), ("GW_2", "g")].into_iter().collect();
        let fill = |url| fill_url(url, &environment);
        assert_eq!(fill("https://h/{ACC}/{GW_2}/x").as_deref(), Ok("https://h/a1/g/x"));
        assert_eq!(fill("https://{location}-h/{").as_deref(), Ok("https://{location}-h/{"));
        let error = fill("https://h/{NOPE}").unwrap_err();
        assert_eq!(error.to_string(), "environment variable NOPE is not set");
    }
}
