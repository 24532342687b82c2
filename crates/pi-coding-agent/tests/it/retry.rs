//! Failed answers that are tried again.

use std::time::{Duration, Instant};

use pi_test::{Reply, Turn};
use serde_json::{Value, json};

use crate::bed::{Bed, WIRES, events, kinds, last_text, roles, without_updates};

#[tokio::test]
async fn a_retry_that_succeeds_repeats_the_request_and_not_the_user() {
    for model in WIRES {
        let bed = Bed::new([Reply::error(529, "overloaded"), Reply::turn("Yes.")]).await;
        let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
        assert_eq!(ended.code, Some(0), "{model}");
        let records = ended.records();
        let expected = [
            "message_end user",
            "message_start assistant",
            "message_end assistant",
            "turn_end",
            "agent_end",
            "auto_retry_start",
            "entry_appended",
            "agent_start",
            "turn_start",
            "message_start assistant",
            "message_end assistant",
            "auto_retry_end",
            "turn_end",
            "agent_end",
            "agent_settled",
        ];
        assert_eq!(without_updates(&records).get(6..).unwrap(), expected, "{model}");
        let ends: Vec<&Value> = records.iter().filter(|r| r["type"] == "agent_end").collect();
        assert_eq!((&ends[0]["willRetry"], &ends[1]["willRetry"]), (&json!(true), &json!(false)));
        assert_eq!(ends[1]["messages"].as_array().unwrap().len(), 1, "{model}: its own answer");

        let start = records.iter().find(|r| r["type"] == "auto_retry_start").unwrap();
        assert_eq!(
            (&start["attempt"], &start["maxAttempts"], &start["delayMs"]),
            (&json!(1), &json!(3), &json!(1)),
            "{model}"
        );
        let end = records.iter().find(|r| r["type"] == "auto_retry_end").unwrap();
        assert_eq!(end, &json!({"type": "auto_retry_end", "success": true, "attempt": 1}));

        let session = bed.session();
        let kinds = kinds(&session);
        assert_eq!(kinds.get(4..).unwrap(), ["user", "assistant", "context_edit", "assistant"]);
        assert_eq!(session[6]["targetId"], session[5]["id"], "{model}: the failed one is left out");
        assert_eq!(session[6]["replacement"], Value::Null, "{model}");
        let bodies = bed.bodies();
        assert_eq!(bodies[0]["messages"], bodies[1]["messages"], "{model}");
    }
}

#[tokio::test]
async fn after_the_last_attempt_the_failure_stays() {
    for model in WIRES {
        let bed = Bed::new(Vec::<Reply>::new()).await;
        bed.server.always(|_| Reply::error(503, "still busy"));
        bed.settings(&json!({"retry": {"baseDelayMs": 1, "maxRetries": 2}}));
        let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{model}");
        assert_eq!(bed.server.requests().len(), 3, "{model}");
        let records = ended.records();
        let delays: Vec<&Value> = records
            .iter()
            .filter(|r| r["type"] == "auto_retry_start")
            .map(|r| &r["delayMs"])
            .collect();
        assert_eq!(delays, [1, 2], "{model}: each wait is twice the one before");
        let told = events(&records);
        let tail = told.get(told.len() - 3..).unwrap();
        assert_eq!(tail, ["agent_end", "auto_retry_end", "agent_settled"], "{model}");
        let end = &records[records.len() - 2];
        assert_eq!((&end["success"], &end["attempt"]), (&json!(false), &json!(2)), "{model}");
        assert!(end["finalError"].as_str().unwrap().contains("still busy"), "{model}");
        let session = bed.session();
        assert_eq!(kinds(&session).iter().filter(|kind| **kind == "context_edit").count(), 2);
        assert_eq!(kinds(&session).last(), Some(&"assistant"), "{model}: the last one stays");
    }
}

