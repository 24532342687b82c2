//! Opens pages in a real browser and looks at what became of them.
//!
//! Speaks the DevTools protocol over two pipes, so that no port is needed. What never happens fails the
//! test.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::Scratch;
use crate::program::patiently;

/// Where systems put it.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// What keeps it from doing anything of its own. The sandbox needs rights that containers lack.
const OPTIONS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
];

/// A browser with one tab, 1280 by 900 pixels. Dropping it ends it.
#[derive(Debug)]
pub struct Browser {
    /// Killed with the value; its descendants end when the pipes do.
    _child: Child,
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    next_id: u64,
    tab: Option<String>,
    events: VecDeque<Value>,
}

/// What a page did beside being shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageNotes {
    /// Errors, whether of the script or of the browser about the page.
    pub errors: Vec<String>,
    /// Addresses that were asked for, but that of the page.
    pub requests: Vec<String>,
    /// Texts of `alert` and its kin.
    pub dialogs: Vec<String>,
}

impl Browser {
    /// Starts the Chromium of the machine; `None` where there is none. Then a test prints `left out: no
    /// Chromium` and passes.
    #[expect(clippy::disallowed_methods, reason = "the browser is found as a shell finds it")]
    pub async fn start(scratch: &Scratch) -> Option<Self> {
        let path = std::env::var("PATH").unwrap_or_default();
        let program = find(&path)?;
        let profile = format!("--user-data-dir={}", scratch.tmp().join("chromium").display());
        // The browser wants its pipes as descriptors 3 and 4, which only a shell can hand over.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args(OPTIONS)
            .args([profile.as_str(), "about:blank"])
            .env_clear()
            .env("PATH", path)
            .envs(scratch.environment())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .ok()?;
        let (commands, answers) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        let events = VecDeque::new();
        let mut browser = Self { _child: child, commands, answers, next_id: 0, tab: None, events };
        browser.attach().await;
        Some(browser)
    }

    /// Opens a file, with a fragment if it has one (`page.html#part`), and waits until it is loaded.
    /// Forgets what was noted of the page before.
    pub async fn open(&mut self, path: &Path, fragment: &str) {
        self.call("Page.navigate", json!({"url": "about:blank"})).await;
        self.events.clear();
        let url = format!("file://{}{fragment}", path.display());
        self.call("Page.navigate", json!({"url": url})).await;
        self.wait_for("document.readyState === 'complete'").await;
    }

    /// The value of an expression; a promise is awaited.
    ///
    /// # Panics
    /// It throws.
    #[expect(clippy::panic, reason = "a script that throws fails the test")]
    pub async fn evaluate(&mut self, expression: &str) -> Value {
        let parameters =
            json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.call("Runtime.evaluate", parameters).await;
        if answer.get("exceptionDetails").is_some() {
            panic!("{expression} threw {}", answer["exceptionDetails"]);
        }
        answer["result"]["value"].take()
    }

    /// Waits until an expression holds.
    pub async fn wait_for(&mut self, condition: &str) {
        // Pages may be busy for a while; the browser itself looks again between its frames.
        let poll = format!(
            "new Promise((done) => {{ const look = () => ({condition}) ? done(true) : \
             setTimeout(look, 10); look(); }})"
        );
        patiently(condition, self.evaluate(&poll)).await;
    }

