//! What a reader sees of each kind of entry.

use pi_test::{Browser, PageNotes, Scratch};
use serde_json::{Value, json};

use super::{assistant, call, opened, page, result, session, show, user};

/// A red dot.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

async fn texts(browser: &mut Browser, selector: &str) -> Value {
    let script =
        format!("[...document.querySelectorAll({})].map((e) => e.textContent)", json!(selector));
    browser.evaluate(&script).await
}

async fn html_of(browser: &mut Browser, selector: &str) -> String {
    let script = format!("document.querySelector({}).innerHTML", json!(selector));
    browser.evaluate(&script).await.as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_head_tells_what_the_session_was_and_came_to() {
    let mut failed = assistant("");
    failed["message"]["stopReason"] = json!("error");
    failed["message"]["errorMessage"] = json!("529 overloaded");
    let mut aborted = assistant("half");
    aborted["message"]["stopReason"] = json!("aborted");
    let entries = [
        json!({"type": "model_change", "provider": "p", "modelId": "m"}),
        json!({"type": "thinking_level_change", "thinkingLevel": "high"}),
        user("one"),
        assistant("two"),
        json!({"type": "session_info", "name": "A name"}),
        failed,
        aborted,
        json!({"type": "usage", "kind": "cache_warm", "usage": {"input": 5, "output": 1, "cost": {"total": 0.5}}}),
    ];
    let scratch = Scratch::new().unwrap();
    let Some(mut browser) = opened(&scratch, &entries).await else { return };
    assert_eq!(browser.evaluate("document.title").await, "A name - pi");
    assert_eq!(texts(&mut browser, "#title").await, json!(["A name"]));
    let facts = browser.evaluate("document.getElementById('facts').innerText").await;
    for expected in [
        "0199-test",
        "/home/u/project",
        "p/m",
        "1 user, 3 assistant, 0 tool calls",
        "3,005 input, 151 output, 600 cache read",
        "$1.25",
    ] {
        assert!(facts.as_str().unwrap().contains(expected), "{expected}: {facts}");
    }
    assert_eq!(texts(&mut browser, "article .error").await, json!(["529 overloaded", "Aborted"]));
    let events = texts(&mut browser, ".entry.event").await;
    assert_eq!(
        events,
        json!([
            "Model p/m",
            "Thinking high",
            "Name A name",
            "Usage cache_warm · 5 in, 1 out, $0.50"
        ])
    );
    assert_eq!(browser.notes().await, PageNotes::default());
}

#[tokio::test]
async fn tools_show_what_they_were_asked_and_what_they_did() {
    let ranges = [
        (json!({"path": "a.rs"}), "read a.rs"),
        (json!({"path": "a.rs", "offset": null, "limit": null}), "read a.rs"),
        (json!({"path": "a.rs", "offset": 5}), "read a.rs:5"),
        (json!({"path": "a.rs", "offset": "5", "limit": "10"}), "read a.rs:5-14"),
        (json!({"path": "a.rs", "limit": 10}), "read a.rs:1-10"),
        (json!({"file_path": "old.rs"}), "read old.rs"),
    ];
    let calls =
        ranges.iter().enumerate().map(|(at, (given, _))| call(&format!("r{at}"), "read", given));
    let more = [
        call("b", "bash", &json!({"command": "make\ntest", "timeout": 5})),
        call("e", "edit", &json!({"path": "x.rs", "edits": []})),
        call("w", "write", &json!({"path": "y.txt", "content": "  indented\n\ttab"})),
        call("g", "grep", &json!({"pattern": "fn", "path": "src", "glob": "*.rs"})),
        call("f", "find", &json!({"pattern": "*.md"})),
        call("l", "ls", &json!({})),
        call("o", "other", &json!({"key": {"deep": 1}, "none": null})),
        call("never", "bash", &json!({"command": "sleep"})),
    ];
    let entries = [
        user("go"),
        assistant(calls.chain(more).collect::<Vec<_>>()),
        result("r0", "read", "fn main() {\n    1\n}"),
        result(
            "b",
            "bash",
            "\u{1b}[1;31mred\u{1b}[0m \u{1b}[38;5;39mblue\u{1b}[m \u{1b}[38;2;1;2;3mrgb\u{1b}[0m\nloading 1%\rloading 100%\n\u{1b}[2Kplain",
        ),
        json!({"message": {"role": "toolResult", "toolCallId": "e", "toolName": "edit", "isError": false,
            "content": [{"type": "text", "text": "ok"}], "details": {"diff": "  1 same\n- 2 old\n+ 2 new"}}}),
        result("w", "write", "Successfully wrote"),
        json!({"message": {"role": "toolResult", "toolCallId": "g", "toolName": "grep", "isError": true,
            "content": [{"type": "text", "text": "bad pattern"}]}}),
        result("b", "bash", "a second result of the same id"),
    ];
    let scratch = Scratch::new().unwrap();
    let Some(mut browser) = opened(&scratch, &entries).await else { return };
    let heads = texts(&mut browser, ".tool-head").await;
    let mut expected: Vec<&str> = ranges.iter().map(|(_, expected)| *expected).collect();
    expected.extend([
        "$ make\ntest (timeout 5 s)",
        "edit x.rs",
        "write y.txt",
        "grep /fn/ (*.rs) in src",
        "find *.md in .",
        "ls .",
        "other",
        "$ sleep",
        "bashresult",
    ]);
    let heads: Vec<&str> =
        heads.as_array().unwrap().iter().map(|head| head.as_str().unwrap()).collect();
    assert_eq!(heads, expected);

    let bash = html_of(&mut browser, ".card:nth-of-type(7) pre").await;
    for part in [
        "<span class=\"bold\" style=\"color: var(--ansi1);\">red</span>",
        "rgb(0, 175, 255)",
        "rgb(1, 2, 3)",
        "\nloading 100%\n",
        "\nplain",
    ] {
        assert!(bash.contains(part), "{part}: {bash}");
    }
    assert!(!bash.contains("1%\r") && !bash.contains('\u{1b}'), "{bash}");
    assert_eq!(
        texts(&mut browser, ".diff-added, .diff-removed").await,
        json!(["- 2 old", "+ 2 new"])
    );
    let pres = texts(&mut browser, ".card pre").await.to_string();
    for part in ["fn main() {\\n    1\\n}", "  indented\\n\\ttab", "bad pattern"] {
        assert!(pres.contains(part), "{part}: {pres}");
    }
    assert!(!pres.contains("Successfully wrote"), "it is told by what is shown");
    assert_eq!(texts(&mut browser, ".card.failed .tool-name").await, json!(["grep"]));
    assert_eq!(texts(&mut browser, ".arguments").await, json!(["key{\n  \"deep\": 1\n}"]));
    assert_eq!(browser.notes().await, PageNotes::default());
}

#[tokio::test]
async fn what_people_added_is_shown_and_what_is_hidden_is_not() {
    let entries = [
        json!({"message": {"role": "system", "content": "", "sections": {"preamble": "BE BRIEF"},
            "toolsAdded": [{"name": "read", "description": "Reads a file",
                "parameters": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}}]}}),
        json!({"message": {"role": "user", "content": [
            {"type": "text", "text": "Look <file name=\"/w/a.txt\">\nATTACHED\n</file>\nhere \\* now"},
            {"type": "image", "mimeType": "image/png", "data": PNG},
        ]}}),
        assistant(
            json!([{"type": "thinking", "thinking": "SECRET PLAN"}, {"type": "thinking", "thinking": "", "redacted": true}, {"type": "text", "text": "done"}]),
        ),
        json!({"type": "label", "targetId": "e2", "label": "good"}),
        json!({"message": {"role": "bashExecution", "command": "false", "output": "", "exitCode": 1, "excludeFromContext": true}}),
        json!({"type": "custom_message", "customType": "bot", "content": "SHOWN", "display": true}),
        json!({"type": "custom_message", "customType": "bot", "content": "HIDDEN", "display": false}),
        json!({"type": "custom", "customType": "state", "data": {"x": "HIDDEN"}}),
        json!({"type": "compaction", "summary": "## SUMMED UP", "tokensBefore": 95010, "firstKeptEntryId": "e1"}),
        json!({"type": "branch_summary", "summary": "**LEFT** branch", "fromId": "e1"}),
        json!({"type": "context_edit", "targetId": "e1", "replacement": null}),
        json!({"type": "from-the-future", "data": 1}),
    ];
    let scratch = Scratch::new().unwrap();
    let Some(mut browser) = opened(&scratch, &entries).await else { return };
    let all = browser.evaluate("document.getElementById('transcript').textContent").await;
    let all = all.as_str().unwrap();
    for expected in [
        "BE BRIEF",
        "Reads a file",
        "ATTACHED",
        "\\*",
        "SECRET PLAN",
        "keeps to itself",
        "Exit code 1",
        "Not shown to the model",
        "SHOWN",
        "95,010 tokens",
        "SUMMED UP",
        "LEFT branch",
        "left out in what the model is told",
        "from-the-future",
    ] {
        assert!(all.contains(expected), "{expected}: {all}");
    }
    assert!(!all.contains("HIDDEN"), "{all}");
    browser.wait_for("document.querySelector('img').naturalWidth === 1").await;
    assert_eq!(texts(&mut browser, ".entry-head .label").await, json!(["good"]));

    let open = "document.querySelector('details.thinking').open";
    assert_eq!(browser.evaluate(open).await, true);
    browser.press("t").await;
    assert_eq!(browser.evaluate(open).await, false);
    browser.press("o").await;
    let body = "getComputedStyle(document.querySelector('.tool-body')).display";
    assert_eq!(browser.evaluate(body).await, "none");
    assert_eq!(browser.notes().await, PageNotes::default());
}

