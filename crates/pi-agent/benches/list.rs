//! Listing a thousand sessions of sixty entries, 48 MB in all.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pi_agent::session_dir::search::Query;
use pi_agent::session_dir::threads::threads;
use pi_agent::session_dir::{ListOptions, Scope, SessionDir, SessionInfo};

const FILES: usize = 1000;
const ENTRIES: usize = 60;

/// A session of prompts, tool calls, results and answers, about 800 bytes an entry.
fn session(file: usize) -> String {
    let usage = r#"{"input":120,"output":60,"cacheRead":900,"cacheWrite":0,"totalTokens":1080,"cost":{"input":0.0012,"output":0.0034,"cacheRead":0.0009,"cacheWrite":0,"total":0.0055}}"#;
    let answer = |content: String, stop: &str| {
        format!(
            r#"{{"role":"assistant","content":[{content}],"api":"a","provider":"p","model":"m","usage":{usage},"stopReason":"{stop}","timestamp":1796000000000}}"#
        )
    };
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let listing = r"the parser reads each token and returns a node\n".repeat(27);
    let mut lines = format!(
        r#"{{"type":"session","version":3,"id":"bench-{file}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}}"#
    );
    for entry in 0..ENTRIES {
        let message = match entry % 4 {
            0 => format!(
                r#"{{"role":"user","content":[{}],"timestamp":1796000000000}}"#,
                text(&format!("Please look at file {entry} of \\\"project {file}\\\" and fix it."))
            ),
            1 => answer(
                format!(
                    r#"{},{{"type":"toolCall","id":"call_{entry}","name":"bash","arguments":{{"command":"sed -n 1,40p src/mod_{entry}.rs"}}}}"#,
                    text("I will run a command.")
                ),
                "toolUse",
            ),
            2 => format!(
                r#"{{"role":"toolResult","toolCallId":"call_{}","toolName":"bash","content":[{}],"isError":false,"timestamp":1796000000000}}"#,
                entry - 1,
                text(&listing)
            ),
            _ => answer(text(&r"It is **done**.\n\n".repeat(20)), "stop"),
        };
        _ = write!(
            lines,
            "\n{{\"type\":\"message\",\"id\":\"{entry:08x}\",\"parentId\":null,\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{message}}}"
        );
    }
    lines + "\n"
}

/// Writes the files; says how many bytes they have.
fn write_all(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for file in 0..FILES {
        let text = session(file);
        bytes += text.len() as u64;
        std::fs::write(folder.join(format!("{file}.jsonl")), text)?;
    }
    Ok(bytes)
}

fn list_all(dir: &SessionDir, threads: usize, with_text: bool) -> Vec<SessionInfo> {
    let options = ListOptions { threads, with_text };
    dir.list(Scope::Project(Path::new("/w")), options, &AtomicBool::new(false), |_| {})
}

fn list(criterion: &mut Criterion) {
    let Ok(folder) = tempfile::tempdir() else { return };
    let Ok(bytes) = write_all(folder.path()) else { return };
    let dir = SessionDir::Flat(folder.path().to_owned());
    let mut group = criterion.benchmark_group("list");
    group.sample_size(20).throughput(Throughput::Bytes(bytes));
    for (name, threads, with_text) in [
        ("1,000 sessions, one thread", 1, false),
        ("1,000 sessions, two threads", 2, false),
        ("1,000 sessions with their text, one thread", 1, true),
    ] {
        group.bench_function(name, |bencher| bencher.iter(|| list_all(&dir, threads, with_text)));
    }
    group.finish();

    let sessions = list_all(&dir, 2, true);
    let mut group = criterion.benchmark_group("picker");
    group.bench_function("thread 1,000 sessions", |bencher| bencher.iter(|| threads(&sessions)));
    for text in ["prjct", "command", "\"not there\""] {
        let Ok(query) = Query::parse(text) else { return };
        group.bench_function(format!("search 1,000 sessions for {text}"), |bencher| {
            bencher.iter(|| query.search(&sessions));
        });
    }
    group.finish();
}

criterion_group!(benches, list);
criterion_main!(benches);
