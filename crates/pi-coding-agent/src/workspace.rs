//! What pi knows of a directory, and opening conversations in it.
//!
//! Owns: which settings, trust, models and prompt files count for a directory, and joining them to
//! a session. Never: prints (what is odd goes to [`Warnings`]), reads arguments, or runs anything.
//!
//! Each part is read when it is first needed, and once. The command line is one user of this
//! module; a program that embeds pi is another:
//!
//! ```
//! use std::sync::Arc;
//!
//! use pi_ai::faux::FauxProvider;
//! use pi_coding_agent::env::Env;
//! use pi_coding_agent::models::{ProviderKey, RegisteredProvider, Visibility};
//! use pi_coding_agent::workspace::{ModelFlags, SessionFlags, Workspace, WorkspaceOptions};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let home = tempfile::tempdir()?;
//! # let home = home.path();
//! // A scripted model. Without it, the models are those of `models.json` and the catalogue.
//! let scripted = FauxProvider::default();
//! scripted.push("Done.");
//! let env = Env::from_variables([("HOME", home.as_os_str())]);
//! let workspace = Workspace::new(
//!     WorkspaceOptions {
//!         providers: vec![RegisteredProvider {
//!             id: "faux".to_owned(),
//!             name: "Scripted".to_owned(),
//!             models: vec![Arc::new(FauxProvider::model())],
//!             protocol: Some(Arc::new(scripted)),
//!             key: ProviderKey::NotNeeded,
//!             visibility: Visibility::Listed,
//!         }],
//!         ..WorkspaceOptions::new(env, home.to_owned())
//!     },
//!     home,
//! );
//! let session = workspace.session(&SessionFlags { in_memory: true, ..SessionFlags::default() })?;
//! let model = ModelFlags { pattern: Some("faux/faux-1".to_owned()), ..ModelFlags::default() };
//! let agent = workspace.open(session, &model).await?;
//! let outcome = agent.prompt("Do it.").await?;
//! assert!(outcome.answer.is_some_and(|answer| answer.text() == "Done."));
//! # Ok(())
//! # }
//! ```

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pi_agent::env::{ExecutionEnv, LocalEnv, LocalEnvConfig, ProcessGroups};
use pi_agent::resources::Skills;
use pi_agent::session::Session;
use pi_agent::session_dir::SessionDir;
use pi_ai::auth::Environment;
use pi_ai::transport::{HttpTransport, ProxyConfig, TransportConfig};

use crate::error::{AppError, Context, ErrorKind, Warning};
use crate::models::{ModelRegistry, ShellCommands};
use crate::resources::Library;
use crate::session_runtime::AgentSession;
use crate::settings::{Settings, SettingsProblem, SettingsSources};
use crate::themes::{ThemeChoice, Themes};
use crate::trust::{self, TrustQuestion};
use crate::warnings::Warnings;

mod export;
mod library;
mod open;
mod options;
mod prompt;
mod session;
#[cfg(test)]
pub(crate) mod tests;

pub use options::{ModelFlags, SessionFlags, SessionSource, WorkspaceOptions};
pub use session::FoundSession;

use prompt::PromptFiles;

/// A handle; clones share what was read.
#[derive(Debug, Clone)]
pub struct Workspace {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    options: Arc<WorkspaceOptions>,
    dir: PathBuf,
    warnings: Warnings,
    key_processes: ProcessGroups,
    /// What tools and users' commands have started, in every conversation.
    processes: ProcessGroups,
    sources: OnceLock<SettingsSources>,
    policy: OnceLock<Policy>,
    models: OnceLock<Arc<ModelRegistry>>,
    prompt: OnceLock<Arc<PromptFiles>>,
    library: OnceLock<Arc<Library>>,
}

/// What follows from trust.
#[derive(Debug)]
struct Policy {
    settings: Settings,
    is_trusted: bool,
    /// The project's `.pi`, if it is there and trusted.
    project_dir: Option<PathBuf>,
}

impl Workspace {
    /// The workspace of `dir`, an absolute path. Reads nothing yet.
    pub fn new(options: WorkspaceOptions, dir: &Path) -> Self {
        Self::build(Arc::new(options), dir, Warnings::default(), Default::default())
    }

