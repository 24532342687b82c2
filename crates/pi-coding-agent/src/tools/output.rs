//! What a command printed: the end for the model, the ends for programs, all of it in a file.
//! Bounded in memory whatever is printed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pi_agent::env::{EnvError, ExecutionEnv, FileWriter};
use tokio_util::sync::CancellationToken;

use super::truncate::{Limits, Totals, TruncatedBy, TruncationResult, count, format_size, tail_of};
use super::utf8::Utf8Decoder;

/// Bytes of the output kept from either end.
const END: usize = 512 * 1024;

/// How long a disk may take once nobody waits for the command any more.
const PATIENCE: Duration = Duration::from_secs(1);

/// Collects the output of one command.
#[derive(Debug)]
pub struct OutputLog {
    env: Arc<dyn ExecutionEnv>,
    /// From then on the file is not worth much waiting.
    cancel: CancellationToken,
    limits: Limits,
    decoder: Utf8Decoder,
    /// The first [`END`] bytes, once there are more than twice as many.
    head: String,
    /// What follows `head`, or as much of its end as is kept.
    tail: String,
    totals: Totals,
    /// Bytes of the last line, without its newline.
    last_line: u64,
    ends_with_newline: bool,
    file: FullOutput,
}

/// The file with the complete output.
#[derive(Debug)]
enum FullOutput {
    /// Not needed so far; the bytes it would hold.
    Pending(Vec<u8>),
    Open(Box<dyn FileWriter>),
    /// Complete.
    Closed(PathBuf),
    /// Could not be written; the reason.
    Failed(String),
}

impl OutputLog {
    /// The full output goes to a temporary file of `env` as soon as it is over the default limits.
    /// When `cancel` has ended the command, a disk that hangs does not hold its result for long.
    pub fn new(env: Arc<dyn ExecutionEnv>, cancel: CancellationToken) -> Self {
        Self {
            env,
            cancel,
            limits: Limits::default(),
            decoder: Utf8Decoder::default(),
            head: String::new(),
            tail: String::new(),
            totals: Totals::default(),
            last_line: 0,
            ends_with_newline: false,
            file: FullOutput::Pending(Vec::new()),
        }
    }

    /// Takes the next bytes. Invalid UTF-8 is replaced, a character cut in two is waited for.
    pub async fn push(&mut self, chunk: &[u8]) {
        let text = self.decoder.decode(chunk);
        self.take(&text);
        self.save(chunk, false).await;
    }

    /// Nothing follows. The file, if there is one, is complete afterwards.
    pub async fn finish(&mut self) {
        let rest = self.decoder.finish();
        self.take(rest);
        self.save(&[], true).await;
    }

    /// The end of the output so far, within the limits.
    pub fn tail(&self) -> TruncationResult {
        // With a head the tail alone is larger than the limits.
        tail_of(&self.tail, self.totals, self.limits)
    }

    /// The file with the complete output, once there is one.
    pub fn full_output_path(&self) -> Option<&Path> {
        match &self.file {
            FullOutput::Open(file) => Some(file.path()),
            FullOutput::Closed(path) => Some(path),
            FullOutput::Pending(_) | FullOutput::Failed(_) => None,
        }
    }

    /// The bracketed line that tells what `tail` leaves out.
    pub fn notice(&self, tail: &TruncationResult) -> String {
        let full = match &self.file {
            FullOutput::Failed(reason) => format!("Full output could not be saved: {reason}"),
            _ => match self.full_output_path() {
                Some(path) => format!("Full output: {}", path.display()),
                None => "Full output was not saved".to_owned(),
            },
        };
        let last = tail.total_lines;
        if tail.last_line_partial {
            let (shown, size) = (format_size(tail.output_bytes), format_size(self.last_line));
            return format!("[Showing last {shown} of line {last} (line is {size}). {full}]");
        }
        let first = last - tail.output_lines + 1;
        let by_bytes = match tail.truncated_by {
            Some(TruncatedBy::Bytes) => format!(" ({} limit)", format_size(tail.max_bytes)),
            _ => String::new(),
        };
        format!("[Showing lines {first}-{last} of {last}{by_bytes}. {full}]")
    }