#[tokio::test]
async fn retries_can_be_switched_off() {
    for off in [json!({"enabled": false}), json!({"maxRetries": 0})] {
        let bed = Bed::new([Reply::error(500, "oops")]).await;
        bed.settings(&json!({"retry": off}));
        let ended = bed.pi(["--mode", "json", "hi"]).run().await;
        let told = events(&ended.records());
        assert!(!told.iter().any(|event| event.starts_with("auto_retry")), "{told:?}");
        assert_eq!(bed.server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_dropped_connection_is_tried_again_without_what_had_come() {
    for model in WIRES {
        let whole = Turn { delta_chars: 4, ..Turn::from("A long answer that breaks.") };
        let bed = Bed::new([Reply::turn(whole).cut_after(5), Reply::turn("Whole.")]).await;
        let ended = bed.pi(["--model", model, "-p", "hi", "and on"]);
        bed.server.push("Next.");
        let ended = ended.run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Next.\n"), "{model}");
        let session = bed.session();
        assert_eq!(session[5]["message"]["stopReason"], "error", "{model}");
        let partial = session[5]["message"]["content"][0]["text"].as_str().unwrap();
        assert!("A long answer that breaks.".starts_with(partial) && !partial.is_empty());
        let last = &bed.bodies()[2];
        let roles: Vec<_> = roles(last).into_iter().filter(|role| *role != "system").collect();
        assert_eq!(roles, ["user", "assistant", "user"], "{model}");
        assert_eq!(last_text(last, "assistant"), "Whole.", "{model}");
    }
}

#[tokio::test]
async fn a_server_that_names_its_time_is_given_it() {
    let busy = || Reply::error(429, "slow down");
    for model in WIRES {
        let bed = Bed::new([busy().header("retry-after-ms", "300"), Reply::turn("Yes.")]).await;
        bed.settings(&json!({"retry": {"baseDelayMs": 1, "provider": {"maxRetries": 2}}}));
        let begin = Instant::now();
        let ended = bed.pi(["--model", model, "--mode", "json", "hi"]).run().await;
        assert!(begin.elapsed() >= Duration::from_millis(300), "{model}: {:?}", begin.elapsed());
        let told = events(&ended.records());
        assert!(!told.iter().any(|event| event.starts_with("auto_retry")), "{model}: {told:?}");
        assert_eq!(bed.server.requests().len(), 2, "{model}");
    }
}

#[tokio::test]
async fn the_wait_for_a_retry_is_never_shorter_than_the_server_asked_for() {
    for (settings, delay) in [
        (json!({"baseDelayMs": 1}), 40),
        (json!({"baseDelayMs": 60}), 60),
        (json!({"baseDelayMs": 1, "maxAgentDelayMs": 20}), 20),
    ] {
        let busy = Reply::error(429, "slow down").header("retry-after-ms", "40");
        let bed = Bed::new([busy, Reply::turn("Yes.")]).await;
        bed.settings(&json!({"retry": settings}));
        let records = bed.pi(["--mode", "json", "hi"]).run().await.records();
        let start = records.iter().find(|r| r["type"] == "auto_retry_start").unwrap();
        assert_eq!(start["delayMs"], delay, "{settings}");
    }
}

#[tokio::test]
async fn a_server_that_wants_too_much_time_is_not_waited_for() {
    for model in WIRES {
        let bed = Bed::new([Reply::error(429, "slow down").header("retry-after", "3600")]).await;
        bed.settings(&json!({"retry": {"enabled": false, "provider": {"maxRetries": 2}}}));
        let ended = bed.pi(["--model", model, "-p", "hi"]).run().await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{model}");
        assert!(ended.stderr.contains("3600"), "{model}: {}", ended.stderr);
        assert_eq!(bed.server.requests().len(), 1, "{model}");
    }
}

#[tokio::test]
async fn silence_is_given_up_after_the_limit() {
    let bed =
        Bed::new([Reply::never(), Reply::turn("Late.").silent_after(3), Reply::turn("Yes.")]).await;
    bed.server.always(|_| Reply::turn("Yes."));
    bed.settings(&json!({"retry": {"baseDelayMs": 1}, "httpIdleTimeoutMs": 300}));
    let ended = bed.pi(["-p", "hi"]).run().await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "Yes.\n"));
}
