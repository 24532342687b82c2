//! Nothing of a session runs, and nothing is fetched.

use pi_test::{PageNotes, Scratch};
use serde_json::{Value, json};

use super::{assistant, call, opened, result, user};

/// Each would change the title, or ask for an address, if it were more than text.
const TEXTS: [&str; 14] = [
    "<script>document.title='HACKED'</script>",
    "</script><script>document.title='HACKED'</script>",
    "<!--<script>",
    "--></script><img src=x onerror=\"document.title='HACKED'\">",
    "<img src=http://127.0.0.1:1/pixel onerror=document.title='HACKED'>",
    "<svg/onload=document.title='HACKED'>",
    "\"><script>document.title='HACKED'</script>",
    "' onmouseover='document.title=`HACKED`' x='",
    "</title></style></pre></template><script>document.title='HACKED'</script>",
    "`</code><script>document.title='HACKED'</script>`",
    "![picture](http://127.0.0.1:1/pixel.png)",
    "<style>@import 'http://127.0.0.1:1/x.css'</style><link rel=stylesheet href=http://127.0.0.1:1/>",
    "\u{1b}]8;;javascript:document.title='HACKED'\u{7}link\u{1b}]8;;\u{7}",
    "<meta http-equiv=refresh content='0;url=http://127.0.0.1:1/'><base href=http://127.0.0.1:1/>",
];

/// Addresses that must not be followed.
const ADDRESSES: [&str; 14] = [
    "javascript:document.title='HACKED'",
    "JaVaScRiPt:document.title='HACKED'",
    "java\u{0}script:document.title='HACKED'",
    "java\tscript:document.title='HACKED'",
    "\u{1}javascript:document.title='HACKED'",
    "java&#115;cript:document.title='HACKED'",
    "data:text/html,<script>1</script>",
    "data:text/html;base64,PHNjcmlwdD4xPC9zY3JpcHQ+",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:null/1",
    "//127.0.0.1:1/x",
    "/etc/passwd",
    "x.html",
];

fn everywhere(text: &str) -> Vec<Value> {
    let image = |mime: &str, data: &str| json!({"type": "image", "mimeType": mime, "data": data});
    vec![
        user(text),
        json!({"message": {"role": "user", "content": [
            image(text, "AAAA"), image("image/png", text), image("image/svg+xml", "PHN2Zy8+"),
            image("image/png\"><script>1</script>", "AAAA"), image("text/html", "PGI+"),
            {"type": "text", "text": format!("<file name=\"{text}\">\n{text}\n</file>")},
        ]}}),
        assistant(json!([
            {"type": "text", "text": text},
            {"type": "text", "text": format!("# {text}\n- {text}\n\n> {text}\n\n```{text}\n{text}\n```\n\n|a|\n|-|\n|{text}|\n")},
            {"type": "thinking", "thinking": text},
            call(text, text, &json!({text: text, "path": text})),
            call("b", "bash", &json!({"command": text, "timeout": text, text: 1})),
            call("r", "read", &json!({"path": text, "offset": text, "limit": text})),
            call("w", "write", &json!({"path": text, "content": text})),
            call("e", "edit", &json!({"path": text, "edits": [{"oldText": text, "newText": text}]})),
            call("g", "grep", &json!({"pattern": text, "path": text, "glob": text})),
            call("p", "__proto__", &json!({"__proto__": {"x": text}})),
        ])),
        result(text, text, text),
        result("b", "bash", text),
        json!({"message": {"role": "toolResult", "toolCallId": "e", "toolName": "edit", "isError": false,
                "content": [], "details": {"diff": format!("+1 {text}")}}}),
        result("none", text, text),
        json!({"message": {"role": "assistant", "content": text, "provider": text, "model": text,
                "stopReason": "error", "errorMessage": text, "usage": {"input": text, "cost": text}}}),
        json!({"message": {"role": "bashExecution", "command": text, "output": text, "exitCode": text,
                "truncated": true, "fullOutputPath": text}}),
        json!({"message": {"role": text, "content": text}}),
        json!({"message": {"role": "system", "content": text, "sections": {text: text, "gone": null},
                "toolsAdded": [{"name": text, "description": text,
                                "parameters": {"properties": {text: {"description": text}}}}]}}),
        json!({"message": text}),
        json!({"type": "custom_message", "customType": text, "content": text, "display": true}),
        json!({"type": "compaction", "summary": text, "tokensBefore": text, "firstKeptEntryId": text}),
        json!({"type": "branch_summary", "summary": text, "fromId": text}),
        json!({"type": "model_change", "provider": text, "modelId": text}),
        json!({"type": "label", "targetId": "e0", "label": text}),
        json!({"type": "usage", "kind": text, "usage": {"input": 1}}),
        json!({"type": "session_info", "name": text}),
        json!({"type": text, "id": format!("id-{text}")}),
    ]
}