#[tokio::test]
async fn branches_are_chosen_in_the_tree_by_address_and_by_key() {
    let mut second = user("SECOND WAY");
    second["parentId"] = json!("e1");
    let entries = [
        user("START"),
        assistant("FORK"),
        user("FIRST WAY"),
        assistant("FIRST END"),
        second,
        assistant("SECOND END"),
    ];
    let scratch = Scratch::new().unwrap();
    let page = page(&scratch, &session(&entries)).await;
    let Some(mut browser) = Browser::start(&scratch).await else {
        println!("left out: no Chromium");
        return;
    };
    show(&mut browser, &page, "").await;
    let shown = "article .markdown";
    let [first, other] = [
        ["START", "FORK", "FIRST WAY", "FIRST END"],
        ["START", "FORK", "SECOND WAY", "SECOND END"],
    ];
    assert_eq!(texts(&mut browser, shown).await, json!(other), "the newest end");
    assert_eq!(texts(&mut browser, ".fork").await, json!(["‹Branch 2 of 2›"]));
    assert_eq!(
        texts(&mut browser, ".row.off-path .row-text").await,
        json!(["FIRST WAY", "FIRST END"])
    );

    browser.evaluate("document.querySelector('.fork .step').click()").await;
    assert_eq!(texts(&mut browser, shown).await, json!(first));
    assert_eq!(browser.evaluate("location.hash").await, "#e2");
    show(&mut browser, &page, "#e3").await;
    assert_eq!(texts(&mut browser, shown).await, json!(first), "by its address");
    assert_eq!(texts(&mut browser, "article.current .markdown").await, json!(["FIRST END"]));

    browser.evaluate("document.getElementById('tree').focus()").await;
    for key in ["ArrowDown", "ArrowDown", "Enter"] {
        browser.press(key).await;
    }
    assert_eq!(texts(&mut browser, shown).await, json!(other), "by keys");
    assert_eq!(texts(&mut browser, ".row.current .row-text").await, json!(["SECOND END"]));

    browser.press("/").await;
    browser.enter("first way").await;
    browser.press("Enter").await;
    assert_eq!(texts(&mut browser, shown).await, json!(first), "by a search");
    show(&mut browser, &page, "#nobody").await;
    assert_eq!(texts(&mut browser, shown).await, json!(other), "an address of nothing");
    assert_eq!(browser.notes().await, PageNotes::default());
}

