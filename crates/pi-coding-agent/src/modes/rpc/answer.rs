//! Answers to commands.

use serde::Serialize;
use serde_json::value::RawValue;

/// What a command has come to: its data as JSON, if it has any, or what the client is told of its
/// failure.
pub(super) type Answer = Result<Option<String>, String>;

/// Done; there is nothing to tell.
pub(super) const DONE: Answer = Ok(None);

/// Data that can be written as JSON.
pub(super) fn data(data: &(impl Serialize + ?Sized)) -> Answer {
    serde_json::to_string(data).map(Some).map_err(|error| error.to_string())
}

/// Data that is JSON already, of whatever size and depth. It has no line feed in it.
pub(super) fn json_text(text: String) -> Answer {
    Ok(Some(text))
}

/// The record of an answer without what comes last in it.
#[derive(Debug, Serialize)]
struct Head<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RawValue>,
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<&'a str>,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// The record of an answer. Data may be large: what stands around it is put to both its ends.
///
/// # Errors
/// None that plain data could have.
pub(super) fn record(
    id: Option<&RawValue>,
    command: Option<&str>,
    answer: Answer,
) -> Result<String, serde_json::Error> {
    let error = answer.as_ref().err().map(String::as_str);
    let head = Head { id, r#type: "response", command, success: answer.is_ok(), error };
    let mut head = serde_json::to_string(&head)?;
    let Ok(Some(mut data)) = answer else { return Ok(head) };
    head.pop();
    head.push_str(",\"data\":");
    data.insert_str(0, &head);
    data.push('}');
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_what_there_is_and_nothing_else() {
        let id = RawValue::from_string("1.50".to_owned()).unwrap();
        let cases: [(Answer, &str); 3] = [
            (DONE, r#"{"id":1.50,"type":"response","command":"c","success":true}"#),
            (
                data(&[1]),
                r#"{"id":1.50,"type":"response","command":"c","success":true,"data":[1]}"#,
            ),
            (
                Err("\"no\"".to_owned()),
                r#"{"id":1.50,"type":"response","command":"c","success":false,"error":"\"no\""}"#,
            ),
        ];
        for (answer, expected) in cases {
            assert_eq!(record(Some(&id), Some("c"), answer).unwrap(), expected);
        }
        assert_eq!(record(None, None, DONE).unwrap(), r#"{"type":"response","success":true}"#);
    }
}
