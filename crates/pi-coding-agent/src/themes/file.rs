//! Theme files: `{"name", "appearance"?, "vars"?, "colors", "export"?}`, strict.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::color::Color;
use super::token::Token;
use super::{Appearance, ExportColors, Theme};

/// Why a text is no theme.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    #[error("{0}")]
    Json(String),
    #[error("a theme needs a name without '/' that is not \"system\"")]
    Name,
    #[error("unknown colors: {}", .0.join(", "))]
    UnknownColors(Vec<String>),
    #[error("missing colors: {}", .0.join(", "))]
    MissingColors(Vec<&'static str>),
    #[error("{place}: {value} is neither a color nor the name of a variable")]
    NoColor { place: String, value: String },
    #[error("{place}: the variable \"{name}\" is defined by itself")]
    Circle { place: String, name: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "$schema")]
    _schema: Option<Value>,
    name: String,
    appearance: Option<Appearance>,
    #[serde(default)]
    vars: IndexMap<String, Value>,
    colors: IndexMap<String, Value>,
    #[serde(default)]
    export: ExportFile,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct ExportFile {
    page_bg: Option<Value>,
    card_bg: Option<Value>,
    info_bg: Option<Value>,
}

pub(super) fn parse(text: &str) -> Result<Theme, ThemeError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let file: File =
        serde_json::from_str(text).map_err(|error| ThemeError::Json(error.to_string()))?;
    if file.name.trim().is_empty() || file.name.contains('/') || file.name == "system" {
        return Err(ThemeError::Name);
    }
    let vars = Vars(&file.vars);
    for name in file.vars.keys() {
        vars.variable(&format!("vars.{name}"), name)?;
    }
    let colors = colors(&file.colors, vars)?;
    let of_export = |name: &str, value: &Option<Value>| {
        value.as_ref().map(|value| vars.resolve(&format!("export.{name}"), value)).transpose()
    };
    let export = ExportColors {
        page_bg: of_export("pageBg", &file.export.page_bg)?,
        card_bg: of_export("cardBg", &file.export.card_bg)?,
        info_bg: of_export("infoBg", &file.export.info_bg)?,
    };
    let mut theme = Theme { name: file.name, appearance: Appearance::Dark, colors, export };
    theme.appearance = file.appearance.unwrap_or_else(|| guess(&theme));
    Ok(theme)
}

/// One for each token, in order.
fn colors(given: &IndexMap<String, Value>, vars: Vars<'_>) -> Result<Vec<Color>, ThemeError> {
    let is_unknown = |name: &&String| Token::from_name(name).is_none();
    let unknown: Vec<String> = given.keys().filter(is_unknown).cloned().collect();
    if !unknown.is_empty() {
        return Err(ThemeError::UnknownColors(unknown));
    }
    let value_of = |token: Token| {
        let own = given.get(token.name());
        own.or_else(|| given.get(token.fallback()?.name())).map(|value| (token, value))
    };
    let required = Token::ALL.iter().filter(|token| token.fallback().is_none());
    let missing: Vec<&str> =
        required.map(|token| token.name()).filter(|name| !given.contains_key(*name)).collect();
    if !missing.is_empty() {
        return Err(ThemeError::MissingColors(missing));
    }
    let values = Token::ALL.iter().filter_map(|token| value_of(*token));
    values.map(|(token, value)| vars.resolve(&format!("colors.{}", token.name()), value)).collect()
}

/// From the first colours that are no terminal's own: backgrounds of a dark theme are dark, its texts
/// are bright.
fn guess(theme: &Theme) -> Appearance {
    let brightness = |token| theme.color(token).to_rgb().map(|rgb| rgb.brightness());
    let is_light = match (brightness(Token::UserMessageBg), brightness(Token::Text)) {
        (Some(background), _) => background > 0.5,
        (None, Some(text)) => text < 0.5,
        (None, None) => false,
    };
    if is_light { Appearance::Light } else { Appearance::Dark }
}

#[derive(Clone, Copy)]
struct Vars<'a>(&'a IndexMap<String, Value>);

