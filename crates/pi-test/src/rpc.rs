//! A client of RPC mode: commands out, answers and events in.

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::program::{Ended, Running, Signal};

/// Talks to a program that speaks the protocol. Records that are no answers gather as events.
#[derive(Debug)]
pub struct RpcClient {
    program: Running,
    next_id: u64,
    events: Vec<Value>,
    answers: Vec<RpcAnswer>,
}

/// An answer to a command.
#[derive(Debug, Deserialize)]
pub struct RpcAnswer {
    /// As it was sent.
    pub id: Option<Value>,
    /// Which command it answers; `parse` for a line that was none.
    pub command: Option<String>,
    pub success: bool,
    /// As it was written, since it may nest deeper than a parser goes. `null` is data.
    #[serde(default, deserialize_with = "present")]
    pub data: Option<Box<RawValue>>,
    pub error: Option<String>,
}

fn present<'de, D: Deserializer<'de>>(data: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(data).map(Some)
}

impl RpcAnswer {
    /// # Panics
    /// The command failed, or its data is none.
    #[expect(clippy::panic, reason = "a failed command fails the test")]
    pub fn value(&self) -> Value {
        match self.data.as_ref().map(|data| serde_json::from_str(data.get())) {
            Some(Ok(value)) => value,
            _ => panic!("no data: {self:?}"),
        }
    }

    /// What the client is told of a failure.
    ///
    /// # Panics
    /// The command did not fail.
    #[expect(clippy::panic, reason = "a command that should fail fails the test")]
    pub fn failure(&self) -> &str {
        match (&self.error, self.success) {
            (Some(error), false) => error,
            _ => panic!("it did not fail: {self:?}"),
        }
    }
}

impl RpcClient {
    /// `program` reads commands from its input.
    pub fn new(program: Running) -> Self {
        Self { program, next_id: 1, events: Vec::new(), answers: Vec::new() }
    }

    /// Sends a command without waiting for its answer; gives its id.
    pub async fn send(&mut self, mut command: Value) -> String {
        let id = format!("c{}", self.next_id);
        self.next_id += 1;
        command["id"] = json!(id);
        self.program.send(&command.to_string()).await;
        id
    }

    /// Sends a line as it is.
    pub async fn send_line(&mut self, line: &str) {
        self.program.send(line).await;
    }

    /// Sends a command and waits for its answer.
    pub async fn call(&mut self, command: Value) -> RpcAnswer {
        let id = self.send(command).await;
        self.answer_to(&id).await
    }

    /// The answer to a command that was sent before.
    pub async fn answer_to(&mut self, id: &str) -> RpcAnswer {
        let id = json!(id);
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer.id.as_ref() == Some(&id))
            {
                return self.answers.swap_remove(at);
            }
            self.read().await;
        }
    }

    /// The next answer without an id.
    pub async fn nameless_answer(&mut self) -> RpcAnswer {
        loop {
            if let Some(at) = self.answers.iter().position(|answer| answer.id.is_none()) {
                return self.answers.swap_remove(at);
            }
            self.read().await;
        }
    }

    /// Waits for an event of this type that has not been taken yet; those before it are taken too.
    pub async fn event(&mut self, kind: &str) -> Value {
        let mut seen = 0;
        loop {
            if let Some(at) = self.events.iter().skip(seen).position(|event| event["type"] == kind)
            {
                let mut taken: Vec<Value> = self.events.drain(..=seen + at).collect();
                return taken.pop().unwrap_or_default();
            }
            seen = self.events.len();
            self.read().await;
        }
    }

    /// Events that came and were not taken.
    pub fn events(&self) -> &[Value] {
        &self.events
    }

    pub fn signal(&self, signal: Signal) {
        self.program.signal(signal);
    }

    /// The program itself.
    pub fn program(&mut self) -> &mut Running {
        &mut self.program
    }

    /// Closes the program's input and waits for its end.
    pub async fn end(self) -> Ended {
        self.program.end().await
    }

    /// Takes in the next record.
    #[expect(clippy::panic, reason = "a broken record fails the test")]
    async fn read(&mut self) {
        #[derive(Deserialize)]
        struct Kind<'a> {
            r#type: &'a str,
        }
        let line = self.program.line_with("").await;
        let broken = |error: serde_json::Error| -> ! { panic!("{error} in {line:?}") };
        match serde_json::from_str(&line) {
            Ok(Kind { r#type: "response" }) => match serde_json::from_str(&line) {
                Ok(answer) => self.answers.push(answer),
                Err(error) => broken(error),
            },
            Ok(Kind { .. }) => match serde_json::from_str(&line) {
                Ok(event) => self.events.push(event),
                Err(error) => broken(error),
            },
            Err(error) => broken(error),
        }
    }
}
