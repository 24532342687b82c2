//! Where in a JSON text something is.
//!
//! Owns: the way from a dotted name to a line and a column. Never: says what is wrong there. Comments
//! and trailing commas are fine: what is a fault is for whoever read the text to say.

use jsonc_parser::ast::{ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

/// Both from one; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Of a member of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Name,
    Value,
}

/// A text that has been parsed before, now with places.
pub(crate) struct Document<'a> {
    text: &'a str,
    root: Option<Value<'a>>,
}

impl<'a> Document<'a> {
    pub(crate) fn parse(text: &'a str) -> Self {
        let nothing_else =
            CollectOptions { comments: CommentCollectionStrategy::Off, tokens: false };
        let parsed = parse_to_ast(text, &nothing_else, &ParseOptions::default());
        Self { text, root: parsed.ok().and_then(|parsed| parsed.value) }
    }

    /// Where `name` is: names of members and numbers of items with dots between them, as in
    /// `providers.local.models.0.id`. Where it does not go on, that is the place.
    pub(crate) fn place(&self, name: &str, part: Part) -> Place {
        let mut offset = 0;
        let (mut value, mut rest) = (self.root.as_ref(), name);
        while let Some(here) = value {
            offset = here.start();
            let step = match here {
                Value::Object(object) => member(&object.properties, rest),
                Value::Array(array) => item(&array.elements, rest),
                _ => None,
            };
            let Some(step) = step else { break };
            rest = step.rest;
            if rest.is_empty() {
                offset = match part {
                    Part::Name => step.name_start,
                    Part::Value => step.value.start(),
                };
                break;
            }
            value = Some(step.value);
        }
        place_at(self.text, offset)
    }
}

/// One part of a name, found.
struct Step<'a, 'n> {
    name_start: usize,
    value: &'a Value<'a>,
    /// The name behind it.
    rest: &'n str,
}

/// Names have dots in them too, so the longest that fits is meant; of equal ones the last counts.
fn member<'a, 'n>(members: &'a [ObjectProp<'a>], name: &'n str) -> Option<Step<'a, 'n>> {
    let steps = members.iter().filter_map(|member| {
        let rest = behind(name, member.name.as_str())?;
        Some(Step { name_start: member.name.start(), value: &member.value, rest })
    });
    steps.min_by_key(|step| (step.rest.len(), std::cmp::Reverse(step.name_start)))
}

fn item<'a, 'n>(items: &'a [Value<'a>], name: &'n str) -> Option<Step<'a, 'n>> {
    let (index, rest) = name.split_once('.').unwrap_or((name, ""));
    let value = items.get(index.parse::<usize>().ok()?)?;
    Some(Step { name_start: value.start(), value, rest })
}

/// What follows `first` in `name`.
fn behind<'n>(name: &'n str, first: &str) -> Option<&'n str> {
    let rest = name.strip_prefix(first)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('.') }
}

fn place_at(text: &str, offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let in_line = before.get(line_start..).unwrap_or_default();
    Place { line: before.matches('\n').count() + 1, column: in_line.chars().count() + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_places() {
        let text = "{ // c\n  \"a\": {\"b.c\": [1, {\"x\": 2,}], \"b\": 3},\n  \"\u{e4}\": \"\u{fc}\", \"d\": 1, \"d\": 2\n}";
        let document = Document::parse(text);
        for (name, part, line, column) in [
            ("a", Part::Name, 2, 3),
            ("a", Part::Value, 2, 8),
            ("a.b", Part::Value, 2, 37),
            ("a.b.c", Part::Name, 2, 9),
            ("a.b.c.0", Part::Value, 2, 17),
            ("a.b.c.1.x", Part::Value, 2, 26),
            // Where it does not go on.
            ("a.b.c.1.y", Part::Value, 2, 20),
            ("a.b.c.9", Part::Value, 2, 16),
            ("z", Part::Value, 1, 1),
            ("\u{e4}", Part::Value, 3, 8),
            // The one that counts.
            ("d", Part::Name, 3, 21),
        ] {
            assert_eq!(document.place(name, part), Place { line, column }, "{name} {part:?}");
        }
    }

    #[test]
    fn what_is_no_json_begins_at_its_beginning() {
        for text in ["", "{", "nonsense"] {
            let place = Document::parse(text).place("a.b", Part::Value);
            assert_eq!(place, Place { line: 1, column: 1 }, "{text}");
        }
    }
}
