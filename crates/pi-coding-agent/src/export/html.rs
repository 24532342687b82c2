//! The page: its own style and script, and the session as the lines it was.
//!
//! What a session holds is data to the page, never markup: it stands in a block that browsers do not
//! run, with every `<` written as JSON writes it, and the script makes elements of it. A policy in the
//! head forbids everything else, should that ever fail.

use std::borrow::Cow;
use std::io::{self, Write};

use pi_agent::Session;
use serde_json::json;

use super::{ExportOptions, style};

const BODY: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// In the order they are run.
const SCRIPTS: [&str; 11] = [
    include_str!("page/data.js"),
    include_str!("page/safe.js"),
    include_str!("page/ansi.js"),
    include_str!("page/code.js"),
    include_str!("page/inline.js"),
    include_str!("page/markdown.js"),
    include_str!("page/tools.js"),
    include_str!("page/entries.js"),
    include_str!("page/tree.js"),
    include_str!("page/transcript.js"),
    include_str!("page/search.js"),
];
const START: &str = include_str!("page/page.js");

/// Writes the page, line by line of the session.
///
/// # Errors
/// Those of `out`.
pub fn to_html(session: &Session, options: &ExportOptions, out: &mut dyn Write) -> io::Result<()> {
    // What was written before this moment cannot hold it.
    let nonce = uuid::Uuid::new_v4().simple().to_string();
    let name = session.name();
    let title = escaped(name.as_deref().unwrap_or(session.id()));
    write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta name=\"generator\" content=\"pi {version}\">\n\
         <title>{title} - pi</title>\n<style nonce=\"{nonce}\">\n{theme}{STYLE}</style>\n</head>\n{BODY}",
        policy = policy(&nonce),
        version = crate::VERSION,
        theme = style::of(&options.theme),
    )?;

    out.write_all(b"<script type=\"application/json\" id=\"page-info\">")?;
    let leaf = session.leaf().map(|leaf| leaf.id());
    let info = json!({"version": crate::VERSION, "leaf": leaf, "unreadable": options.unreadable});
    write_line(out, &info.to_string())?;
    out.write_all(b"</script>\n<script type=\"application/json\" id=\"session-data\">\n")?;
    write_line(out, &serde_json::to_string(session.header())?)?;
    for entry in session.entries() {
        write_line(out, &entry.json())?;
    }

    write!(out, "</script>\n<script nonce=\"{nonce}\">\n\"use strict\";\n(() => {{\n")?;
    for script in SCRIPTS.iter().chain([&START]) {
        out.write_all(script.as_bytes())?;
    }
    out.write_all(b"})();\n</script>\n</body>\n</html>\n")
}

/// One script and one style, pictures that stand in the page, and nothing else; text never becomes
/// markup or code.
fn policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; img-src data:; \
         base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
}

/// A line of JSON that cannot end its block. `<` occurs in strings only, and a carriage return only
/// between values, where HTML would make a line end of it.
fn write_line(out: &mut dyn Write, json: &str) -> io::Result<()> {
    let mut rest = json.as_bytes();
    while let Some(at) = memchr::memchr2(b'<', b'\r', rest) {
        let (before, found) = rest.split_at(at);
        out.write_all(before)?;
        out.write_all(if found.starts_with(b"<") { b"\\u003c" } else { b" " })?;
        rest = found.get(1..).unwrap_or_default();
    }
    out.write_all(rest)?;
    out.write_all(b"\n")
}

/// Text between tags.
fn escaped(text: &str) -> Cow<'_, str> {
    if text.contains(['<', '>', '&']) {
        text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").into()
    } else {
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s</script>","timestamp":"t","cwd":"/w","odd":"<!--"}"#;

    fn page(entries: &str) -> String {
        let text = format!("{HEADER}\n{entries}");
        let (session, found) = Session::from_text(text, Path::new("")).unwrap();
        let options = ExportOptions {
            unreadable: super::super::unreadable_lines(&found),
            ..Default::default()
        };
        let mut out = Vec::new();
        to_html(&session, &options, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn data(page: &str) -> Vec<&str> {
        let (_, data) = page.split_once("id=\"session-data\">\n").unwrap();
        data.split_once("</script>").unwrap().0.lines().collect()
    }

    #[test]
    fn the_lines_of_the_session_stand_in_the_page_as_they_are() {
        let lines = [
            r#"{"type":"custom", "id":"a","parentId":null, "data":1.0e5,"x":"\ud800 \u0000"}"#,
            r#"{"type":"unheard-of","id":"b","parentId":"a","html":"</script><script>alert(1)<!--"}"#,
        ];
        let page = page(&format!("{}\r\nno json\n\n{}\n{{\"type\":\"to", lines[0], lines[1]));
        let data = data(&page);
        assert_eq!(data.len(), 3, "{data:?}");
        assert_eq!(data[1].trim_end(), lines[0]);
        assert_eq!(data[2], lines[1].replace('<', "\\u003c"));
        assert!(page.contains(r#""leaf":"b","unreadable":2}"#), "{page}");
    }

    #[test]
    fn nothing_of_a_session_is_markup() {
        let page = page(
            "{\"type\":\"session_info\",\"id\":\"a\",\"parentId\":null,\"name\":\"</title><b>&amp;\"}\n",
        );
        assert!(page.contains("<title>&lt;/title&gt;&lt;b&gt;&amp;amp; - pi</title>"));
        let ends = page.matches("</script").count();
        assert_eq!(ends, 3, "each block ends once");
        assert!(!page.contains("<!--") && !page.contains("<b>"));
    }

    #[test]
    fn the_parts_of_the_page_do_not_end_their_blocks() {
        for part in SCRIPTS.iter().chain([&START, &STYLE]) {
            let part = part.to_lowercase();
            for end in ["</script", "</style", "<!--", "<script"] {
                assert!(!part.contains(end), "{end}");
            }
        }
    }

    #[test]
    fn only_what_carries_the_nonce_of_the_page_runs() {
        let (one, other) = (page(""), page(""));
        let nonce = |page: &str| {
            let (_, rest) = page.split_once("script-src 'nonce-").unwrap();
            rest.split_once('\'').unwrap().0.to_owned()
        };
        assert_ne!(nonce(&one), nonce(&other));
        assert_eq!(one.matches(&nonce(&one)).count(), 4);
        let links = ["http://", "https://", "src=\"", "@import", "url("];
        let (head, _) = one.split_once("id=\"page-info\"").unwrap();
        for link in links {
            assert!(!head.contains(link), "{link}");
        }
    }
}
