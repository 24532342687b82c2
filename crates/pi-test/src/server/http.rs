//! As much of HTTP/1.1 as a test server needs.

use std::collections::BTreeMap;
use std::io;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// One request as it arrived.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: String,
    /// As sent: a path, a whole URL at a proxy, `host:port` with `CONNECT`.
    pub target: String,
    /// Names in lower case; repeated ones are joined by `, `.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
    /// Place among the server's requests, from 1.
    pub number: usize,
}

impl Request {
    /// The body as JSON; `null` when it is none.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// A header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The target without its query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }
}

pub(super) struct Connection {
    pub(super) stream: BufReader<TcpStream>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    /// The next request; `None` when the client closed the connection between two.
    pub(super) async fn read_request(&mut self) -> io::Result<Option<Request>> {
        let first = self.line().await?;
        let mut words = first.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Ok(None);
        };
        let mut headers: BTreeMap<String, String> = BTreeMap::new();
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers
                .entry(name.to_ascii_lowercase())
                .and_modify(|known| {
                    known.push_str(", ");
                    known.push_str(value.trim());
                })
                .or_insert_with(|| value.trim().to_owned());
        }
        let length = headers.get("content-length").and_then(|text| text.parse().ok());
        let mut body = vec![0; length.unwrap_or_default()];
        self.stream.read_exact(&mut body).await?;
        let (method, target) = (method.to_owned(), target.to_owned());
        Ok(Some(Request { method, target, headers, body, number: 0 }))
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stream = self.stream.get_mut();
        stream.write_all(bytes).await?;
        stream.flush().await
    }

    /// Returns when the client has closed its side or says something out of turn.
    pub(super) async fn client_leaves(&mut self) {
        // An error means the same as the end: nobody is there.
        let _end = self.stream.fill_buf().await;
    }

    async fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.stream.read_line(&mut line).await?;
        line.truncate(line.trim_end().len());
        Ok(line)
    }
}
