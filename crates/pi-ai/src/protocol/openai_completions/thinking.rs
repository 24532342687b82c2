//! The body fields that ask for thinking, in each endpoint's dialect.

use serde_json::{Map, Value, json};

use super::compat::{Compat, ThinkingFormat};
use super::options::Options;
use crate::thinking::{budget, budget_within, can_be_off, word};
use crate::types::{Model, StreamOptions, ThinkingLevel};

/// Adds what asks the model to think at the level of `options`, or not to. Models that do not reason
/// get nothing.
pub(super) fn add_thinking(
    body: &mut Map<String, Value>,
    model: &Model,
    compat: &Compat,
    stream: &StreamOptions,
    options: &Options,
) {
    if !model.reasoning {
        return;
    }
    let ask = Ask::new(model, compat, stream, options);
    match compat.thinking_format {
        ThinkingFormat::OpenAi => ask.add_effort_or_off(body),
        ThinkingFormat::OpenRouter => {
            if let Some(effort) = ask.effort_or_named_off("none") {
                body.insert("reasoning".into(), json!({"effort": effort}));
            }
        }
        ThinkingFormat::DeepSeek => {
            if ask.enabled {
                body.insert("thinking".into(), json!({"type": "enabled"}));
            } else if can_be_off(model) {
                body.insert("thinking".into(), json!({"type": "disabled"}));
            }
            ask.add_effort(body);
        }
        ThinkingFormat::Zai => {
            let thinking = if ask.enabled {
                json!({"type": "enabled", "clear_thinking": false})
            } else {
                json!({"type": "disabled"})
            };
            body.insert("thinking".into(), thinking);
            ask.add_effort(body);
        }
        ThinkingFormat::Together => {
            body.insert("reasoning".into(), json!({"enabled": ask.enabled}));
            ask.add_effort(body);
        }
        ThinkingFormat::Qwen => {
            body.insert("enable_thinking".into(), json!(ask.enabled));
            ask.add_effort(body);
        }
        ThinkingFormat::QwenChatTemplate => {
            let kwargs = json!({"enable_thinking": ask.enabled, "preserve_thinking": true});
            body.insert("chat_template_kwargs".into(), kwargs);
        }
        ThinkingFormat::ChatTemplate => {
            ask.add_template(body, "chat_template_kwargs", &compat.chat_template_kwargs);
        }
        ThinkingFormat::Baseten => {
            ask.add_template(body, "chat_template_args", &compat.chat_template_args);
            ask.add_effort_or_off(body);
        }
        ThinkingFormat::StringThinking => {
            if let Some(effort) = ask.effort_or_named_off("none") {
                body.insert("thinking".into(), json!(effort));
            }
        }
        ThinkingFormat::AntLing => match ask.mapped_effort() {
            Some(effort) => drop(body.insert("reasoning".into(), json!({"effort": effort}))),
            None if !ask.enabled => ask.add_effort_or_off(body),
            None => {}
        },
    }
    if let Some(field) = &compat.thinking_budget_field
        && let Some(tokens) = ask.budget
    {
        body.insert(field.clone(), json!(tokens));
    }
}

/// What is asked for, and the model's words for it.
struct Ask<'a> {
    model: &'a Model,
    level: ThinkingLevel,
    enabled: bool,
    takes_effort: bool,
    /// Thinking tokens, when any are left beside the answer.
    budget: Option<u64>,
}

impl<'a> Ask<'a> {
    fn new(model: &'a Model, compat: &Compat, stream: &StreamOptions, options: &Options) -> Self {
        let level = options.level();
        let limit = stream.max_tokens.unwrap_or(model.max_tokens);
        let tokens = budget_within(budget(level, &options.thinking_budgets), limit);
        Self {
            model,
            level,
            enabled: level != ThinkingLevel::Off,
            takes_effort: compat.reasoning_effort,
            budget: (tokens > 0).then_some(tokens),
        }
    }

    /// The model's word for the level, if its map has one.
    fn word(&self) -> Option<&'a str> {
        word(self.model, self.level)
    }

    /// The model's word, or the level's own name.
    fn effort(&self) -> Option<&'a str> {
        self.enabled.then(|| self.word().unwrap_or(self.level.as_str()))
    }

    fn mapped_effort(&self) -> Option<&'a str> {
        if self.enabled { self.word() } else { None }
    }

    /// The effort; when off the model's word for it or `off`, and nothing where off is impossible.
    fn effort_or_named_off(&self, off: &'a str) -> Option<&'a str> {
        if self.enabled {
            return self.effort();
        }
        can_be_off(self.model).then(|| self.word().unwrap_or(off))
    }

    fn add_effort(&self, body: &mut Map<String, Value>) {
        if self.takes_effort
            && let Some(effort) = self.effort()
        {
            body.insert("reasoning_effort".into(), json!(effort));
        }
    }

    /// The effort; when off only a word the model has for it.
    fn add_effort_or_off(&self, body: &mut Map<String, Value>) {
        if self.takes_effort
            && let Some(effort) = self.effort().or_else(|| self.word())
        {
            body.insert("reasoning_effort".into(), json!(effort));
        }
    }

    fn add_template(
        &self,
        body: &mut Map<String, Value>,
        field: &str,
        wanted: &Map<String, Value>,
    ) {
        let filled: Map<String, Value> = wanted
            .iter()
            .filter_map(|(name, value)| Some((name.clone(), self.template_value(value)?)))
            .collect();
        if !filled.is_empty() {
            body.insert(field.into(), Value::Object(filled));
        }
    }

    /// A value as it is, or what its `$var` stands for; `None` leaves the name out.
    fn template_value(&self, value: &Value) -> Option<Value> {
        let Some(variable) = value.get("$var").and_then(Value::as_str) else {
            return Some(value.clone());
        };
        let omit_when_off = value.get("omitWhenOff").and_then(Value::as_bool).unwrap_or(false);
        if omit_when_off && !self.enabled {
            return None;
        }
        match variable {
            "thinking.enabled" => Some(json!(self.enabled)),
            "thinking.effort" => self.effort().or_else(|| self.word()).map(Value::from),
            "thinking.budget" => self.budget.map(Value::from),
            _ => None,
        }
    }
}
