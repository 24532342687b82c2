//! What is in a settings file and does not count.
//!
//! Owns: finding it, with its place, and saying what is allowed. Never: part of reading settings; the
//! text is looked at anew when somebody asks.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::catalogue::{self, Effect, Fallback, Fault, Kind, Scope, Setting, Words};
use super::migrate::OLD_KEYS;
use super::values::Values;
use crate::json_place::{Document, Part, Place};
use crate::nearest;

/// A key nobody knows, a value of the wrong kind, or a setting in a file where it does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsProblem {
    pub path: PathBuf,
    /// From one, as is the column, which counts characters.
    pub line: usize,
    pub column: usize,
    /// Full name: objects it is in, its own, and what is in it, with dots between them.
    pub key: String,
    pub message: String,
}

impl fmt::Display for SettingsProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, column, key: _, message } = self;
        write!(f, "{}:{line}:{column}: {message}", path.display())
    }
}

/// The problems of one file, which is the user's or a project's by `scope`. `above` holds what lies
/// over its values.
pub(super) fn find(
    path: &Path,
    text: &str,
    scope: Scope,
    above: &Map<String, Value>,
) -> Vec<SettingsProblem> {
    let Ok(Value::Object(values)) = serde_json::from_str(text) else { return Vec::new() };
    let mut finder = Finder { scope, above: Values::new(above), found: Vec::new() };
    finder.group("", &values);
    if finder.found.is_empty() {
        return Vec::new();
    }
    let document = Document::parse(text);
    let problem = |found: Found| {
        let Place { line, column } = document.place(&found.key, found.part);
        SettingsProblem {
            path: path.to_owned(),
            line,
            column,
            key: found.key,
            message: found.message,
        }
    };
    finder.found.into_iter().map(problem).collect()
}

struct Finder<'a> {
    scope: Scope,
    above: Values<'a>,
    found: Vec<Found>,
}

struct Found {
    key: String,
    part: Part,
    message: String,
}

impl Finder<'_> {
    /// The members of the object named `at`, or of the file.
    fn group(&mut self, at: &str, values: &Map<String, Value>) {
        for (name, value) in values {
            let key = if at.is_empty() { name.clone() } else { format!("{at}.{name}") };
            // A name with dots in it is no way into an object.
            let known = !name.contains('.');
            if let Some(setting) = catalogue::find(&key).filter(|_| known) {
                self.setting(setting, value);
            } else if known && catalogue::is_group(&key) {
                match value {
                    Value::Object(values) => self.group(&key, values),
                    other => {
                        let message = format!("\"{key}\" is {}; allowed: object.", shown(other));
                        self.tell(&key, Part::Value, message);
                    }
                }
            } else if let Some((_, present)) = OLD_KEYS.iter().find(|(old, _)| *old == key) {
                let message = format!("\"{key}\" is the old name of \"{present}\".");
                self.tell(&key, Part::Name, message);
            } else if key != "$schema" {
                let message = unknown(&key, at, name);
                self.tell(&key, Part::Name, message);
            }
        }
    }

    fn setting(&mut self, setting: &'static Setting, value: &Value) {
        let key = setting.key;
        if self.scope == Scope::Any && setting.scope == Scope::User {
            let message = format!("\"{key}\" counts in your own settings only.");
            self.tell(key, Part::Name, message);
            return;
        }
        let mut faults = Vec::new();
        setting.kind.check(value, key, &mut faults);
        for Fault { key: part, value, kind } in faults {
            let mut message =
                format!("\"{part}\" is {}; allowed: {}.", shown(value), kind.words(Words::Plain));
            if let Some(rest) = self.consequence(setting, &part, kind) {
                message.push(' ');
                message.push_str(&rest);
            }
            self.tell(&part, Part::Value, message);
        }
    }

    /// What pi does about a wrong value.
    fn consequence(&self, setting: &Setting, part: &str, kind: &Kind) -> Option<String> {
        if setting.effect == Effect::Later {
            return None;
        }
        if matches!(kind, Kind::Size) {
            let which = if part == setting.key { "" } else { " with that model" };
            return Some(format!("No conversation{which} begins."));
        }
        if part != setting.key {
            return Some("It is left out.".to_owned());
        }
        // What lies above it counts in any case.
        if self.above.value(setting.key).is_some() {
            return None;
        }
        match setting.fallback {
            Fallback::Text(text) => Some(format!("Using {text}.")),
            Fallback::Told(_) | Fallback::EmptyList => Some("It counts as not there.".to_owned()),
            Fallback::Switch(_) | Fallback::Number(_) => {
                setting.fallback.value().map(|value| format!("Using {value}."))
            }
        }
    }

    fn tell(&mut self, key: &str, part: Part, message: String) {
        self.found.push(Found { key: key.to_owned(), part, message });
    }
}

fn unknown(key: &str, at: &str, name: &str) -> String {
    if catalogue::find(key).is_some() {
        return format!("\"{key}\" is not a setting. Each dot stands for an object.");
    }
    // What is in the same object comes to mind first, then what is called alike elsewhere.
    let siblings = catalogue::all().filter_map(|setting| {
        let rest = if at.is_empty() {
            setting.key
        } else {
            setting.key.strip_prefix(at)?.strip_prefix('.')?
        };
        rest.split('.').next()
    });
    let mut near = nearest::words(name, siblings);
    if near.is_empty() {
        let same_name = |setting: &&Setting| setting.key.rsplit('.').next() == Some(name);
        near = catalogue::all().filter(same_name).map(|setting| setting.key).collect();
    }
    match nearest::did_you_mean(&near) {
        Some(hint) => format!("\"{key}\" is not a setting. {hint}"),
        None => format!("\"{key}\" is not a setting."),
    }
}