impl Vars<'_> {
    fn variable(self, place: &str, name: &str) -> Result<Color, ThemeError> {
        self.resolve(place, &Value::String(name.to_owned()))
    }

    /// Follows variables to a colour.
    fn resolve(self, place: &str, value: &Value) -> Result<Color, ThemeError> {
        let no_color = |value: &Value| ThemeError::NoColor {
            place: place.to_owned(),
            value: value.to_string(),
        };
        let mut value = value;
        // A chain that is longer than there are variables goes round.
        for _ in 0..=self.0.len() {
            let text = match value {
                Value::Number(number) => {
                    let index = number.as_u64().and_then(|index| u8::try_from(index).ok());
                    return index.map(Color::Indexed).ok_or_else(|| no_color(value));
                }
                Value::String(text) => text,
                _ => return Err(no_color(value)),
            };
            if let Some(color) = Color::parse(text) {
                return Ok(color);
            }
            value = self.0.get(text).ok_or_else(|| no_color(value))?;
        }
        let name = value.as_str().unwrap_or_default().to_owned();
        Err(ThemeError::Circle { place: place.to_owned(), name })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(change: impl FnOnce(&mut Value)) -> Result<Theme, ThemeError> {
        let required = Token::ALL.iter().filter(|token| token.fallback().is_none());
        let colors: serde_json::Map<String, Value> =
            required.map(|token| (token.name().to_owned(), json!("#123456"))).collect();
        let mut file = json!({"name": "mine", "colors": colors});
        change(&mut file);
        parse(&file.to_string())
    }

    fn rgb(theme: &Theme, token: Token) -> String {
        theme.color(token).to_rgb().map(|rgb| rgb.to_string()).unwrap_or_default()
    }

    #[test]
    fn variables_are_followed_and_numbers_are_palette_entries() {
        let theme = file(|file| {
            file["$schema"] = json!("https://example.com/theme.json");
            file["vars"] = json!({"a": "b", "b": "c", "c": "#0af", "n": 39});
            file["colors"]["accent"] = json!("a");
            file["colors"]["border"] = json!("n");
            file["colors"]["muted"] = json!("");
            file["export"] = json!({"pageBg": "c"});
        });
        let theme = theme.unwrap();
        assert_eq!(rgb(&theme, Token::Accent), "#00aaff");
        assert_eq!(theme.color(Token::Border), Color::Indexed(39));
        assert_eq!(theme.color(Token::Muted), Color::Default);
        assert_eq!(theme.export.page_bg, Color::parse("#0af"));
        assert_eq!(theme.export.card_bg, None);
    }

    #[test]
    fn colours_that_may_be_left_out_have_that_of_another() {
        let theme = file(|file| {
            file["colors"]["muted"] = json!("#010101");
            file["colors"]["text"] = json!("#020202");
            file["colors"]["selectedBg"] = json!("#030303");
            file["colors"]["thinkingXhigh"] = json!("#040404");
            file["colors"]["searchMatchText"] = json!("#050505");
        });
        let theme = theme.unwrap();
        let cases = [
            (Token::ScrollbarTrack, "#010101"),
            (Token::ScrollbarThumb, "#020202"),
            (Token::SearchMatchBg, "#030303"),
            (Token::ThinkingMax, "#040404"),
            (Token::SearchMatchText, "#050505"),
        ];
        for (token, expected) in cases {
            assert_eq!(rgb(&theme, token), expected, "{token:?}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told() {
        type Change = fn(&mut Value);
        let cases: [(Change, &str); 12] = [
            (|file| file["more"] = json!(1), "unknown field `more`"),
            (|file| file["export"] = json!({"bg": "#fff"}), "unknown field `bg`"),
            (|file| file["colors"]["x"] = json!("#fff"), "unknown colors: x"),
            (
                |file| {
                    let colors = file["colors"].as_object_mut().unwrap();
                    colors.remove("accent");
                    colors.remove("mdHr");
                },
                "missing colors: accent, mdHr",
            ),
            (|file| file["name"] = json!("a/b"), "a theme needs a name"),
            (|file| file["name"] = json!("system"), "a theme needs a name"),
            (|file| file["name"] = json!(" "), "a theme needs a name"),
            (|file| file["colors"]["dim"] = json!("nope"), "colors.dim: \"nope\" is neither"),
            (|file| file["colors"]["dim"] = json!(256), "colors.dim: 256 is neither"),
            (|file| file["vars"] = json!({"a": "b", "b": "a"}), "is defined by itself"),
            (|file| file["vars"] = json!({"a": [1]}), "vars.a: [1] is neither"),
            (|file| file["appearance"] = json!("grey"), "unknown variant `grey`"),
        ];
        for (change, expected) in cases {
            let error = file(change).unwrap_err().to_string();
            assert!(error.contains(expected), "{expected}: {error}");
        }
    }

    #[test]
    fn the_appearance_is_told_or_follows_from_the_colours() {
        let cases = [
            (json!("light"), "#000000", Appearance::Light),
            (Value::Null, "#f0f0f0", Appearance::Light),
            (Value::Null, "#101010", Appearance::Dark),
            (Value::Null, "", Appearance::Light),
        ];
        for (told, background, expected) in cases {
            let theme = file(|file| {
                if !told.is_null() {
                    file["appearance"] = told.clone();
                }
                file["colors"]["userMessageBg"] = json!(background);
                file["colors"]["text"] = json!("#222222");
            });
            assert_eq!(theme.unwrap().appearance, expected, "{told} {background:?}");
        }
    }

    #[test]
    fn a_byte_order_mark_does_no_harm() {
        let text = include_str!("dark.json");
        assert_eq!(parse(&format!("\u{feff}{text}")), parse(text));
    }
}
