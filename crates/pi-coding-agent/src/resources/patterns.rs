//! Lists of paths and patterns, as settings and package manifests hold them.
//!
//! Owns: what `path`, a glob, `!glob`, `+path` and `-path` mean for a file. Never: looks at the disk.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use crate::paths::fold;

/// A list, taken apart. Patterns that are none match nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Patterns {
    /// Entries without a mark: paths or globs, as written.
    pub(super) plain: Vec<String>,
    excluded: Vec<String>,
    force_included: Vec<String>,
    force_excluded: Vec<String>,
}

impl Patterns {
    pub(super) fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Self {
        let mut patterns = Self::default();
        for entry in entries {
            let (list, rest) = match entry.split_at_checked(1) {
                Some(("!", rest)) => (&mut patterns.excluded, rest),
                Some(("+", rest)) => (&mut patterns.force_included, rest),
                Some(("-", rest)) => (&mut patterns.force_excluded, rest),
                _ => (&mut patterns.plain, entry),
            };
            if !rest.is_empty() {
                list.push(rest.to_owned());
            }
        }
        patterns
    }

    /// Whether the marked entries leave a file in. `+path` beats `!glob`, and `-path` both.
    pub(super) fn keep(&self, file: &Candidate<'_>) -> bool {
        if self.force_excluded.iter().any(|path| file.is(path)) {
            return false;
        }
        self.force_included.iter().any(|path| file.is(path))
            || !self.excluded.iter().any(|glob| file.matches(glob))
    }

    /// The same, where the plain entries narrow the choice if there are any.
    pub(super) fn select(&self, file: &Candidate<'_>) -> bool {
        let is_wanted = self.plain.is_empty()
            || self.plain.iter().any(|entry| file.is(entry) || file.matches(entry))
            || self.force_included.iter().any(|path| file.is(path));
        is_wanted && self.keep(file)
    }

    /// Whether an empty list was given, which asks for nothing.
    pub(super) fn is_empty(&self) -> bool {
        [&self.plain, &self.excluded, &self.force_included, &self.force_excluded]
            .iter()
            .all(|list| list.is_empty())
    }
}

/// A file that a list is held against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    /// Absolute.
    pub(super) path: &'a Path,
    /// Where relative entries begin. Absolute.
    pub(super) base: &'a Path,
}

impl Candidate<'_> {
    /// Whether an exact path means this file, or the directory of this skill.
    fn is(&self, entry: &str) -> bool {
        let path = fold(&self.base.join(entry));
        self.names().any(|name| name == path)
    }

    /// A glob is held against the path below the base, the last name, and the whole path. A skill
    /// goes by its directory too.
    pub(super) fn matches(&self, glob: &str) -> bool {
        let Some(matcher) = matcher(glob) else { return false };
        self.names().any(|name| {
            let below = name.strip_prefix(self.base).ok();
            below.is_some_and(|below| matcher.is_match(below))
                || name.file_name().is_some_and(|last| matcher.is_match(last))
                || matcher.is_match(name)
        })
    }

    fn names(&self) -> impl Iterator<Item = &Path> {
        let is_skill = self.path.file_name().is_some_and(|name| name == "SKILL.md");
        std::iter::once(self.path).chain(self.path.parent().filter(|_| is_skill))
    }
}

fn matcher(glob: &str) -> Option<GlobMatcher> {
    let glob = glob.strip_prefix("./").unwrap_or(glob);
    let glob = GlobBuilder::new(glob).literal_separator(true).build().ok()?;
    Some(glob.compile_matcher())
}

/// Whether an entry is a glob and no path.
pub(super) fn is_glob(entry: &str) -> bool {
    entry.contains(['*', '?', '[', '{'])
}

/// The part of a glob before its first name with a wild card, which is where to look.
pub(super) fn fixed_part(glob: &str) -> PathBuf {
    let is_fixed = |part: &Component<'_>| !is_glob(&part.as_os_str().to_string_lossy());
    Path::new(glob).components().take_while(is_fixed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKILL: &str = "/agent/skills/a/SKILL.md";
    const PROMPT: &str = "/agent/prompts/p1.md";

    fn keeps(entries: &[&str], path: &str) -> bool {
        let file = Candidate { path: Path::new(path), base: Path::new("/agent") };
        Patterns::parse(entries.iter().copied()).keep(&file)
    }

    #[test]
    fn marked_entries_leave_files_out_and_take_them_in_again() {
        let cases: &[(&[&str], &str, bool)] = &[
            (&[], SKILL, true),
            (&["more"], SKILL, true),
            (&["!a"], SKILL, false),
            (&["!b"], SKILL, true),
            (&["!**/a"], SKILL, false),
            (&["!*"], SKILL, false),
            (&["!skills/*"], SKILL, false),
            (&["!skills"], SKILL, true),
            (&["!skills/**", "+skills/a"], SKILL, true),
            (&["!*", "+skills/a/SKILL.md"], SKILL, true),
            (&["!*", "+skills/b"], SKILL, false),
            (&["-skills/a"], SKILL, false),
            (&["-skills/a/SKILL.md"], SKILL, false),
            (&["-./skills/a"], SKILL, false),
            (&["-../agent/skills/a"], SKILL, false),
            (&["-/agent/skills/a"], SKILL, false),
            (&["-a"], SKILL, true),
            (&["+skills/a", "-skills/a"], SKILL, false),
            (&["!p1"], PROMPT, true),
            (&["!p1.md"], PROMPT, false),
            (&["!./prompts/*.md"], PROMPT, false),
            (&["!p[0-3].md"], PROMPT, false),
            (&["!["], PROMPT, true),
            (&["!", "+", "-"], PROMPT, true),
        ];
        for (entries, path, expected) in cases {
            assert_eq!(keeps(entries, path), *expected, "{entries:?} {path}");
        }
    }

    #[test]
    fn plain_entries_of_a_filter_narrow_the_choice() {
        let file = Candidate { path: Path::new(SKILL), base: Path::new("/agent") };
        for (entries, expected) in [
            (&["skills/a"][..], true),
            (&["a"], true),
            (&["skills/*"], true),
            (&["skills/b"], false),
            (&["skills/b", "+skills/a"], true),
            (&["a", "!a"], false),
            (&["!b"], true),
        ] {
            let patterns = Patterns::parse(entries.iter().copied());
            assert_eq!(patterns.select(&file), expected, "{entries:?}");
        }
    }

    #[test]
    fn a_glob_is_looked_for_below_its_fixed_part() {
        for (glob, fixed) in [
            ("more/*", "more"),
            ("./a/b/*.md", "a/b"),
            ("**/x", ""),
            ("/abs/d?r/x", "/abs"),
            ("../up/{a,b}", "../up"),
        ] {
            let fixed_part: PathBuf =
                fixed_part(glob).components().filter(|part| *part != Component::CurDir).collect();
            assert_eq!(fixed_part, Path::new(fixed), "{glob}");
        }
    }
}
