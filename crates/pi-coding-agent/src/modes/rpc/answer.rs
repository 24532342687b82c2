//! Answers to commands.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

/// What a command has come to: its data, if it has any, or what the client is told of its failure.
pub(super) type Answer = Result<Option<Box<RawValue>>, String>;

/// Done; there is nothing to tell.
pub(super) const DONE: Answer = Ok(None);

/// Data that can be written as JSON.
pub(super) fn data(data: &(impl Serialize + ?Sized)) -> Answer {
    to_raw_value(data).map(Some).map_err(|error| error.to_string())
}

/// Data that is JSON already, of whatever depth.
pub(super) fn json(text: String) -> Answer {
    RawValue::from_string(text).map(Some).map_err(|error| error.to_string())
}

/// The record of an answer.
#[derive(Debug, Serialize)]
pub(super) struct Response<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> Response<'a> {
    pub(super) fn new(
        id: Option<&'a RawValue>,
        command: Option<&'a str>,
        answer: &'a Answer,
    ) -> Self {
        let (data, error) = match answer {
            Ok(data) => (data.as_deref(), None),
            Err(error) => (None, Some(error.as_str())),
        };
        Self { id, r#type: "response", command, success: answer.is_ok(), data, error }
    }
}
