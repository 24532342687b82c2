//! What search tools answer: lines within the byte limit, and one bracketed line of notices.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pi_agent::ToolOutput;
use serde_json::{Map, Value, json};

use super::truncate::{Limits, MAX_BYTES, NO_LINE_LIMIT, Totals, format_size, head_of};

/// Lines that are found one after another. Only what may be shown is kept, all of it is counted.
#[derive(Debug, Default)]
pub(super) struct Listing {
    /// Goes on a little beyond the limit, so that one can see that it does.
    text: String,
    totals: Totals,
}

/// Something the model should know of a result.
pub(super) struct Notice {
    pub text: String,
    /// A field of the `details`.
    pub detail: Option<(&'static str, Value)>,
}

impl Notice {
    /// More than `limit` were found; `detail` is the field that tells it.
    pub(super) fn limit(what: &str, limit: u64, hint: &str, detail: &'static str) -> Self {
        let twice = limit.saturating_mul(2);
        let text = format!("{limit} {what} limit reached. Use limit={twice} for more{hint}");
        Self { text, detail: Some((detail, json!(limit))) }
    }
}

/// Files and folders that could not be looked at.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    first: Option<(PathBuf, String)>,
    count: u64,
}

impl Unreadable {
    pub(super) fn extend<'a>(&mut self, found: impl IntoIterator<Item = (&'a Path, String)>) {
        for (path, reason) in found {
            self.first.get_or_insert_with(|| (path.to_owned(), reason));
            self.count += 1;
        }
    }

    /// What is missing in a result for that; names are told relative to `root`.
    pub(super) fn notice(self, root: &Path) -> Option<Notice> {
        let (path, reason) = self.first?;
        let path = match path.strip_prefix(root) {
            // The root itself, a single file.
            Ok(rest) if rest.as_os_str().is_empty() => {
                Path::new(path.file_name().unwrap_or_default())
            }
            Ok(rest) => rest,
            Err(_) => &path,
        };
        let path = path.display();
        let text = match self.count {
            1 => format!("Not searched to the end: {path} ({reason})"),
            count => {
                format!(
                    "{count} files or folders not searched to the end, such as {path} ({reason})"
                )
            }
        };
        Some(Notice { text, detail: None })
    }
}

impl Listing {
    /// Adds one or several lines, without a newline at the end.
    pub(super) fn push(&mut self, lines: &str) {
        let more = Totals::of(lines);
        self.add(lines, Totals { lines: more.lines.max(1), ..more });
    }

    /// Adds the lines of another one.
    pub(super) fn append(&mut self, other: &Self) {
        if other.totals.lines > 0 {
            self.add(&other.text, other.totals);
        }
    }

    /// `start` is as much of the lines as was kept.
    fn add(&mut self, start: &str, totals: Totals) {
        let newline = u64::from(self.totals.lines > 0);
        if self.totals.bytes <= MAX_BYTES {
            self.text.push_str(if newline > 0 { "\n" } else { "" });
            self.text.push_str(start);
        }
        self.totals.lines += totals.lines;
        self.totals.bytes += newline + totals.bytes;
    }

    /// The result; `before` and `after` are notices in their place around that of the byte limit.
    pub(super) fn output(
        self,
        empty: &str,
        before: impl IntoIterator<Item = Notice>,
        after: impl IntoIterator<Item = Notice>,
    ) -> ToolOutput {
        let limits = Limits { lines: NO_LINE_LIMIT, bytes: MAX_BYTES };
        let cut = head_of(&self.text, self.totals, limits);
        let mut text = if self.totals.lines == 0 { empty.to_owned() } else { cut.content.clone() };
        let by_bytes = cut.truncated.then(|| Notice {
            text: format!("{} limit reached", format_size(MAX_BYTES)),
            detail: Some(("truncation", json!(cut))),
        });
        let notices = before.into_iter().chain(by_bytes).chain(after);
        let mut details = Map::new();
        let mut told = Vec::new();
        for notice in notices {
            told.push(notice.text);
            if let Some((name, value)) = notice.detail {
                details.insert(name.to_owned(), value);
            }
        }
        if !told.is_empty() {
            _ = write!(text, "\n\n[{}]", told.join(". "));
        }
        let details = (!details.is_empty()).then_some(Value::Object(details));
        ToolOutput { details, ..ToolOutput::text(text) }
    }
}
