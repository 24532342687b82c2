//! Skills and prompt templates of one directory.

use std::sync::Arc;

use pi_agent::env::ExecutionEnv;

use super::Workspace;
use crate::error::{AppError, Warning};
use crate::resources::Library;
use crate::resources::library::{LibrarySources, ProjectSources, ResourceFlags};

impl Workspace {
    /// Reads them, unless that was done before. Waits for the disk: to be called where that may be.
    ///
    /// # Errors
    /// A path of the options leads to nothing that could be loaded.
    pub(super) fn library(&self, files: &dyn ExecutionEnv) -> Result<&Arc<Library>, AppError> {
        if let Some(library) = self.inner.library.get() {
            return Ok(library);
        }
        let library = self.read_library(files);
        let options = self.options();
        for (what, flags) in
            [("skill", &options.skills), ("prompt template", &options.prompt_templates)]
        {
            self.check_given(what, flags, &library)?;
        }
        self.tell(&library);
        Ok(self.inner.library.get_or_init(|| Arc::new(library)))
    }

    fn read_library(&self, files: &dyn ExecutionEnv) -> Library {
        let options = self.options();
        let agent_dir = options.env.agent_dir();
        let (policy, sources) = (self.policy(), self.sources());
        let sources = LibrarySources {
            env: &options.env,
            agent_dir: &agent_dir,
            cwd: self.dir(),
            project: policy.is_trusted.then(|| ProjectSources {
                dir: policy.project_dir.as_deref(),
                settings: sources.project_resources(),
            }),
            settings: sources.user_resources(),
            skills: &options.skills,
            prompt_templates: &options.prompt_templates,
            launch_dir: &options.launch_dir,
        };
        tokio::runtime::Handle::current().block_on(Library::load(&sources, files))
    }

    fn check_given(
        &self,
        what: &str,
        flags: &ResourceFlags,
        library: &Library,
    ) -> Result<(), AppError> {
        let options = self.options();
        let resolve = |path: &str| options.env.resolve_path(&options.launch_dir, path);
        match library.missing_path(flags, resolve) {
            Some(found) => Err(AppError::user(format!("Cannot load the {what} {found}"))),
            None => Ok(()),
        }
    }

    /// What was meant to be there and is not. That a name is taken, or not as it should be, changes
    /// nothing that was asked for.
    fn tell(&self, library: &Library) {
        let losses = library.diagnostics.iter().filter(|found| found.problem.is_loss());
        self.warnings().extend(losses.map(|found| Warning::new(found.to_string())));
        let missing = library.missing_packages.iter();
        self.warnings().extend(missing.map(|source| {
            Warning::new(format!("Package {source} is not installed; nothing of it is loaded"))
        }));
    }
}
