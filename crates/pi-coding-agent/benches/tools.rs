//! The tools on large trees and files, beside the programs people use for the same:
//! `cargo bench -p pi-coding-agent --bench tools [-- NAME ...]`.
//!
//! Every call runs in a process of its own, so that its CPU time and its memory are its alone; the
//! process makes a small call first and measures the second one. Figures are medians.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a table for people")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};

#[path = "tools/call.rs"]
mod call;
#[path = "tools/data.rs"]
mod data;
#[path = "tools/measure.rs"]
mod measure;

use measure::Figures;

const ROUNDS: usize = 5;

/// One line of the table.
struct Row {
    name: &'static str,
    tool: &'static str,
    arguments: Value,
    /// A shell command that does the same.
    rival: Option<String>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["--call", cwd, tool, call] => call::run(Path::new(cwd), tool, call),
        names => table(names),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn table(names: &[&str]) -> Result<(), Box<dyn Error>> {
    let names: Vec<&&str> = names.iter().filter(|name| !name.starts_with('-')).collect();
    let data = data::Data::prepare()?;
    println!(
        "{:24} {:>9} {:>9} {:>9}   {:>9} {:>9}  of",
        "", "wall ms", "CPU ms", "+RSS MB", "wall ms", "CPU ms"
    );
    for row in rows(&data) {
        if !names.is_empty() && !names.iter().any(|name| row.name.contains(**name)) {
            continue;
        }
        let mut ours = Vec::new();
        let mut rivals = Vec::new();
        for round in 0..=ROUNDS {
            data.refresh()?;
            let figures = measure::call(data.tree(), row.tool, &row.arguments)?;
            let rival = row.rival.as_deref().map(|rival| measure::shell(data.tree(), rival));
            // The first round warms the caches.
            if round > 0 {
                ours.push(figures);
                rivals.extend(rival.transpose()?);
            }
        }
        let us = Figures::median(&ours);
        print!("{:24} {:9.1} {:9.0} {:9.1}", row.name, us.wall_ms, us.cpu_ms, us.extra_mb);
        match row.rival {
            Some(rival) => {
                let them = Figures::median(&rivals);
                println!("   {:9.1} {:9.0}  {rival}", them.wall_ms, them.cpu_ms);
            }
            None => println!(),
        }
    }
    Ok(())
}

fn rows(data: &data::Data) -> Vec<Row> {
    let grep = |name, pattern: &str, more: Value| {
        let mut arguments = json!({"pattern": pattern});
        if let (Value::Object(all), Value::Object(more)) = (&mut arguments, &more) {
            all.extend(more.clone());
        }
        let context = more.get("context").map_or(String::new(), |lines| format!(" -C {lines}"));
        let case = if more.get("ignoreCase").is_some() { " -i" } else { "" };
        let rival = format!("rg --json --hidden{context}{case} '{pattern}' .");
        Row { name, tool: "grep", arguments, rival: Some(rival) }
    };
    let find = |name, pattern: &str, limit: u64| Row {
        name,
        tool: "find",
        arguments: json!({"pattern": pattern, "limit": limit}),
        rival: Some(format!("fd --hidden --max-results {limit} --glob '{pattern}'")),
    };
    let (names, big, edited) = (data.names(), data.big(), data.edited());
    let read = |name, offset: u64, rival: &str| Row {
        name,
        tool: "read",
        arguments: json!({"path": big, "offset": offset, "limit": 100}),
        rival: Some(format!("{rival} '{}'", big.display())),
    };
    let output = "head -c 1000000000 /dev/zero | tr '\\0' x | fold -w 100";
    vec![
        grep("grep needle", data::NEEDLE, json!({})),
        grep("grep needle, limit 1000", data::NEEDLE, json!({"limit": 1000})),
        grep("grep nothing", "zzzz_not_there_zzzz", json!({})),
        grep("grep with context", data::NEEDLE, json!({"context": 3, "limit": 1000})),
        grep("grep ignoring case", "FIND_ME_HERE", json!({"ignoreCase": true, "limit": 1000})),
        Row {
            rival: Some("rg --json --hidden '[a-z]{11}' . | head -100".to_owned()),
            ..grep("grep common", "[a-z]{11}", json!({}))
        },
        find("find common", "*.rs", 1000),
        find("find all", "*.rs", 100_000),
        find("find one", "file77777*", 1000),
        Row {
            name: "ls 10,000",
            tool: "ls",
            arguments: json!({"path": names}),
            rival: Some(format!("ls -A '{}'", names.display())),
        },
        Row {
            name: "ls 10,000, all",
            tool: "ls",
            arguments: json!({"path": names, "limit": 20_000}),
            rival: Some(format!("ls -A '{}'", names.display())),
        },
        read("read 500 MB, start", 1, "head -n 100"),
        read("read 500 MB, middle", 2_500_000, "wc -l"),
        read("read 500 MB, end", 4_999_900, "wc -l"),
        Row {
            name: "edit 10 MB",
            tool: "edit",
            arguments: json!({"path": edited, "edits": [
                {"oldText": "line 00050000 the quick", "newText": "LINE 00050000 the quick"},
            ]}),
            rival: None,
        },
        Row {
            name: "bash 1 GB",
            tool: "bash",
            arguments: json!({"command": output}),
            rival: Some(format!("{output} | cat >/tmp/pi-bench.out; rm /tmp/pi-bench.out")),
        },
    ]
}
