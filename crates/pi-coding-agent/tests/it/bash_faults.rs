//! Commands of a whole process: what it leaves open, what it cannot write, how it ends them.

use pi_test::{Block, Program, Reply, Signal, Turn};
use serde_json::json;

use crate::bed::{Bed, text};

fn bash(id: &str, command: &str) -> Block {
    Block::tool(id, "bash", json!({"command": command}))
}

/// The texts of the results of tools, in order.
fn results(bed: &Bed) -> Vec<String> {
    let session = bed.session();
    let messages = session.iter().map(|line| &line["message"]);
    messages.filter(|message| message["role"] == "toolResult").map(text).collect()
}

#[tokio::test]
async fn commands_of_every_kind_leave_no_file_open() {
    // What is closed on another thread is given a moment.
    let count = "sleep 1; ls /proc/$PPID/fd | wc -l";
    let long = "yes '' | head -n 3000";
    let many: Vec<Block> = (0..120)
        .map(|i| {
            let id = format!("call_{i}");
            match i % 4 {
                0 => {
                    let command = format!("{long}; sleep 9");
                    Block::tool(&id, "bash", json!({"command": command, "timeout": 0.3}))
                }
                1 => bash(&id, &format!("{long}; sleep 30 & exit 1")),
                _ => bash(&id, long),
            }
        })
        .collect();
    let bed = Bed::new([
        // The first one is not the first of anything else.
        Turn::new([bash("a", long)]),
        Turn::new([bash("b", count)]),
        Turn::new(many),
        Turn::new([bash("c", count)]),
        Turn::from("Done."),
    ])
    .await;
    let ended = bed.pi(["-p", "hi"]).run().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let results = results(&bed);
    assert_eq!(results.len(), 123);
    assert_eq!(results[1], results[122]);
    let saved = std::fs::read_dir(bed.scratch.tmp()).unwrap().count();
    assert_eq!(saved, 121);
}

#[tokio::test]
async fn output_that_does_not_fit_on_the_disk_is_told_and_not_left_half_written() {
    let bed = Bed::new([Turn::new([bash("a", "seq 1 400000")]), Turn::from("Done.")]).await;
    // Files of the process may have 1000 KiB.
    let limited =
        format!("trap '' XFSZ; ulimit -f 1000; exec '{}' -p hi", env!("CARGO_BIN_EXE_pi"));
    let ended = Program::new("bash", &bed.scratch).args(["-c", &limited]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Done.\n"), "{}", ended.stderr);
    let result = results(&bed).remove(0);
    let notice = "\n400000\n\n[Showing lines 398001-400000 of 400000. Full output could not be saved: \
                  File too large (os error 27)]";
    assert!(result.ends_with(notice), "{result}");
    assert_eq!(std::fs::read_dir(bed.scratch.tmp()).unwrap().count(), 0);
}

#[tokio::test]
async fn an_orderly_signal_lets_programs_clean_up_and_an_interrupt_does_not() {
    let cleaner = "trap 'touch clean; exit' TERM; touch on; while :; do sleep 0.05; done";
    for (signal, cleans) in [(Signal::TERM, true), (Signal::HUP, true), (Signal::INT, false)] {
        let bed = Bed::new([
            Reply::turn(Turn::new([bash("a", &format!("bash -c \"{cleaner}\"; touch next"))])),
            Reply::never(),
        ])
        .await;
        let running = bed.pi(["-p", "hi"]).start();
        while !bed.scratch.ws().join("on").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        running.signal(signal);
        running.end().await;
        assert_eq!(bed.scratch.ws().join("clean").exists(), cleans, "{signal:?}");
        assert!(!bed.scratch.ws().join("next").exists(), "{signal:?}");
    }
}

/// Needs `script`, which gives a program a terminal of its own.
#[cfg(feature = "system-tests")]
#[tokio::test]
async fn commands_cannot_reach_the_terminal() {
    let bed = Bed::new([
        Turn::new([bash(
            "a",
            "(: </dev/tty) 2>&1 | sed 's/.*: //'; tty; ps -o tty= -p $$; \
             ps -o pid= -s $$ | head -n 1 | tr -d ' ' | grep -cx $$",
        )]),
        Turn::from("Done."),
    ])
    .await;
    let pi = format!("'{}' -p hi", env!("CARGO_BIN_EXE_pi"));
    let ended = Program::new("script", &bed.scratch).args(["-qec", &pi, "/dev/null"]).run().await;
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    let result = results(&bed).remove(0);
    assert_eq!(result, "No such device or address\nnot a tty\n?\n1\n");
}
