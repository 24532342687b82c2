//! Which tools are active when a session starts.
//!
//! Owns: how defaults, the setting `defaultTools` and the command line combine. Never: builds a
//! tool.

use crate::error::AppError;

/// Active when nothing says otherwise.
pub const DEFAULT_TOOLS: [&str; 4] = ["read", "bash", "edit", "write"];

/// What the command line says about tools.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolFlags {
    pub base: ToolBase,
    pub list: Option<ToolList>,
    /// Names or `*` patterns that are off whatever else is said.
    pub exclude: Vec<String>,
}

/// What the selection starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolBase {
    /// The built-in defaults, or what the settings make of them.
    #[default]
    Defaults,
    /// No built-in tools.
    NoBuiltin,
    /// No tools at all.
    Nothing,
}

/// The value of `--tools`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ToolList {
    /// Exactly these: names or `*` patterns.
    Only(Vec<String>),
    /// `+name` and `-name` entries, applied to the selection in order.
    Changes(Vec<String>),
}

impl ToolList {
    /// # Errors
    /// Plain names and signed ones are mixed, or a signed one is a pattern. `option` is how the
    /// user spelled it.
    pub fn parse(option: &str, text: &str) -> Result<Self, AppError> {
        let entries = split_list(text);
        let signed = entries.iter().filter(|entry| is_signed(entry)).count();
        if signed == 0 {
            return Ok(Self::Only(entries));
        }
        if signed < entries.len() {
            return Err(AppError::user(format!(
                "{option}: plain tool names cannot be mixed with +name or -name entries"
            )));
        }
        if let Some(pattern) = entries.iter().find(|entry| entry.contains('*')) {
            return Err(AppError::user(format!(
                "{option}: +name and -name take whole tool names, not patterns: {pattern}"
            )));
        }
        Ok(Self::Changes(entries))
    }
}

/// The parts of a comma-separated list, without blanks and empty ones.
pub fn split_list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

/// Names of the active tools, in the order the model is told of them. Names nobody offers are
/// dropped without a word.
///
/// `available` holds every built-in tool in its usual order; `setting` is `defaultTools`.
pub fn active_tools(
    available: &[&str],
    setting: Option<&[String]>,
    flags: &ToolFlags,
) -> Vec<String> {
    let base = || match flags.base {
        ToolBase::Defaults => setting_selection(setting),
        ToolBase::NoBuiltin | ToolBase::Nothing => Vec::new(),
    };
    let mut selected = match &flags.list {
        None => base(),
        Some(ToolList::Changes(changes)) => apply_changes(base(), changes),
        Some(ToolList::Only(entries)) => expand_patterns(available, entries),
    };
    selected.retain(|name| {
        available.contains(&name.as_str())
            && !flags.exclude.iter().any(|pattern| matches_pattern(pattern, name))
    });
    selected
}

/// Plain names replace the defaults; signed ones change what is there.
fn setting_selection(setting: Option<&[String]>) -> Vec<String> {
    let defaults = || DEFAULT_TOOLS.map(str::to_owned).to_vec();
    let Some(entries) = setting else { return defaults() };
    let mut plain: Vec<String> = Vec::new();
    for entry in entries.iter().filter(|entry| !is_signed(entry)) {
        push_new(&mut plain, entry);
    }
    let base = if plain.is_empty() && !entries.is_empty() { defaults() } else { plain };
    apply_changes(base, entries)
}

fn apply_changes(mut selected: Vec<String>, changes: &[String]) -> Vec<String> {
    for change in changes {
        if let Some(name) = change.strip_prefix('+') {
            push_new(&mut selected, name);
        } else if let Some(name) = change.strip_prefix('-') {
            selected.retain(|selected| selected != name);
        }
    }
    selected
}