    /// The whole output, or its first and last 512 KiB; and whether something was left out.
    pub fn ends(&self) -> (String, bool) {
        if self.head.is_empty() {
            return (self.tail.clone(), false);
        }
        let tail = last_bytes(&self.tail, END);
        let omitted = self.totals.bytes - count(self.head.len()) - count(tail.len());
        (format!("{}\n\n[... {omitted} bytes omitted ...]\n\n{tail}", self.head), true)
    }

    fn take(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        let newlines = count(memchr::memchr_iter(b'\n', text.as_bytes()).count());
        let open_before = u64::from(self.totals.bytes > 0 && !self.ends_with_newline);
        let continues = self.totals.bytes == 0 || !self.ends_with_newline;
        self.ends_with_newline = text.ends_with('\n');
        self.totals.lines += newlines + u64::from(!self.ends_with_newline) - open_before;
        self.totals.bytes += count(text.len());
        let bare = text.strip_suffix('\n').unwrap_or(text);
        self.last_line = match memchr::memrchr(b'\n', bare.as_bytes()) {
            Some(at) => count(bare.len() - at - 1),
            None if continues => self.last_line + count(bare.len()),
            None => count(bare.len()),
        };
        self.tail.push_str(text);
        if self.head.is_empty() && self.tail.len() > 2 * END {
            let rest = self.tail.split_off(floor_char_boundary(&self.tail, END));
            self.head = std::mem::replace(&mut self.tail, rest);
        }
        if self.tail.len() > 2 * END {
            let start = self.tail.len() - last_bytes(&self.tail, END).len();
            self.tail.drain(..start);
        }
    }

    async fn save(&mut self, chunk: &[u8], is_last: bool) {
        let cancel = self.cancel.clone();
        let patience = async {
            cancel.cancelled().await;
            tokio::time::sleep(PATIENCE).await;
        };
        let saved = async {
            self.store(chunk).await;
            if is_last {
                self.close().await;
            }
        };
        tokio::select! {
            biased;
            () = saved => {}
            () = patience => self.give_up(),
        }
    }

    async fn store(&mut self, chunk: &[u8]) {
        match &mut self.file {
            FullOutput::Pending(bytes) => {
                bytes.extend_from_slice(chunk);
                let over =
                    self.totals.lines > self.limits.lines || self.totals.bytes > self.limits.bytes;
                if over {
                    let bytes = std::mem::take(bytes);
                    self.open().await;
                    self.append(&bytes).await;
                }
            }
            FullOutput::Open(_) => self.append(chunk).await,
            FullOutput::Closed(_) | FullOutput::Failed(_) => {}
        }
    }

    async fn open(&mut self) {
        self.file = match self.env.temporary_file("pi-bash-", ".log").await {
            Ok(file) => FullOutput::Open(file),
            Err(error) => FullOutput::Failed(error.cause()),
        };
    }

    async fn append(&mut self, bytes: &[u8]) {
        if let FullOutput::Open(file) = &mut self.file
            && let Err(error) = file.write(bytes).await
        {
            self.fail(&error).await;
        }
    }

    async fn close(&mut self) {
        if let FullOutput::Open(file) = &mut self.file {
            match file.finish().await {
                Ok(()) => self.file = FullOutput::Closed(file.path().to_owned()),
                Err(error) => self.fail(&error).await,
            }
        }
    }

    fn give_up(&mut self) {
        let given_up = FullOutput::Failed("the disk did not answer in time".to_owned());
        if let FullOutput::Open(file) = std::mem::replace(&mut self.file, given_up) {
            let env = Arc::clone(&self.env);
            tokio::spawn(async move { drop(env.remove(file.path()).await) });
        }
    }

    async fn fail(&mut self, error: &EnvError) {
        if let FullOutput::Open(file) = &self.file {
            // A part of the output must not pass for all of it.
            drop(self.env.remove(file.path()).await);
        }
        self.file = FullOutput::Failed(error.cause());
    }
}

