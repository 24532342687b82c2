//! A home of its own for one run of pi.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::ModelServer;

/// Key that [`Scratch::write_models`] puts into `models.json`.
pub const API_KEY: &str = "scratch-key";

/// Empty folders that vanish with the value: workspace, agent folder, home, temporary files.
#[derive(Debug)]
pub struct Scratch {
    root: TempDir,
    path: PathBuf,
}

impl Scratch {
    /// Makes the folders.
    ///
    /// # Errors
    /// The temporary folder cannot be written.
    pub fn new() -> io::Result<Self> {
        let root = tempfile::Builder::new().prefix("pi-test-").tempdir()?;
        // The path as a child process would report it, free of symbolic links.
        let path = root.path().canonicalize()?;
        for folder in ["ws", "agent", "home", "tmp"] {
            std::fs::create_dir(path.join(folder))?;
        }
        Ok(Self { root, path })
    }

    /// The workspace.
    pub fn ws(&self) -> PathBuf {
        self.path.join("ws")
    }

    /// What `PI_CODING_AGENT_DIR` should be.
    pub fn agent(&self) -> PathBuf {
        self.path.join("agent")
    }

    pub fn home(&self) -> PathBuf {
        self.path.join("home")
    }

    pub fn tmp(&self) -> PathBuf {
        self.path.join("tmp")
    }

    /// Writes a file, by its path from the root (`ws/a.txt`), with the folders it needs.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) -> io::Result<PathBuf> {
        let path = self.path.join(path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&path, text)?;
        Ok(path)
    }

    /// Reads a file by its path from the root.
    ///
    /// # Errors
    /// The file cannot be read or is no UTF-8.
    pub fn read(&self, path: impl AsRef<Path>) -> io::Result<String> {
        std::fs::read_to_string(self.path.join(path))
    }

    /// Writes a `models.json` that knows `server` under both wire formats, as the providers
    /// `fx-anthropic` and `fx-openai`, each with the models `m-plain`, `m-think` and `m-small`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_models(&self, server: &ModelServer) -> io::Result<()> {
        let provider = |api: &str, path: &str| {
            let base_url = format!("{}{path}", server.url());
            json!({"baseUrl": base_url, "api": api, "apiKey": API_KEY, "models": models()})
        };
        let providers = json!({"providers": {
            "fx-anthropic": provider("anthropic-messages", "/anthropic"),
            "fx-openai": provider("openai-completions", "/openai/v1"),
        }});
        self.write("agent/models.json", providers.to_string()).map(drop)
    }

    /// Writes `settings.json`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_settings(&self, settings: &Value) -> io::Result<()> {
        self.write("agent/settings.json", settings.to_string()).map(drop)
    }

    /// Variables a child process needs on top of an empty environment with `PATH`.
    pub fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![
            ("HOME", self.home().into()),
            ("TMPDIR", self.tmp().into()),
            ("PI_CODING_AGENT_DIR", self.agent().into()),
            ("PI_OFFLINE", "1".into()),
            ("PI_TELEMETRY", "0".into()),
            ("LANG", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("TERM", "dumb".into()),
        ]
    }

    /// Every session file, in order of its name.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn session_files(&self) -> io::Result<Vec<PathBuf>> {
        let mut found = Vec::new();
        let mut folders = vec![self.agent().join("sessions")];
        while let Some(folder) = folders.pop() {
            if !folder.exists() {
                continue;
            }
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "jsonl") {
                    found.push(path);
                }
            }
        }
        found.sort_by(|a, b| a.file_name().cmp(&b.file_name()));
        Ok(found)
    }

    /// Removes the folders now, to learn of a failure.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn close(self) -> io::Result<()> {
        self.root.close()
    }
}

fn models() -> Value {
    let cost = json!({"input": 3, "output": 15, "cacheRead": 0.3, "cacheWrite": 3.75});
    json!([
        {"id": "m-plain", "name": "Plain", "reasoning": false, "input": ["text"],
         "cost": cost, "contextWindow": 200_000, "maxTokens": 8192},
        {"id": "m-think", "name": "Think", "reasoning": true, "input": ["text", "image"],
         "cost": cost, "contextWindow": 200_000, "maxTokens": 32_000},
        {"id": "m-small", "name": "Small", "reasoning": false, "input": ["text"],
         "cost": cost, "contextWindow": 32_000, "maxTokens": 4096},
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_land_where_they_are_named() {
        let scratch = Scratch::new().unwrap();
        scratch.write("ws/deep/a.txt", "x").unwrap();
        scratch.write("agent/sessions/p/2_b.jsonl", "{}\n").unwrap();
        scratch.write("agent/sessions/q/1_a.jsonl", "{}\n").unwrap();
        assert_eq!(scratch.read("ws/deep/a.txt").unwrap(), "x");
        let files = scratch.session_files().unwrap();
        assert!(files[0].ends_with("q/1_a.jsonl") && files[1].ends_with("p/2_b.jsonl"));
        let path = scratch.ws();
        scratch.close().unwrap();
        assert!(!path.exists());
    }
}
