//! Commands that change the conversation, or put another one in its place.

use std::path::PathBuf;

use pi_agent::QueueMode;
use pi_agent::session::{ForkPoint, Forked, Session, new_session_id};
use pi_ai::ThinkingLevel;
use pi_ai::thinking::supported_levels;
use serde_json::{Value, json};

use super::answer::{Answer, DONE, data};
use super::server::Server;
use crate::error::AppError;
use crate::modes::warn;
use crate::settings::save;
use crate::workspace::{ModelFlags, SessionFlags, SessionSource};

/// Settings of a conversation.
impl Server<'_> {
    pub(super) async fn set_model(&self, provider: &str, id: &str) -> Answer {
        let session = self.session();
        let Some(model) = session.models().find(provider, id) else {
            return Err(format!("Model not found: {provider}/{id}"));
        };
        session.set_model(model).await.map_err(|error| error.message)?;
        data(&*session.model())
    }

    /// The next of the models to cycle through, or of all that can be used.
    pub(super) async fn cycle_model(&self) -> Answer {
        let session = self.session();
        let scope = session.scope().await;
        let is_scoped = !scope.is_empty();
        let choices = if is_scoped {
            scope.iter().map(|choice| (choice.model.clone(), choice.thinking)).collect()
        } else {
            let models = session.models().clone();
            let found = tokio::task::spawn_blocking(move || models.available()).await;
            let found = found.map_err(|error| error.to_string())?;
            found.into_iter().map(|model| (model, None)).collect::<Vec<_>>()
        };
        let current = session.model();
        let at = choices.iter().position(|(model, _)| {
            (&model.provider, &model.id) == (&current.provider, &current.id)
        });
        let next = at.map_or(0, |at| (at + 1) % choices.len());
        let Some((model, thinking)) = choices.get(next).filter(|_| choices.len() > 1) else {
            return data(&Value::Null);
        };
        session.set_model(model.clone()).await.map_err(|error| error.message)?;
        if let Some(level) = thinking {
            session.set_thinking_level(*level).await;
        }
        data(&json!({
            "model": *session.model(),
            "thinkingLevel": session.thinking_level(),
            "isScoped": is_scoped,
        }))
    }

    /// A level nobody knows counts as none at all.
    pub(super) async fn set_thinking_level(&self, level: &str) -> Answer {
        let level = level.parse().unwrap_or(ThinkingLevel::Off);
        self.session().set_thinking_level(level).await;
        DONE
    }

    pub(super) async fn cycle_thinking_level(&self) -> Answer {
        let session = self.session();
        let levels = supported_levels(&session.model());
        let current = session.thinking_level();
        let at = levels.iter().position(|level| *level == current);
        let next = at.map_or(0, |at| (at + 1) % levels.len());
        match levels.get(next).filter(|_| levels.len() > 1) {
            Some(level) => {
                let level = session.set_thinking_level(*level).await;
                data(&json!({"level": level}))
            }
            None => data(&Value::Null),
        }
    }

    pub(super) fn set_steering_mode(&self, mode: QueueMode) -> Answer {
        self.session().set_steering_mode(mode);
        self.save(&["steeringMode"], json!(mode))
    }

    pub(super) fn set_follow_up_mode(&self, mode: QueueMode) -> Answer {
        self.session().set_follow_up_mode(mode);
        self.save(&["followUpMode"], json!(mode))
    }

    pub(super) fn set_auto_compaction(&self, is_enabled: bool) -> Answer {
        self.session().set_auto_compaction(is_enabled);
        self.save(&["compaction", "enabled"], json!(is_enabled))
    }

    pub(super) fn set_auto_retry(&self, is_enabled: bool) -> Answer {
        self.session().set_auto_retry(is_enabled);
        self.save(&["retry", "enabled"], json!(is_enabled))
    }

    pub(super) async fn set_session_name(&self, name: &str) -> Answer {
        if name.trim().is_empty() {
            return Err("Session name cannot be empty".to_owned());
        }
        self.session().set_name(name).await.map_err(|error| error.message)?;
        DONE
    }

    fn save(&self, key: &[&str], value: Value) -> Answer {
        let agent_dir = self.workspace.options().env.agent_dir();
        save(&agent_dir, key, value).map_err(|error| error.to_string())?;
        DONE
    }
}

