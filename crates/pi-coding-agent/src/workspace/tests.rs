use std::fs;

use pi_agent::AgentMessage;
use pi_ai::faux::FauxProvider;

use pi_ai::Model;
use pi_ai::auth::Secret;

use super::*;
use crate::env::Env;
use crate::models::{ProviderKey, RegisteredProvider, Visibility};

/// A home, and workspaces in it whose models are scripted.
pub(crate) struct Bed {
    home: tempfile::TempDir,
    pub(crate) scripted: FauxProvider,
}

impl Bed {
    pub(crate) fn new() -> Self {
        Self { home: tempfile::tempdir().unwrap(), scripted: FauxProvider::default() }
    }

    /// Writes a file below the home.
    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn dir(&self, name: &str) -> PathBuf {
        let dir = self.home.path().join(name);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    /// The workspace of a directory below the home.
    pub(crate) fn workspace(&self, name: &str) -> Workspace {
        self.workspace_with(name, &[])
    }

    fn workspace_with(&self, name: &str, variables: &[(&str, &str)]) -> Workspace {
        let dir = self.dir(name);
        let home = self.home.path().to_str().unwrap();
        let env = Env::from_variables([("HOME", home)].iter().chain(variables).copied());
        let options = WorkspaceOptions {
            providers: self.providers(),
            ..WorkspaceOptions::new(env, dir.clone())
        };
        Workspace::new(options, &dir)
    }

    /// `faux/faux-1`, which thinks, and `faux/plain`, which does not; `keyless/k` lacks its key.
    fn providers(&self) -> Vec<RegisteredProvider> {
        let faux = FauxProvider::model;
        let plain = Model { id: "plain".to_owned(), reasoning: false, ..faux() };
        let keyless = Model { id: "k".to_owned(), provider: "keyless".to_owned(), ..faux() };
        let provider = |id: &str, models: Vec<Model>, key| RegisteredProvider {
            id: id.to_owned(),
            name: id.to_owned(),
            models: models.into_iter().map(Arc::new).collect(),
            protocol: Some(Arc::new(self.scripted.clone())),
            key,
            visibility: Visibility::Listed,
        };
        vec![
            provider("faux", vec![faux(), plain], ProviderKey::NotNeeded),
            provider("keyless", vec![keyless], ProviderKey::Stored),
        ]
    }
}

pub(crate) fn model(pattern: &str) -> ModelFlags {
    ModelFlags { pattern: Some(pattern.to_owned()), ..ModelFlags::default() }
}

fn warnings(workspace: &Workspace) -> Vec<String> {
    workspace.warnings().take().into_iter().map(|warning| warning.0).collect()
}

/// The prompt the model was sent last.
fn last_prompt(bed: &Bed) -> String {
    let context = bed.scripted.contexts().pop().unwrap();
    serde_json::to_string(&context.messages.first().unwrap()).unwrap()
}

#[tokio::test]
async fn one_workspace_opens_many_conversations() {
    let bed = Bed::new();
    let workspace = bed.workspace("project");
    let mut ids = Vec::new();
    for turn in ["One.", "Two."] {
        bed.scripted.push(turn);
        let session = workspace.session(&SessionFlags::default()).unwrap();
        ids.push(session.id().to_owned());
        let agent = workspace.open(session, &model("faux/faux-1")).await.unwrap();
        let outcome = agent.prompt("Hi").await.unwrap();
        assert_eq!(outcome.answer.unwrap().text(), turn);
    }
    let find =
        SessionFlags { source: SessionSource::Find(ids.remove(0)), ..SessionFlags::default() };
    let session = workspace.session(&find).unwrap();
    let resumed = workspace.open(session, &ModelFlags::default()).await;
    assert_eq!(resumed.unwrap().messages().last().unwrap().role(), "assistant");
}

#[test]
fn nothing_is_read_before_it_is_needed() {
    let bed = Bed::new();
    bed.write(".pi/agent/settings.json", "broken");
    bed.write(".pi/agent/models.json", "broken");
    let workspace = bed.workspace("project");
    workspace.session(&SessionFlags::default()).unwrap();
    assert_eq!(warnings(&workspace), [""; 0]);
    workspace.settings();
    let problems = warnings(&workspace);
    assert!(problems.len() == 1 && problems[0].contains("settings.json"), "{problems:?}");
    workspace.models();
    workspace.models();
    let problems = warnings(&workspace);
    assert!(problems.len() == 1 && problems[0].contains("models.json"), "{problems:?}");
}

#[tokio::test]
async fn the_directory_of_the_session_counts() {
    let bed = Bed::new();
    bed.write("there/.pi/settings.json", r#"{"defaultThinkingLevel": "low"}"#);
    bed.write("there/AGENTS.md", "Rule of there");
    bed.write(".pi/agent/settings.json", r#"{"defaultProjectTrust": "always"}"#);
    bed.scripted.push("Done.");
    let here = bed.workspace("here");
    let there = here.for_directory(&bed.dir("there"));
    let session = there.session(&SessionFlags::default()).unwrap();
    let agent = here.open(session, &model("faux/faux-1")).await.unwrap();
    assert_eq!(agent.thinking_level().as_str(), "low");
    agent.prompt("Hi").await.unwrap();
    assert!(last_prompt(&bed).contains("Rule of there"));
}

#[tokio::test]
async fn a_reloaded_workspace_sees_what_has_changed() {
    let bed = Bed::new();
    let workspace = bed.workspace("project");
    assert_eq!(workspace.settings().shell_path, None);
    assert!(workspace.models().find("new", "m").is_none());
    bed.write("project/AGENTS.md", "New rule");
    bed.write(".pi/agent/settings.json", r#"{"shellPath": "/bin/sh"}"#);
    bed.write(
        ".pi/agent/models.json",
        r#"{"providers":{"new":{"baseUrl":"http://h","api":"faux","apiKey":"k","models":[{"id":"m"}]}}}"#,
    );
    assert_eq!(workspace.settings().shell_path, None);
    let workspace = workspace.reloaded();
    assert_eq!(workspace.settings().shell_path.as_deref(), Some("/bin/sh"));
    assert!(workspace.models().find("new", "m").is_some());
    bed.scripted.push("Done.");
    let session = workspace.session(&SessionFlags::default()).unwrap();
    let agent = workspace.open(session, &model("faux/faux-1")).await.unwrap();
    agent.prompt("Hi").await.unwrap();
    assert!(last_prompt(&bed).contains("New rule"));
}

#[tokio::test]
async fn a_key_of_the_command_line_goes_to_its_provider_alone() {
    let bed = Bed::new();
    bed.write(".pi/agent/auth.json", r#"{"faux":{"type":"api_key","key":"stored"}}"#);
    bed.write(".pi/agent/models.json", r#"{"providers":{"faux":{"apiKey":"configured"}}}"#);
    let workspace = bed.workspace("project");
    let session = workspace.session(&SessionFlags::default()).unwrap();
    let flags = ModelFlags { api_key: Some(Secret::new("mine")), ..model("keyless/k") };
    let agent = workspace.open(session, &flags).await.unwrap();
    for pattern in ["keyless/k", "faux/plain"] {
        let (provider, id) = pattern.split_once('/').unwrap();
        agent.set_model(agent.models().find(provider, id).unwrap()).await.unwrap();
        bed.scripted.push("Done.");
        agent.prompt("Hi").await.unwrap();
    }
    let keys: Vec<_> = bed.scripted.requests().into_iter().map(|r| r.options.api_key).collect();
    assert_eq!(keys, [Some("mine".to_owned()), Some("stored".to_owned())]);
}

#[tokio::test]
async fn certificates_that_cannot_be_read_stop_a_conversation_but_no_list_of_models() {
    let bed = Bed::new();
    let workspace = bed.workspace_with("project", &[("NODE_EXTRA_CA_CERTS", "/nonexistent.pem")]);
    assert!(workspace.models().find("faux", "faux-1").is_some());
    let session = workspace.session(&SessionFlags::default()).unwrap();
    let error = workspace.open(session, &model("faux/faux-1")).await.unwrap_err();
    assert_eq!(error.message, "Cannot read the certificates in /nonexistent.pem");
}

#[tokio::test]
async fn a_conversation_that_goes_on_can_be_given_what_lies_on_disk_now() {
    let bed = Bed::new();
    bed.scripted.push("One.");
    bed.scripted.push("Two.");
    let workspace = bed.workspace("project");
    let session = workspace.session(&SessionFlags::default()).unwrap();
    let agent = workspace.open(session, &model("faux/faux-1")).await.unwrap();
    agent.prompt("Hi").await.unwrap();
    let skill = workspace.options().env.agent_dir().join("skills/new");
    fs::create_dir_all(&skill).unwrap();
    fs::write(skill.join("SKILL.md"), "---\ndescription: d\n---\nDo it.").unwrap();
    assert!(agent.library().skills.is_empty());
    let reloaded = workspace.reload(&agent).await.unwrap();
    assert_eq!(reloaded.dir(), workspace.dir());
    assert_eq!(agent.library().skills.len(), 1);
    agent.prompt("/skill:new").await.unwrap();
    let messages = agent.messages();
    // The model is told what is new in its prompt, and the text is expanded.
    let systems: Vec<_> =
        messages.iter().filter(|message| matches!(message, AgentMessage::System(_))).collect();
    assert_eq!(systems.len(), 2);
    let told = serde_json::to_value(systems[1]).unwrap();
    let sections = told["sections"].as_object().unwrap();
    assert!(sections["skills"].as_str().unwrap().contains("<name>new</name>"), "{told}");
    let asked = messages.iter().rev().find_map(|message| match message {
        AgentMessage::User(user) => Some(user.content.to_text()),
        _ => None,
    });
    assert!(asked.unwrap().ends_with("Do it.\n</skill>"));
}
