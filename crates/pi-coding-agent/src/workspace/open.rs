//! Opening a conversation: the model, the tools and everything else it begins with.

use std::fs::File;
use std::sync::Arc;

use pi_agent::harness::ActiveTools;
use pi_agent::session::Session;
use pi_ai::auth::Secret;
use pi_ai::{Identity, Model, SimpleStreamOptions, StreamOptions};

use super::prompt::PromptFiles;
use super::{ModelFlags, Workspace, WorkspaceOptions};
use crate::error::{AppError, Context, ErrorKind, Warning};
use crate::models::{
    ModelChoice, ModelDefaults, ModelError, ModelRegistry, ModelRequest, NO_MODELS_HINT,
    SessionChoice, choose_model, suggestion,
};
use crate::resources::old_folders;
use crate::session_runtime::{AgentSession, ModelDoor, ModelScope, SessionParts, ToolParts};
use crate::tool_selection::{ToolFlags, active_tools};
use crate::tools::BUILTIN_TOOLS;

impl Workspace {
    /// Chooses the model and joins everything to a conversation. What counts is the directory of
    /// the session.
    ///
    /// # Errors
    /// No model can be used, the one asked for has no key, or the certificates to trust cannot be
    /// read. Nothing is stored then.
    pub async fn open(
        &self,
        session: Session,
        flags: &ModelFlags,
    ) -> Result<AgentSession, AppError> {
        let (workspace, flags) = (self.for_directory(session.cwd()), flags.clone());
        // It reads files, and a key may come from a command that takes its time.
        let opened = tokio::task::spawn_blocking(move || workspace.open_here(session, &flags));
        opened.await.context(ErrorKind::Internal, || "The conversation cannot begin")?
    }

    fn open_here(&self, session: Session, flags: &ModelFlags) -> Result<AgentSession, AppError> {
        self.rename_old_folders();
        let registry = self.models();
        let ModelChoice { model, thinking, scope, warnings } = self.choose(&session, flags)?;
        self.warnings().extend(warnings.into_iter().map(Warning::new));
        if !flags.may_be_missing {
            check_key(registry, &model, flags.api_key.as_ref())?;
        }
        self.check_compaction(&model)?;
        self.check_certificates()?;

        let settings = self.settings();
        let WorkspaceOptions { env, tools, .. } = self.options();
        let files = self.local_env(session.cwd());
        let library = Arc::clone(self.library(&*files)?);
        let key = flags.api_key.clone().map(|key| (model.provider.clone(), key));
        let scope = match scope {
            Some(models) => ModelScope::of(models),
            None => ModelScope::pending(
                settings.enabled_models.clone().unwrap_or_default(),
                self.warnings().clone(),
            ),
        };
        Ok(AgentSession::new(SessionParts {
            model,
            thinking_level: thinking,
            door: ModelDoor::new(Arc::clone(registry), key),
            scope,
            options: self.request_options(&session),
            prompt: Arc::<PromptFiles>::clone(self.prompt_files(&library.skills)),
            library,
            env: files,
            retry: settings.retry,
            compaction: settings.compaction.policy.clone(),
            branch_summary: settings.compaction.branch_summary,
            steering_mode: settings.steering_mode,
            follow_up_mode: settings.follow_up_mode,
            tools: ToolParts {
                active: self.active_tools(tools),
                agent_dir: env.agent_dir(),
                shell_path: settings.shell_path.clone(),
                shell_command_prefix: settings.shell_command_prefix.clone(),
                auto_resize_images: settings.images.auto_resize,
                block_images: settings.images.block_images,
            },
            session,
            warnings: self.warnings().clone(),
            key_processes: self.inner.key_processes.clone(),
        }))
    }

    /// The user's, and those of a project that may be touched.
    fn rename_old_folders(&self) {
        let agent_dir = self.options().env.agent_dir();
        for dir in [Some(agent_dir.as_path()), self.project_dir()].into_iter().flatten() {
            self.warnings().extend(old_folders::rename_commands(dir));
        }
    }