    /// The workspace of another directory, with the same options. Models are read anew too.
    #[must_use]
    pub fn for_directory(&self, dir: &Path) -> Self {
        if dir == self.dir() {
            return self.clone();
        }
        self.anew(dir)
    }

    /// The same directory as it is now. Conversations that are open keep what they began with.
    #[must_use]
    pub fn reloaded(&self) -> Self {
        self.anew(self.dir())
    }

    pub fn options(&self) -> &WorkspaceOptions {
        &self.inner.options
    }

    pub fn dir(&self) -> &Path {
        &self.inner.dir
    }

    /// What was found odd so far, in this workspace and in those made from it.
    pub fn warnings(&self) -> &Warnings {
        &self.inner.warnings
    }

    /// What holds here, the project's own settings included if it is trusted.
    pub fn settings(&self) -> &Settings {
        &self.policy().settings
    }

    /// What is in the settings files that count here and does not count itself. The files are looked at
    /// anew; nothing of it is part of starting, unless the options are verbose.
    pub fn settings_problems(&self) -> Vec<SettingsProblem> {
        self.sources().problems(self.policy().is_trusted)
    }

    /// The project's `.pi`, if it is trusted. It need not be there.
    pub fn project_dir(&self) -> Option<&Path> {
        self.policy().project_dir.as_deref()
    }

    /// Every model and what requests to it need.
    pub fn models(&self) -> &Arc<ModelRegistry> {
        self.inner.models.get_or_init(|| {
            let registry = self.registry();
            let warnings = self.warnings();
            let config = registry.config_problems().iter().map(ToString::to_string);
            warnings.extend(config.map(Warning::new));
            let credentials = registry.credential_problems().map(ToString::to_string);
            warnings.extend(credentials.map(Warning::new));
            Arc::new(registry)
        })
    }

    /// The colours the settings choose. What cannot be had is told of, and the built-in ones are used.
    pub fn theme(&self) -> ThemeChoice {
        let user = Some(self.options().env.agent_dir());
        let folders = user.iter().map(PathBuf::as_path).chain(self.project_dir());
        let folders = folders.map(|folder| folder.join("themes")).collect();
        let (choice, warnings) = Themes::new(folders).choose(self.settings().theme.as_deref());
        self.warnings().extend(warnings);
        choice
    }

    /// Finds or makes a session. A session may belong to another directory than this one; nothing
    /// of the project but its `sessionDir` is read for it.
    ///
    /// # Errors
    /// It does not exist, is no session, cannot be read, belongs to a directory that is gone, or was
    /// asked for by id and belongs to another directory.
    pub fn session(&self, flags: &SessionFlags) -> Result<Session, AppError> {
        self.find_session(flags)?.ready()
    }

    /// Like [`Self::session`], for those who can ask what to do with a session of another directory.
    ///
    /// # Errors
    /// It does not exist, is no session, cannot be read, or belongs to a directory that is gone.
    pub fn find_session(&self, flags: &SessionFlags) -> Result<FoundSession, AppError> {
        let (dir, env) = (self.session_dir(flags), &self.options().env);
        session::open(flags, &dir, env, self.dir(), self.warnings())
    }

    /// Where the sessions of these options are kept.
    pub fn session_dir(&self, flags: &SessionFlags) -> SessionDir {
        let WorkspaceOptions { env, launch_dir, .. } = self.options();
        session::directory(flags, self.sources().session_dir(), env, launch_dir)
    }

    /// Reads the prompt's files, skills and prompt templates anew for a conversation that goes on. The
    /// workspace it gives is that of what is opened from now on; settings and models count there.
    ///
    /// # Errors
    /// A path of the options leads to nothing any more. The conversation is as it was.
    pub async fn reload(&self, session: &AgentSession) -> Result<Self, AppError> {
        let cwd = session.with_session(|session| session.cwd().to_owned());
        let workspace = self.for_directory(&cwd).reloaded();
        let read = move || {
            let library = Arc::clone(workspace.library(&*workspace.local_env(&cwd))?);
            let prompt = Arc::clone(workspace.prompt_files(&library.skills));
            Ok::<_, AppError>((workspace, library, prompt))
        };
        let read = tokio::task::spawn_blocking(read).await;
        let (workspace, library, prompt) =
            read.context(ErrorKind::Internal, || "Nothing could be read anew")??;
        session.set_library(library, prompt);
        Ok(workspace)
    }

