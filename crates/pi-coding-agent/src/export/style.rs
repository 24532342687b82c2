//! A theme as the variables of a style sheet.

use std::fmt::Write as _;

use crate::themes::{Appearance, Color, Rgb, Theme, ThemeChoice, Token};

/// Rules that give the page its colours: those of the theme, by the reader's background where the
/// theme leaves that open, and bright ones on paper.
pub(super) fn of(choice: &ThemeChoice) -> String {
    let mut rules = String::new();
    match choice {
        ThemeChoice::One(theme) => root(&mut rules, theme),
        ThemeChoice::Pair { light, dark } => {
            root(&mut rules, light);
            rules.push_str("@media (prefers-color-scheme: dark) {\n");
            root(&mut rules, dark);
            rules.push_str("}\n");
        }
    }
    rules.push_str("@media print {\n");
    root(&mut rules, &Theme::builtin(Appearance::Light));
    rules.push_str("}\n");
    rules
}

fn root(rules: &mut String, theme: &Theme) {
    let appearance = theme.appearance;
    let scheme = match appearance {
        Appearance::Dark => "dark",
        Appearance::Light => "light",
    };
    _ = writeln!(rules, ":root {{\ncolor-scheme: {scheme};");
    for token in Token::ALL {
        let value = match theme.color(*token).to_rgb() {
            Some(rgb) => rgb.to_string(),
            None if token.is_background() => "transparent".to_owned(),
            None => ink(appearance).to_string(),
        };
        _ = writeln!(rules, "--{}: {value};", token.name());
    }
    let grounds = grounds(theme);
    for (name, rgb) in ["pageBg", "cardBg", "infoBg"].into_iter().zip(grounds) {
        _ = writeln!(rules, "--{name}: {rgb};");
    }
    for (index, rgb) in ansi(appearance).into_iter().enumerate() {
        _ = writeln!(rules, "--ansi{index}: {rgb};");
    }
    rules.push_str("}\n");
}

/// Text where a theme leaves it to the terminal.
fn ink(appearance: Appearance) -> Rgb {
    match appearance {
        Appearance::Dark => Rgb(0xd8, 0xd8, 0xd8),
        Appearance::Light => Rgb(0x20, 0x20, 0x20),
    }
}

/// Page, card and box: the theme's, or shades of what is behind a message of the user.
fn grounds(theme: &Theme) -> [Rgb; 3] {
    let (far, message) = match theme.appearance {
        Appearance::Dark => (Rgb(0, 0, 0), Rgb(0x24, 0x26, 0x2c)),
        Appearance::Light => (Rgb(0xff, 0xff, 0xff), Rgb(0xec, 0xee, 0xf2)),
    };
    let message = theme.color(Token::UserMessageBg).to_rgb().unwrap_or(message);
    let shade = |own: Option<Color>, share| {
        own.and_then(Color::to_rgb).unwrap_or_else(|| message.mixed(far, share))
    };
    let export = &theme.export;
    [shade(export.page_bg, 0.6), shade(export.card_bg, 0.35), shade(export.info_bg, 0.25)]
}

/// What programs call by number, to be read on the page's background.
fn ansi(appearance: Appearance) -> [&'static str; 16] {
    match appearance {
        Appearance::Dark => [
            "#4b5263", "#ef6b73", "#8cc570", "#e0b25a", "#6ea8fe", "#c78df0", "#56c2cf", "#cfd4dc",
            "#6f788a", "#ff8d94", "#a9dd8d", "#f3cd80", "#95c2ff", "#dcb0ff", "#80dce7", "#ffffff",
        ],
        Appearance::Light => [
            "#2b3038", "#c0243a", "#2d7d22", "#8f6400", "#1d5fc4", "#8336b4", "#0b7285", "#69717e",
            "#4d5561", "#d63d52", "#3b8f2f", "#a87900", "#3b78d8", "#9a4fcb", "#178a9e", "#8a919d",
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_follows_the_reader_and_one_theme_does_not() {
        let pair = of(&ThemeChoice::default());
        assert!(pair.starts_with(":root {\ncolor-scheme: light;"), "{pair}");
        assert!(
            pair.contains("@media (prefers-color-scheme: dark) {\n:root {\ncolor-scheme: dark;")
        );
        let dark = of(&ThemeChoice::One(Box::new(Theme::builtin(Appearance::Dark))));
        assert!(dark.starts_with(":root {\ncolor-scheme: dark;"), "{dark}");
        assert!(!dark.contains("prefers-color-scheme"));
        for rules in [pair, dark] {
            assert!(rules.contains("@media print {\n:root {\ncolor-scheme: light;"));
        }
    }

    #[test]
    fn what_a_theme_leaves_open_is_filled() {
        let text = include_str!("../themes/dark.json");
        let (text, _) = text.split_once(",\n  \"export\"").unwrap();
        let text = text.replace("\"text\": \"ink\"", "\"text\": \"\"");
        let text = text.replace("\"#1d222b\"", "\"\"").replace("\"#2a3550\"", "39") + "}";
        let rules = of(&ThemeChoice::One(Box::new(Theme::from_json(&text).unwrap())));
        for expected in [
            "--text: #d8d8d8;",
            "--toolPendingBg: transparent;",
            "--selectedBg: #00afff;",
            "--searchMatchBg: #00afff;",
            "--pageBg: #0c1016;",
        ] {
            assert!(rules.contains(expected), "{expected}\n{rules}");
        }
    }
}
