//! Colour themes: what a theme file says, the built-in ones, and which one counts.
//!
//! Owns: the format of theme files, names and fallbacks of the colours, finding a theme by its name.
//! Never: knows a terminal or a page; those turn a [`Color`] into what they speak.

mod catalog;
mod color;
mod file;
mod oklab;
mod token;

pub use catalog::{ThemeChoice, Themes};
pub use color::{Color, Rgb};
pub use file::ThemeError;
pub use token::Token;

/// A palette, every colour of it resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Theme {
    pub name: String,
    pub appearance: Appearance,
    /// By [`Token`], in order.
    colors: Vec<Color>,
    pub export: ExportColors,
}

/// The background a theme is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Appearance {
    Dark,
    Light,
}

/// Backgrounds of an exported page; `None` leaves it to the page.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ExportColors {
    pub page_bg: Option<Color>,
    pub card_bg: Option<Color>,
    pub info_bg: Option<Color>,
}

impl Theme {
    /// The built-in theme for a background.
    pub fn builtin(appearance: Appearance) -> Self {
        catalog::builtin(appearance)
    }

    /// # Errors
    /// The text is no theme; what is wrong with it is told in full.
    pub fn from_json(text: &str) -> Result<Self, ThemeError> {
        file::parse(text)
    }

    pub fn color(&self, token: Token) -> Color {
        self.colors.get(token as usize).copied().unwrap_or(Color::Default)
    }
}
