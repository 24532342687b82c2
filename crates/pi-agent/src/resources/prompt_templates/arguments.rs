//! Arguments of a prompt template: taking them apart and putting them in.

use crate::resources::command::is_blank;

/// Splits at white space, line ends included. A quote that begins an argument holds it together to
/// the next one of its kind; a backslash before that kind of quote takes it literally. Everywhere
/// else quotes and backslashes are plain characters, as is a quote that is never closed.
pub fn parse_arguments(text: &str) -> Vec<String> {
    let mut arguments = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while !rest.is_empty() {
        let (quoted, tail) = take_quoted(rest).unwrap_or_else(|| (String::new(), rest));
        let end = tail.find(is_blank).unwrap_or(tail.len());
        let (plain, tail) = tail.split_at_checked(end).unwrap_or((tail, ""));
        arguments.push(quoted + plain);
        rest = tail.trim_start_matches(is_blank);
    }
    arguments
}

/// The content of the quotes that `text` begins with, and what follows them.
fn take_quoted(text: &str) -> Option<(String, &str)> {
    let mut chars = text.chars();
    let quote = chars.next().filter(|c| matches!(c, '"' | '\''))?;
    let mut content = String::new();
    while let Some(c) = chars.next() {
        if c == quote {
            return Some((content, chars.as_str()));
        }
        if c == '\\' && chars.as_str().starts_with(quote) {
            content.extend(chars.next());
        } else {
            content.push(c);
        }
    }
    None
}

/// Puts arguments into a template's text. What is put in is not looked at again, and what is no
/// placeholder stays as it is.
///
/// | placeholder | becomes |
/// |---|---|
/// | `$1`, `$2`, ... | that argument, or nothing |
/// | `$@`, `$ARGUMENTS` | all of them, with blanks between |
/// | `${1:-text}` | that argument, or `text` if it is missing or empty |
/// | `${@:-text}`, `${ARGUMENTS:-text}` | all of them, or `text` |
/// | `${@:2}` | all from the second on |
/// | `${@:2:3}` | three of them from the second on |
pub fn substitute_arguments(template: &str, arguments: &[String]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        rest = if let Some((value, tail)) = placeholder(after, arguments) {
            text.push_str(&value);
            tail
        } else {
            text.push('$');
            after
        };
    }
    text.push_str(rest);
    text
}

/// The value of the placeholder whose dollar sign stands before `text`, and what follows it.
fn placeholder<'a>(text: &'a str, arguments: &[String]) -> Option<(String, &'a str)> {
    if let Some(braced) = text.strip_prefix('{') {
        let (inner, tail) = braced.split_once('}')?;
        return Some((braced_value(inner, arguments)?, tail));
    }
    if let Some(tail) = text.strip_prefix('@').or_else(|| text.strip_prefix("ARGUMENTS")) {
        return Some((arguments.join(" "), tail));
    }
    let tail = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let place = number(text.strip_suffix(tail)?)?;
    Some((nth(arguments, place).to_owned(), tail))
}

fn braced_value(inner: &str, arguments: &[String]) -> Option<String> {
    if let Some((which, default)) = inner.split_once(":-") {
        let value = match which {
            "@" | "ARGUMENTS" => arguments.join(" "),
            _ => nth(arguments, number(which)?).to_owned(),
        };
        return Some(if value.is_empty() { default.to_owned() } else { value });
    }
    let slice = inner.strip_prefix("@:")?;
    let (from, length) = match slice.split_once(':') {
        Some((from, length)) => (number(from)?, number(length)?),
        None => (number(slice)?, usize::MAX),
    };
    let chosen = arguments.iter().skip(from.saturating_sub(1)).take(length);
    Some(chosen.map(String::as_str).collect::<Vec<_>>().join(" "))
}

/// Digits as a number; what is too large for one is beyond every argument all the same.
fn number(digits: &str) -> Option<usize> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(usize::MAX))
}