    /// Kills the commands that still are to print a key, and lets no other one start. Nobody waits
    /// for them when the process ends, and they would outlive it.
    pub fn kill_key_commands(&self) {
        self.inner.key_processes.kill_all();
    }

    fn build(
        options: Arc<WorkspaceOptions>,
        dir: &Path,
        warnings: Warnings,
        [key_processes, processes]: [ProcessGroups; 2],
    ) -> Self {
        let inner = Inner {
            options,
            dir: dir.to_owned(),
            warnings,
            key_processes,
            processes,
            sources: OnceLock::new(),
            policy: OnceLock::new(),
            models: OnceLock::new(),
            prompt: OnceLock::new(),
            library: OnceLock::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    fn anew(&self, dir: &Path) -> Self {
        let Inner { options, warnings, key_processes, processes, .. } = &*self.inner;
        let processes = [key_processes.clone(), processes.clone()];
        Self::build(Arc::clone(options), dir, warnings.clone(), processes)
    }

    fn sources(&self) -> &SettingsSources {
        self.inner.sources.get_or_init(|| {
            let agent_dir = self.options().env.agent_dir();
            let project_dir = trust::project_dir(self.dir(), &agent_dir);
            SettingsSources::read(&agent_dir, project_dir.as_deref())
        })
    }

    fn policy(&self) -> &Policy {
        self.inner.policy.get_or_init(|| {
            let WorkspaceOptions { env, approve, verbose, .. } = self.options();
            let agent_dir = env.agent_dir();
            let sources = self.sources();
            let decision = trust::decide(&TrustQuestion {
                cwd: self.dir(),
                home: env.home(),
                agent_dir: &agent_dir,
                approve: *approve,
                default: sources.default_project_trust(),
            });
            self.warnings().extend(decision.warning);
            let (settings, problems) = sources.resolve(decision.trusted);
            self.warnings().extend(problems);
            if *verbose {
                let problems = sources.problems(decision.trusted);
                self.warnings()
                    .extend(problems.iter().map(|found| Warning::new(found.to_string())));
            }
            let project_dir = trust::project_dir(self.dir(), &agent_dir);
            Policy {
                settings,
                is_trusted: decision.trusted,
                project_dir: project_dir.filter(|_| decision.trusted),
            }
        })
    }

    fn prompt_files(&self, skills: &Skills) -> &Arc<PromptFiles> {
        self.inner.prompt.get_or_init(|| Arc::new(PromptFiles::read(self, skills.clone())))
    }

    /// This machine, as the tools of a conversation in `cwd` see it.
    fn local_env(&self, cwd: &Path) -> Arc<dyn ExecutionEnv> {
        let env = &self.options().env;
        Arc::new(LocalEnv::new(LocalEnvConfig {
            cwd: cwd.to_owned(),
            home: Some(env.home().to_path_buf()),
            temp_dir: env.temp_dir(),
            environment: env.for_commands(self.is_offline()),
            processes: self.inner.processes.clone(),
        }))
    }

    fn registry(&self) -> ModelRegistry {
        let WorkspaceOptions { env, providers, .. } = self.options();
        let protocols = pi_ai::protocol::builtin(&Arc::new(self.transport()));
        let environment: Environment = env.variables().clone().into_iter().collect();
        let commands = ShellCommands::new(self.inner.key_processes.clone());
        let mut registry = ModelRegistry::load(&env.agent_dir(), environment, commands, protocols);
        for provider in providers {
            registry.register(provider.clone());
        }
        registry
    }

    fn transport(&self) -> HttpTransport {
        let env = &self.options().env;
        let proxies = env.proxies().or_setting(self.settings().http_proxy.as_deref());
        HttpTransport::new(TransportConfig {
            proxy: ProxyConfig {
                http: proxies.http,
                https: proxies.https,
                all: proxies.all,
                no_proxy: proxies.no_proxy,
            },
            extra_roots: env.extra_certificates(),
            version: Some(crate::VERSION.to_owned()),
        })
    }

    fn is_offline(&self) -> bool {
        self.options().offline || self.options().env.offline()
    }
}
