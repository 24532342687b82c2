//! Conversations as text.

use super::*;
use crate::compaction::conversation::to_text;

fn shown(entries: &[Value]) -> String {
    to_text(&session(entries).context().messages)
}

#[test]
fn every_message_is_a_paragraph_with_its_role() {
    let both = json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "I look."},
        {"type": "text", "text": "Twice."},
        {"type": "toolCall", "id": "1", "name": "read", "arguments": {"path": "a.txt"}},
        {"type": "toolCall", "id": "2", "name": "edit",
            "arguments": {"path": "e\".txt", "edits": [{"oldText": "x"}], "n": null}}]);
    let image = json!([{"type": "text", "text": "Look:"},
        {"type": "image", "data": "aGk=", "mimeType": "image/png"}]);
    let entries = [
        system("rules"),
        message(json!({"role": "user", "content": image})),
        assistant(both, "toolUse", 0),
        results("1", "hello\n"),
        results("2", ""),
        bash("ls", "out", false),
        bash("secret", "out", true),
        custom("noted"),
        answers("Done."),
        says(""),
    ];
    assert_eq!(
        shown(&entries),
        "[User]: Look:\n\n\
         [Assistant]: I look.\nTwice.\n\n\
         [Assistant tool calls]: read(path=\"a.txt\"); \
         edit(path=\"e\\\".txt\", edits=[{\"oldText\":\"x\"}], n=null)\n\n\
         [Tool result]: hello\n\n\n\
         [User]: Ran `ls`\n```\nout\n```\n\n\
         [User]: noted\n\n\
         [Assistant]: Done."
    );
}

#[test]
fn names_of_a_session_and_other_bookkeeping_stay_out() {
    let named = json!({"type": "session_info", "name": "NAMED"});
    assert_eq!(shown(&[says("hi"), named, label(), model_change()]), "[User]: hi");
}

#[test]
fn long_results_are_cut_at_2000_utf_16_units_and_never_inside_a_pair() {
    let cases = [
        ("x".repeat(2000), "x".repeat(2000), None),
        ("x".repeat(2010), "x".repeat(2000), Some(10)),
        ("é".repeat(2001), "é".repeat(2000), Some(1)),
        ("😀".repeat(1001), "😀".repeat(1000), Some(2)),
        (format!("x{}", "😀".repeat(1000)), format!("x{}", "😀".repeat(999)), Some(2)),
    ];
    for (output, expected, cut) in cases {
        let text = shown(&[results("c", &output)]);
        let rest =
            text.strip_prefix("[Tool result]: ").and_then(|text| text.strip_prefix(&expected));
        let rest = rest.unwrap_or_else(|| panic!("{text}"));
        match cut {
            None => assert_eq!(rest, ""),
            Some(cut) => assert_eq!(rest, format!("\n\n[{cut} more characters not shown]")),
        }
    }
}