    /// Presses a key that has no text, or a letter.
    pub async fn press(&mut self, key: &str) {
        let text = if key.chars().count() == 1 { key } else { "" };
        let code = if key == "Enter" { 13 } else { 0 };
        let down = json!({
            "type": "keyDown", "key": key, "text": text, "windowsVirtualKeyCode": code,
        });
        self.call("Input.dispatchKeyEvent", down).await;
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key})).await;
    }

    /// Types a text where the cursor is.
    pub async fn enter(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text})).await;
    }

    /// Makes pages believe that the reader prefers `dark` or `light`, and wants them on `screen` or in
    /// `print`.
    pub async fn prefer(&mut self, scheme: &str, medium: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        let parameters = json!({"media": medium, "features": features});
        self.call("Emulation.setEmulatedMedia", parameters).await;
    }

    /// Width and height of the window in pixels.
    pub async fn resize(&mut self, width: u32, height: u32) {
        let parameters = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false,
        });
        self.call("Emulation.setDeviceMetricsOverride", parameters).await;
    }

    /// What the page did since it was opened.
    pub async fn notes(&mut self) -> PageNotes {
        // What happened before the answer came was told before it.
        self.evaluate("new Promise((done) => setTimeout(done, 50))").await;
        let mut notes = PageNotes::default();
        for event in &self.events {
            let parameters = &event["params"];
            match event["method"].as_str().unwrap_or_default() {
                "Runtime.exceptionThrown" => {
                    notes.errors.push(parameters["exceptionDetails"].to_string());
                }
                "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                    notes.errors.push(parameters["args"].to_string());
                }
                "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                    notes.errors.push(parameters["entry"]["text"].to_string());
                }
                "Network.requestWillBeSent" => {
                    let url = parameters["request"]["url"].as_str().unwrap_or_default();
                    let is_own = parameters["type"] == "Document" && url.starts_with("file:");
                    // A picture that stands in the page is asked for without leaving it.
                    if !is_own && !url.starts_with("data:") && url != "about:blank" {
                        notes.requests.push(url.to_owned());
                    }
                }
                "Page.javascriptDialogOpening" => {
                    notes.dialogs.push(parameters["message"].to_string());
                }
                _ => {}
            }
        }
        notes
    }

    async fn attach(&mut self) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"})).await;
        let parameters = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", parameters).await;
        self.tab = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.call(&format!("{domain}.enable"), json!({})).await;
        }
        self.resize(1280, 900).await;
    }

    /// Sends a command and waits for its answer; events that come before it are kept.
    #[expect(clippy::panic, reason = "a command that fails fails the test")]
    async fn call(&mut self, method: &str, parameters: Value) -> Value {
        let id = self.send(method, parameters).await;
        loop {
            let mut message = self.receive(method).await;
            if message["id"] == id {
                match message.get("error") {
                    Some(error) => panic!("{method} failed: {error}"),
                    None => return message["result"].take(),
                }
            }
            // A page that waits for an answer to a question would wait for ever.
            if message["method"] == "Page.javascriptDialogOpening" {
                self.send("Page.handleJavaScriptDialog", json!({"accept": false})).await;
            }
            if message.get("method").is_some() {
                self.events.push_back(message);
            }
        }
    }

    #[expect(clippy::expect_used, reason = "a browser that is gone fails the test")]
    async fn send(&mut self, method: &str, parameters: Value) -> u64 {
        self.next_id += 1;
        let mut message = json!({"id": self.next_id, "method": method, "params": parameters});
        if let Some(tab) = &self.tab {
            message["sessionId"] = json!(tab);
        }
        let line = format!("{message}\0");
        self.commands.write_all(line.as_bytes()).await.expect("the browser listens");
        self.next_id
    }

    #[expect(clippy::expect_used, reason = "a browser that is gone fails the test")]
    async fn receive(&mut self, method: &str) -> Value {
        let mut message = Vec::new();
        let read = patiently(method, self.answers.read_until(0, &mut message)).await;
        read.expect("the browser answers");
        let text = message.strip_suffix(&[0]).expect("the browser lives");
        serde_json::from_slice(text).expect("an answer is JSON")
    }
}

fn find(path: &str) -> Option<PathBuf> {
    let folders = path.split(':').flat_map(|folder| NAMES.map(|name| Path::new(folder).join(name)));
    folders.into_iter().find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_a_page_does_is_noted() {
        let scratch = Scratch::new().unwrap();
        let Some(mut browser) = Browser::start(&scratch).await else {
            println!("left out: no Chromium");
            return;
        };
        let page = scratch
            .write(
                "ws/a.html",
                "<p id=p>text</p><img src='gone.png'><script>alert('hi'); console.error('bad'); \
                 document.title = location.hash; onkeydown = (e) => p.textContent += e.key; \
                 setTimeout(() => { throw new Error('late') }, 1)</script>",
            )
            .unwrap();
        browser.open(&page, "#part").await;
        assert_eq!(browser.evaluate("document.title").await, "#part");
        browser.press("x").await;
        assert_eq!(browser.evaluate("p.textContent").await, "textx");
        browser.prefer("dark", "screen").await;
        browser.wait_for("matchMedia('(prefers-color-scheme: dark)').matches").await;
        let notes = browser.notes().await;
        assert_eq!(notes.dialogs, ["\"hi\""]);
        assert!(notes.requests.len() == 1 && notes.requests[0].ends_with("/gone.png"), "{notes:?}");
        let has = |text: &str| notes.errors.iter().any(|error| error.contains(text));
        assert!(has("bad") && has("late"), "{notes:?}");
        let blank = scratch.write("ws/b.html", "<p>").unwrap();
        browser.open(&blank, "").await;
        assert_eq!(browser.notes().await, PageNotes::default());
    }
}
