//! What the user typed, made into what the model reads.
//!
//! Owns: the order in which skills and prompt templates are tried. Never: runs commands of
//! extensions, or hooks; both come before this.

use super::prompt_templates::PromptTemplates;
use super::resource_diagnostic::ResourceDiagnostic;
use super::skills::Skills;

/// A text with what it called put in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    pub text: String,
    /// Why a skill that was called is not in it. The text is then as it was typed.
    pub diagnostic: Option<ResourceDiagnostic>,
}

/// Expands `/skill:name arguments` and `/template arguments`, in this order and once. A text that
/// calls nothing comes back as it is.
pub fn expand(text: &str, skills: &Skills, templates: &PromptTemplates) -> Expanded {
    let (from_skill, diagnostic) = match skills.expand(text) {
        Ok(expanded) => (expanded, None),
        Err(diagnostic) => (None, Some(diagnostic)),
    };
    let expanded = from_skill.or_else(|| templates.expand(text));
    Expanded { text: expanded.unwrap_or_else(|| text.to_owned()), diagnostic }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::harness::resource_diagnostic::ResourceProblem;
    use crate::harness::skills::RootFiles;

    struct Scratch {
        dir: tempfile::TempDir,
        skills: Skills,
        templates: PromptTemplates,
    }

    impl Scratch {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let mut scratch =
                Self { dir, skills: Skills::default(), templates: PromptTemplates::default() };
            for (path, content) in [
                ("skills/one/SKILL.md", "---\nname: one\ndescription: d\n---\n\n  Do it. \n\n"),
                ("skills/empty/SKILL.md", "---\ndescription: d\n---\n"),
                (
                    "skills/hidden/SKILL.md",
                    "---\ndescription: d\ndisable-model-invocation: true\n---\nH",
                ),
                (
                    "skills/a & \"b\"/SKILL.md",
                    "---\nname: odd\ndescription: d\n---\n\u{feff}<x>\r\ny",
                ),
                ("skills/root.md", "---\ndescription: d\n---\nRoot"),
                ("skills/two words/SKILL.md", "---\ndescription: d\n---\nno"),
                ("prompts/t.md", "<$@>"),
                ("prompts/skill:one.md", "hidden by the skill"),
                ("prompts/skill:template.md", "T"),
                ("prompts/to-skill.md", "/skill:one $@"),
                ("prompts/to-template.md", "/t $@"),
            ] {
                let path = scratch.path(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, content).unwrap();
            }
            scratch.skills.discover(&scratch.path("skills"), RootFiles::Count);
            assert_eq!(scratch.templates.discover(&scratch.path("prompts")), []);
            scratch
        }

        fn path(&self, below: &str) -> PathBuf {
            self.dir.path().join(below)
        }

        fn expand(&self, text: &str) -> Expanded {
            expand(text, &self.skills, &self.templates)
        }

        fn text(&self, text: &str) -> String {
            let expanded = self.expand(text);
            assert_eq!(expanded.diagnostic, None, "{text:?}");
            expanded.text
        }

        /// How the call of a skill reads that lies below `skills`.
        fn called(&self, name: &str, directory: &str, file: &str, rest: &str) -> String {
            let directory = self.path("skills").join(directory);
            let directory = directory.display().to_string();
            let directory = directory.trim_end_matches('/');
            format!(
                "<skill name=\"{name}\" location=\"{directory}/{file}\">\nReferences are relative to {directory}.\n\n{rest}"
            )
        }
    }

    #[test]
    fn a_skill_is_called_with_its_instructions_and_the_arguments() {
        let scratch = Scratch::new();
        for (text, rest) in [
            ("/skill:one", "Do it.\n</skill>"),
            ("/skill:one    ", "Do it.\n</skill>"),
            ("/skill:one  some  args ", "Do it.\n</skill>\n\nsome  args"),
            ("/skill:one \n\n a\n\n b \n", "Do it.\n</skill>\n\na\n\n b"),
            ("/skill:one\nnext line", "Do it.\n</skill>\n\nnext line"),
            ("/skill:one /t x", "Do it.\n</skill>\n\n/t x"),
            ("/skill:one $1", "Do it.\n</skill>\n\n$1"),
        ] {
            let expected = scratch.called("one", "one", "SKILL.md", rest);
            assert_eq!(scratch.text(text), expected, "{text:?}");
        }
        for (text, name, directory, file, rest) in [
            ("/skill:empty", "empty", "empty", "SKILL.md", "\n</skill>"),
            ("/skill:hidden", "hidden", "hidden", "SKILL.md", "H\n</skill>"),
            ("/skill:odd z", "odd", "a & \"b\"", "SKILL.md", "\u{feff}<x>\ny\n</skill>\n\nz"),
            ("/skill:root", "root", "", "root.md", "Root\n</skill>"),
        ] {
            assert_eq!(scratch.text(text), scratch.called(name, directory, file, rest));
        }
    }

    #[test]
    fn the_instructions_are_read_when_the_skill_is_called() {
        let scratch = Scratch::new();
        for content in ["---\nname: new\n---\nNew", "New\n", "---\nname: [broken\n---\nNew"] {
            fs::write(scratch.path("skills/one/SKILL.md"), content).unwrap();
            let expected = scratch.called("one", "one", "SKILL.md", "New\n</skill>");
            assert_eq!(scratch.text("/skill:one"), expected);
        }
    }

    #[test]
    fn what_cannot_be_read_is_told_and_the_text_goes_out_as_it_is() {
        let scratch = Scratch::new();
        let path = scratch.path("skills/hidden/SKILL.md");
        fs::remove_file(&path).unwrap();
        let expanded = scratch.expand("/skill:hidden x");
        assert_eq!(expanded.text, "/skill:hidden x");
        let diagnostic = expanded.diagnostic.unwrap();
        assert_eq!(diagnostic.path, path);
        assert!(matches!(diagnostic.problem, ResourceProblem::Unreadable(_)), "{diagnostic}");
    }

    #[test]
    fn skills_come_before_templates_and_nothing_is_expanded_twice() {
        let scratch = Scratch::new();
        for (text, expected) in [
            ("/t a", "<a>"),
            ("/skill:template", "T"),
            ("/to-skill q", "/skill:one q"),
            ("/to-template q", "/t q"),
            ("/t /skill:one", "</skill:one>"),
        ] {
            assert_eq!(scratch.text(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_text_that_calls_nothing_stays_as_it_is() {
        let scratch = Scratch::new();
        for text in [
            "",
            "hello",
            "/",
            "/unknown x",
            "/skill:unknown x",
            "/skill:",
            "/skill: one",
            "/skill:One",
            "/SKILL:one",
            "/skill:two words",
            "/one",
            " /skill:one",
            " /t a\n",
            "text /t a",
        ] {
            assert_eq!(scratch.text(text), text);
        }
    }
}
