//! What the user typed, made into what the model reads.
//!
//! Owns: the order in which skills and prompt templates are tried. Never: runs commands of
//! extensions, or hooks; both come before this.

use super::diagnostic::ResourceDiagnostic;
use super::prompt_templates::PromptTemplates;
use super::skills::Skills;
use crate::env::ExecutionEnv;

/// A text with what it called put in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    pub text: String,
    /// Why a skill that was called is not in it. The text is then as it was typed.
    pub diagnostic: Option<ResourceDiagnostic>,
}

/// Expands `/skill:name arguments` and `/template arguments`, in this order and once. A text that
/// calls nothing comes back as it is. `env` is where the skills' files lie.
///
/// ```
/// use pi_agent::env::{LocalEnv, LocalEnvConfig};
/// use pi_agent::resources::{PromptTemplate, PromptTemplates, Skills, expand};
///
/// # tokio::runtime::Runtime::new()?.block_on(async {
/// let env = LocalEnv::new(LocalEnvConfig::default());
/// let mut templates = PromptTemplates::default();
/// templates.add(PromptTemplate::parse("/prompts/review.md", "Review ${1:-all of it}.")?);
///
/// let expanded = expand(&env, "/review \"the tests\"", &Skills::default(), &templates).await;
/// assert_eq!(expanded.text, "Review the tests.");
/// # Ok::<(), pi_agent::resources::ResourceDiagnostic>(())
/// # }).map_err(|diagnostic| diagnostic.to_string())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn expand(
    env: &dyn ExecutionEnv,
    text: &str,
    skills: &Skills,
    templates: &PromptTemplates,
) -> Expanded {
    match skills.expand(env, text).await {
        Ok(from_skill) => {
            let expanded = from_skill.or_else(|| templates.expand(text));
            Expanded { text: expanded.unwrap_or_else(|| text.to_owned()), diagnostic: None }
        }
        Err(diagnostic) => Expanded { text: text.to_owned(), diagnostic: Some(diagnostic) },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::env::{LocalEnv, LocalEnvConfig};
    use crate::resources::diagnostic::ResourceProblem;
    use crate::resources::skills::RootFiles;

    struct Scratch {
        dir: tempfile::TempDir,
        env: LocalEnv,
        skills: Skills,
        templates: PromptTemplates,
    }

    impl Scratch {
        async fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let env = LocalEnv::new(LocalEnvConfig::default());
            let mut scratch =
                Self { dir, env, skills: Skills::default(), templates: PromptTemplates::default() };
            for (path, content) in [
                ("skills/one/SKILL.md", "---\nname: one\ndescription: d\n---\n\n  Do it. \n\n"),
                ("skills/empty/SKILL.md", "---\ndescription: d\n---\n"),
                (
                    "skills/hidden/SKILL.md",
                    "---\ndescription: d\ndisable-model-invocation: true\n---\nH",
                ),
                ("skills/a & \"b\"/SKILL.md", "---\nname: odd\ndescription: d\n---\n<x>\r\ny"),
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
            let (skills, prompts) = (scratch.path("skills"), scratch.path("prompts"));
            scratch.skills.discover(&scratch.env, &skills, RootFiles::Count).await;
            assert_eq!(scratch.templates.discover(&scratch.env, &prompts).await, []);
            scratch
        }

        fn path(&self, below: &str) -> PathBuf {
            self.dir.path().join(below)
        }

        async fn expand(&self, text: &str) -> Expanded {
            expand(&self.env, text, &self.skills, &self.templates).await
        }

        async fn text(&self, text: &str) -> String {
            let expanded = self.expand(text).await;
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

    #[tokio::test]
    async fn a_skill_is_called_with_its_instructions_and_the_arguments() {
        let scratch = Scratch::new().await;
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
            assert_eq!(scratch.text(text).await, expected, "{text:?}");
        }
        for (text, name, directory, file, rest) in [
            ("/skill:empty", "empty", "empty", "SKILL.md", "\n</skill>"),
            ("/skill:hidden", "hidden", "hidden", "SKILL.md", "H\n</skill>"),
            ("/skill:odd z", "odd", "a & \"b\"", "SKILL.md", "<x>\ny\n</skill>\n\nz"),
            ("/skill:root", "root", "", "root.md", "Root\n</skill>"),
        ] {
            assert_eq!(scratch.text(text).await, scratch.called(name, directory, file, rest));
        }
    }

    #[tokio::test]
    async fn the_instructions_are_read_when_the_skill_is_called() {
        let scratch = Scratch::new().await;
        for content in ["---\nname: new\n---\nNew", "New\n", "---\nname: [broken\n---\nNew"] {
            fs::write(scratch.path("skills/one/SKILL.md"), content).unwrap();
            let expected = scratch.called("one", "one", "SKILL.md", "New\n</skill>");
            assert_eq!(scratch.text("/skill:one").await, expected);
        }
    }

    #[tokio::test]
    async fn what_cannot_be_read_is_told_and_the_text_goes_out_as_it_is() {
        let scratch = Scratch::new().await;
        let path = scratch.path("skills/one/SKILL.md");
        fs::remove_file(&path).unwrap();
        let missing = scratch.expand("/skill:one x").await;
        let expected = ResourceDiagnostic::new(&path, ResourceProblem::Missing);
        assert_eq!(missing.diagnostic, Some(expected));

        fs::create_dir(&path).unwrap();
        let unreadable = scratch.expand("/skill:one x").await;
        let diagnostic = unreadable.diagnostic.unwrap();
        assert_eq!(diagnostic.path, path);
        assert!(matches!(diagnostic.problem, ResourceProblem::Unreadable(_)), "{diagnostic}");
        assert_eq!([missing.text, unreadable.text], ["/skill:one x"; 2]);
    }

    #[tokio::test]
    async fn skills_come_before_templates_and_nothing_is_expanded_twice() {
        let scratch = Scratch::new().await;
        for (text, expected) in [
            ("/t a", "<a>"),
            ("/skill:template", "T"),
            ("/to-skill q", "/skill:one q"),
            ("/to-template q", "/t q"),
            ("/t /skill:one", "</skill:one>"),
        ] {
            assert_eq!(scratch.text(text).await, expected, "{text:?}");
        }
    }

    #[tokio::test]
    async fn a_text_that_calls_nothing_stays_as_it_is() {
        let scratch = Scratch::new().await;
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
            assert_eq!(scratch.text(text).await, text);
        }
    }
}
