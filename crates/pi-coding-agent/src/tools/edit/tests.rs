use std::fmt::Write as _;

use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::tools::testing::{Bed, Elsewhere, Updates, text_of};

/// Old and new text of each edit.
type Pairs<'a> = &'a [(&'a str, &'a str)];

fn edits(pairs: Pairs<'_>) -> Value {
    pairs.iter().map(|(old, new)| json!({"oldText": old, "newText": new})).collect()
}

fn numbered(lines: usize) -> String {
    (1..=lines).fold(String::new(), |mut text, i| {
        _ = writeln!(text, "{i}");
        text
    })
}

/// Edits `before`; gives what is in the file and the details.
async fn apply(before: &[u8], pairs: Pairs<'_>) -> (Vec<u8>, Value) {
    let bed = Bed::new();
    bed.put("f", before);
    let output = bed.call("edit", json!({"path": "f", "edits": edits(pairs)})).await.unwrap();
    let want = format!("Successfully replaced {} block(s) in f.", pairs.len());
    assert_eq!(text_of(&output), want);
    assert_eq!(output.structured_content, None);
    (bed.get("f"), output.details.unwrap())
}

/// The error of an edit; the file must be as it was.
async fn refuse(before: &[u8], pairs: Pairs<'_>) -> String {
    let bed = Bed::new();
    bed.put("f", before);
    let error = bed.call("edit", json!({"path": "f", "edits": edits(pairs)})).await.unwrap_err();
    assert_eq!(bed.get("f"), before);
    error.0
}

