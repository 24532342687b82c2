//! Text files that may begin with YAML between two `---` lines.
//!
//! Owns: finding that head, reading its fields, and the body below it. Never: knows which fields
//! mean something, or touches a file.

use std::borrow::Cow;

use serde_json::{Map, Value};
use serde_saphyr::{MergeKeyPolicy, NonFiniteFloatPolicy};

const FENCE: &str = "---";

/// A file, taken apart.
#[derive(Debug)]
pub(super) struct Document {
    fields: Map<String, Value>,
    head: String,
    pub(super) body: String,
}

/// A head that is no YAML.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrontMatterError {
    /// In the file, from one.
    pub(super) line: Option<usize>,
    /// The parser's words.
    pub(super) message: String,
}

impl Document {
    /// Byte order mark and carriage returns are dropped first. The body below a head is trimmed;
    /// without a head it is all of the text, as it is. A head that is no mapping has no fields.
    pub(super) fn parse(text: &str) -> Result<Self, FrontMatterError> {
        let text = normalize(text);
        let Some((head, body)) = split(&text) else {
            let body = text.into_owned();
            return Ok(Self { fields: Map::new(), head: String::new(), body });
        };
        let fields = match parse_yaml(head)? {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Ok(Self { fields, head: head.to_owned(), body: body.trim().to_owned() })
    }

    /// A field that holds text.
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.fields.get(name)?.as_str()
    }

    /// Whether a field holds `true`; the text "true" is not enough.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.fields.get(name) == Some(&Value::Bool(true))
    }

    /// The line of the file where a field begins, from one. `None` if there is no such field, or
    /// its name is written in an unusual way.
    pub(super) fn line(&self, name: &str) -> Option<usize> {
        let begins = |line: &str| {
            line.strip_prefix(name).is_some_and(|rest| rest.trim_start().starts_with(':'))
        };
        Some(self.head.lines().position(begins)? + 1)
    }
}

/// What [`Document::parse`] gives as the body, whatever the head says.
pub(super) fn body(text: &str) -> String {
    let text = normalize(text);
    match split(&text) {
        Some((_, body)) => body.trim().to_owned(),
        None => text.into_owned(),
    }
}

fn normalize(text: &str) -> Cow<'_, str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.contains('\r') {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The head with its opening line, and what follows the closing line. To YAML the opening line is
/// the mark where a document begins; with it the lines of an error are those of the file.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let mut end = lines.next().filter(|line| is_fence(line))?.len();
    for line in lines {
        if is_fence(line) {
            let (head, rest) = text.split_at_checked(end)?;
            return Some((head, rest.strip_prefix(line)?));
        }
        end += line.len();
    }
    None
}

fn is_fence(line: &str) -> bool {
    line.strip_prefix(FENCE).is_some_and(|rest| rest.trim().is_empty())
}

