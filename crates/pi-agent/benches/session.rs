//! What a session costs as it grows: opening, the context, adding, finding where two paths part.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use pi_agent::session::{EntryBody, Session};

/// Entries of the sessions measured.
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// A session file of prompts, tool calls, results and answers in the sizes coding sessions have:
/// about 830 bytes an entry.
struct SessionFile {
    _dir: tempfile::TempDir,
    path: PathBuf,
    bytes: u64,
    entries: usize,
}

impl SessionFile {
    /// One branch.
    fn chain(entries: usize) -> std::io::Result<Self> {
        Self::new(entries, |index| index.checked_sub(1))
    }

    /// Two branches of the same length that part at the first entry.
    fn fork(entries: usize) -> std::io::Result<Self> {
        Self::new(entries, |index| (index > 0).then(|| index.saturating_sub(2)))
    }

    fn new(entries: usize, parent: impl Fn(usize) -> Option<usize>) -> std::io::Result<Self> {
        let dir = tempfile::tempdir()?;
        let path = dir.path().join("session.jsonl");
        let text = conversation(entries, parent);
        std::fs::write(&path, &text)?;
        Ok(Self { _dir: dir, path, bytes: text.len() as u64, entries })
    }

    fn open(&self) -> Option<Session> {
        Some(Session::open(&self.path, Path::new("/w")).ok()?.0)
    }
}

fn conversation(entries: usize, parent: impl Fn(usize) -> Option<usize>) -> String {
    let mut text = String::from(
        r#"{"type":"session","version":3,"id":"bench","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
    );
    text.push('\n');
    for index in 0..entries {
        let parent = parent(index).map_or("null".to_owned(), |parent| format!("\"{parent:08x}\""));
        _ = writeln!(
            text,
            r#"{{"type":"message","id":"{index:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{}}}"#,
            message(index)
        );
    }
    text
}

fn message(index: usize) -> String {
    let usage = r#"{"input":1200,"output":340,"cacheRead":9000,"cacheWrite":0,"totalTokens":10540,"cost":{"input":0.0012,"output":0.0034,"cacheRead":0.0009,"cacheWrite":0,"total":0.0055}}"#;
    let end = format!(
        r#""api":"openai-completions","provider":"acme","model":"m1","usage":{usage},"stopReason":"stop","timestamp":1796000000000"#
    );
    match index % 4 {
        0 => format!(
            r#"{{"role":"user","content":[{{"type":"text","text":"Please look at file {index} and mend what the compiler says about it."}}],"timestamp":1796000000000}}"#
        ),
        1 => format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"Reading it first."}},{{"type":"toolCall","id":"call_{index}","name":"read","arguments":{{"path":"src/file_{index}.rs"}}}}],{end}}}"#
        ),
        2 => format!(
            r#"{{"role":"toolResult","toolCallId":"call_{}","toolName":"read","content":[{{"type":"text","text":"{}"}}],"isError":false,"timestamp":1796000000000}}"#,
            index - 1,
            r#"fn main() {\n    println!(\"a line of source text\");\n}\n"#.repeat(24)
        ),
        _ => format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"{}"}}],{end}}}"#,
            r"## A step\n\nThe borrow ended too early, so the value is cloned.\n\n".repeat(8)
        ),
    }
}

/// Runs one measurement for every size on a file of that size.
fn for_each_size(
    criterion: &mut Criterion,
    name: &str,
    file: impl Fn(usize) -> std::io::Result<SessionFile>,
    measure: impl Fn(&mut criterion::Bencher<'_>, &SessionFile),
) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(10).warm_up_time(Duration::from_millis(500));
    group.measurement_time(Duration::from_secs(2));
    for size in SIZES {
        let Ok(file) = file(size) else { continue };
        group.throughput(Throughput::Bytes(file.bytes));
        group.bench_with_input(BenchmarkId::from_parameter(file.entries), &file, &measure);
    }
    group.finish();
}

fn open(criterion: &mut Criterion) {
    for_each_size(criterion, "open", SessionFile::chain, |bencher, file| {
        bencher.iter(|| file.open());
    });
}

fn build_context(criterion: &mut Criterion) {
    for_each_size(criterion, "build_context", SessionFile::chain, |bencher, file| {
        let Some(session) = file.open() else { return };
        bencher.iter(|| session.context());
    });
}

fn append(criterion: &mut Criterion) {
    for_each_size(criterion, "append", SessionFile::chain, |bencher, file| {
        let Some(mut session) = file.open() else { return };
        let body = EntryBody::Custom { custom_type: "bench".to_owned(), data: None };
        bencher.iter(|| assert!(session.append(body.clone()).is_ok()));
    });
}

fn common_ancestor(criterion: &mut Criterion) {
    for_each_size(criterion, "common_ancestor", SessionFile::fork, |bencher, file| {
        let Some(session) = file.open() else { return };
        let last = |back: usize| format!("{:08x}", file.entries - back);
        bencher.iter(|| session.common_ancestor(&last(1), &last(2)).map(|entry| entry.id().len()));
    });
}

criterion_group!(benches, open, build_context, append, common_ancestor);
criterion_main!(benches);