#[tokio::test]
async fn bytes_outside_the_replaced_ranges_stay_and_new_lines_follow_the_line_they_start_in() {
    let cases: &[(&[u8], Pairs<'_>, &[u8])] = &[
        (b"a\nb\nc", &[("c", "C")], b"a\nb\nC"),
        (b"a\nb\nc", &[("c", "C\n")], b"a\nb\nC\n"),
        (b"a\nb\nc\n", &[("c\n", "c")], b"a\nb\nc"),
        // CRLF, on both sides of the call.
        (b"x\r\ny\r\nz\r\n", &[("x\ny", "X\nY\nZ")], b"X\r\nY\r\nZ\r\nz\r\n"),
        (b"x\r\ny\r\nz\r\n", &[("x\r\ny", "X\r\nY\nZ")], b"X\r\nY\r\nZ\r\nz\r\n"),
        (b"x\ny\n", &[("x\r\ny", "1\r\n2")], b"1\n2\n"),
        // Mixed endings keep their mix.
        (b"a\r\nb\nc\r\nd\n", &[("b\nc", "B\nC\nX")], b"a\r\nB\nC\nX\r\nd\n"),
        (b"a\r\nb\nd\n", &[("a", "A\nA2"), ("d", "D\nD2")], b"A\r\nA2\r\nb\nD\nD2\n"),
        (b"a\rb\rc", &[("a\nb", "X")], b"X\rc"),
        // A last line without an ending takes the one before it.
        (b"a\r\nb", &[("b", "c\nd")], b"a\r\nc\r\nd"),
        (b"a\r\nb\nc", &[("c", "c\nd")], b"a\r\nb\nc\nd"),
        (b"ab", &[("b", "c\r\nd")], b"ac\nd"),
        // The byte order mark is no part of the text.
        (b"\xef\xbb\xbfhello\n", &[("hello", "bye")], b"\xef\xbb\xbfbye\n"),
        (b"\xef\xbb\xbfhello\n", &[("\u{feff}hello", "\u{feff}bye")], b"\xef\xbb\xbfbye\n"),
        // What is no UTF-8 is kept.
        (b"\xff\xffabc\xff\n", &[("abc", "xyz")], b"\xff\xffxyz\xff\n"),
        // Replacement text is literal.
        (b"x\n", &[("x", "$& $1 $$ \\n")], b"$& $1 $$ \\n\n"),
        (b"a\nb\nc\n", &[("a\nb\nc\n", "")], b""),
        // Matched against the original, whatever the order.
        (b"a\nb\n", &[("b", "a"), ("a", "b")], b"b\na\n"),
        (b"39\n40\n", &[("39\n", "39x\n"), ("40\n", "40x\n")], b"39x\n40x\n"),
        // An edit that changes nothing does not touch line endings either.
        (b"a\r\nb\nc\n", &[("a\nb", "a\nb"), ("c", "C")], b"a\r\nb\nC\n"),
    ];
    for (before, pairs, after) in cases {
        let (got, _) = apply(before, pairs).await;
        assert_eq!(got, *after, "{pairs:?}");
    }
}

#[tokio::test]
async fn without_an_exact_match_look_alikes_match_and_untouched_lines_keep_their_bytes() {
    let fz = "x  \ny\t\nz \u{201c}q\u{201d} \u{2013} e\u{a0}f\n";
    let cases: &[(&str, Pairs<'_>, &str)] = &[
        (fz, &[("x\ny\nz \"q\" - e f", "X\nY")], "X\nY\n"),
        (fz, &[("\"q\"", "Q")], "x  \ny\t\nz Q - e f\n"),
        (fz, &[("\"q\"", "Q"), ("x", "XX")], "XX\ny\t\nz Q - e f\n"),
        ("tail  \nkeep  \n", &[("tail\nkeep", "TAIL\nkeep")], "TAIL\nkeep\n"),
        ("same  \nsame\n", &[("same\nsame", "q")], "q\n"),
        ("one\ntwo  \nthree\n", &[("two\nthree\n", "2\n")], "one\n2\n"),
        ("one\ntwo  \nthree  \n", &[("two\n", "2\n")], "one\n2\nthree  \n"),
        ("if a\n  b  \nfi\n", &[("if a\n  b\nfi", "if a\n  b\nfi")], "if a\n  b\nfi\n"),
        ("a \n\n\nb\n", &[("a\n\n\nb", "a\n\nb")], "a\n\nb\n"),
        ("hi\n", &[("hi  ", "ho")], "ho\n"),
        (
            "f(\u{2010}\u{2011}\u{2012}\u{2013}\u{2014}\u{2015}\u{2212})\n",
            &[("(-------)", "()")],
            "f()\n",
        ),
        ("\u{fb01} ligature\n", &[("fi liga", "FI liga")], "FI ligature\n"),
        (
            "\u{feff}x \u{201c}q\u{201d}\r\ny  \r\nz\r\n",
            &[("\"q\"\ny\nz", "Q\nY\nZ")],
            "\u{feff}x Q\r\nY\r\nZ\r\n",
        ),
    ];
    for (before, pairs, after) in cases {
        let (got, _) = apply(before.as_bytes(), pairs).await;
        assert_eq!(String::from_utf8(got).unwrap(), *after, "{pairs:?}");
    }
    let (got, _) = apply(b"\xff\xff  \nx  \ny\n", &[("x\ny", "z")]).await;
    assert_eq!(got, b"\xff\xff  \nz\n");
}

#[tokio::test]
async fn errors_name_the_edit_and_nothing_is_written() {
    let not_found = "Could not find the exact text in f. \
                     The old text must match exactly including all whitespace and newlines.";
    let several = |times: usize| {
        format!(
            "Found {times} occurrences of the text in f. \
             The text must be unique. Please provide more context to make it unique."
        )
    };
    let twice = || several(2);
    let same = "No changes made to f. The replacement produced identical content. This might \
                indicate an issue with special characters or the text not existing as expected.";
    let cases: &[(&str, Pairs<'_>, String)] = &[
        ("one\n", &[("zebra", "x")], not_found.to_owned()),
        ("", &[("abc", "x")], not_found.to_owned()),
        (
            "  a\n  b\n",
            &[("a\nb", "x")],
            format!(
                "{not_found}\n\nMost like it are lines 1-2, different in whitespace only:\n  a\n  b"
            ),
        ),
        ("a\nb\n", &[("\t", "x")], not_found.to_owned()),
        (
            "one\n",
            &[("one", "1"), ("nope", "2")],
            "Could not find edits[1] in f. \
             The oldText must match exactly including all whitespace and newlines."
                .to_owned(),
        ),
        ("same\nsame\n", &[("same", "x")], twice()),
        // Look-alikes make an exact match ambiguous, too.
        ("\"q\" one\n\u{201c}q\u{201d} two\n", &[("\"q\"", "Z")], twice()),
        ("x\nx  \n", &[("x", "Z")], twice()),
        ("same  \nsame\n", &[("same\t", "q")], twice()),
        ("a a\n\na\na\n", &[("a", "x")], several(4)),
        ("\na a a\n", &[("a", "x")], several(3)),
        ("a\na\na\n\na\na\na\n", &[("a", "x")], several(6)),
        (
            "aa\naa\n",
            &[("aa", "b"), ("zz", "q")],
            "Found 2 occurrences of edits[0] in f. \
             Each oldText must be unique. Please provide more context to make it unique."
                .to_owned(),
        ),
        ("a\n", &[("", "q")], "oldText must not be empty in f.".to_owned()),
        ("a\n", &[("x", "q"), ("", "q")], "edits[1].oldText must not be empty in f.".to_owned()),
        (
            "one two three\n",
            &[("one two", "1 2"), ("two three", "2 3")],
            "edits[0] and edits[1] overlap in f. \
             Merge them into one edit or target disjoint regions."
                .to_owned(),
        ),
        (
            "a\nb\n",
            &[("b\n", "B\n"), ("a\nb", "b")],
            "edits[1] and edits[0] overlap in f. \
             Merge them into one edit or target disjoint regions."
                .to_owned(),
        ),
        ("one\n", &[("one", "one")], same.to_owned()),
        ("\u{201c}q\u{201d}\n", &[("\"q\"", "\u{201c}q\u{201d}")], same.to_owned()),
        (
            "a\nb\n",
            &[("a", "a"), ("b", "b")],
            "No changes made to f. The replacements produced identical content.".to_owned(),
        ),
    ];
    for (before, pairs, want) in cases {
        assert_eq!(refuse(before.as_bytes(), pairs).await, *want, "{pairs:?}");
    }
}

#[tokio::test]
async fn a_text_that_is_not_found_is_told_with_what_is_most_like_it() {
    let before = b"\xef\xbb\xbfif a {\r\n\tbeta(1);\r\n}\r\n";
    assert_eq!(
        refuse(before, &[("if a {\n    beta(1);\n}", "x")]).await,
        "Could not find the exact text in f. \
         The old text must match exactly including all whitespace and newlines.\n\n\
         Most like it are lines 1-3, different in whitespace only:\nif a {\n\tbeta(1);\n}"
    );
    assert_eq!(
        refuse(before, &[("}", "x"), ("\tbeta(12);", "x")]).await,
        "Could not find edits[1] in f. \
         The oldText must match exactly including all whitespace and newlines.\n\n\
         Most like it is line 2, different from line 2 on:\n\tbeta(1);"
    );
}

#[tokio::test]
async fn the_nearest_lines_of_a_large_file_are_found_soon() {
    let before = numbered(400_000);
    let text = refuse(before.as_bytes(), &[("399998\n399999,\n400000\n", "x")]).await;
    assert!(
        text.ends_with(
            "Most like it are lines 399998-400000, different from line 399999 on:\n\
             399998\n399999\n400000"
        ),
        "{text}"
    );
}

#[tokio::test]
async fn utf16_is_edited_as_text_and_stays_utf16() {
    use crate::tools::encoding::{ByteOrder, tests::utf16};
    for order in [ByteOrder::Little, ByteOrder::Big] {
        let before = utf16("\u{e9}n\r\n\u{1f600} two\r\nlast", order);
        let (after, details) = apply(&before, &[("\u{1f600} two\n", "\u{1f601}\n2\n")]).await;
        assert_eq!(after, utf16("\u{e9}n\r\n\u{1f601}\r\n2\r\nlast", order));
        assert_eq!(details["diff"], " 1 \u{e9}n\n-2 \u{1f600} two\n+2 \u{1f601}\n+3 2\n 3 last");
        let (loose, _) = apply(&utf16("a \u{201c}q\u{201d}\n", order), &[("\"q\"", "Q")]).await;
        assert_eq!(loose, utf16("a Q\n", order));
    }
    for broken in [&b"\xff\xfea\0b"[..], b"\xfe\xff\xd8\x00\0a"] {
        assert_eq!(
            refuse(broken, &[("a", "b")]).await,
            "Could not edit file: f. It begins like UTF-16, but parts of it are not and would be \
             lost. Use bash to change it."
        );
    }
}

#[tokio::test]
async fn a_file_that_is_too_large_is_refused_before_it_is_read() {
    let bed = Bed::new();
    bed.put("f", "a\n");
    let file = std::fs::File::options().write(true).open(bed.path("f")).unwrap();
    file.set_len(10 << 30).unwrap();
    assert_eq!(
        bed.text("edit", json!({"path": "f", "edits": edits(&[("a", "b")])})).await,
        "Could not edit file: f. It is larger than 512.0MB, the most that can be edited. \
         Use bash to change it."
    );
}

#[tokio::test]
async fn blanks_at_the_end_of_the_old_text_tell_places_apart() {
    assert_eq!(apply(b"a b\nac\n", &[("a ", "X ")]).await.0, b"X b\nac\n");
    assert_eq!(apply(b"fi\n  fi\n", &[("  fi", "X")]).await.0, b"fi\nX\n");
}

#[tokio::test]
async fn what_cannot_be_opened_is_told_by_its_code() {
    let bed = Bed::new();
    bed.put("file", "x");
    let cases = [
        ("none.txt", "Could not edit file: none.txt. Error code: ENOENT."),
        ("file/x", "Could not edit file: file/x. Error code: ENOTDIR."),
        (
            "/dev/null",
            "Could not edit file: /dev/null. It is not a regular file. Use bash to change it.",
        ),
        (".", "EISDIR: illegal operation on a directory, read"),
    ];
    for (path, want) in cases {
        let text = bed.text("edit", json!({"path": path, "edits": edits(&[("a", "b")])})).await;
        assert_eq!(text, want);
    }
    let empty = bed.text("edit", json!({"path": "none", "edits": []})).await;
    assert_eq!(empty, "Edit tool input is invalid. edits must contain at least one replacement.");
}

#[tokio::test]
async fn extra_keys_are_ignored_and_old_shapes_accepted() {
    let bed = Bed::new();
    bed.put("f", "a\nb\nc\n");
    let extra = json!({"path": "f", "edits": [{"oldText": "a", "newText": "A", "why": 1}]});
    bed.call("edit", extra).await.unwrap();
    bed.call("edit", json!({"path": "f", "oldText": "b", "newText": "B"})).await.unwrap();
    bed.call("edit", json!({"path": "f", "edits": edits(&[("c", "C")]).to_string()}))
        .await
        .unwrap();
    assert_eq!(bed.get("f"), b"A\nB\nC\n");
}

async fn details(before: &str, pairs: Pairs<'_>) -> (String, String, u64) {
    let (_, details) = apply(before.as_bytes(), pairs).await;
    let text = |name: &str| details[name].as_str().unwrap().to_owned();
    let patch = text("patch");
    let hunks = patch.strip_prefix("--- f\n+++ f\n").unwrap().to_owned();
    (text("diff"), hunks, details["firstChangedLine"].as_u64().unwrap())
}

#[tokio::test]
async fn small_diffs_are_shown_whole() {
    let cases: &[(&str, Pairs<'_>, &str, &str, u64)] = &[
        (
            "one\r\ntwo\r\nthree\r\nfour\r\nfive\r\n",
            &[("two\nthree", "TWO\nTHREE"), ("five", "FIVE")],
            " 1 one\n-2 two\n-3 three\n+2 TWO\n+3 THREE\n 4 four\n-5 five\n+5 FIVE",
            "@@ -1,5 +1,5 @@\n one\n-two\n-three\n+TWO\n+THREE\n four\n-five\n+FIVE\n",
            2,
        ),
        (
            "\u{feff}hello world\n",
            &[("hello", "goodbye")],
            "-1 hello world\n+1 goodbye world",
            "@@ -1,1 +1,1 @@\n-hello world\n+goodbye world\n",
            1,
        ),
        (
            "a = 1\nb = 2\nc = 3\nd = 4\n",
            &[("a = 1\n", "a = 10\n"), ("c = 3\n", ""), ("d = 4", "d = 40\ne = 50")],
            "-1 a = 1\n+1 a = 10\n 2 b = 2\n-3 c = 3\n-4 d = 4\n+3 d = 40\n+4 e = 50",
            "@@ -1,4 +1,4 @@\n-a = 1\n+a = 10\n b = 2\n-c = 3\n-d = 4\n+d = 40\n+e = 50\n",
            1,
        ),
        (
            "a\nb\nc",
            &[("c", "c\n")],
            " 1 a\n 2 b\n-3 c\n+3 c",
            "@@ -1,3 +1,3 @@\n a\n b\n-c\n\\ No newline at end of file\n+c\n",
            3,
        ),
        (
            "a\nb\nc\n",
            &[("a", "AA")],
            "-1 a\n+1 AA\n 2 b\n 3 c",
            "@@ -1,3 +1,3 @@\n-a\n+AA\n b\n c\n",
            1,
        ),
        (
            "a\nb",
            &[("a", "A")],
            "-1 a\n+1 A\n 2 b",
            "@@ -1,2 +1,2 @@\n-a\n+A\n b\n\\ No newline at end of file\n",
            1,
        ),
        ("a\nb\nc\n", &[("a\nb\nc\n", "")], "-1 a\n-2 b\n-3 c", "@@ -1,3 +0,0 @@\n-a\n-b\n-c\n", 1),
        // Where equal lines meet, the later one counts as new or gone.
        ("a\nb\n", &[("a\n", "a\nb\n")], " 1 a\n 2 b\n+3 b", "@@ -1,2 +1,3 @@\n a\n b\n+b\n", 3),
        (
            "a\nb\nb\nb\nc\n",
            &[("a\nb\n", "a\n")],
            " 1 a\n 2 b\n 3 b\n-4 b\n 5 c",
            "@@ -1,5 +1,4 @@\n a\n b\n b\n-b\n c\n",
            4,
        ),
        (
            "a \n\n\nb\n",
            &[("a\n\n\nb", "a\n\nb")],
            "-1 a \n+1 a\n 2 \n-3 \n 4 b",
            "@@ -1,4 +1,3 @@\n-a \n+a\n \n-\n b\n",
            1,
        ),
        (
            "if a\n  b  \nfi\n",
            &[("if a\n  b\nfi", "if a\n  b\nfi")],
            " 1 if a\n-2   b  \n+2   b\n 3 fi",
            "@@ -1,3 +1,3 @@\n if a\n-  b  \n+  b\n fi\n",
            2,
        ),
    ];
    for (before, pairs, diff, patch, first) in cases {
        let got = details(before, pairs).await;
        assert_eq!(got, ((*diff).to_owned(), (*patch).to_owned(), *first), "{pairs:?}");
    }
}

#[tokio::test]
async fn long_diffs_show_four_lines_around_each_change() {
    let (diff, patch, first) =
        details(&numbered(60), &[("\n9\n", "\nnine\n"), ("\n41\n", "\n"), ("42\n", "42\nx\ny\n")])
            .await;
    assert_eq!(
        diff,
        "    ...\n  5 5\n  6 6\n  7 7\n  8 8\n- 9 9\n+ 9 nine\n 10 10\n 11 11\n 12 12\n 13 13\n    ...\n \
         37 37\n 38 38\n 39 39\n 40 40\n-41 41\n 42 42\n+42 x\n+43 y\n 43 43\n 44 44\n 45 45\n 46 46\n    ..."
    );
    assert_eq!(
        patch,
        "@@ -5,9 +5,9 @@\n 5\n 6\n 7\n 8\n-9\n+nine\n 10\n 11\n 12\n 13\n\
         @@ -37,10 +37,11 @@\n 37\n 38\n 39\n 40\n-41\n 42\n+x\n+y\n 43\n 44\n 45\n 46\n"
    );
    assert_eq!(first, 9);
}

#[tokio::test]
async fn changes_eight_lines_apart_share_their_context_and_nine_do_not() {
    let (diff, patch, _) = details(&numbered(40), &[("10\n", "x\n"), ("19\n", "y\n")]).await;
    assert_eq!(diff.matches("...").count(), 2);
    assert!(patch.starts_with("@@ -6,18 +6,18 @@\n") && patch.matches("@@ -").count() == 1);
    let (diff, patch, _) = details(&numbered(40), &[("10\n", "x\n"), ("20\n", "y\n")]).await;
    assert_eq!(diff.matches("...").count(), 3);
    assert!(patch.contains("\n@@ -16,9 +16,9 @@\n 16\n"));
}

#[tokio::test]
async fn line_numbers_are_as_wide_as_the_last_one() {
    // The piece after the last newline has a number, too.
    let (diff, ..) = details(&numbered(9), &[("5", "five")]).await;
    assert!(diff.starts_with("  1 1\n  2 2\n") && diff.ends_with("\n  9 9"), "{diff}");
    let (diff, ..) = details(numbered(9).trim_end(), &[("5", "five")]).await;
    assert!(diff.starts_with(" 1 1\n") && diff.ends_with("\n 9 9"), "{diff}");
    let (diff, ..) = details(numbered(9).trim_end(), &[("9", "9\n10")]).await;
    assert!(
        diff.starts_with("    ...\n  5 5\n") && diff.ends_with("- 9 9\n+ 9 9\n+10 10"),
        "{diff}"
    );
    let (diff, patch, _) = details(&numbered(17), &[("1\n2\n", "2\n"), ("17\n", "17\n18\n")]).await;
    assert!(diff.starts_with("- 1 1\n  2 2\n") && diff.ends_with(" 17 17\n+17 18"), "{diff}");
    assert!(patch.contains("\n@@ -14,4 +13,5 @@\n"), "{patch}");
}

#[tokio::test]
async fn paths_in_texts_are_the_ones_the_model_gave() {
    let bed = Bed::new();
    bed.put("f", "a\n");
    let output =
        bed.call("edit", json!({"path": "@./f", "edits": edits(&[("a", "b")])})).await.unwrap();
    assert_eq!(text_of(&output), "Successfully replaced 1 block(s) in @./f.");
    assert!(output.details.unwrap()["patch"].as_str().unwrap().starts_with("--- @./f\n+++ @./f\n"));
}

#[tokio::test]
async fn a_large_file_shows_its_changed_lines_only() {
    let mut before = "x".repeat(3_000_000);
    before.push('\n');
    before.push_str(&numbered(200_000));
    let (after, details) = apply(before.as_bytes(), &[("\n199990\n", "\nhere\n")]).await;
    assert_eq!(after.len(), before.len() - 2);
    let (diff, patch) = (details["diff"].as_str().unwrap(), details["patch"].as_str().unwrap());
    assert!(diff.len() < 300 && patch.len() < 300);
    assert!(diff.contains("\n-199991 199990\n+199991 here\n"), "{diff}");
}

#[tokio::test]
async fn links_stay_links_and_modes_stay() {
    use std::os::unix::fs::PermissionsExt as _;
    let bed = Bed::new();
    bed.put("real", "a\n");
    std::fs::set_permissions(bed.path("real"), std::fs::Permissions::from_mode(0o750)).unwrap();
    std::os::unix::fs::symlink("real", bed.path("link")).unwrap();
    bed.call("edit", json!({"path": "link", "edits": edits(&[("a", "b")])})).await.unwrap();
    assert!(bed.path("link").is_symlink());
    assert_eq!(bed.get("real"), b"b\n");
    assert_eq!(std::fs::metadata(bed.path("real")).unwrap().permissions().mode() & 0o777, 0o750);
}

#[tokio::test]
async fn a_file_changed_in_the_meantime_is_not_overwritten() {
    let bed = Bed::new();
    bed.put("f", "a\n");
    let theirs = bed.path("f");
    let env = Elsewhere::new(bed.env())
        .before("replace", move || std::fs::write(&theirs, "someone else's\n").unwrap());
    let arguments = json!({"path": "f", "edits": edits(&[("a", "b")])});
    let error = bed.tools_in(Arc::new(env)).call("edit", arguments).await.unwrap_err();
    assert_eq!(
        error.0,
        "Could not edit file: f. It changed on disk in the meantime. Read it again."
    );
    assert_eq!(bed.get("f"), b"someone else's\n");
}

#[tokio::test]
async fn a_call_cancelled_before_the_write_writes_nothing() {
    let bed = Bed::new();
    bed.put("f", "a\n");
    let cancel = CancellationToken::new();
    let cancelled = cancel.clone();
    let env = Arc::new(Elsewhere::new(bed.env()).before("open", move || cancelled.cancel()));
    let tools = bed.tools_in(Arc::<Elsewhere>::clone(&env));
    let arguments = json!({"path": "f", "edits": edits(&[("a", "b")])});
    let error = tools.call_with("edit", arguments, cancel, &Updates::default()).await.unwrap_err();
    assert_eq!(error.0, "Operation aborted");
    assert_eq!(bed.get("f"), b"a\n");
    assert_eq!(env.calls(), [format!("open {}", bed.path("f").display())]);
}

#[tokio::test]
async fn long_lines_are_not_repeated_in_the_details() {
    let long = "\u{e9}".repeat(100_000);
    let before = format!("{long}\nneedle{long}\n{long}\n");
    let (after, details) = apply(before.as_bytes(), &[("needle", "pin")]).await;
    assert_eq!(after, before.replace("needle", "pin").as_bytes());
    let diff = details["diff"].as_str().unwrap();
    assert!(diff.len() < 4 * 9000, "{}", diff.len());
    // 8192 bytes would end within a letter.
    let shown = "\u{e9}".repeat(4093);
    assert!(diff.contains(&format!("-2 needle{shown}... [{} more bytes]\n", 200_000 - 2 * 4093)));
    assert!(details["patch"].as_str().unwrap().len() < 4 * 9000);
}