#[tokio::test]
async fn nothing_of_a_session_is_more_than_text() {
    let entries = TEXTS.iter().flat_map(|text| everywhere(text));
    let scratch = Scratch::new().unwrap();
    let entries: Vec<Value> = entries
        .enumerate()
        .map(|(index, mut entry)| {
            // Entries keep ids of their own, whatever those are.
            if let Some(id) = entry.get("id").and_then(Value::as_str) {
                entry["id"] = json!(format!("{id}{index}"));
            }
            entry
        })
        .collect();
    let Some(mut browser) = opened(&scratch, &entries).await else { return };
    for script in [
        "for (const part of document.querySelectorAll('details')) part.open = true",
        "for (const more of document.querySelectorAll('.more')) more.click()",
        "document.getElementById('filter').value = 'all'; document.getElementById('filter').dispatchEvent(new Event('change'))",
        "for (const e of document.querySelectorAll('#transcript *')) e.dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))",
    ] {
        browser.evaluate(script).await;
    }
    assert!(!browser.evaluate("document.title").await.as_str().unwrap().starts_with("HACKED"));
    let inventory = browser
        .evaluate(
            "[document.scripts.length, document.querySelectorAll('iframe, object, embed, svg, link, base, \
             form, #transcript style, #transcript script, #transcript meta, #transcript input').length, \
             [...document.querySelectorAll('*')].filter((e) => e.getAttributeNames().some((n) => n.startsWith('on'))).length, \
             [...document.querySelectorAll('img')].filter((i) => !/^data:image\\/png;base64,[\\w+/=]+$/.test(i.src)).length, \
             [...document.querySelectorAll('a')].filter((a) => !/^(https?|mailto):|^file:.*#/.test(a.href)).length]",
        )
        .await;
    assert_eq!(inventory, json!([3, 0, 0, 0, 0]));
    let broken = browser.evaluate("document.querySelectorAll('.broken').length").await;
    assert_eq!(broken, 0, "every entry is shown");
    let PageNotes { errors, requests, dialogs } = browser.notes().await;
    assert_eq!((errors, requests, dialogs), (vec![], vec![], vec![]));
    for text in TEXTS.iter().filter(|text| !text.contains('\u{1b}') && !text.contains('`')) {
        let shown = browser
            .evaluate(&format!(
                "document.getElementById('transcript').textContent.includes({})",
                json!(text)
            ))
            .await;
        assert_eq!(shown, true, "{text} is read as it was written");
    }
}

#[tokio::test]
async fn only_addresses_of_the_web_and_of_mail_are_links() {
    let links: Vec<String> = ADDRESSES
        .iter()
        .flat_map(|address| {
            [
                format!("[text](<{address}>)"),
                format!("[text]({address})"),
                format!("<{address}>"),
                format!("\u{1b}]8;;{address}\u{7}text\u{1b}]8;;\u{7}"),
            ]
        })
        .collect();
    let mut entries = vec![user(&links.join("\n\n")), assistant(links.join("\n\n"))];
    entries.push(assistant(json!([call("b", "bash", &json!({"command": "ls"}))])));
    entries.push(result("b", "bash", &links.join("\n")));
    let scratch = Scratch::new().unwrap();
    let Some(mut browser) = opened(&scratch, &entries).await else { return };
    browser.evaluate("for (const more of document.querySelectorAll('.more')) more.click()").await;
    let links = "[...document.querySelectorAll('#transcript a:not(.self)')].map((a) => a.href)";
    assert_eq!(browser.evaluate(links).await, json!([]));

    let entries = [
        assistant(
            "[a](https://example.com/a?b=c&d) <https://example.com/b> https://example.com/c. \
             www.example.com, me@example.com 见https://example.com/d，好 (https://example.com/e_(f))",
        ),
        assistant(json!([call("b", "bash", &json!({"command": "ls"}))])),
        result(
            "b",
            "bash",
            "\u{1b}]8;id=1;https://example.com/g;h\u{1b}\\text\u{1b}]8;;\u{1b}\\ plain",
        ),
    ];
    let scratch = Scratch::new().unwrap();
    let Some(mut browser) = opened(&scratch, &entries).await else { return };
    assert_eq!(
        browser.evaluate(links).await,
        json!([
            "https://example.com/a?b=c&d",
            "https://example.com/b",
            "https://example.com/c",
            "https://www.example.com/",
            "mailto:me@example.com",
            "https://example.com/d",
            "https://example.com/e_(f)",
            "https://example.com/g;h",
        ])
    );
    let rel = "[...document.querySelectorAll('#transcript a:not(.self)')].every((a) => a.rel === 'noopener noreferrer')";
    assert_eq!(browser.evaluate(rel).await, true);
}