/// Whole names first, in the order given, then what patterns add.
fn expand_patterns(available: &[&str], entries: &[String]) -> Vec<String> {
    let mut selected = Vec::new();
    let (patterns, names): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| entry.contains('*'));
    for name in names {
        push_new(&mut selected, name);
    }
    for name in available {
        if patterns.iter().any(|pattern| matches_pattern(pattern, name)) {
            push_new(&mut selected, name);
        }
    }
    selected
}

fn push_new(list: &mut Vec<String>, name: &str) {
    if !list.iter().any(|known| known == name) {
        list.push(name.to_owned());
    }
}

fn is_signed(entry: &str) -> bool {
    entry.starts_with(['+', '-'])
}

/// `*` stands for any run of characters. The pieces between stars are looked for from the left, so
/// the time is bounded by the product of the two lengths.
fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(pieces.next().unwrap_or_default()) else {
        return false;
    };
    let Some(last) = pieces.next_back() else { return rest.is_empty() };
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [&str; 7] = ["read", "bash", "edit", "write", "grep", "find", "ls"];

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(|&name| name.to_owned()).collect()
    }

    fn flags(base: ToolBase, list: Option<&str>, exclude: &[&str]) -> ToolFlags {
        ToolFlags {
            base,
            list: list.map(|text| ToolList::parse("--tools", text).unwrap()),
            exclude: names(exclude),
        }
    }

    #[test]
    fn settings_and_flags_combine() {
        use ToolBase::{Defaults, NoBuiltin, Nothing};
        type Case<'a> = (Option<&'a [&'a str]>, ToolBase, Option<&'a str>, &'a [&'a str], &'a str);
        let cases: &[Case<'_>] = &[
            (None, Defaults, None, &[], "read bash edit write"),
            (Some(&["+grep", "-write"]), Defaults, None, &[], "read bash edit grep"),
            (Some(&["read", "+grep", "-read"]), Defaults, None, &[], "grep"),
            (Some(&[]), Defaults, None, &[], ""),
            (Some(&["read"]), Defaults, Some("+bash"), &[], "read bash"),
            (None, Defaults, Some("-read,+ls"), &[], "bash edit write ls"),
            (None, Defaults, Some("ls,read,nope,read"), &[], "ls read"),
            (None, Defaults, Some("r*,*s,bash"), &[], "bash read ls"),
            (None, Defaults, Some(""), &[], ""),
            (None, Defaults, None, &["r*"], "bash edit write"),
            (None, Defaults, Some("read,bash"), &["bash"], "read"),
            (None, Nothing, None, &[], ""),
            (None, Nothing, Some("read"), &[], "read"),
            (None, Nothing, Some("+read"), &[], "read"),
            (None, NoBuiltin, None, &[], ""),
            (Some(&["grep"]), NoBuiltin, Some("+read"), &[], "read"),
        ];
        for (setting, base, list, exclude, expected) in cases {
            let setting = setting.map(names);
            let active = active_tools(&ALL, setting.as_deref(), &flags(*base, *list, exclude));
            assert_eq!(active.join(" "), *expected, "{setting:?} {base:?} {list:?} {exclude:?}");
        }
    }

    #[test]
    fn a_list_is_either_names_or_changes() {
        for text in ["read,+bash", "+,read", "+r*"] {
            let error = ToolList::parse("-t", text).unwrap_err();
            assert!(error.message.starts_with("-t: "), "{text:?}: {error}");
        }
        let spaced = ToolList::parse("-t", " read , bash ,").unwrap();
        assert_eq!(spaced, ToolList::Only(names(&["read", "bash"])));
    }

    #[test]
    fn stars_match_any_run() {
        for (pattern, name, expected) in [
            ("read", "read", true),
            ("read", "reader", false),
            ("*", "", true),
            ("r*d", "read", true),
            ("r*r", "r", false),
            ("*a*a*", "banana", true),
            ("*ab*b", "ab", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "a1c2b", false),
        ] {
            assert_eq!(matches_pattern(pattern, name), expected, "{pattern} {name}");
        }
    }
}
