//! Opening long sessions.

use std::fmt::Write as _;
use std::path::Path;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use pi_agent::session::Session;

/// A conversation of prompts, tool calls and results in the sizes coding sessions have: about
/// 1.5 KB an entry.
fn conversation(entries: usize) -> String {
    let usage = r#"{"input":1200,"output":340,"cacheRead":9000,"cacheWrite":0,"totalTokens":10540,"cost":{"input":0.0012,"output":0.0034,"cacheRead":0.0009,"cacheWrite":0,"total":0.0055}}"#;
    let listing = r#"fn main() {\n    println!(\"a line of source text\");\n}\n"#.repeat(60);
    let mut text = String::from(
        r#"{"type":"session","version":3,"id":"bench","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
    );
    let mut parent = "null".to_owned();
    for index in 0..entries {
        let message = match index % 3 {
            0 => r#"{"role":"user","content":[{"type":"text","text":"Please look at the next file and fix it."}],"timestamp":1}"#.to_owned(),
            1 => format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"Reading it."}},{{"type":"toolCall","id":"call_{index}","name":"read","arguments":{{"path":"src/file_{index}.rs"}}}}],"api":"a","provider":"p","model":"m","usage":{usage},"stopReason":"toolUse","timestamp":2}}"#
            ),
            _ => format!(
                r#"{{"role":"toolResult","toolCallId":"call_{}","toolName":"read","content":[{{"type":"text","text":"{listing}"}}],"isError":false,"timestamp":3}}"#,
                index - 1
            ),
        };
        _ = write!(
            text,
            "\n{{\"type\":\"message\",\"id\":\"{index:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{message}}}"
        );
        parent = format!("\"{index:08x}\"");
    }
    text.push('\n');
    text
}

fn open(criterion: &mut Criterion) {
    let Ok(dir) = tempfile::tempdir() else { return };
    let path = dir.path().join("session.jsonl");
    let text = conversation(10_000);
    if std::fs::write(&path, &text).is_err() {
        return;
    }
    let mut group = criterion.benchmark_group("session");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("open a 10,000-entry session", |bencher| {
        bencher.iter(|| Session::open(&path, Path::new("/w")));
    });
    if let Ok((session, _)) = Session::open(&path, Path::new("/w")) {
        group.bench_function("build the context of 10,000 entries", |bencher| {
            bencher.iter(|| session.context());
        });
    }
    group.finish();
}

criterion_group!(benches, open);
criterion_main!(benches);
