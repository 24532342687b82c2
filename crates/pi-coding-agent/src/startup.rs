//! From options and environment to everything a run needs.
//!
//! Owns: the order of start-up: settings, session, trust, resources, models, input. Never: prints
//! (warnings are collected) or runs anything. Each step does only what the run will use.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_agent::Tool;
use pi_agent::session::{Header, Session};
use pi_ai::auth::Environment;
use pi_ai::transport::{HttpTransport, ProxyConfig, TransportConfig};
use pi_ai::{Identity, Model, Protocols, SimpleStreamOptions, StreamOptions};

use crate::cli::input::{self, AttachedImage, Prompt};
use crate::cli::{CliOptions, SessionSource, VERSION};
use crate::demo;
use crate::env::Env;
use crate::error::{AppError, Context, ErrorKind, Warning};
use crate::models::{
    ModelDefaults, ModelError, ModelRegistry, ModelRequest, ProviderKey, RegisteredProvider,
    SessionChoice, Visibility, choose_model,
};
use crate::resources::context_files::{self, ContextFile};
use crate::resources::system_files::{SystemFileSources, SystemFiles};
use crate::resources::system_prompt::{self, PromptParts};
use crate::session_runtime::{AgentSession, ModelDoor, SessionParts, ToolParts};
use crate::settings::{Settings, SettingsSources};
use crate::tool_selection::active_tools;
use crate::tools::BUILTIN_TOOLS;
use crate::tools::image::{self, ImageLimits};
use crate::trust::{self, TrustQuestion};

mod session;

/// A run whose session and settings are known. The model is chosen last: choosing may fail, and
/// JSON mode tells of the session before that.
pub(crate) struct Startup {
    options: CliOptions,
    env: Env,
    /// Where the user is; relative paths of the command line start here.
    launch_dir: PathBuf,
    settings: Settings,
    /// The project's `.pi`, if it is there and trusted.
    project_dir: Option<PathBuf>,
    session: Session,
    pub(crate) warnings: Vec<Warning>,
}

impl Startup {
    /// Reads settings and opens the session.
    ///
    /// # Errors
    /// An option is nobody's, or the session cannot be opened.
    pub(crate) fn new(options: CliOptions, env: Env) -> Result<Self, AppError> {
        let launch_dir = session::current_directory()?;
        let agent_dir = env.agent_dir();
        let mut warnings = options.warnings.clone();
        let here = SettingsSources::read(
            &agent_dir,
            trust::project_dir(&launch_dir, &agent_dir).as_deref(),
        );
        let dir = session::directory(&options.session, here.session_dir(), &env, &launch_dir);
        let home_dir = home_of_new_session(&options, &env, &launch_dir, &mut warnings)?;
        let session = session::open(&options.session, &dir, &env, &home_dir, &mut warnings)?;

        let cwd = session.cwd();
        let project_dir = trust::project_dir(cwd, &agent_dir);
        let sources = if cwd == launch_dir {
            here
        } else {
            SettingsSources::read(&agent_dir, project_dir.as_deref())
        };
        let decision = trust::decide(&TrustQuestion {
            cwd,
            home: env.home(),
            agent_dir: &agent_dir,
            approve: options.approve,
            default: sources.default_project_trust(),
        });
        warnings.extend(decision.warning);
        let (settings, problems) = sources.resolve(decision.trusted);
        warnings.extend(problems);
        options.reject_unknown()?;
        let project_dir = project_dir.filter(|_| decision.trusted);
        Ok(Self { options, env, launch_dir, settings, project_dir, session, warnings })
    }

    pub(crate) fn session_header(&self) -> &Header {
        self.session.header()
    }

    pub(crate) fn options(&self) -> &CliOptions {
        &self.options
    }

    /// The prompts of the command line and of standard input.
    ///
    /// # Errors
    /// A file or standard input cannot be read.
    pub(crate) fn prompts(&self, stdin_is_terminal: bool) -> Result<Vec<Prompt>, AppError> {
        let piped = if stdin_is_terminal {
            String::new()
        } else {
            input::read_piped(std::io::stdin().lock())
                .context(ErrorKind::User, || "Cannot read standard input")?
        };
        let files: Vec<PathBuf> = self
            .options
            .files
            .iter()
            .map(|file| self.env.resolve_path(&self.launch_dir, file))
            .collect();
        let auto_resize = self.settings.images.auto_resize;
        input::assemble(&piped, &files, &self.options.messages, &|bytes| {
            load_image(bytes, auto_resize)
        })
    }

