//! The settings this build acts on, with their defaults.
//!
//! Owns: their types and what stands in for those that are not there. Never: fails. Unknown keys stay in
//! [`Settings::raw`].

use indexmap::IndexMap;
use pi_agent::QueueMode;
use pi_agent::harness::RetrySettings;
use pi_ai::{ThinkingBudgets, ThinkingLevel};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::compaction::CompactionConfig;
use super::values::Values;

/// What holds for a run, after merging.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub default_provider: Option<String>,
    pub default_model: Option<String>,
    pub default_thinking_level: ThinkingLevel,
    /// By `provider/id`.
    pub model_thinking_levels: IndexMap<String, ThinkingLevel>,
    pub thinking_budgets: ThinkingBudgets,
    /// Patterns as in `--models`; `None` is every model.
    pub enabled_models: Option<Vec<String>>,
    pub steering_mode: QueueMode,
    pub follow_up_mode: QueueMode,
    /// Names, or `+name` and `-name`; see [`crate::tool_selection`].
    pub default_tools: Option<Vec<String>>,
    pub images: ImageSettings,
    pub http_proxy: Option<String>,
    /// Longest silence on the wire in milliseconds; `None` waits for ever.
    pub http_idle_timeout_ms: Option<u64>,
    /// Retries of whole answers.
    pub retry: RetrySettings,
    pub provider_retry: ProviderRetrySettings,
    pub compaction: CompactionConfig,
    /// As written, perhaps with `~`.
    pub shell_path: Option<String>,
    pub shell_command_prefix: Option<String>,
    /// As written: a name, or one for light and one for dark with a slash between them.
    pub theme: Option<String>,
    /// Whether requests may carry headers that name pi.
    pub enable_install_telemetry: bool,
    /// Every key of the merged files.
    pub raw: Map<String, Value>,
}

/// Retries of single HTTP requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderRetrySettings {
    /// Milliseconds; `None` takes `httpIdleTimeoutMs`.
    pub timeout_ms: Option<u64>,
    pub max_retries: u32,
    /// Longest wait a server may ask for in milliseconds; 0 takes any.
    pub max_retry_delay_ms: u64,
}

/// What happens to images on their way to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSettings {
    pub auto_resize: bool,
    pub block_images: bool,
}

/// What to do with a project nobody decided about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProjectTrust {
    #[default]
    Ask,
    Always,
    Never,
}

impl ProjectTrust {
    pub(super) fn of(global: &Map<String, Value>) -> Self {
        Values::new(global).parsed("defaultProjectTrust").unwrap_or_default()
    }
}

