use std::fmt::Write as _;

use proptest::prelude::*;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::tools::encoding::{ByteOrder, tests::utf16};
use crate::tools::testing::{Bed, text_of};

fn numbered(lines: usize) -> String {
    (1..=lines).fold(String::new(), |mut text, i| {
        _ = writeln!(text, "{i}");
        text
    })
}

#[tokio::test]
async fn pages_are_cut_by_offset_and_limit() {
    let bed = Bed::new();
    bed.put("nl", "a\nb\nc\n");
    bed.put("open", "a\nb\nc");
    bed.put("empty", "");
    bed.put("one", "\n");
    bed.put("crlf", "x\r\ny\r\n");
    bed.put("bad", b"\xef\xbb\xbfbom\xff\n");
    let more = |text: &str, more: u64, next: u64| {
        format!("{text}\n\n[{more} more lines in file. Use offset={next} to continue.]")
    };
    let cases = [
        (json!({"path": "nl"}), "a\nb\nc\n".to_owned()),
        (json!({"path": "open"}), "a\nb\nc".to_owned()),
        (json!({"path": "open", "offset": 3}), "c".to_owned()),
        (json!({"path": "nl", "offset": 4}), String::new()),
        (json!({"path": "nl", "offset": 2, "limit": 1}), more("b", 2, 3)),
        (json!({"path": "nl", "offset": 2, "limit": 2}), more("b\nc", 1, 4)),
        (json!({"path": "nl", "limit": 4}), "a\nb\nc\n".to_owned()),
        (json!({"path": "nl", "limit": 0}), more("", 4, 1)),
        (json!({"path": "empty", "limit": 0}), more("", 1, 1)),
        (json!({"path": "nl", "offset": 0, "limit": 1}), more("a", 3, 2)),
        (json!({"path": "nl", "offset": -3, "limit": 1}), more("a", 3, 2)),
        (json!({"path": "nl", "offset": 2.9}), "b\nc\n".to_owned()),
        // What is no whole number counts as the whole one below, less than nothing as nothing.
        (json!({"path": "nl", "offset": 2.2, "limit": 1}), more("b", 2, 3)),
        (json!({"path": "nl", "offset": 2.5, "limit": 1.5}), more("b\nc", 1, 4)),
        (json!({"path": "nl", "limit": 2.7}), more("a\nb", 2, 3)),
        (json!({"path": "nl", "limit": 0.5}), more("", 4, 1)),
        (json!({"path": "nl", "limit": -2}), more("", 4, 1)),
        (json!({"path": "nl", "offset": 4.5}), String::new()),
        (json!({"path": "nl", "offset": "2", "limit": "1"}), more("b", 2, 3)),
        (json!({"path": "nl", "offset": null, "limit": null}), "a\nb\nc\n".to_owned()),
        (json!({"path": "empty"}), String::new()),
        (json!({"path": "one", "offset": 2}), String::new()),
        (json!({"path": "crlf"}), "x\r\ny\r\n".to_owned()),
        (json!({"path": "bad"}), "\u{feff}bom\u{fffd}\n".to_owned()),
    ];
    for (arguments, want) in cases {
        let output = bed.call("read", arguments.clone()).await.unwrap();
        assert_eq!(text_of(&output), want, "{arguments}");
        assert_eq!(output.structured_content, Some(json!(want)), "{arguments}");
        assert_eq!(output.details, None, "{arguments}");
    }
}

#[tokio::test]
async fn an_offset_past_the_end_names_both_numbers() {
    let bed = Bed::new();
    bed.put("nl", "a\nb\nc\n");
    bed.put("empty", "");
    for (path, offset, lines) in [("nl", 5_u64, 4), ("empty", 2, 1), ("nl", 1_000_000_000_000, 4)] {
        let text = bed.text("read", json!({"path": path, "offset": offset})).await;
        assert_eq!(text, format!("Offset {offset} is beyond end of file ({lines} lines total)"));
    }
}

