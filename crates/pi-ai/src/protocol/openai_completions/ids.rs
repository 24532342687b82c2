//! Tool-call ids this protocol can take.

use std::fmt::Write as _;

use super::compat::Compat;

/// Longest id made of a two-part one.
const JOINED_LIMIT: usize = 40;
/// Characters of the hash at the end of a shortened id.
const HASH_LENGTH: usize = 8;

/// The id to send for a call another model made. Two-part ids (`call|item`) become one, with the
/// item's part kept so that ids stay unique; too long ones end in a hash of the whole.
pub(super) fn foreign_call_id(id: &str, compat: &Compat) -> String {
    if let Some((call, item)) = id.split_once('|') {
        let call = sanitized(call);
        let joined = format!("{call}_{}", sanitized(item));
        return if joined.len() <= JOINED_LIMIT { joined } else { shortened(&call, id) };
    }
    match compat.quirks.tool_call_id_limit {
        Some(limit) if id.chars().count() > limit => shortened(id, id),
        _ => id.to_owned(),
    }
}

fn sanitized(part: &str) -> String {
    part.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn shortened(head: &str, whole: &str) -> String {
    let mut id: String = head.chars().take(JOINED_LIMIT - HASH_LENGTH - 1).collect();
    // Writing into a String cannot fail.
    _ = write!(id, "_{}", hash(whole));
    id
}

/// FNV-1a in base 36. It must never change: a changed id makes the provider's prompt cache useless.
fn hash(text: &str) -> String {
    let mut state = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |state, byte| {
        (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (0..HASH_LENGTH)
        .filter_map(|_| {
            let digit = u32::try_from(state % 36).ok()?;
            state /= 36;
            char::from_digit(digit, 36)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::openai_completions::tests::model;
    use serde_json::json;

    #[test]
    fn foreign_ids_fit_and_stay_unique() {
        let anyone = Compat::of(&model(json!({})));
        let openai = Compat::of(&model(json!({"provider": "openai"})));
        let long_item = format!("call_AbC/+=|fc_{}", "x".repeat(60));
        let long = "y".repeat(60);
        let cases = [
            ("plain ids stay", "ok id!", &anyone, "ok id!".to_owned()),
            ("two parts are joined", "short|fc_1", &anyone, "short_fc_1".to_owned()),
            ("long ids stay elsewhere", &long, &anyone, long.clone()),
        ];
        for (case, id, compat, expected) in cases {
            assert_eq!(foreign_call_id(id, compat), expected, "{case}");
        }
        let joined = foreign_call_id(&long_item, &anyone);
        assert!(joined.starts_with("call_AbC____") && joined.len() == 20, "{joined}");
        assert_ne!(joined, foreign_call_id(&format!("{long_item}2"), &anyone));
        let cut = foreign_call_id(&long, &openai);
        assert_eq!(cut.len(), 40);
        assert_ne!(cut, foreign_call_id(&format!("{long}z"), &openai));
    }

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(hash(""), "5dxlywu3");
    }
}