#[tokio::test]
async fn markdown_becomes_what_it_means() {
    let cases = [
        ("# A `b`\n\ntext", "<h1>A <code>b</code></h1><p>text</p>"),
        ("Title\n===\nSub\n---", "<h1>Title</h1><h2>Sub</h2>"),
        (
            "**bold** *it* __b__ _i_ ~~no~~ a_b_c 2*3*4",
            "<p><strong>bold</strong> <em>it</em> <strong>b</strong> <em>i</em> <del>no</del> a_b_c 2<em>3</em>4</p>",
        ),
        (
            "***both*** **a *b* c**",
            "<p><em><strong>both</strong></em> <strong>a <em>b</em> c</strong></p>",
        ),
        (
            "**太字。**次 「**強調**」です",
            "<p><strong>太字。</strong>次 「<strong>強調</strong>」です</p>",
        ),
        ("** no ** and * no *", "<p>** no ** and * no *</p>"),
        ("a `` b ` c `` d `open", "<p>a <code>b ` c</code> d `open</p>"),
        ("\\*no\\* &amp; <b>x</b>", "<p>*no* &amp;amp; &lt;b&gt;x&lt;/b&gt;</p>"),
        (
            "- a\n- b\n  - c\n\n    d\n- e",
            "<ul class=\"\"><li><p>a</p></li><li><p>b</p><ul class=\"loose\"><li><p>c</p><p>d</p></li></ul></li><li><p>e</p></li></ul>",
        ),
        (
            "3. a\n4. b\n\n   ```\n   code\n   ```\n5. c",
            "<ol class=\"loose\" start=\"3\"><li><p>a</p></li><li><p>b</p><div class=\"code\"><pre><code>code</code></pre></div></li><li><p>c</p></li></ol>",
        ),
        (
            "- [ ] a\n- [x] b",
            "<ul><li class=\"task\"><span class=\"box\">☐ </span><p>a</p></li><li class=\"task\"><span class=\"box\">☑ </span><p>b</p></li></ul>",
        ),
        (
            "> a\n> - b\n>\n> > c\nlazy",
            "<blockquote><p>a</p><ul><li><p>b</p></li></ul><blockquote><p>c\nlazy</p></blockquote></blockquote>",
        ),
        (
            "|a|b|\n|:-:|-:|\n|1 \\| 2|**3**|\n\nend",
            "<div class=\"table\"><table><thead><tr><th class=\"center\">a</th><th class=\"right\">b</th></tr></thead><tbody><tr><td class=\"center\">1 | 2</td><td class=\"right\"><strong>3</strong></td></tr></tbody></table></div><p>end</p>",
        ),
        ("```\nopen\n  <b>", "<div class=\"code\"><pre><code>open\n  &lt;b&gt;</code></pre></div>"),
        (
            "~~~py\ndef f(): # c\n~~~",
            "<div class=\"code\"><div class=\"language\">py</div><pre><code><span class=\"syntax-keyword\">def</span> <span class=\"syntax-function\">f</span>(): <span class=\"syntax-comment\"># c</span></code></pre></div>",
        ),
        (
            "```unheard\nif x\n```",
            "<div class=\"code\"><div class=\"language\">unheard</div><pre><code>if x</code></pre></div>",
        ),
        (
            "a\n\n---\n\n    code\n",
            "<p>a</p><hr><div class=\"code\"><pre><code>code</code></pre></div>",
        ),
        (
            "In\n1984. a year\n\n$$\nx\n\n|a|\n|-|\n|1|",
            "<p>In\n1984. a year</p><p>$$\nx</p><div class=\"table\"><table><thead><tr><th>a</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table></div>",
        ),
        (
            "[a *b*](https://x.y/z \"t\") [c] [d](e f",
            "<p><a href=\"https://x.y/z\" rel=\"noopener noreferrer\" target=\"_blank\">a <em>b</em></a> [c] [d](e f</p>",
        ),
    ];
    let entries: Vec<Value> = cases.iter().map(|(text, _)| assistant(*text)).collect();
    let scratch = Scratch::new().unwrap();
    let Some(mut browser) = opened(&scratch, &entries).await else { return };
    let found = browser
        .evaluate("[...document.querySelectorAll('article .markdown')].map((e) => e.innerHTML)")
        .await;
    for ((text, expected), found) in cases.iter().zip(found.as_array().unwrap()) {
        let found = found.as_str().unwrap().replace(" class=\"\"", "");
        assert_eq!(found, expected.replace(" class=\"\"", ""), "{text}");
    }
}