fn last_bytes(text: &str, length: usize) -> &str {
    let mut start = text.len().saturating_sub(length);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

fn floor_char_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use pi_agent::env::{LocalEnv, LocalEnvConfig};

    use super::*;

    fn empty_log(dir: &Path) -> OutputLog {
        let config = LocalEnvConfig { temp_dir: dir.to_owned(), ..LocalEnvConfig::default() };
        OutputLog::new(Arc::new(LocalEnv::new(config)), CancellationToken::new())
    }

    async fn log(dir: &Path, chunks: &[&[u8]]) -> OutputLog {
        let mut log = empty_log(dir);
        for chunk in chunks {
            log.push(chunk).await;
        }
        log.finish().await;
        log
    }

    #[tokio::test]
    async fn characters_cut_between_chunks_are_put_together_and_bad_bytes_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let log =
            log(dir.path(), &[b"a\xe2\x82", b"\xac\xffb\xe2", b"(\xf0\x9f\x98", b"\x80\xc3"]).await;
        assert_eq!(log.tail().content, "a\u{20ac}\u{fffd}b\u{fffd}(\u{1f600}\u{fffd}");
        assert_eq!(log.full_output_path(), None);
    }

    #[tokio::test]
    async fn lines_are_counted_across_chunks() {
        let dir = tempfile::tempdir().unwrap();
        for (chunks, want) in [
            (&[&b"a"[..], b"b", b"\n"][..], 1),
            (&[&b"a\n"[..], b"\n", b"b"][..], 3),
            (&[&b""[..]][..], 0),
            (&[&b"\n"[..], b"\n"][..], 2),
        ] {
            assert_eq!(log(dir.path(), chunks).await.tail().total_lines, want, "{chunks:?}");
        }
    }

    #[tokio::test]
    async fn the_file_appears_when_a_limit_is_passed_and_holds_everything_for_the_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let all: String = (1..=2001).map(|i| format!("{i}\n")).collect();
        let (first, rest) = all.split_at(8000);
        let mut log = empty_log(dir.path());
        log.push(first.as_bytes()).await;
        assert_eq!(log.full_output_path(), None);
        log.push(rest.as_bytes()).await;
        assert!(log.full_output_path().is_some());
        log.finish().await;
        let path = log.full_output_path().unwrap().to_owned();
        assert_eq!(fs::read_to_string(&path).unwrap(), all);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let name = path.file_name().unwrap().to_str().unwrap();
        let hex = name.strip_prefix("pi-bash-").and_then(|n| n.strip_suffix(".log")).unwrap();
        assert!(hex.len() == 16 && hex.bytes().all(|b| b.is_ascii_hexdigit()));
        let tail = log.tail();
        assert_eq!(
            log.notice(&tail),
            format!("[Showing lines 2-2001 of 2001. Full output: {}]", path.display())
        );
    }

    #[tokio::test]
    async fn notices_tell_of_byte_limits_and_of_one_long_line() {
        let dir = tempfile::tempdir().unwrap();
        let long = "z".repeat(70_000);
        let cases = [
            (long.clone(), "[Showing last 50.0KB of line 1 (line is 68.4KB). "),
            (format!("{long}\n"), "[Showing last 50.0KB of line 1 (line is 68.4KB). "),
            (format!("a\n{long}"), "[Showing last 50.0KB of line 2 (line is 68.4KB). "),
            (format!("{long}\nend\n"), "[Showing lines 2-2 of 2 (50.0KB limit). "),
        ];
        for (text, want) in cases {
            let log = log(dir.path(), &[text.as_bytes()]).await;
            let notice = log.notice(&log.tail());
            assert!(notice.starts_with(want), "{notice}");
        }
    }

    #[tokio::test]
    async fn programs_get_both_ends_of_a_huge_output() {
        let dir = tempfile::tempdir().unwrap();
        let whole = log(dir.path(), &[&[b'y'; 1 << 20]]).await;
        assert_eq!(whole.ends(), ("y".repeat(1 << 20), false));

        let mut huge = empty_log(dir.path());
        huge.push(&[b'a'; 524_188]).await;
        for _ in 0..40 {
            huge.push(&[b'b'; 50_000]).await;
            assert!(huge.tail.len() <= 2 * END && huge.head.len() <= END);
        }
        huge.finish().await;
        let (ends, cut) = huge.ends();
        assert!(cut && ends.starts_with("aaa") && ends.ends_with("bbb"));
        assert!(ends.contains("b\n\n[... 1475612 bytes omitted ...]\n\nb"));
        assert_eq!(ends.len(), (1 << 20) + 35);
    }

    #[tokio::test]
    async fn a_file_that_cannot_be_written_is_told_and_does_not_fail_the_command() {
        let log = log(Path::new("/no/such/dir"), &[&[b'\n'; 3000]]).await;
        let notice = log.notice(&log.tail());
        assert!(notice.contains("Full output could not be saved: "), "{notice}");
    }
}
