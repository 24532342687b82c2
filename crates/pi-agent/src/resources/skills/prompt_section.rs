//! What the prompt says of skills.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::Skills;

/// The active tool that can read a skill's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillReader {
    /// A tool named `read`.
    Read,
    /// A tool named `bash`.
    Bash,
}

impl SkillReader {
    /// The best one among the names of the active tools. `None` if no tool can read files.
    pub fn among<'a>(tools: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let readers = tools.into_iter().filter_map(|name| match name {
            "read" => Some(Self::Read),
            "bash" => Some(Self::Bash),
            _ => None,
        });
        readers.min_by_key(|reader| *reader == Self::Bash)
    }

    fn how(self) -> &'static str {
        match self {
            Self::Read => "the read tool",
            Self::Bash => "bash",
        }
    }
}

/// The body of the prompt's section on skills: how to use them, then each with its name, its
/// description and the absolute path of its file. `None` if there is none to offer, or nothing to
/// read it with.
pub fn skills_section(skills: &Skills, reader: Option<SkillReader>) -> Option<String> {
    let how = reader?.how();
    let mut list = String::new();
    for skill in skills.iter().filter(|skill| !skill.disable_model_invocation) {
        // Writing to a string cannot fail.
        let _infallible = write!(
            list,
            "  <skill>\n    <name>{}</name>\n    <description>{}</description>\n    <location>{}</location>\n  </skill>\n",
            escape(&skill.name),
            escape(&skill.description),
            escape(&skill.file_path.to_string_lossy()),
        );
    }
    (!list.is_empty()).then(|| {
        format!(
            "A skill is a file of instructions for one kind of work. When what you are asked for \
             fits a description below, load that skill's file with {how} first and go by it.\n\
             Paths in a skill are relative to the directory its file is in; give tools absolute \
             paths.\n\n\
             <available_skills>\n{list}</available_skills>"
        )
    })
}

fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(['&', '<', '>', '"', '\'']) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            _ => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}