    /// The models this run may use.
    pub(crate) fn models(&mut self) -> Result<ModelRegistry, AppError> {
        let registry = registry(&self.env, &self.transport()?);
        for problem in registry.config_problems() {
            self.warnings.push(Warning::new(problem.to_string()));
        }
        for problem in registry.credential_problems() {
            self.warnings.push(Warning::new(problem.to_string()));
        }
        Ok(registry)
    }

    /// Chooses the model and joins everything to a conversation.
    ///
    /// # Errors
    /// No model can be used, or the one asked for has no key.
    pub(crate) fn start(
        mut self,
        registry: ModelRegistry,
        warnings: &mut Vec<Warning>,
    ) -> Result<AgentSession, AppError> {
        let choice = &self.options.model;
        let recorded = self.session.last_model();
        let choice = choose_model(
            &registry,
            ModelRequest {
                provider: choice.provider.as_deref(),
                model: choice.pattern.as_deref(),
                scope: choice.scope.as_deref(),
                thinking: choice.thinking,
                has_key: choice.api_key.is_some(),
            },
            &ModelDefaults::from(&self.settings),
            recorded.as_ref().map(|(provider, model)| SessionChoice {
                provider,
                model,
                thinking: self.session.last_thinking_level(),
            }),
        );
        let choice = choice.map_err(|error| no_model(&error, warnings))?;
        warnings.extend(choice.warnings.into_iter().map(Warning::new));
        self.check_key(&registry, &choice.model)?;

        let options = self.request_options();
        let door = ModelDoor::new(Arc::new(registry), self.options.model.api_key.take());
        let active = active_tools(
            &BUILTIN_TOOLS,
            self.settings.default_tools.as_deref(),
            &self.options.tools,
        );
        let agent_dir = self.env.agent_dir();
        Ok(AgentSession::new(SessionParts {
            model: choice.model,
            thinking_level: choice.thinking,
            door: Arc::new(door),
            options,
            prompt: self.prompt_builder(warnings),
            retry: self.settings.retry,
            steering_mode: self.settings.steering_mode,
            follow_up_mode: self.settings.follow_up_mode,
            tools: ToolParts {
                active,
                home: self.env.home().to_path_buf(),
                temp_dir: self.env.temp_dir(),
                environment: self.env.for_commands(self.is_offline()),
                agent_dir,
                shell_path: self.settings.shell_path.clone(),
                shell_command_prefix: self.settings.shell_command_prefix.clone(),
                auto_resize_images: self.settings.images.auto_resize,
                block_images: self.settings.images.block_images,
            },
            session: self.session,
        }))
    }

    /// A missing key is told before anything is stored, not by a failed answer.
    fn check_key(&self, registry: &ModelRegistry, model: &Model) -> Result<(), AppError> {
        if self.options.model.api_key.is_some() || registry.has_key(&model.provider) {
            return Ok(());
        }
        match registry.request_auth(model, None) {
            Ok(_) => Ok(()),
            Err(error) => Err(AppError::config(error.to_string())),
        }
    }

    fn is_offline(&self) -> bool {
        self.options.offline || self.env.offline()
    }

    fn request_options(&self) -> SimpleStreamOptions {
        let provider = &self.settings.provider_retry;
        let telemetry = self.env.telemetry().unwrap_or(self.settings.enable_install_telemetry);
        SimpleStreamOptions {
            base: StreamOptions {
                identity: Identity {
                    user_agent: None,
                    attribution: telemetry && !self.is_offline(),
                },
                cache_retention: self.env.cache_retention(),
                session_id: Some(self.session.id().to_owned()),
                timeout_ms: provider.timeout_ms.or(self.settings.http_idle_timeout_ms),
                max_retries: provider.max_retries,
                max_retry_delay_ms: Some(provider.max_retry_delay_ms),
                ..StreamOptions::default()
            },
            thinking_budgets: self.settings.thinking_budgets.clone(),
            ..SimpleStreamOptions::default()
        }
    }

