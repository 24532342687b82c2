//! Asking and telling the user, whatever mode they are in.
//!
//! Owns: what can be asked and told, and what it comes to where nobody can answer. Never: draws or
//! reads; each mode brings its own.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use futures_util::future::{BoxFuture, ready};
use serde::{Deserialize, Serialize};

use super::AgentSession;

/// A way to the user. Dialogs come to nothing, or to no, when they are cancelled, when their time is
/// over, or where nobody can answer.
pub trait UserInterface: Send + Sync {
    /// Whether somebody can answer.
    fn can_ask(&self) -> bool;

    /// One of `options`, as it stands there.
    fn select<'a>(
        &'a self,
        title: &'a str,
        options: &'a [String],
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, Option<String>>;

    fn confirm<'a>(
        &'a self,
        title: &'a str,
        message: &'a str,
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, bool>;

    /// One line of text.
    fn input<'a>(
        &'a self,
        title: &'a str,
        placeholder: Option<&'a str>,
        timeout: Option<Duration>,
    ) -> BoxFuture<'a, Option<String>>;

    /// Several lines of text, beginning with `prefill`.
    fn editor<'a>(
        &'a self,
        title: &'a str,
        prefill: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>>;

    fn tell<'a>(&'a self, message: &'a UiMessage) -> BoxFuture<'a, ()>;
}

/// Something to show that wants no answer. The names are those of the RPC protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "method", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum UiMessage {
    Notify {
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        notify_type: Option<NotifyType>,
    },
    /// Without a text the status of this key goes away.
    SetStatus {
        status_key: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        status_text: Option<String>,
    },
    /// Without lines the widget of this key goes away.
    SetWidget {
        widget_key: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        widget_lines: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        widget_placement: Option<WidgetPlacement>,
    },
    SetTitle {
        title: String,
    },
    #[serde(rename = "set_editor_text")]
    SetEditorText {
        text: String,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NotifyType {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WidgetPlacement {
    AboveEditor,
    BelowEditor,
}

impl AgentSession {
    /// The way to the user; nobody, until a mode has set one.
    pub fn user_interface(&self) -> Arc<dyn UserInterface> {
        Arc::clone(&self.inner.user_interface.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn set_user_interface(&self, interface: Arc<dyn UserInterface>) {
        *self.inner.user_interface.lock().unwrap_or_else(PoisonError::into_inner) = interface;
    }
}

/// Where nobody can answer, and what is told is not shown: print and JSON mode.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

impl UserInterface for Nobody {
    fn can_ask(&self) -> bool {
        false
    }

    fn select<'a>(
        &'a self,
        _title: &'a str,
        _options: &'a [String],
        _timeout: Option<Duration>,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(ready(None))
    }

    fn confirm<'a>(
        &'a self,
        _title: &'a str,
        _message: &'a str,
        _timeout: Option<Duration>,
    ) -> BoxFuture<'a, bool> {
        Box::pin(ready(false))
    }

    fn input<'a>(
        &'a self,
        _title: &'a str,
        _placeholder: Option<&'a str>,
        _timeout: Option<Duration>,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(ready(None))
    }

    fn editor<'a>(
        &'a self,
        _title: &'a str,
        _prefill: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(ready(None))
    }

    fn tell<'a>(&'a self, _message: &'a UiMessage) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }
}
