//! Checks the fields of `models.json` one by one, so that each fault can be named.

use indexmap::IndexMap;
use pi_ai::auth::Template;
use pi_ai::{
    InputLimits, Modality, ModelCost, PromptCache, ThinkingLevel, ThinkingLevelMap, providers,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use super::{ModelConfig, ProviderConfig};

type Check = fn(&Value) -> bool;
type LevelParams = IndexMap<ThinkingLevel, Map<String, Value>>;

/// Fields of a model, what they must be, and how that is said.
const MODEL_FIELDS: &[(&str, Check, &str)] = &[
    ("name", is::<String>, "a text"),
    ("api", is::<String>, "a text"),
    ("baseUrl", is::<String>, "a text"),
    ("reasoning", is::<bool>, "true or false"),
    (
        "thinkingLevelMap",
        is::<ThinkingLevelMap>,
        "an object of thinking levels with a text or null each",
    ),
    ("input", is_input, "a list of \"text\" and \"image\""),
    ("cost", is::<ModelCost>, "an object of prices"),
    ("contextWindow", is::<u64>, "a whole number"),
    ("maxTokens", is::<u64>, "a whole number"),
    ("compat", is::<Map<String, Value>>, "an object"),
    ("promptCache", is::<PromptCache>, "an object with seconds for \"short\" and \"long\""),
    ("inputLimits", is::<InputLimits>, "an object of limits"),
    ("samplingParams", is::<Map<String, Value>>, "an object"),
    (
        "samplingParamsByThinkingLevel",
        is::<LevelParams>,
        "an object of thinking levels with an object each",
    ),
];

/// A field and what is wrong with it.
pub(super) struct Fault {
    pub(super) field: String,
    pub(super) problem: String,
}

#[derive(Default)]
pub(super) struct Reader {
    faults: Vec<Fault>,
}

impl Reader {
    pub(super) fn into_faults(self) -> Vec<Fault> {
        self.faults
    }

    pub(super) fn document(&mut self, document: Value) -> IndexMap<String, ProviderConfig> {
        let mut found = IndexMap::new();
        let mut document = match document {
            Value::Object(document) => document,
            Value::Null => return found,
            _ => {
                self.report("(file)", "must be an object");
                return found;
            }
        };
        for (id, provider) in self.object(&mut document, "providers", "providers") {
            let place = format!("providers.{id}");
            match provider {
                Value::Object(fields) => {
                    let provider = self.provider(&id, fields, &place);
                    found.insert(id, provider);
                }
                _ => self.report(&place, "must be an object"),
            }
        }
        found
    }

    fn provider(&mut self, id: &str, mut fields: Map<String, Value>, at: &str) -> ProviderConfig {
        if fields.contains_key("oauth") {
            self.report(&format!("{at}.oauth"), "signing in is not supported by this build of pi");
        }
        let mut provider = ProviderConfig {
            name: self.text(&mut fields, "name", at),
            base_url: self.text(&mut fields, "baseUrl", at),
            api: self.text(&mut fields, "api", at),
            key: self.text(&mut fields, "apiKey", at).map(|text| Template::parse(&text)),
            headers: self.headers(&mut fields, at),
            auth_header: self.flag(&mut fields, "authHeader", at),
            compat: self.object(&mut fields, "compat", &format!("{at}.compat")),
            ..ProviderConfig::default()
        };
        let builtin = providers::ids().any(|builtin| builtin == id);
        for (index, model) in self.list(&mut fields, "models", at).into_iter().enumerate() {
            let at = format!("{at}.models.{index}");
            if let Some((id, model)) = self.listed_model(model, &at)
                && (builtin || self.is_reachable(&provider, &model, &at))
            {
                provider.models.insert(id, model);
            }
        }
        let overrides = format!("{at}.modelOverrides");
        for (id, model) in self.object(&mut fields, "modelOverrides", &overrides) {
            let at = format!("{overrides}.{id}");
            if let Some(model) = self.model(model, &at) {
                provider.overrides.insert(id, model);
            }
        }
        provider
    }

    /// A provider that is not built in must say where its models are and what they speak.
    fn is_reachable(&mut self, provider: &ProviderConfig, model: &ModelConfig, at: &str) -> bool {
        let mut reachable = true;
        for (name, of_provider) in [("baseUrl", &provider.base_url), ("api", &provider.api)] {
            if of_provider.is_none() && !model.fields.contains_key(name) {
                let problem =
                    format!("no \"{name}\" specified; set it for the provider or the model");
                self.report(at, problem);
                reachable = false;
            }
        }
        reachable
    }

    fn listed_model(&mut self, model: Value, at: &str) -> Option<(String, ModelConfig)> {
        let id = match model.get("id") {
            Some(Value::String(id)) if !id.is_empty() => id.clone(),
            Some(_) => {
                self.report(&format!("{at}.id"), "must be a text");
                return None;
            }
            None => {
                self.report(&format!("{at}.id"), "is missing");
                return None;
            }
        };
        self.model(model, at).map(|model| (id, model))
    }

    /// `None` when any field is wrong: half a model would behave in ways nobody asked for.
    fn model(&mut self, model: Value, at: &str) -> Option<ModelConfig> {
        let Value::Object(mut all) = model else {
            self.report(at, "must be an object");
            return None;
        };
        let before = self.faults.len();
        let headers = self.headers(&mut all, at);
        let mut fields = Map::new();
        for (name, check, expected) in MODEL_FIELDS {
            let Some(mut value) = all.shift_remove(*name) else { continue };
            make_whole(&mut value);
            if check(&value) {
                fields.insert((*name).to_owned(), value);
            } else {
                self.report(&format!("{at}.{name}"), format!("must be {expected}"));
            }
        }
        (self.faults.len() == before).then_some(ModelConfig { fields, headers })
    }

    fn headers(&mut self, from: &mut Map<String, Value>, at: &str) -> IndexMap<String, Template> {
        let at = format!("{at}.headers");
        let mut headers = IndexMap::new();
        for (name, value) in self.object(from, "headers", &at) {
            match value {
                // Names are compared without regard to case, so they are kept in one.
                Value::String(text) => {
                    headers.insert(name.to_ascii_lowercase(), Template::parse(&text));
                }
                _ => self.report(&format!("{at}.{name}"), "must be a text"),
            }
        }
        headers
    }

    fn text(&mut self, from: &mut Map<String, Value>, name: &str, at: &str) -> Option<String> {
        match from.shift_remove(name)? {
            Value::String(text) => Some(text),
            _ => {
                self.report(&format!("{at}.{name}"), "must be a text");
                None
            }
        }
    }

    fn flag(&mut self, from: &mut Map<String, Value>, name: &str, at: &str) -> bool {
        match from.shift_remove(name) {
            Some(Value::Bool(flag)) => flag,
            None => false,
            Some(_) => {
                self.report(&format!("{at}.{name}"), "must be true or false");
                false
            }
        }
    }

    fn object(
        &mut self,
        from: &mut Map<String, Value>,
        name: &str,
        at: &str,
    ) -> Map<String, Value> {
        match from.shift_remove(name) {
            Some(Value::Object(fields)) => fields,
            None => Map::new(),
            Some(_) => {
                self.report(at, "must be an object");
                Map::new()
            }
        }
    }

    fn list(&mut self, from: &mut Map<String, Value>, name: &str, at: &str) -> Vec<Value> {
        match from.shift_remove(name) {
            Some(Value::Array(items)) => items,
            None => Vec::new(),
            Some(_) => {
                self.report(&format!("{at}.{name}"), "must be a list");
                Vec::new()
            }
        }
    }

    fn report(&mut self, field: &str, problem: impl Into<String>) {
        self.faults.push(Fault { field: field.to_owned(), problem: problem.into() });
    }
}

fn is<T: DeserializeOwned>(value: &Value) -> bool {
    T::deserialize(value).is_ok()
}

fn is_input(value: &Value) -> bool {
    Vec::<Modality>::deserialize(value).is_ok_and(|kinds| !kinds.contains(&Modality::Other))
}

/// Writes numbers such as `1e6` and `128000.0` as the whole numbers they are.
fn make_whole(value: &mut Value) {
    match value {
        Value::Number(number) => {
            // 2^53: beyond it a double is no longer an exact integer.
            if let Some(float) = number.as_f64().filter(|_| number.is_f64())
                && float.fract() == 0.0
                && float.abs() < 9_007_199_254_740_992.0
            {
                #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
                let whole = float as i64;
                *number = Number::from(whole);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(make_whole),
        Value::Object(fields) => fields.values_mut().for_each(make_whole),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
