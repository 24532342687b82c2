//! Looking at long sessions: how much they weigh, and where they would be cut.

use std::path::Path;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use pi_agent::compaction::{CompactionSettings, context_usage, estimate_context, prepare};
use pi_agent::session::Session;
use serde_json::{Value, json};

/// Turns of a prompt, a call, its result and an answer; every 500th entry is a compaction that
/// keeps the turn before it.
fn conversation(entries: usize) -> String {
    let mut text = String::from(
        r#"{"type":"session","version":3,"id":"bench","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#,
    );
    for index in 0..entries {
        let parent = index.checked_sub(1).map(|parent| format!("{parent:08x}"));
        let mut entry = body(index);
        entry["id"] = json!(format!("{index:08x}"));
        entry["parentId"] = json!(parent);
        entry["timestamp"] = json!("2026-01-01T00:00:00.000Z");
        text.push('\n');
        text.push_str(&entry.to_string());
    }
    text.push('\n');
    text
}

fn body(index: usize) -> Value {
    if index % 500 == 499 {
        return json!({"type": "compaction", "summary": "## Goal\n…", "tokensBefore": 90_000,
            "firstKeptEntryId": format!("{:08x}", index - 3)});
    }
    let words = "a line of source text that somebody reads\n".repeat(20);
    let message = match index % 4 {
        0 => json!({"role": "user", "content": [{"type": "text", "text": "Go on."}]}),
        1 => json!({"role": "assistant", "stopReason": "toolUse", "usage": {"totalTokens": 9000},
            "content": [{"type": "toolCall", "id": format!("c{index}"), "name": "read",
                "arguments": {"path": format!("src/file_{index}.rs")}}]}),
        2 => json!({"role": "toolResult", "toolCallId": format!("c{}", index - 1),
            "toolName": "read", "content": [{"type": "text", "text": words}], "isError": false}),
        _ => json!({"role": "assistant", "stopReason": "stop", "usage": {"totalTokens": 9100},
            "content": [{"type": "text", "text": words}]}),
    };
    json!({"type": "message", "message": message})
}

fn look(criterion: &mut Criterion) {
    let Ok(dir) = tempfile::tempdir() else { return };
    let settings = CompactionSettings::default();
    let mut group = criterion.benchmark_group("compaction");
    for entries in [1000, 10_000, 100_000] {
        let path = dir.path().join(format!("{entries}.jsonl"));
        // Ends between two compactions.
        if std::fs::write(&path, conversation(entries + 300)).is_err() {
            return;
        }
        let Ok((session, _)) = Session::open(&path, Path::new("/w")) else { return };
        group.bench_function(BenchmarkId::new("estimate", entries), |bencher| {
            bencher.iter(|| estimate_context(&session));
        });
        group.bench_function(BenchmarkId::new("usage", entries), |bencher| {
            bencher.iter(|| context_usage(&session, 200_000));
        });
        group.bench_function(BenchmarkId::new("cut_point", entries), |bencher| {
            bencher.iter(|| prepare(&session, &settings));
        });
    }
    group.finish();
}

criterion_group!(benches, look);
criterion_main!(benches);
