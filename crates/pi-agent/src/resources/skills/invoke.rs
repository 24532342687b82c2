//! Calling a skill: `/skill:name arguments`.

use super::{Skill, Skills};
use crate::env::ExecutionEnv;
use crate::resources::command::{self, is_blank};
use crate::resources::diagnostic::ResourceDiagnostic;
use crate::resources::files;
use crate::resources::front_matter;

const PREFIX: &str = "skill:";

impl Skills {
    /// What a text becomes that calls one of these skills: its instructions, read now, with what
    /// follows the name below them. `None` if it calls none.
    ///
    /// # Errors
    /// The skill's file cannot be read.
    pub async fn expand(
        &self,
        env: &dyn ExecutionEnv,
        text: &str,
    ) -> Result<Option<String>, ResourceDiagnostic> {
        let Some((skill, arguments)) = self.called_by(text) else { return Ok(None) };
        let content = files::read(env, &skill.file_path).await?;
        Ok(Some(skill.invocation(&content, arguments)))
    }

    fn called_by<'a>(&self, text: &'a str) -> Option<(&Skill, &'a str)> {
        let (command, arguments) = command::split(text)?;
        Some((self.get(command.strip_prefix(PREFIX)?)?, arguments))
    }
}

impl Skill {
    /// The message that calls this skill, made of its file's content.
    fn invocation(&self, content: &str, arguments: &str) -> String {
        let Self { name, file_path, base_dir, .. } = self;
        let (location, directory) = (file_path.display(), base_dir.display());
        let body = front_matter::body(content);
        let mut message = format!(
            "<skill name=\"{name}\" location=\"{location}\">\nReferences are relative to {directory}.\n\n{}\n</skill>",
            body.trim()
        );
        let arguments = arguments.trim_matches(is_blank);
        if !arguments.is_empty() {
            message.push_str("\n\n");
            message.push_str(arguments);
        }
        message
    }
}