/// A value, in a line. What is in objects and lists may be long, and nobody's business.
fn shown(value: &Value) -> String {
    const MOST: usize = 60;
    match value {
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        other => {
            let text = other.to_string();
            match text.char_indices().nth(MOST) {
                Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
                None => text,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(text: &str, scope: Scope, above: &Value) -> Vec<String> {
        let problems = find(Path::new("s.json"), text, scope, above.as_object().unwrap());
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn wrong_values_are_told_with_place_and_what_is_allowed() {
        let text = r#"{
  "$schema": "x",
  "defaultModel": "m",
  "steeringMode": "sometimes",
  "retry": { "maxRetries": -1, "provider": [] },
  "theme": 5,
  "httpIdleTimeoutMs": " Disabled ",
  "enabledModels": ["a", 7],
  "modelThinkingLevels": { "p/m": "low", "q/a.b": "huge" },
  "compaction": { "reserveTokens": 1.5, "modelOverrides": { "p/m": { "keepRecentTokens": "x" } } },
  "tuiMode": "window",
  "images": null,
  "quietStartup": "head", "packages": [{"source": 5}], "skills": {"customDirectories": []}
}"#;
        assert_eq!(
            found(text, Scope::User, &json!({})),
            [
                "s.json:4:19: \"steeringMode\" is \"sometimes\"; allowed: all, one-at-a-time. Using one-at-a-time.",
                "s.json:5:28: \"retry.maxRetries\" is -1; allowed: number from 0. Using 3.",
                "s.json:5:44: \"retry.provider\" is a list; allowed: object.",
                "s.json:6:12: \"theme\" is 5; allowed: text. Using system.",
                "s.json:8:26: \"enabledModels.1\" is 7; allowed: text. It is left out.",
                "s.json:9:51: \"modelThinkingLevels.q/a.b\" is \"huge\"; allowed: off, minimal, low, medium, high, xhigh, max. It is left out.",
                "s.json:10:36: \"compaction.reserveTokens\" is 1.5; allowed: whole number from 0. No conversation begins.",
                "s.json:10:90: \"compaction.modelOverrides.p/m.keepRecentTokens\" is \"x\"; allowed: whole number from 0. No conversation with that model begins.",
                "s.json:11:14: \"tuiMode\" is \"window\"; allowed: regular, fullscreen.",
                "s.json:12:13: \"images\" is null; allowed: object.",
                "s.json:13:19: \"quietStartup\" is \"head\"; allowed: true, false or header.",
                "s.json:13:40: \"packages.0\" is an object; allowed: text or object with source, autoload, extensions, skills, prompts, themes. It is left out.",
            ]
        );
    }

    #[test]
    fn what_a_project_says_otherwise_is_not_said_to_be_the_default() {
        let above = json!({"steeringMode": "all"});
        assert_eq!(
            found(r#"{"steeringMode": 1}"#, Scope::User, &above),
            ["s.json:1:18: \"steeringMode\" is 1; allowed: all, one-at-a-time."]
        );
    }

    #[test]
    fn keys_nobody_knows_are_told_with_what_may_be_meant() {
        let text = "{\"stearingMode\": \"all\",\n \"retry\": {\"maxRetrys\": 1, \"timeoutMs\": 5},\n\
                    \"\u{e4}\u{e4}\": 1, \"retry.maxRetries\": 2, \"queueMode\": \"all\", \"baseDelayMs\": 1}";
        assert_eq!(
            found(text, Scope::User, &json!({})),
            [
                "s.json:1:2: \"stearingMode\" is not a setting. Did you mean steeringMode?",
                "s.json:2:12: \"retry.maxRetrys\" is not a setting. Did you mean maxRetries?",
                "s.json:2:28: \"retry.timeoutMs\" is not a setting. Did you mean retry.provider.timeoutMs?",
                "s.json:3:1: \"\u{e4}\u{e4}\" is not a setting.",
                "s.json:3:10: \"retry.maxRetries\" is not a setting. Each dot stands for an object.",
                "s.json:3:33: \"queueMode\" is the old name of \"steeringMode\".",
                "s.json:3:53: \"baseDelayMs\" is not a setting. Did you mean retry.baseDelayMs?",
            ]
        );
    }

    #[test]
    fn a_project_is_told_what_it_has_no_say_in() {
        for setting in catalogue::all().filter(|setting| setting.scope == Scope::User) {
            let text = format!("{{\"{}\": 5}}", setting.key);
            assert_eq!(
                found(&text, Scope::Any, &json!({})),
                [format!("s.json:1:2: \"{}\" counts in your own settings only.", setting.key)]
            );
        }
    }

    #[test]
    fn what_is_no_settings_file_has_no_problems() {
        for text in ["", "{", "[]", "{}", "{\"steeringMode\": \"all\", \"$schema\": 5}"] {
            assert_eq!(found(text, Scope::User, &json!({})), [""; 0], "{text}");
        }
    }

    #[test]
    fn long_values_are_cut_and_nested_ones_not_shown() {
        let long = "\u{fc}".repeat(100);
        let told = found(&format!("{{\"tuiMode\": \"{long}\"}}"), Scope::User, &json!({}));
        assert!(told[0].contains(&format!("is \"{}...;", "\u{fc}".repeat(59))), "{told:?}");
        let told = found(r#"{"httpProxy": {"password": "secret"}}"#, Scope::User, &json!({}));
        assert!(!told[0].contains("secret"), "{told:?}");
    }
}
