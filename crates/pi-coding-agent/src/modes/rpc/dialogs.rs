//! The user behind a client: requests out, their answers in.
//!
//! Owns: which dialog an answer is for, and that none is waited for beyond its time. Never: knows who
//! asks.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot::{self, Sender};
use tokio_util::sync::CancellationToken;

use crate::modes::output::LineWriter;
use crate::session_runtime::{UiMessage, UserInterface};

pub(super) struct Dialogs {
    writer: Arc<LineWriter>,
    /// Nothing more is told, and no answer waited for.
    silent: CancellationToken,
    open: Mutex<BTreeMap<String, Sender<UiAnswer>>>,
}

/// What a client answers; a dialog takes what it asked for, and anything else cancels it.
#[derive(Debug, Deserialize)]
pub(super) struct UiAnswer {
    id: String,
    value: Option<String>,
    confirmed: Option<bool>,
}

/// A request, with the fields of its method.
#[derive(Serialize)]
struct Request<'a, T> {
    r#type: &'static str,
    id: &'a str,
    #[serde(flatten)]
    what: T,
}

#[derive(Serialize)]
#[serde(tag = "method", rename_all = "camelCase")]
enum Question<'a> {
    Select {
        title: &'a str,
        options: &'a [String],
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    Confirm {
        title: &'a str,
        message: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    Input {
        title: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        placeholder: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        timeout: Option<u64>,
    },
    Editor {
        title: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        prefill: Option<&'a str>,
    },
}

impl Dialogs {
    pub(super) fn new(writer: Arc<LineWriter>, silent: CancellationToken) -> Self {
        Self { writer, silent, open: Mutex::default() }
    }

    /// Gives an answer to whoever waits for it. One that nobody waits for any more is passed over.
    pub(super) fn answered(&self, answer: UiAnswer) {
        if let Some(dialog) = self.open().remove(&answer.id) {
            // It may have been given up just now.
            drop(dialog.send(answer));
        }
    }

    async fn ask(&self, question: Question<'_>, timeout: Option<Duration>) -> Option<UiAnswer> {
        let (sender, answer) = oneshot::channel();
        let dialog = Open { dialogs: self, id: uuid::Uuid::new_v4().to_string() };
        self.open().insert(dialog.id.clone(), sender);
        self.send(&dialog.id, question).await;
        let time_is_over = async {
            match timeout {
                Some(timeout) => tokio::time::sleep(timeout).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            answer = answer => answer.ok(),
            () = time_is_over => None,
            () = self.silent.cancelled() => None,
        }
    }

    async fn send(&self, id: &str, what: impl Serialize + Sync) {
        let request = Request { r#type: "extension_ui_request", id, what };
        tokio::select! {
            biased;
            // A reader that left ends the process by itself.
            written = self.writer.line(&request) => written.unwrap_or_default(),
            () = self.silent.cancelled() => {}
        }
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Sender<UiAnswer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A dialog that is waited for; nobody does once it is dropped.
struct Open<'a> {
    dialogs: &'a Dialogs,
    id: String,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.dialogs.open().remove(&self.id);
    }
}

fn millis(timeout: Option<Duration>) -> Option<u64> {
    timeout.map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX))
}

impl UserInterface for Dialogs {
    fn can_ask(&self) -> bool {
        true
    }

    fn select<'a>(
        &'a self,
        title: &'a str,
        options: &'a [String],
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, Option<String>> {
        let question = Question::Select { title, options, timeout: millis(timeout) };
        Box::pin(async move { self.ask(question, timeout).await?.value })
    }

    fn confirm<'a>(
        &'a self,
        title: &'a str,
        message: &'a str,
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, bool> {
        let question = Question::Confirm { title, message, timeout: millis(timeout) };
        Box::pin(async move {
            let answer = self.ask(question, timeout).await;
            answer.and_then(|answer| answer.confirmed).unwrap_or_default()
        })
    }

    fn input<'a>(
        &'a self,
        title: &'a str,
        placeholder: Option<&'a str>,
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, Option<String>> {
        let question = Question::Input { title, placeholder, timeout: millis(timeout) };
        Box::pin(async move { self.ask(question, timeout).await?.value })
    }

    fn editor<'a>(
        &'a self,
        title: &'a str,
        prefill: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { self.ask(Question::Editor { title, prefill }, None).await?.value })
    }

    fn tell<'a>(&'a self, message: &'a UiMessage) -> BoxFuture<'a, ()> {
        Box::pin(async move { self.send(&uuid::Uuid::new_v4().to_string(), message).await })
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, BufRead};

    use serde_json::{Value, json};

    use super::*;
    use crate::session_runtime::{NotifyType, WidgetPlacement};

    /// Dialogs whose requests can be read.
    fn dialogs() -> (Dialogs, impl FnMut() -> Value) {
        let (reader, out) = io::pipe().unwrap();
        let writer = Arc::new(LineWriter::to(out));
        let mut lines = io::BufReader::new(reader).lines();
        let next = move || serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        (Dialogs::new(writer, CancellationToken::new()), next)
    }

    fn answer(dialogs: &Dialogs, id: &Value, rest: Value) {
        let mut answer = rest;
        answer["type"] = json!("extension_ui_response");
        answer["id"] = id.clone();
        dialogs.answered(serde_json::from_value(answer).unwrap());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_dialog_is_asked_and_takes_its_answer() {
        let (dialogs, mut next) = dialogs();
        let dialogs = Arc::new(dialogs);
        let options = ["a".to_owned(), "b".to_owned()];
        for (rest, chosen) in [
            (json!({"value": "b"}), Some("b")),
            (json!({"cancelled": true}), None),
            (json!({"confirmed": true}), None),
        ] {
            let asking = Arc::clone(&dialogs);
            let asked = options.clone();
            let select = tokio::spawn(async move { asking.select("Which?", &asked, None).await });
            let mut request = next();
            let id = request["id"].take();
            assert_eq!(
                request,
                json!({"type": "extension_ui_request", "id": null, "method": "select",
                       "title": "Which?", "options": ["a", "b"]})
            );
            answer(&dialogs, &json!("somebody-else"), json!({"value": "x"}));
            answer(&dialogs, &id, rest);
            assert_eq!(select.await.unwrap().as_deref(), chosen);
        }
        for (rest, confirmed) in [
            (json!({"confirmed": true}), true),
            (json!({"confirmed": false}), false),
            (json!({"cancelled": true}), false),
        ] {
            let asking = Arc::clone(&dialogs);
            let confirm =
                tokio::spawn(async move { asking.confirm("Sure?", "All of it", None).await });
            let request = next();
            assert_eq!(
                (&request["method"], &request["message"]),
                (&json!("confirm"), &json!("All of it"))
            );
            answer(&dialogs, &request["id"], rest);
            assert_eq!(confirm.await.unwrap(), confirmed);
        }
        let asking = Arc::clone(&dialogs);
        let input = tokio::spawn(async move { asking.input("Name", Some("none"), None).await });
        let request = next();
        assert_eq!(
            (&request["method"], &request["placeholder"]),
            (&json!("input"), &json!("none"))
        );
        answer(&dialogs, &request["id"], json!({"value": ""}));
        assert_eq!(input.await.unwrap().as_deref(), Some(""));
        let asking = Arc::clone(&dialogs);
        let editor = tokio::spawn(async move { asking.editor("Text", None).await });
        let request = next();
        assert_eq!((&request["method"], request.get("prefill")), (&json!("editor"), None));
        answer(&dialogs, &request["id"], json!({"value": "a\nb"}));
        assert_eq!(editor.await.unwrap().as_deref(), Some("a\nb"));
        assert!(dialogs.open().is_empty());
    }

    #[tokio::test]
    async fn no_dialog_is_waited_for_beyond_its_time() {
        let (dialogs, mut next) = dialogs();
        let moment = Some(Duration::from_millis(1));
        assert_eq!(dialogs.select("t", &[], moment).await, None);
        assert_eq!(next()["timeout"], 1);
        assert!(!dialogs.confirm("t", "m", moment).await);
        assert_eq!(dialogs.input("t", None, moment).await, None);
        // An answer that comes too late is nobody's.
        answer(&dialogs, &next()["id"], json!({"confirmed": true}));
        assert!(dialogs.open().is_empty());
        // At the end nobody is waited for.
        dialogs.silent.cancel();
        assert_eq!(dialogs.editor("t", Some("p")).await, None);
    }

    #[tokio::test]
    async fn what_wants_no_answer_is_told_by_its_method() {
        let (dialogs, mut next) = dialogs();
        for (message, expected) in [
            (
                UiMessage::Notify { message: "m".into(), notify_type: Some(NotifyType::Warning) },
                json!({"method": "notify", "message": "m", "notifyType": "warning"}),
            ),
            (
                UiMessage::Notify { message: "m".into(), notify_type: None },
                json!({"method": "notify", "message": "m"}),
            ),
            (
                UiMessage::SetStatus { status_key: "k".into(), status_text: Some("s".into()) },
                json!({"method": "setStatus", "statusKey": "k", "statusText": "s"}),
            ),
            (
                UiMessage::SetWidget {
                    widget_key: "k".into(),
                    widget_lines: Some(vec!["l".into()]),
                    widget_placement: Some(WidgetPlacement::BelowEditor),
                },
                json!({"method": "setWidget", "widgetKey": "k", "widgetLines": ["l"],
                       "widgetPlacement": "belowEditor"}),
            ),
            (
                UiMessage::SetWidget {
                    widget_key: "k".into(),
                    widget_lines: None,
                    widget_placement: None,
                },
                json!({"method": "setWidget", "widgetKey": "k"}),
            ),
            (
                UiMessage::SetTitle { title: "t".into() },
                json!({"method": "setTitle", "title": "t"}),
            ),
            (
                UiMessage::SetEditorText { text: "x".into() },
                json!({"method": "set_editor_text", "text": "x"}),
            ),
        ] {
            dialogs.tell(&message).await;
            let mut told = next();
            let told = told.as_object_mut().unwrap();
            assert_eq!(told.remove("type").unwrap(), "extension_ui_request");
            assert_eq!(told.remove("id").unwrap().as_str().unwrap().len(), 36);
            assert_eq!(Value::Object(told.clone()), expected);
        }
    }
}