#[tokio::test]
async fn long_files_stop_after_2000_lines_and_count_the_empty_line_at_their_end() {
    let bed = Bed::new();
    bed.put("2000", numbered(2000));
    bed.put("2001", numbered(2001));
    assert_eq!(bed.text("read", json!({"path": "2000"})).await, numbered(2000));
    let output = bed.call("read", json!({"path": "2001"})).await.unwrap();
    let text = text_of(&output);
    assert!(
        text.ends_with("\n2000\n\n[Showing lines 1-2000 of 2002. Use offset=2001 to continue.]")
    );
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(
        *truncation,
        json!({
            "content": numbered(2000).trim_end(), "truncated": true, "truncatedBy": "lines",
            "totalLines": 2001, "totalBytes": 8898, "outputLines": 2000, "outputBytes": 8892,
            "lastLinePartial": false, "firstLineExceedsLimit": false,
            "maxLines": 2000, "maxBytes": 51200,
        })
    );
    let rest = bed.text("read", json!({"path": "2001", "offset": 2})).await;
    assert_eq!(format!("1\n{rest}"), numbered(2001));
    let limited = bed.text("read", json!({"path": "2001", "limit": 2000})).await;
    assert!(limited.ends_with("2000\n\n[2 more lines in file. Use offset=2001 to continue.]"));
    let over = bed.text("read", json!({"path": "2001", "limit": 2500})).await;
    assert!(over.ends_with("[Showing lines 1-2000 of 2002. Use offset=2001 to continue.]"));
}

#[tokio::test]
async fn the_byte_limit_is_told() {
    let bed = Bed::new();
    let text: String = (1..=3000).fold(String::new(), |mut text, i| {
        _ = writeln!(text, "line {i} of the long file");
        text
    });
    bed.put("long.txt", &text);
    let output = bed.call("read", json!({"path": "long.txt"})).await.unwrap();
    assert!(text_of(&output).ends_with(
        "1937 of the long file\n\n\
         [Showing lines 1-1937 of 3001 (50.0KB limit). Use offset=1938 to continue.]"
    ));
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(
        (&truncation["totalLines"], &truncation["totalBytes"]),
        (&json!(3000), &json!(79893))
    );
    assert_eq!(
        (&truncation["outputBytes"], &truncation["truncatedBy"]),
        (&json!(51191), &json!("bytes"))
    );
}

#[tokio::test]
async fn a_line_over_the_limit_gives_its_size_and_a_way_to_read_it() {
    let bed = Bed::new();
    let long = "z".repeat(60_000);
    bed.put("longline.txt", &long);
    bed.put("second", format!("hi\n{long}"));
    bed.put("my file", &long);
    let hint = |line, path| {
        format!(
            "[Line {line} is 58.6KB, exceeds 50.0KB limit. \
             Use bash: sed -n '{line}p' {path} | head -c 51200]"
        )
    };
    let output = bed.call("read", json!({"path": "longline.txt"})).await.unwrap();
    assert_eq!(text_of(&output), hint(1, "longline.txt"));
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(
        (&truncation["firstLineExceedsLimit"], &truncation["content"]),
        (&json!(true), &json!(""))
    );
    for arguments in
        [json!({"path": "second", "offset": 2}), json!({"path": "second", "offset": 2, "limit": 1})]
    {
        assert_eq!(bed.text("read", arguments).await, hint(2, "second"));
    }
    assert_eq!(bed.text("read", json!({"path": "my file"})).await, hint(1, "'my file'"));
    assert_eq!(
        bed.text("read", json!({"path": "second"})).await,
        "hi\n\n[Showing lines 1-1 of 2 (50.0KB limit). Use offset=2 to continue.]"
    );
}

#[tokio::test]
async fn utf16_is_read_as_text_and_counted_as_text() {
    let bed = Bed::new();
    for order in [ByteOrder::Little, ByteOrder::Big] {
        bed.put("f", utf16("\u{e9}n\r\n\u{1f600}\nlast", order));
        let page = bed.text("read", json!({"path": "f", "offset": 2, "limit": 1})).await;
        assert_eq!(page, "\u{1f600}\n\n[1 more lines in file. Use offset=3 to continue.]");
        assert_eq!(bed.text("read", json!({"path": "f"})).await, "\u{e9}n\r\n\u{1f600}\nlast");
        bed.put("long", utf16(&numbered(100_000), order));
        let output = bed.call("read", json!({"path": "long", "offset": 90_000})).await.unwrap();
        let text = text_of(&output);
        assert!(text.starts_with("90000\n90001\n"), "{text}");
        assert!(text.ends_with(
            "\n91999\n\n[Showing lines 90000-91999 of 100001. Use offset=92000 to continue.]"
        ));
        let truncation = &output.details.unwrap()["truncation"];
        assert_eq!(truncation["totalBytes"], 6 * 10_000 + 7);
        bed.put("line", utf16(&"\u{e9}".repeat(30_000), order));
        assert_eq!(
            bed.text("read", json!({"path": "line"})).await,
            "[Line 1 is 58.6KB, exceeds 50.0KB limit. \
             Use bash: iconv -f UTF-16 -t UTF-8 line | sed -n '1p' | head -c 51200]"
        );
    }
}