    fn transport(&self) -> Result<Arc<HttpTransport>, AppError> {
        let proxies = self.env.proxies().or_setting(self.settings.http_proxy.as_deref());
        let extra_roots_pem = match self.env.extra_certificates() {
            Some(path) => Some(std::fs::read(&path).context(ErrorKind::Config, || {
                format!("Cannot read the certificates in {}", path.display())
            })?),
            None => None,
        };
        Ok(Arc::new(HttpTransport::new(TransportConfig {
            proxy: ProxyConfig {
                http: proxies.http,
                https: proxies.https,
                all: proxies.all,
                no_proxy: proxies.no_proxy,
            },
            extra_roots_pem,
            version: Some(VERSION.to_owned()),
        })))
    }

    /// Reads context and prompt files once; the prompt is then the same for the whole run.
    fn prompt_builder(
        &self,
        warnings: &mut Vec<Warning>,
    ) -> Arc<dyn pi_agent::harness::PromptBuilder> {
        let agent_dir = self.env.agent_dir();
        let cwd = self.session.cwd().to_path_buf();
        let (files, problems) = SystemFiles::read(
            &SystemFileSources {
                custom: self.options.system_prompt.as_deref(),
                append: &self.options.append_system_prompt,
                agent_dir: &agent_dir,
                project_dir: self.project_dir.as_deref(),
                cwd: &self.launch_dir,
            },
            &self.env,
        );
        warnings.extend(problems);
        let context_files = self.context_files(&agent_dir, &cwd, warnings);
        let docs_dir = self.env.package_dir().map(|dir| dir.join("docs"));
        let docs_dir = docs_dir.filter(|dir| dir.is_dir());
        Arc::new(move |tools: &[Arc<dyn Tool>]| {
            system_prompt::sections(&PromptParts {
                tools,
                custom: files.custom.as_deref(),
                append: files.append.as_deref(),
                context_files: &context_files,
                skills: None,
                docs_dir: docs_dir.as_deref(),
                cwd: &cwd,
            })
        })
    }

    fn context_files(
        &self,
        agent_dir: &Path,
        cwd: &Path,
        warnings: &mut Vec<Warning>,
    ) -> Vec<ContextFile> {
        if !self.options.context_files {
            return Vec::new();
        }
        let (files, problems) = context_files::discover(agent_dir, cwd);
        warnings.extend(problems);
        files
    }
}

/// Where a new session belongs: here, or in the project the demo works on.
fn home_of_new_session(
    options: &CliOptions,
    env: &Env,
    launch_dir: &Path,
    warnings: &mut Vec<Warning>,
) -> Result<PathBuf, AppError> {
    let choice = &options.model;
    if !demo::is_asked_for(choice.provider.as_deref(), choice.pattern.as_deref())
        || options.list_models.is_some()
        || options.session.source != SessionSource::New
    {
        return Ok(launch_dir.to_path_buf());
    }
    let temp_dir = env.temp_dir();
    let project = demo::make_project(&temp_dir).context(ErrorKind::Internal, || {
        format!("Cannot make the demo's project in {}", temp_dir.display())
    })?;
    warnings.push(Warning::new(format!(
        "faux/demo is a scripted model; it works in {}",
        project.display()
    )));
    Ok(project)
}

fn registry(env: &Env, transport: &Arc<HttpTransport>) -> ModelRegistry {
    let mut protocols: Protocols = pi_ai::protocol::builtin(transport);
    protocols.register(pi_ai::faux::API, demo::protocol());
    let environment: Environment = env.variables().clone().into_iter().collect();
    let mut registry = ModelRegistry::load(&env.agent_dir(), environment, protocols);
    registry.register(RegisteredProvider {
        id: demo::PROVIDER.to_owned(),
        name: "Scripted".to_owned(),
        models: vec![Arc::new(demo::model())],
        key: ProviderKey::NotNeeded,
        visibility: Visibility::OnRequest,
    });
    registry
}

fn no_model(error: &ModelError, warnings: &mut Vec<Warning>) -> AppError {
    if let ModelError::NoModel { warnings: found } = error {
        warnings.extend(found.iter().map(Warning::new));
    }
    AppError::user(error.to_string())
}

/// An image of the command line, made to fit any model.
fn load_image(bytes: &[u8], auto_resize: bool) -> Option<AttachedImage> {
    let kind = image::sniff(bytes)?;
    let limits = auto_resize.then(|| ImageLimits::new(None));
    let prepared = image::prepare(bytes.to_vec(), kind, limits);
    let note = (!prepared.hints.is_empty()).then(|| prepared.hints.join("\n"));
    Some(AttachedImage { content: prepared.image, note })
}