    fn choose(&self, session: &Session, flags: &ModelFlags) -> Result<ModelChoice, AppError> {
        let recorded = session.last_model();
        let choice = choose_model(
            self.models(),
            ModelRequest {
                provider: flags.provider.as_deref(),
                model: flags.pattern.as_deref(),
                scope: flags.scope.as_deref(),
                thinking: flags.thinking,
                has_key: flags.api_key.is_some(),
            },
            &ModelDefaults::from(self.settings()),
            recorded.as_ref().map(|(provider, model)| SessionChoice {
                provider,
                model,
                thinking: session.last_thinking_level(),
            }),
        );
        match choice {
            Err(ModelError::NoModel { warnings }) if flags.may_be_missing => {
                self.warnings().extend(warnings.into_iter().map(Warning::new));
                self.warnings()
                    .push(Warning::new(format!("No models available.\n\n{NO_MODELS_HINT}")));
                Ok(ModelChoice::unknown())
            }
            choice => choice.map_err(|error| {
                let text = error.to_string();
                let hint = suggestion(self.models(), &error);
                if let ModelError::NoModel { warnings } = error {
                    self.warnings().extend(warnings.into_iter().map(Warning::new));
                }
                AppError::user(text).with_optional_hint(hint)
            }),
        }
    }

    /// They are read with the first request; that they cannot be is better known before.
    fn check_certificates(&self) -> Result<(), AppError> {
        let Some(path) = self.options().env.extra_certificates() else { return Ok(()) };
        File::open(&path).map(drop).context(ErrorKind::Config, || {
            format!("Cannot read the certificates in {}", path.display())
        })
    }

    /// What the command line says about tools holds; else what the session was left with.
    fn active_tools(&self, flags: &ToolFlags) -> ActiveTools {
        let setting = self.settings().default_tools.as_deref();
        let names = active_tools(&BUILTIN_TOOLS, setting, flags);
        if *flags == ToolFlags::default() {
            ActiveTools::Restored(names)
        } else {
            ActiveTools::Only(names)
        }
    }

    /// Sizes of compaction that make no sense; those of other models are only told.
    fn check_compaction(&self, model: &Model) -> Result<(), AppError> {
        let key = format!("{}/{}", model.provider, model.id);
        for problem in &self.settings().compaction.problems {
            match &problem.model {
                Some(other) if *other != key => {
                    self.warnings().push(Warning::new(problem.text.clone()));
                }
                _ => return Err(AppError::config(problem.text.clone())),
            }
        }
        Ok(())
    }

    fn request_options(&self, session: &Session) -> SimpleStreamOptions {
        let (settings, env) = (self.settings(), &self.options().env);
        let provider = &settings.provider_retry;
        let telemetry = env.telemetry().unwrap_or(settings.enable_install_telemetry);
        SimpleStreamOptions {
            base: StreamOptions {
                identity: Identity {
                    user_agent: None,
                    attribution: telemetry && !self.is_offline(),
                },
                cache_retention: env.cache_retention(),
                session_id: Some(session.id().to_owned()),
                timeout_ms: provider.timeout_ms.or(settings.http_idle_timeout_ms),
                max_retries: provider.max_retries,
                max_retry_delay_ms: Some(provider.max_retry_delay_ms),
                ..StreamOptions::default()
            },
            thinking_budgets: settings.thinking_budgets.clone(),
            ..SimpleStreamOptions::default()
        }
    }
}

/// A missing key is told before anything is stored, not by a failed answer.
fn check_key(
    registry: &ModelRegistry,
    model: &Model,
    key: Option<&Secret>,
) -> Result<(), AppError> {
    if key.is_some() || registry.has_key(&model.provider) {
        return Ok(());
    }
    match registry.request_auth(model, None) {
        Ok(_) => Ok(()),
        Err(error) => Err(AppError::config(error.to_string())),
    }
}
