//! Half surrogate pairs: JavaScript writes them into JSON, strict readers refuse them.

/// Replaces escapes of half surrogate pairs, by U+FFFD. `None`: there are none.
pub fn repair_surrogates(json: &str) -> Option<String> {
    let mut repaired = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(offset) = json.get(at..).and_then(|rest| rest.find('\\')) {
        at += offset;
        let Some(unit) = escaped_unit(json, at) else {
            at += 2;
            continue;
        };
        let paired = (0xD800..0xDC00).contains(&unit)
            && escaped_unit(json, at + 6).is_some_and(|low| (0xDC00..0xE000).contains(&low));
        if paired {
            at += 12;
            continue;
        }
        if (0xD800..0xE000).contains(&unit) {
            repaired.push_str(json.get(copied..at)?);
            repaired.push_str("\\ufffd");
            copied = at + 6;
        }
        at += 6;
    }
    if copied == 0 {
        return None;
    }
    repaired.push_str(json.get(copied..)?);
    Some(repaired)
}

/// The UTF-16 unit of a `\uXXXX` escape that begins at `at`.
fn escaped_unit(json: &str, at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix("\\u")?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_half_surrogate_pairs_are_repaired() {
        let cases = [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\ude00 \ud83d\ude00""#, Some(r#""\ufffd \ud83d\ude00""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\u0041 ä""#, None),
            (r#""\ud8"#, None),
        ];
        for (json, expected) in cases {
            assert_eq!(repair_surrogates(json).as_deref(), expected, "{json}");
        }
    }
}
