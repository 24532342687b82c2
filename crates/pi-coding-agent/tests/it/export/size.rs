//! Long sessions and deep ones.

use std::fmt::Write as _;

use pi_test::{PageNotes, Scratch};
use serde_json::json;

use super::{assistant, call, opened, result, session, user};

#[tokio::test]
async fn thousands_of_entries_are_shown_and_searched() {
    let mut entries = Vec::new();
    for turn in 0..1500 {
        entries.push(user(&format!("Question number {turn}")));
        entries.push(assistant(json!([call(
            &format!("c{turn}"),
            "bash",
            &json!({"command": "ls"})
        )])));
        entries.push(result(&format!("c{turn}"), "bash", &format!("output {turn}\n").repeat(30)));
        entries.push(assistant(format!("Answer **{turn}** with `code` and\n\n- a list")));
    }
    entries[4002]["message"]["content"][0]["text"] =
        json!("line\n".repeat(40) + "NEEDLE in a haystack\n" + &"line\n".repeat(40));
    let scratch = Scratch::new().unwrap();
    let page = super::page(&scratch, &session(&entries)).await;
    let Some(mut browser) = pi_test::Browser::start(&scratch).await else {
        println!("left out: no Chromium");
        return;
    };
    browser.open(&page, "").await;
    browser.wait_for("document.documentElement.dataset.ready === 'yes'").await;
    // What is far away is not made yet, and there is room for it.
    let made = "document.querySelectorAll('article').length";
    assert!(browser.evaluate(made).await.as_u64().unwrap() < 1000);
    assert!(
        browser.evaluate("document.getElementById('transcript').scrollHeight > 100000").await
            == true
    );
    let rows = "document.querySelectorAll('.row').length";
    assert!(browser.evaluate(rows).await.as_u64().unwrap() < 300);

    browser.press("/").await;
    browser.enter("needle").await;
    browser.press("Enter").await;
    let count = "document.getElementById('search-count').textContent";
    assert_eq!(browser.evaluate(count).await, "1 of 1");
    assert_eq!(browser.evaluate("location.hash").await, "#e4002");
    browser.wait_for("(() => { const e = document.querySelector('[data-entry=\"e4002\"]').getBoundingClientRect(); return e.top < innerHeight && e.bottom > 0 })()").await;
    let unfolded =
        "document.querySelector('[data-entry=\"e4002\"]').textContent.includes('NEEDLE')";
    assert_eq!(browser.evaluate(unfolded).await, true, "what was folded away is opened");
    assert!(browser.evaluate("CSS.highlights.get('found').size > 0").await == true);
    browser.evaluate("document.getElementById('search').select()").await;
    browser.enter("question number").await;
    browser.wait_for(&format!("{count} === '1,500'")).await;
    for expected in ["1 of 1,500", "2 of 1,500"] {
        browser.press("Enter").await;
        assert_eq!(browser.evaluate(count).await, expected);
    }

    browser.open(&page, "#e5999").await;
    browser.wait_for("document.querySelector('[data-entry=\"e5999\"]').getBoundingClientRect().top < innerHeight").await;
    assert_eq!(browser.notes().await, PageNotes::default());
}

#[tokio::test]
async fn a_chain_of_twenty_thousand_entries_overflows_nothing() {
    let mut text = session(&[user("first")]);
    for index in 1..20_000 {
        let line = json!({
            "type": "message", "id": format!("e{index}"), "parentId": format!("e{}", index - 1),
            "timestamp": "2026-01-02T03:04:05.006Z",
            "message": {"role": "user", "content": format!("entry {index}")},
        });
        writeln!(text, "{line}").unwrap();
    }
    // Each of these is a branch of the one before, too.
    for index in 20_000..22_000 {
        let parent = if index % 2 == 0 { index - 20_000 } else { index - 1 };
        let line = json!({
            "type": "message", "id": format!("e{index}"), "parentId": format!("e{parent}"),
            "message": {"role": "user", "content": format!("entry {index}")},
        });
        writeln!(text, "{line}").unwrap();
    }
    let scratch = Scratch::new().unwrap();
    let page = super::page(&scratch, &text).await;
    let Some(mut browser) = pi_test::Browser::start(&scratch).await else {
        println!("left out: no Chromium");
        return;
    };
    browser.open(&page, "#e19999").await;
    browser.wait_for("document.querySelector('article[data-entry=\"e19999\"]') !== null").await;
    browser
        .wait_for("document.querySelector('.row.current')?.textContent.includes('entry 19999')")
        .await;
    assert_eq!(browser.notes().await, PageNotes::default());
}

#[tokio::test]
async fn parents_that_are_missing_or_go_round_hide_nothing() {
    let mut entries = vec![
        user("ROOT"),
        user("ORPHAN"),
        user("SELF"),
        user("ROUND-A"),
        user("ROUND-B"),
        user("TWIN"),
        user("LATE"),
    ];
    for (entry, parent) in [(1, "gone"), (2, "e2"), (3, "e4"), (4, "e3"), (6, "e5")] {
        entries[entry]["parentId"] = json!(parent);
    }
    entries[5]["parentId"] = json!(null);
    let scratch = Scratch::new().unwrap();
    let Some(mut browser) = opened(&scratch, &entries).await else { return };
    let rows = "[...document.querySelectorAll('.row-text')].map((row) => row.textContent).sort()";
    assert_eq!(
        browser.evaluate(rows).await,
        json!(["LATE", "ORPHAN", "ROOT", "ROUND-A", "ROUND-B", "SELF", "TWIN"])
    );
    assert_eq!(browser.notes().await, PageNotes::default());
}

#[tokio::test]
async fn texts_made_to_be_slow_are_not() {
    let texts = [
        "*a _b ".repeat(20_000),
        "**".repeat(30_000),
        "[".repeat(50_000),
        "[a](".repeat(20_000),
        "`".repeat(50_000) + "x",
        (0..300).map(|n| "`".repeat(n) + " ").collect(),
        "> ".repeat(5_000) + "deep",
        "- ".repeat(5_000) + "deep",
        "*x ".repeat(10_000) + &"y* ".repeat(10_000),
        "| a ".repeat(20_000) + "|\n" + &"|-".repeat(20_000) + "|\n",
        "https://x)".to_owned() + &")".repeat(100_000),
        "a@".repeat(50_000),
        "\u{1b}[31m".repeat(50_000),
        "\u{1b}]8;;x".repeat(30_000),
        "x".repeat(2_000_000),
        "<".repeat(100_000),
    ];
    let entries: Vec<_> = texts.iter().map(|text| assistant(text.as_str())).collect();
    let scratch = Scratch::new().unwrap();
    let Some(mut browser) = opened(&scratch, &entries).await else { return };
    let shown = browser.evaluate("document.querySelectorAll('article:not(.broken)').length").await;
    assert_eq!(shown, texts.len());
    assert_eq!(browser.notes().await, PageNotes::default());
}