/// An argument by its place, from one.
fn nth(arguments: &[String], place: usize) -> &str {
    place.checked_sub(1).and_then(|index| arguments.get(index)).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn arguments_are_split_at_blanks_and_held_together_by_quotes() {
        let cases: &[(&str, &[&str])] = &[
            ("", &[]),
            (" \n ", &[]),
            ("a b c", &["a", "b", "c"]),
            (" lead  trail ", &["lead", "trail"]),
            ("a\tb\nc\r\nd\u{b}e", &["a", "b", "c", "d", "e"]),
            ("a\u{a0}b\u{3000}c\u{2028}d\u{feff}e", &["a", "b", "c", "d", "e"]),
            ("a\u{85}b", &["a\u{85}b"]),
            (r#""x y" z"#, &["x y", "z"]),
            ("'q r'", &["q r"]),
            ("\"a\nb\"", &["a\nb"]),
            (r#""" x"#, &["", "x"]),
            ("''", &[""]),
            (r#"" ""#, &[" "]),
            ("don't it's", &["don't", "it's"]),
            (r#"u"v w""#, &["u\"v", "w\""]),
            (r#"x""#, &["x\""]),
            (r#""a"b"#, &["ab"]),
            (r#""x y"z w"#, &["x yz", "w"]),
            (r#""a""b" c"#, &["a\"b\"", "c"]),
            (r#""ab" 'c d'e"f g""#, &["ab", "c de\"f", "g\""]),
            (r#"'a"b'"#, &["a\"b"]),
            (r#""s \"t\"""#, &["s \"t\""]),
            (r"'it\'s' x", &["it's", "x"]),
            (r#""a\'b""#, &[r"a\'b"]),
            (r#""a\n""#, &[r"a\n"]),
            (r"\n", &[r"\n"]),
            (r#"\"a b\""#, &["\\\"a", "b\\\""]),
            (r#""a\\"" b"#, &[r#"a\""#, "b"]),
            (r#""unclosed a b"#, &["\"unclosed", "a", "b"]),
            (r#""unclosed "x y""#, &["unclosed x", "y\""]),
            (r#""a" "b"#, &["a", "\"b"]),
            (r#""a\""#, &["\"a\\\""]),
            (r#"""#, &["\""]),
            ("“a b”", &["“a", "b”"]),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_arguments(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn placeholders_take_their_values() {
        const NUMBERS: &[&str] =
            &["one", "two", "three", "4", "5", "6", "7", "8", "9", "ten", "11", "twelve"];
        let three = NUMBERS.split_at(3).0;
        let cases: &[(&str, &[&str], &str)] = &[
            ("$1,$2,$10,$12,$13,$0", NUMBERS, "one,two,ten,twelve,,"),
            ("$01 $007 $00", NUMBERS, "one 7 "),
            ("$1$2$3", three, "onetwothree"),
            ("$1a $1.5", three, "onea one.5"),
            ("$$1", three, "$one"),
            (r"\$1", three, r"\one"),
            ("$@|$ARGUMENTS", three, "one two three|one two three"),
            ("$ARGUMENTSX $@x $@:2", &["v"], "vX vx v:2"),
            ("${1:-x},${5:-y}", three, "one,y"),
            ("${1:-x}", &[""], "x"),
            ("${0:-d} ${00:-d} ${01:-d} ${10:-d} ${999:-d}", NUMBERS, "d d one ten d"),
            ("${1:-a b\nc}|${1:-}|${1:-a}b}", &[], "a b\nc||ab}"),
            (r"${1:-a\}b}", &[], r"a\b}"),
            ("${@:-d},${ARGUMENTS:-e}", three, "one two three,one two three"),
            ("${@:-d},${ARGUMENTS:-e}", &[], "d,e"),
            ("${@:-d}", &[""], "d"),
            ("${@:-d}", &["", ""], " "),
            ("${@:-1}", &[], "1"),
            ("${@:2}|${@:0}|${@:1}|${@:9}", three, "two three|one two three|one two three|"),
            ("${@:2:2}|${@:1:0}|${@:0:2}|${@:2:99}", three, "two three||one two|two three"),
            ("$1 $2 $@ $ARGUMENTS ${@:1} ${2:-d}", &[], "     d"),
            ("none", three, "none"),
        ];
        for (template, arguments, expected) in cases {
            assert_eq!(substitute(template, arguments), *expected, "{template:?} {arguments:?}");
        }
    }

    #[test]
    fn numbers_too_large_are_beyond_the_arguments() {
        let large = "9".repeat(40);
        assert_eq!(substitute(&format!("${large}"), &["a"]), "");
        assert_eq!(substitute(&format!("${{@:{large}}}|${{@:1:{large}}}"), &["a"]), "|a");
    }

    #[test]
    fn values_and_defaults_are_not_looked_at_again() {
        let cases: &[(&str, &[&str], &str)] = &[
            ("$1 $2", &["$2", "x"], "$2 x"),
            ("$1", &["$100"], "$100"),
            ("$@", &["$1", "${@:2}", "$ARGUMENTS"], "$1 ${@:2} $ARGUMENTS"),
            ("$1", &["$&$`$'$$"], "$&$`$'$$"),
            ("${1:-$2}", &["", "z"], "$2"),
            ("${@:-$1}", &[], "$1"),
            ("${1:-${2:-x}}", &[], "${2:-x}"),
        ];
        for (template, arguments, expected) in cases {
            assert_eq!(substitute(template, arguments), *expected, "{template:?} {arguments:?}");
        }
    }

    #[test]
    fn what_is_no_placeholder_stays() {
        let texts = [
            "$",
            "$ 1",
            "$-1",
            "$a",
            "$ARGS",
            "$arguments",
            "$١",
            "${1}",
            "${@}",
            "${ARGUMENTS}",
            "${1",
            "${}",
            "${1:2}",
            "${ARGUMENTS:2}",
            "${@:x}",
            "${@: 1}",
            "${@:1:}",
            "${@:1:1:1}",
            "${@:2:-1}",
            "${1-x}",
            "${1:=x}",
            "${1:+x}",
            "${:-x}",
            "${a:-x}",
        ];
        for text in texts {
            assert_eq!(substitute(text, &["v", "w"]), text);
        }
    }

    fn substitute(template: &str, arguments: &[&str]) -> String {
        let arguments: Vec<String> = arguments.iter().map(|&argument| argument.into()).collect();
        substitute_arguments(template, &arguments)
    }

    proptest! {
        #[test]
        fn any_text_can_be_split_and_quoted_words_come_back(
            text in any::<String>(),
            words in prop::collection::vec("[a-z \"'\\n\\\\$]{0,8}[a-z]", 0..6),
        ) {
            parse_arguments(&text);
            substitute_arguments(&text, &words);
            // Not what ends in a backslash: that would take the closing quote literally.
            let quoted: Vec<String> =
                words.iter().map(|word| format!("\"{}\"", word.replace('"', "\\\""))).collect();
            let plain = words.iter().all(|word| !word.contains('\\'));
            prop_assert!(!plain || parse_arguments(&quoted.join(" ")) == words);
        }
    }
}