#[tokio::test]
async fn what_is_no_text_counts_as_it_is_shown() {
    let bed = Bed::new();
    bed.put("short", [0xff; 20_000]);
    assert_eq!(
        bed.text("read", json!({"path": "short"})).await,
        "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' short | head -c 51200]"
    );
    bed.put("lines", b"\xff\xff\n".repeat(300_000));
    let output = bed.call("read", json!({"path": "lines"})).await.unwrap();
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(
        (&truncation["totalLines"], &truncation["totalBytes"]),
        (&json!(300_000), &json!(2_100_000))
    );
}

#[tokio::test]
async fn a_huge_image_file_is_refused_before_it_is_read() {
    let bed = Bed::new();
    bed.put("huge.png", image::tests::png(4, 2));
    let file = std::fs::File::options().write(true).open(bed.path("huge.png")).unwrap();
    file.set_len(10 << 30).unwrap();
    let output = bed.call("read", json!({"path": "huge.png"})).await.unwrap();
    let note = "Read image file [image/png]\n[Image omitted: the file is 10240.0MB, and at most \
                64.0MB are read. Use bash to make a smaller copy.]";
    assert_eq!((text_of(&output).as_str(), output.content.len()), (note, 1));
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_that_names_it() {
    let bed = Bed::new();
    bed.put("file", "x");
    std::os::unix::fs::symlink("loop", bed.path("loop")).unwrap();
    let abs = |name: &str| bed.path(name).display().to_string();
    let cases = [
        (
            "missing.txt",
            format!("ENOENT: no such file or directory, access '{}'", abs("missing.txt")),
        ),
        ("file/x", format!("ENOTDIR: not a directory, access '{}'", abs("file/x"))),
        ("loop", format!("ELOOP: too many symbolic links encountered, access '{}'", abs("loop"))),
        (".", "EISDIR: illegal operation on a directory, read".to_owned()),
        ("/dev/zero", "Not a regular file: /dev/zero. Use bash to read it.".to_owned()),
    ];
    for (path, want) in cases {
        let error = bed.call("read", json!({"path": path})).await.unwrap_err();
        assert_eq!(error.0, want);
    }
}

#[tokio::test]
async fn a_pipe_without_a_writer_does_not_hang() {
    let bed = Bed::new();
    let made = std::process::Command::new("mkfifo").arg(bed.path("pipe")).status().unwrap();
    assert!(made.success());
    let text = bed.text("read", json!({"path": "pipe"})).await;
    assert_eq!(text, "Not a regular file: pipe. Use bash to read it.");
}

#[tokio::test]
async fn names_are_found_as_macos_spells_them() {
    let bed = Bed::new();
    bed.put("it\u{2019}s", "curly");
    bed.put("Shot 1.00\u{202f}PM.txt", "narrow");
    bed.put("e\u{301}.txt", "nfd");
    bed.put("a b", "space");
    std::fs::write(bed.root().join("home/h.txt"), "home").unwrap();
    let cases = [
        ("it's", "curly"),
        ("Shot 1.00 PM.txt", "narrow"),
        ("\u{e9}.txt", "nfd"),
        ("a\u{a0}b", "space"),
        ("@a b", "space"),
        ("~/h.txt", "home"),
    ];
    for (path, want) in cases {
        assert_eq!(bed.text("read", json!({"path": path})).await, want);
    }
}

#[tokio::test]
async fn a_cancelled_read_says_so() {
    let bed = Bed::new();
    bed.put("f", "x");
    let cancel = CancellationToken::new();
    cancel.cancel();
    let tools = bed.tools();
    let error = tools
        .call_with("read", json!({"path": "f"}), cancel, &Default::default())
        .await
        .unwrap_err();
    assert_eq!(error.0, "Operation aborted");
}

#[tokio::test]
async fn images_come_as_text_and_block() {
    let mut bed = Bed::new();
    let png = image::tests::png(4, 2);
    bed.put("i.txt", &png);
    let output = bed.call("read", json!({"path": "i.txt", "offset": 3})).await.unwrap();
    let data = base64::Engine::encode(&base64::prelude::BASE64_STANDARD, &png);
    assert_eq!(
        serde_json::to_value(&output.content).unwrap(),
        json!([
            {"type": "text", "text": "Read image file [image/png]"},
            {"type": "image", "data": data, "mimeType": "image/png"},
        ])
    );
    assert_eq!(
        output.structured_content,
        Some(json!({
            "type": "image", "data": data, "mimeType": "image/png",
            "note": "Read image file [image/png]",
        }))
    );
    assert_eq!(output.details, None);

    bed.session.model.sees_images = false;
    let output = bed.call("read", json!({"path": "i.txt"})).await.unwrap();
    assert_eq!(output.content.len(), 2);
    assert_eq!(output.details, Some(json!({"imageUnsupportedByModel": "m"})));
}

#[tokio::test]
async fn an_image_that_cannot_be_decoded_is_left_out() {
    let mut bed = Bed::new();
    bed.put("b.jpg", b"\xff\xd8\xff broken");
    let output = bed.call("read", json!({"path": "b.jpg"})).await.unwrap();
    let note = "Read image file [image/jpeg]\n\
                [Image omitted: could not be resized below the inline image size limit.]";
    assert_eq!((text_of(&output).as_str(), output.content.len()), (note, 1));
    assert_eq!((output.structured_content, output.details), (Some(json!(note)), None));

    bed.session.auto_resize = false;
    let output = bed.call("read", json!({"path": "b.jpg"})).await.unwrap();
    assert_eq!(output.content.len(), 2);
}

/// A file read page by page, as its notices say.
async fn read_on(bed: &Bed, limit: Option<u64>) -> String {
    let (mut pages, mut offset) = (Vec::new(), 1);
    loop {
        let arguments = json!({"path": "f", "offset": offset, "limit": limit});
        let text = bed.text("read", arguments).await;
        let Some((page, notice)) = text.split_once("\n\n[") else {
            pages.push(text);
            return pages.join("\n");
        };
        let (_, next) = notice.split_once("Use offset=").unwrap();
        let next = next.split(' ').next().unwrap().parse().unwrap();
        assert!(next > offset, "{notice}");
        pages.push(page.to_owned());
        offset = next;
    }
}

/// Lines of characters of one to four bytes: some that are short or have kilobytes, or thousands of
/// short ones.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let line = |length| {
        let character =
            prop::sample::select(vec!["a", "\u{e9}", "\u{20ac}", "\u{1f600}", "\r", " "]);
        (character, length).prop_map(|(character, length): (&str, usize)| character.repeat(length))
    };
    let mixed = prop_oneof![20 => line(0..6_usize), 1 => line(1000..9000_usize)];
    let many = prop::collection::vec(line(0..6_usize), 1..4)
        .prop_map(|lines| lines.iter().cycle().take(lines.len() * 1500).cloned().collect());
    prop_oneof![4 => prop::collection::vec(mixed, 1..60), 1 => many]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_put_together_are_the_file(
        lines in lines(),
        limit in prop::option::of(1_u64..3000),
        encoding in 0..4,
    ) {
        // Few pages for many lines: every page reads the file to its end.
        let fewest = u64::try_from(lines.len() / 20).unwrap();
        let limit = limit.map(|limit| limit.max(fewest));
        let text = lines.join("\n");
        let bed = Bed::new();
        match encoding {
            0 => bed.put("f", utf16(&text, ByteOrder::Little)),
            1 => bed.put("f", utf16(&text, ByteOrder::Big)),
            2 => bed.put("f", [text.as_bytes(), b"\xff\xe2\x82\n\xf0"].concat()),
            _ => bed.put("f", &text),
        }
        let want = if encoding == 2 { format!("{text}\u{fffd}\u{fffd}\n\u{fffd}") } else { text };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        prop_assert_eq!(runtime.block_on(read_on(&bed, limit)), want);
    }
}