impl Settings {
    pub(super) fn from_values(raw: Map<String, Value>) -> Self {
        let values = Values::new(&raw);
        Self {
            default_provider: values.text("defaultProvider"),
            default_model: values.text("defaultModel"),
            default_thinking_level: values
                .parsed("defaultThinkingLevel")
                .unwrap_or(ThinkingLevel::Medium),
            model_thinking_levels: values.entries("modelThinkingLevels"),
            thinking_budgets: thinking_budgets(values),
            enabled_models: values.texts("enabledModels"),
            steering_mode: values.parsed("steeringMode").unwrap_or_default(),
            follow_up_mode: values.parsed("followUpMode").unwrap_or_default(),
            default_tools: values.texts("defaultTools"),
            images: ImageSettings {
                auto_resize: values.switch("images.autoResize", true),
                block_images: values.switch("images.blockImages", false),
            },
            http_proxy: values.text("httpProxy"),
            http_idle_timeout_ms: values.timeout("httpIdleTimeoutMs", 300_000),
            retry: retry(values),
            provider_retry: provider_retry(values),
            compaction: CompactionConfig::read(values),
            shell_path: values.text("shellPath"),
            shell_command_prefix: values.text("shellCommandPrefix"),
            theme: values.text("theme"),
            enable_install_telemetry: values.switch("enableInstallTelemetry", true),
            raw,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self::from_values(Map::new())
    }
}

fn thinking_budgets(values: Values<'_>) -> ThinkingBudgets {
    ThinkingBudgets {
        minimal: values.count("thinkingBudgets.minimal"),
        low: values.count("thinkingBudgets.low"),
        medium: values.count("thinkingBudgets.medium"),
        high: values.count("thinkingBudgets.high"),
    }
}

fn retry(values: Values<'_>) -> RetrySettings {
    let default = RetrySettings::default();
    RetrySettings {
        enabled: values.switch("retry.enabled", default.enabled),
        max_retries: values.small_count("retry.maxRetries").unwrap_or(default.max_retries),
        base_delay_ms: values.count("retry.baseDelayMs").unwrap_or(default.base_delay_ms),
        max_agent_delay_ms: values
            .count("retry.maxAgentDelayMs")
            .unwrap_or(default.max_agent_delay_ms),
    }
}

fn provider_retry(values: Values<'_>) -> ProviderRetrySettings {
    ProviderRetrySettings {
        timeout_ms: values.count("retry.provider.timeoutMs"),
        max_retries: values.small_count("retry.provider.maxRetries").unwrap_or(0),
        max_retry_delay_ms: values.count("retry.provider.maxRetryDelayMs").unwrap_or(60_000),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(values: &Value) -> Settings {
        Settings::from_values(values.as_object().unwrap().clone())
    }

    #[test]
    fn defaults_are_the_documented_ones() {
        let settings = Settings::default();
        assert_eq!(settings.default_thinking_level, ThinkingLevel::Medium);
        assert_eq!(settings.steering_mode, QueueMode::OneAtATime);
        assert_eq!(settings.follow_up_mode, QueueMode::OneAtATime);
        assert_eq!(settings.http_idle_timeout_ms, Some(300_000));
        assert_eq!(settings.images, ImageSettings { auto_resize: true, block_images: false });
        assert!(settings.enable_install_telemetry);
        assert_eq!(
            settings.retry,
            RetrySettings {
                enabled: true,
                max_retries: 3,
                base_delay_ms: 2_000,
                max_agent_delay_ms: 60_000,
            }
        );
        assert_eq!(
            settings.provider_retry,
            ProviderRetrySettings { timeout_ms: None, max_retries: 0, max_retry_delay_ms: 60_000 }
        );
    }

    #[test]
    fn every_key_is_read() {
        let settings = settings(&json!({
            "defaultProvider": "p", "defaultModel": "m", "defaultThinkingLevel": "xhigh",
            "modelThinkingLevels": {"p/m": "low", "p/bad": "huge"},
            "thinkingBudgets": {"low": 5, "high": -1},
            "enabledModels": ["a", 5, "b:low"], "defaultTools": ["+ls"],
            "steeringMode": "all", "followUpMode": "all",
            "sessionDir": "~/s", "shellPath": "/bin/zsh", "shellCommandPrefix": "set -e;",
            "httpProxy": "http://x", "httpIdleTimeoutMs": 7, "enableInstallTelemetry": false,
            "images": {"autoResize": false, "blockImages": true},
            "retry": {"enabled": false, "maxRetries": 1.7, "baseDelayMs": 50, "maxAgentDelayMs": 60,
                "provider": {"timeoutMs": 1, "maxRetries": 2, "maxRetryDelayMs": 0}},
            "theme": "own",
        }));
        assert_eq!(settings.default_provider.as_deref(), Some("p"));
        assert_eq!(settings.default_model.as_deref(), Some("m"));
        assert_eq!(settings.default_thinking_level, ThinkingLevel::Xhigh);
        assert_eq!(
            settings.model_thinking_levels,
            IndexMap::from([("p/m".to_owned(), ThinkingLevel::Low)])
        );
        assert_eq!(
            settings.thinking_budgets,
            ThinkingBudgets { low: Some(5), ..Default::default() }
        );
        assert_eq!(settings.enabled_models, Some(vec!["a".to_owned(), "b:low".to_owned()]));
        assert_eq!(settings.default_tools, Some(vec!["+ls".to_owned()]));
        assert_eq!(
            (settings.steering_mode, settings.follow_up_mode),
            (QueueMode::All, QueueMode::All)
        );
        assert_eq!(settings.shell_path.as_deref(), Some("/bin/zsh"));
        assert_eq!(settings.shell_command_prefix.as_deref(), Some("set -e;"));
        assert_eq!(settings.http_proxy.as_deref(), Some("http://x"));
        assert_eq!(settings.http_idle_timeout_ms, Some(7));
        assert!(!settings.enable_install_telemetry);
        assert_eq!(settings.images, ImageSettings { auto_resize: false, block_images: true });
        assert_eq!(
            settings.retry,
            RetrySettings {
                enabled: false,
                max_retries: 1,
                base_delay_ms: 50,
                max_agent_delay_ms: 60,
            }
        );
        assert_eq!(
            settings.provider_retry,
            ProviderRetrySettings { timeout_ms: Some(1), max_retries: 2, max_retry_delay_ms: 0 }
        );
        assert_eq!(settings.raw.get("theme"), Some(&json!("own")), "unknown keys survive");
    }

    #[test]
    fn values_of_the_wrong_kind_are_defaults() {
        let wrong =
            [json!(null), json!(-5), json!("odd"), json!([{}]), json!({"x": []}), json!(1e300)];
        for value in wrong {
            let mut settings = settings(&json!({
                "defaultThinkingLevel": value, "modelThinkingLevels": value, "steeringMode": value,
                "followUpMode": value, "images": value, "httpIdleTimeoutMs": value, "retry": value,
                "enableInstallTelemetry": value, "thinkingBudgets": value,
            }));
            settings.raw.clear();
            assert_eq!(settings, Settings::default(), "{value}");
            let deep = json!({"retry": {"maxRetries": value, "enabled": value, "provider": value}});
            let mut settings = self::settings(&deep);
            settings.raw.clear();
            assert_eq!(settings, Settings::default(), "{value}");
        }
        let lists = settings(&json!({"enabledModels": "x", "defaultTools": 5, "defaultModel": 5}));
        assert_eq!(
            (lists.enabled_models, lists.default_tools, lists.default_model),
            (None, None, None)
        );
    }

    #[test]
    fn the_idle_timeout_can_be_switched_off() {
        for (value, expected) in [
            (json!(0), None),
            (json!("disabled"), None),
            (json!(" Disabled "), None),
            (json!("1500"), Some(1_500)),
            (json!(12.9), Some(12)),
            (json!("x"), Some(300_000)),
            (json!("NaN"), Some(300_000)),
            (json!("-1"), Some(300_000)),
            (json!(true), Some(300_000)),
        ] {
            let settings = settings(&json!({"httpIdleTimeoutMs": value}));
            assert_eq!(settings.http_idle_timeout_ms, expected, "{value}");
        }
    }
}
