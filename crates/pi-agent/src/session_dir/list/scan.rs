//! One session file, read line by line for the few fields a list needs.
//!
//! Bodies are skipped, not built: what is kept of a file is one line at a time. A line that is no
//! JSON, or whose fields have other types than the format gives them, counts for nothing.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::UNIX_EPOCH;

use pi_ai::surrogates::repair_surrogates;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::SessionInfo;
use crate::session::Header;
use crate::session_dir::folder::Candidate;
use crate::session_dir::locate::next_header;

/// Bytes read from a file at once.
const CHUNK: usize = 64 * 1024;
/// Largest line buffer kept from one file to the next, in bytes.
const KEPT_BUFFER: usize = 1024 * 1024;

/// Reads files one after the other, with the same buffer.
pub(super) struct Scanner<'a> {
    with_text: bool,
    cancel: &'a AtomicBool,
    line: Vec<u8>,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(with_text: bool, cancel: &'a AtomicBool) -> Self {
        Self { with_text, cancel, line: Vec::new() }
    }

    /// `None`: it is no session, its header is not `wanted`, it cannot be read, or the scan was
    /// cancelled.
    pub(super) fn scan(
        &mut self,
        file: &Candidate,
        wanted: impl FnOnce(&Header) -> bool,
    ) -> Option<SessionInfo> {
        let mut reader = BufReader::with_capacity(CHUNK, File::open(&file.path).ok()?);
        let header = next_header(&mut reader, &mut self.line).filter(wanted)?;
        let mut summary = Summary::new(self.with_text);
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return None;
            }
            self.line.clear();
            if reader.read_until(b'\n', &mut self.line).ok()? == 0 {
                break;
            }
            summary.add(&self.line);
        }
        self.line.shrink_to(KEPT_BUFFER);
        Some(summary.into_info(file, header))
    }
}

/// What the lines read so far come to.
#[derive(Debug, Default)]
struct Summary {
    name: Option<String>,
    message_count: usize,
    first_message: Option<String>,
    cost: f64,
    last_activity: Option<i64>,
    text: Option<String>,
}

/// The fields of a line that count. The others are passed over.
#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<Message<'a>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    role: Cow<'a, str>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    timestamp: Option<&'a RawValue>,
}

impl Summary {
    fn new(with_text: bool) -> Self {
        Self { text: with_text.then(String::new), ..Self::default() }
    }

    fn add(&mut self, line: &[u8]) {
        if let Ok(line) = serde_json::from_slice(line) {
            self.add_line(&line);
            return;
        }
        // JavaScript reads bytes that are not UTF-8 as U+FFFD.
        let text = String::from_utf8_lossy(line);
        if let Cow::Owned(text) = text
            && let Ok(line) = serde_json::from_str(&text)
        {
            self.add_line(&line);
        }
    }

    fn add_line(&mut self, line: &Line<'_>) {
        match (&*line.r#type, &line.message) {
            ("message", Some(message)) => self.add_message(message, line.timestamp),
            ("session_info", _) => {
                let name = line.name.and_then(|raw| parse::<String>(raw.get()));
                self.name = name.filter(|name| !name.is_empty());
            }
            ("compaction" | "branch_summary" | "usage", _) => self.add_cost(line.usage),
            _ => {}
        }
    }

    fn add_message(&mut self, message: &Message<'_>, line_time: Option<&RawValue>) {
        self.message_count += 1;
        let role = &*message.role;
        if matches!(role, "assistant" | "toolResult") {
            self.add_cost(message.usage);
        }
        if !matches!(role, "user" | "assistant") {
            return;
        }
        let time = message.timestamp.and_then(|raw| raw.get().parse().ok());
        let time = time.or_else(|| iso_ms(&parse::<String>(line_time?.get())?));
        self.last_activity = self.last_activity.max(time);

        let is_first = role == "user" && self.first_message.is_none();
        if !is_first && self.text.is_none() {
            return;
        }
        let said = message.content.map(|raw| text_of(raw.get())).unwrap_or_default();
        if let Some(text) = self.text.as_mut().filter(|_| !said.is_empty()) {
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&said);
        }
        if is_first && !said.is_empty() {
            self.first_message = Some(said);
        }
    }

    fn add_cost(&mut self, usage: Option<&RawValue>) {
        #[derive(Deserialize)]
        struct Usage {
            cost: Cost,
        }
        #[derive(Deserialize)]
        struct Cost {
            total: f64,
        }
        if let Some(usage) = usage.and_then(|raw| parse::<Usage>(raw.get())) {
            self.cost += usage.cost.total;
        }
    }

    fn into_info(self, file: &Candidate, header: Header) -> SessionInfo {
        let touched = file.touched.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let touched = i64::try_from(touched).unwrap_or(i64::MAX);
        let created = iso_ms(&header.timestamp).unwrap_or(touched);
        SessionInfo {
            path: file.path.clone(),
            id: header.id,
            cwd: header.cwd,
            name: self.name,
            parent_session: header.parent_session,
            created,
            modified: self.last_activity.unwrap_or(created),
            message_count: self.message_count,
            first_message: self.first_message.unwrap_or_default(),
            cost: self.cost,
            all_messages_text: self.text,
        }
    }
}

/// The text of a message's content: a string, or blocks of which those of type `text` count.
fn text_of(content: &str) -> String {
    #[derive(Deserialize)]
    struct Block<'a> {
        #[serde(borrow)]
        r#type: Cow<'a, str>,
        text: Option<String>,
    }
    if content.starts_with('"') {
        return parse(content).unwrap_or_default();
    }
    let read = |json: &str| {
        let blocks: Vec<Block<'_>> = serde_json::from_str(json).ok()?;
        let texts = blocks.into_iter().filter(|block| block.r#type == "text");
        Some(texts.filter_map(|block| block.text).collect::<Vec<_>>().join("\n"))
    };
    let repaired = || read(&repair_surrogates(content)?);
    read(content).or_else(repaired).unwrap_or_default()
}

fn parse<T: for<'a> Deserialize<'a>>(json: &str) -> Option<T> {
    let repaired = || serde_json::from_str(&repair_surrogates(json)?).ok();
    serde_json::from_str(json).ok().or_else(repaired)
}

fn iso_ms(timestamp: &str) -> Option<i64> {
    timestamp.parse().ok().map(jiff::Timestamp::as_millisecond)
}
