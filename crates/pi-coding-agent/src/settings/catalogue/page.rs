//! The manual's page on settings.

use super::{Effect, Fallback, SECTIONS, Scope, Section, Setting, Words};

/// `docs/settings.md`.
pub fn docs_page() -> String {
    let sections = SECTIONS.iter().map(section);
    std::iter::once(include_str!("head.md").to_owned()).chain(sections).collect()
}

fn section(section: &Section) -> String {
    let Section { title, intro, settings } = section;
    let intro = if intro.is_empty() { String::new() } else { format!("{intro}\n\n") };
    let rows: String = settings.iter().map(row).collect();
    format!("\n## {title}\n\n{intro}| key | value | default | meaning |\n|---|---|---|---|\n{rows}")
}

fn row(setting: &Setting) -> String {
    let Setting { key, kind, about, .. } = setting;
    let marks = match (setting.scope, setting.effect) {
        (Scope::Any, Effect::Now) => "",
        (Scope::User, Effect::Now) => "*User only.* ",
        (Scope::Any, Effect::Later) => "*Later.* ",
        (Scope::User, Effect::Later) => "*User only. Later.* ",
    };
    let fallback = match setting.fallback {
        Fallback::Told(words) => words.to_owned(),
        Fallback::Text(text) if text.trim().is_empty() => format!("`{text:?}`"),
        Fallback::Text(text) => format!("`{text}`"),
        other => other.value().map(|value| format!("`{value}`")).unwrap_or_default(),
    };
    format!("| `{key}` | {} | {fallback} | {marks}{about} |\n", kind.words(Words::Markdown))
}