/// Other conversations.
impl Server<'_> {
    pub(super) async fn new_session(&self, parent: Option<String>) -> Answer {
        let _changing = self.changing.lock().await;
        self.end_current().await;
        let parent = parent.map(PathBuf::from);
        let flags = &self.options.session;
        let cwd = self.session().with_session(|session| session.cwd().to_owned());
        let session = if flags.in_memory {
            Session::in_memory(&cwd, new_session_id())
        } else {
            let dir = self.workspace.session_dir(flags);
            dir.create(&cwd, new_session_id(), parent.as_deref())
        };
        let session = session.map_err(|error| error.to_string())?;
        self.open(session, self.current_model()).await?;
        changed()
    }

    /// A path that is not there yet becomes a new session at it.
    pub(super) async fn switch_session(&self, path: String) -> Answer {
        let _changing = self.changing.lock().await;
        let env = &self.workspace.options().env;
        let path = env.resolve_path(&self.workspace.options().launch_dir, &path);
        let flags = SessionFlags {
            source: SessionSource::Find(path.to_string_lossy().into_owned()),
            in_memory: false,
            ..self.options.session.clone()
        };
        let session = self.workspace.session(&flags).map_err(|error| error.report())?;
        self.end_current().await;
        let model = self.model_of(&session);
        self.open(session, model).await?;
        changed()
    }

    pub(super) async fn fork(&self, entry_id: &str) -> Answer {
        let _changing = self.changing.lock().await;
        let Forked { session, text } = self.forked(ForkPoint::Before(entry_id))?;
        self.end_current().await;
        self.open(session, self.current_model()).await?;
        data(&json!({"text": text.unwrap_or_default(), "cancelled": false}))
    }

    pub(super) async fn clone_session(&self) -> Answer {
        let _changing = self.changing.lock().await;
        let forked = self.forked(ForkPoint::Leaf)?;
        self.end_current().await;
        self.open(forked.session, self.current_model()).await?;
        changed()
    }

    fn forked(&self, point: ForkPoint<'_>) -> Result<Forked, String> {
        let dir = self.workspace.session_dir(&self.options.session);
        let current = self.session();
        let forked = current.with_session(|session| dir.fork(session, point, new_session_id()));
        forked.map_err(|error| error.to_string())
    }

    /// What is on must end first: it would go on telling of itself, and writing.
    async fn end_current(&self) {
        let session = self.session();
        session.abort();
        session.abort_bash();
        session.wait_for_idle().await;
    }

    async fn open(&self, session: Session, model: ModelFlags) -> Result<(), String> {
        // What lies on disk may have changed since the last one was opened.
        let opened = self.workspace.reloaded().open(session, &model).await;
        warn(self.workspace.warnings());
        self.replace(opened.map_err(|error: AppError| error.message)?);
        Ok(())
    }

    /// The model goes on with the conversation that follows.
    fn current_model(&self) -> ModelFlags {
        let session = self.session();
        let model = session.model();
        if model.is_unknown() {
            return self.options.model.clone();
        }
        ModelFlags {
            thinking: Some(session.thinking_level()),
            pattern: Some(model.id.clone()),
            ..self.model_flags(&model.provider)
        }
    }

    /// The model a conversation was left with.
    fn model_of(&self, session: &Session) -> ModelFlags {
        let provider = session.last_model().map(|(provider, _)| provider);
        ModelFlags { provider: None, ..self.model_flags(provider.as_deref().unwrap_or_default()) }
    }

    /// The key of the command line goes to the provider it is for, and to no other.
    fn model_flags(&self, provider: &str) -> ModelFlags {
        let flags = &self.options.model;
        let key = flags.api_key.clone().filter(|_| provider == self.key_provider);
        ModelFlags {
            provider: Some(provider.to_owned()),
            api_key: key,
            scope: flags.scope.clone(),
            may_be_missing: true,
            ..ModelFlags::default()
        }
    }
}

fn changed() -> Answer {
    data(&json!({"cancelled": false}))
}