#[tokio::test]
async fn a_hint_for_a_shell_is_safe_whatever_the_name() {
    let bed = Bed::new();
    let name = "-rf $(touch x) 'y";
    bed.put(name, "x".repeat(60_000));
    let text = bed.text("read", json!({"path": name})).await;
    assert!(text.contains(r"sed -n '1p' './-rf $(touch x) '\''y' | head"), "{text}");
    let odd = bed.text("read", json!({"path": "a\u{fffd}b"})).await;
    assert!(odd.ends_with("is not valid UTF-8. Use bash to read it."), "{odd}");
}

#[tokio::test]
async fn the_command_for_a_long_line_works_however_the_path_was_written() {
    let bed = Bed::new();
    let line = "x".repeat(60_000);
    bed.put("plain", &line);
    bed.put("two words\u{202f}am.txt", &line);
    std::fs::write(bed.root().join("home/at home"), &line).unwrap();
    for given in [
        "plain",
        "./plain",
        "@plain",
        "~/at home",
        "two\u{a0}words am.txt",
        &format!("file://{}", bed.path("plain").display()),
    ] {
        let text = bed.text("read", json!({"path": given})).await;
        let command = text.split_once("Use bash: ").unwrap().1.strip_suffix(']').unwrap();
        let shown = bed.text("bash", json!({"command": command})).await;
        assert!(shown.contains("Showing last 50.0KB") || shown.len() == 51_200, "{given}: {shown}");
    }
}