#[tokio::test]
async fn the_reader_has_it_dark_or_light_narrow_or_on_paper() {
    let scratch = Scratch::new().unwrap();
    let Some(mut browser) = opened(&scratch, &[user("x"), assistant("y")]).await else { return };
    let paper = "getComputedStyle(document.body).backgroundColor";
    for (scheme, medium, expected) in [
        ("dark", "screen", "rgb(18, 22, 29)"),
        ("light", "screen", "rgb(251, 252, 253)"),
        ("dark", "print", "rgb(251, 252, 253)"),
    ] {
        browser.prefer(scheme, medium).await;
        assert_eq!(browser.evaluate(paper).await, expected, "{scheme} {medium}");
    }
    let side = "getComputedStyle(document.getElementById('side')).display";
    assert_eq!(browser.evaluate(side).await, "none", "paper has no tree");
    browser.prefer("light", "screen").await;
    assert_eq!(browser.evaluate(side).await, "flex");
    browser.resize(400, 800).await;
    browser.wait_for(&format!("{side} === 'none'")).await;
    assert_eq!(browser.evaluate("document.documentElement.scrollWidth <= 400").await, true);
    browser.press("b").await;
    assert_eq!(browser.evaluate(side).await, "flex", "it is there when it is wanted");
}

#[tokio::test]
async fn lines_that_could_not_be_read_are_counted() {
    let scratch = Scratch::new().unwrap();
    let text = session(&[user("KEPT")]) + "nonsense\n{\"type\":\"message\"}\n";
    let page = page(&scratch, &text).await;
    let Some(mut browser) = Browser::start(&scratch).await else {
        println!("left out: no Chromium");
        return;
    };
    show(&mut browser, &page, "").await;
    let notice = texts(&mut browser, "#notices").await;
    assert_eq!(notice, json!(["2 lines of the session could not be read and are left out."]));
    assert_eq!(texts(&mut browser, "article .markdown").await, json!(["KEPT"]));
}