fn parse_yaml(text: &str) -> Result<Value, FrontMatterError> {
    // YAML 1.2, as other readers of these files have it: `yes` and `1_000` are texts.
    let options = serde_saphyr::options! {
        strict_booleans: true,
        underscored_numbers_as_strings: true,
        merge_keys: MergeKeyPolicy::AsOrdinary,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| FrontMatterError {
        line: error.location().and_then(|location| usize::try_from(location.line()).ok()),
        message: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(text: &str) -> (Value, String) {
        let document = Document::parse(text).unwrap();
        assert_eq!(body(text), document.body, "{text:?}");
        (Value::Object(document.fields), document.body)
    }

    #[test]
    fn head_and_body_are_told_apart() {
        let a1 = || json!({"a": 1});
        let none = || json!({});
        let cases = [
            ("---\na: 1\n---\nbody\n", a1(), "body"),
            ("---\na: 1\n---\n\n  body \n\n", a1(), "body"),
            ("---\na: 1\n---", a1(), ""),
            ("---\na: 1\n--- \ny", a1(), "y"),
            ("--- \na: 1\n---\ny", a1(), "y"),
            ("---\r\na: 1\r\n---\r\nb\r\nc\r\n", a1(), "b\nc"),
            ("---\ra: 1\r---\rb", a1(), "b"),
            ("\u{feff}---\na: 1\n---\nb", a1(), "b"),
            ("---\na: 1\n---\nb\n---\nc", a1(), "b\n---\nc"),
            ("---\na: b---c\n---\ny", json!({"a": "b---c"}), "y"),
            ("---\na: \"x\\n---\\n\"\n---\ny", json!({"a": "x\n---\n"}), "y"),
            ("---\n---\ny", none(), "y"),
            ("---\n\n---\ny", none(), "y"),
            ("---\n# only a comment\n---\ny", none(), "y"),
            ("---\nnull\n---\ny", none(), "y"),
            ("---\n- a\n---\ny", none(), "y"),
            ("---\nfoo\n---\ny", none(), "y"),
            ("---\n12\n---\ny", none(), "y"),
            ("", none(), ""),
            ("---", none(), "---"),
            ("---\na: 1\ny", none(), "---\na: 1\ny"),
            ("---\na: 1\n ---\ny", none(), "---\na: 1\n ---\ny"),
            ("---\na: 1\n----\ny", none(), "---\na: 1\n----\ny"),
            ("\n---\na: 1\n---\ny", none(), "\n---\na: 1\n---\ny"),
            ("a\n---\nb", none(), "a\n---\nb"),
            ("  b  \r\n c \r\n", none(), "  b  \n c \n"),
            ("\u{feff}plain \n", none(), "plain \n"),
        ];
        for (text, fields, expected) in cases {
            assert_eq!(parse(text), (fields, expected.to_owned()), "{text:?}");
        }
    }

    #[test]
    fn fields_are_read_as_yaml_1_2() {
        let cases = [
            ("a: 2024-01-01", json!("2024-01-01")),
            ("a: yes", json!("yes")),
            ("a: on", json!("on")),
            ("a: True", json!(true)),
            ("a: ~", json!(null)),
            ("a:", json!(null)),
            ("a: 1_000", json!("1_000")),
            ("a: x #c", json!("x")),
            ("a: >\n  folded\n  text", json!("folded text\n")),
            ("a: |\n  l1\n  l2", json!("l1\nl2\n")),
            ("a: plain\n  goes on", json!("plain goes on")),
            ("a: 'it''s'", json!("it's")),
            ("a: {b: c, 1: [d]}", json!({"b": "c", "1": ["d"]})),
            ("b: &x text\na: *x", json!("text")),
            ("a: .inf", json!(null)),
            (
                "a: 123456789012345678901234567890\na2: -5",
                json!(123456789012345678901234567890_f64),
            ),
            ("a: !!str 5", json!("5")),
            ("a: !own x", json!("x")),
            ("? a\n: b", json!("b")),
            ("a: \"\\u00e9\\ud83d\\ude00\"", json!("é😀")),
            ("a:   x   ", json!("x")),
            ("\"a\": x", json!("x")),
            ("a: x\nmetadata:\n  author: me\n  version: \"1.0\"\n  1: one\n", json!("x")),
            ("a: Use {{ this }} - and that", json!("Use {{ this }} - and that")),
        ];
        for (yaml, expected) in cases {
            let (fields, _) = parse(&format!("---\n{yaml}\n---\n"));
            assert_eq!(fields["a"], expected, "{yaml}");
        }
        let (fields, _) = parse("---\n<<: {a: 1}\n---\n");
        assert_eq!(fields, json!({"<<": {"a": 1}}));
    }

    #[test]
    fn what_is_no_yaml_is_told_with_the_line_of_the_file() {
        let cases = [
            ("name: x\ndescription: foo: bar", 3),
            ("name: [x\ndescription: d", 3),
            ("a: 1\nb: 2\na: 3", 4),
            ("a:\n\t- x", 3),
            ("a: \"x", 2),
            ("a: @x", 2),
            ("a: *unknown", 2),
        ];
        for (yaml, line) in cases {
            let text = format!("---\n{yaml}\n---\nbody\n");
            let error = Document::parse(&text).unwrap_err();
            assert_eq!(error.line, Some(line), "{yaml:?}: {}", error.message);
            assert!(!error.message.contains('\n'), "{}", error.message);
            assert_eq!(body(&text), "body");
        }
    }

    #[test]
    fn a_field_is_text_or_a_flag_or_neither() {
        let document = Document::parse(
            "---\ntext: t\nnumber: 5\nlist: [a]\nyes: true\nno: false\nquoted: \"true\"\n---\n",
        )
        .unwrap();
        assert_eq!(document.text("text"), Some("t"));
        for name in ["number", "list", "yes", "missing"] {
            assert_eq!(document.text(name), None, "{name}");
        }
        assert!(document.flag("yes"));
        for name in ["no", "quoted", "text", "missing"] {
            assert!(!document.flag(name), "{name}");
        }
        assert_eq!(document.line("number"), Some(3));
        assert_eq!(document.line("num"), None);
    }
}
