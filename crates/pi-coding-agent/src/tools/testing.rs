//! A scratch folder with the tools in it, and calls by name.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pi_agent::env::{ExecutionEnv, LocalEnv, LocalEnvConfig, ProcessGroups};
use pi_agent::{Tool, ToolCallInput, ToolError, ToolOutput};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{SessionVariables, ToolContext, ToolModel, ToolSession, builtin_tools};

mod elsewhere;
mod faults;

pub(crate) use elsewhere::Elsewhere;
pub(crate) use faults::Fault;

/// Folders of one test; gone with it.
pub(crate) struct Bed {
    dir: tempfile::TempDir,
    pub session: Session,
    pub prefix: Option<String>,
    pub shell: Option<String>,
    pub cwd: Option<PathBuf>,
    pub environment: Vec<(&'static str, String)>,
    pub processes: ProcessGroups,
}

#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub variables: SessionVariables,
    pub model: ToolModel,
    pub auto_resize: bool,
}

impl ToolSession for Session {
    fn variables(&self) -> SessionVariables {
        self.variables.clone()
    }

    fn model(&self) -> ToolModel {
        self.model.clone()
    }

    fn auto_resize_images(&self) -> bool {
        self.auto_resize
    }
}

impl Bed {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["work", "home", "agent/bin", "tmp"] {
            std::fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        Self {
            dir,
            session: Session {
                variables: SessionVariables::default(),
                model: ToolModel { id: "m".to_owned(), sees_images: true, image_resize: None },
                auto_resize: true,
            },
            prefix: None,
            shell: None,
            cwd: None,
            environment: vec![("PATH", "/usr/local/bin:/usr/bin:/bin".to_owned())],
            processes: ProcessGroups::default(),
        }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// A path in the working folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join("work").join(name)
    }

    /// The folders it is in are made.
    pub(crate) fn put(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn get(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn env(&self) -> Arc<LocalEnv> {
        let root = self.root();
        let variable = |(name, value): &(&str, String)| ((*name).into(), value.clone().into());
        Arc::new(LocalEnv::new(LocalEnvConfig {
            cwd: self.cwd.clone().unwrap_or_else(|| root.join("work")),
            home: Some(root.join("home")),
            temp_dir: root.join("tmp"),
            environment: self.environment.iter().map(variable).collect(),
            processes: self.processes.clone(),
        }))
    }

    pub(crate) fn context(&self) -> Arc<ToolContext> {
        self.context_in(self.env())
    }

    fn context_in(&self, env: Arc<dyn ExecutionEnv>) -> Arc<ToolContext> {
        Arc::new(ToolContext {
            env,
            agent_dir: self.root().join("agent"),
            shell_path: self.shell.clone(),
            shell_command_prefix: self.prefix.clone(),
            session: Arc::new(self.session.clone()),
        })
    }

    pub(crate) fn tools(&self) -> Tools {
        Tools(builtin_tools(&self.context()))
    }

    /// Tools whose files and processes are those of `env`.
    pub(crate) fn tools_in(&self, env: Arc<dyn ExecutionEnv>) -> Tools {
        Tools(builtin_tools(&self.context_in(env)))
    }

    /// One call with fresh tools.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.tools().call(name, arguments).await
    }

    /// The text of one call, or of its error.
    pub(crate) async fn text(&self, name: &str, arguments: Value) -> String {
        match self.call(name, arguments).await {
            Ok(output) => text_of(&output),
            Err(error) => error.0,
        }
    }
}

pub(crate) struct Tools(Vec<Arc<dyn Tool>>);

impl Tools {
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<ToolOutput, ToolError> {
        self.call_with(name, arguments, CancellationToken::new(), &Updates::default()).await
    }

    /// The call joins queues when this is called, not when the future is polled.
    pub(crate) fn call_with<'a>(
        &'a self,
        name: &str,
        arguments: Value,
        cancel: CancellationToken,
        updates: &Updates,
    ) -> futures_util::future::BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let tool = self.0.iter().find(|tool| tool.definition().name == name).unwrap();
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let arguments = tool.prepare_arguments(arguments).unwrap();
        let seen = updates.clone();
        let on_update = Arc::new(move |output| seen.0.lock().unwrap().push(output));
        tool.execute(ToolCallInput { id: "call", arguments, cancel, on_update })
    }
}

/// Partial results, as they came.
#[derive(Clone, Default)]
pub(crate) struct Updates(Arc<Mutex<Vec<ToolOutput>>>);

impl Updates {
    pub(crate) fn all(&self) -> Vec<ToolOutput> {
        self.0.lock().unwrap().clone()
    }
}

pub(crate) fn text_of(output: &ToolOutput) -> String {
    output.content.iter().filter_map(|block| block.as_text()).collect()
}
