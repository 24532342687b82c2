//! Commands that change the conversation, or put another one in its place.

use std::path::{Path, PathBuf};

use pi_agent::QueueMode;
use pi_agent::session::{ForkPoint, Forked, Session, new_session_id};
use pi_ai::ThinkingLevel;
use pi_ai::thinking::supported_levels;
use serde_json::{Value, json};

use super::answer::{Answer, DONE, data};
use super::command::NewSession;
use super::server::Server;
use crate::error::AppError;
use crate::modes::warn;
use crate::session_runtime::{NotReserved, Reserved};
use crate::settings::save;
use crate::workspace::{ModelFlags, SessionFlags, SessionSource, WorkspaceOptions};

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

    pub(super) async fn set_steering_mode(&self, mode: QueueMode) -> Answer {
        self.save(&["steeringMode"], json!(mode)).await?;
        self.session().set_steering_mode(mode);
        DONE
    }

    pub(super) async fn set_follow_up_mode(&self, mode: QueueMode) -> Answer {
        self.save(&["followUpMode"], json!(mode)).await?;
        self.session().set_follow_up_mode(mode);
        DONE
    }

    pub(super) async fn set_auto_compaction(&self, is_enabled: bool) -> Answer {
        self.save(&["compaction", "enabled"], json!(is_enabled)).await?;
        self.session().set_auto_compaction(is_enabled);
        DONE
    }

    pub(super) async fn set_auto_retry(&self, is_enabled: bool) -> Answer {
        self.save(&["retry", "enabled"], json!(is_enabled)).await?;
        self.session().set_auto_retry(is_enabled);
        DONE
    }

    pub(super) async fn set_session_name(&self, name: &str) -> Answer {
        if name.trim().is_empty() {
            return Err("Session name cannot be empty".to_owned());
        }
        self.session().set_name(name).await.map_err(|error| error.message)?;
        DONE
    }

    async fn save(&self, key: &'static [&'static str], value: Value) -> Result<(), String> {
        let agent_dir = self.workspace.options().env.agent_dir();
        // Another program may hold the file.
        blocking(move || save(&agent_dir, key, value).map_err(|error| error.to_string())).await
    }
}

/// Runs what waits for the disk beside everything else.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(error.to_string()))
}

/// Other conversations.
impl Server<'_> {
    pub(super) async fn new_session(&self, new: NewSession) -> Answer {
        let current = self.end_current().await?;
        let flags = &self.options.session;
        let cwd = self.cwd();
        let session = if flags.in_memory {
            Session::in_memory(&cwd, new_session_id()).map_err(|error| error.to_string())?
        } else {
            let dir = self.workspace.session_dir(flags);
            let parent = new.parent_session.map(PathBuf::from);
            let create = move || dir.create(&cwd, new_session_id(), parent.as_deref());
            blocking(move || create().map_err(|error| error.to_string())).await?
        };
        self.open(current, session, self.current_model()).await?;
        changed()
    }

    /// A path that is not there yet becomes a new session at it.
    pub(super) async fn switch_session(&self, path: &str) -> Answer {
        let WorkspaceOptions { env, launch_dir, .. } = self.workspace.options();
        let path = env.resolve_path(launch_dir, path);
        let (current, session) = if self.is_current(&path) {
            // It is read behind the last word of what is on.
            let current = self.end_current().await?;
            (current, self.session_at(path).await?)
        } else {
            // A mistake should not cost what is on.
            let session = self.session_at(path).await?;
            (self.end_current().await?, session)
        };
        let model = match session.last_model() {
            Some((provider, _)) => ModelFlags { provider: None, ..self.model_flags(&provider) },
            None => self.current_model(),
        };
        self.open(current, session, model).await?;
        changed()
    }

    pub(super) async fn fork(&self, entry_id: &str) -> Answer {
        let text = self.go_on_with_copy(Some(entry_id.to_owned())).await?;
        data(&json!({"text": text.unwrap_or_default(), "cancelled": false}))
    }

    pub(super) async fn clone_session(&self) -> Answer {
        self.go_on_with_copy(None).await?;
        changed()
    }

    /// Goes on with a copy up to before an entry, or of the whole branch; gives the entry's text.
    async fn go_on_with_copy(&self, before: Option<String>) -> Result<Option<String>, String> {
        let session = self.session();
        if session.is_busy() {
            // A mistake should not cost what is on.
            let copied = session.with_session(|session| {
                session.fork(point(before.as_deref()), new_session_id(), |_| None).map(drop)
            });
            copied.map_err(|error| error.to_string())?;
        }
        let current = self.end_current().await?;
        let dir = self.workspace.session_dir(&self.options.session);
        let fork = move || {
            session.with_session(|session| {
                dir.fork(session, point(before.as_deref()), new_session_id())
            })
        };
        let Forked { session, text } =
            blocking(move || fork().map_err(|error| error.to_string())).await?;
        self.open(current, session, self.current_model()).await?;
        Ok(text)
    }

    async fn session_at(&self, path: PathBuf) -> Result<Session, String> {
        let flags = SessionFlags {
            source: SessionSource::Find(path.to_string_lossy().into_owned()),
            in_memory: false,
            ..self.options.session.clone()
        };
        let workspace = self.workspace.clone();
        blocking(move || workspace.session(&flags).map_err(|error| error.message)).await
    }

    fn is_current(&self, path: &Path) -> bool {
        let current = self.session().with_session(|session| session.path().map(Path::to_owned));
        let real = |path: &Path| path.canonicalize().ok();
        current.is_some_and(|current| real(&current).is_some_and(|it| Some(it) == real(path)))
    }

    /// Ends what is on, which would go on telling of itself and writing; nothing can begin as long as
    /// what this gives is held.
    async fn end_current(&self) -> Result<Reserved, String> {
        let session = self.session();
        session.abort_bash();
        loop {
            session.abort();
            session.wait_for_idle().await;
            match session.reserve().await {
                // Somebody else was faster.
                Err(NotReserved::Busy) => {}
                reserved => return reserved.map_err(|error| error.to_string()),
            }
        }
    }

    async fn open(
        &self,
        current: Reserved,
        session: Session,
        model: ModelFlags,
    ) -> Result<(), String> {
        // What lies on disk may have changed since the last one was opened.
        let opened = self.workspace.reloaded().open(session, &model).await;
        warn(self.workspace.warnings());
        self.replace(current, opened.map_err(|error: AppError| error.message)?);
        Ok(())
    }

    fn cwd(&self) -> PathBuf {
        self.session().with_session(|session| session.cwd().to_owned())
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

fn point(before: Option<&str>) -> ForkPoint<'_> {
    before.map_or(ForkPoint::Leaf, ForkPoint::Before)
}

fn changed() -> Answer {
    data(&json!({"cancelled": false}))
}
