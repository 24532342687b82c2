//! Random edits of random texts, against a plain model that works on characters and lines.

use proptest::prelude::*;

use super::{Edit, edited};

/// A character of the text, and how the file writes it: a line break has three ways.
type Unit = (char, &'static str);

const PIECES: [Unit; 20] = [
    ('\n', "\n"),
    ('\n', "\n"),
    ('\n', "\r\n"),
    ('\n', "\r\n"),
    ('\n', "\r"),
    ('a', "a"),
    ('b', "b"),
    ('c', "c"),
    ('1', "1"),
    ('2', "2"),
    (' ', " "),
    (' ', " "),
    ('\t', "\t"),
    ('"', "\""),
    ('\u{201c}', "\u{201c}"),
    ('-', "-"),
    ('\u{2013}', "\u{2013}"),
    ('\u{a0}', "\u{a0}"),
    ('\u{fb01}', "\u{fb01}"),
    ('\u{1f600}', "\u{1f600}"),
];

#[derive(Debug, PartialEq)]
enum Outcome {
    File(String),
    Empty(usize),
    NotFound(usize),
    NotUnique(usize, usize),
    Overlap,
    NoChange,
}

fn model(units: &[Unit], edits: &[(Vec<char>, Vec<char>)]) -> Outcome {
    let text: Vec<char> = units.iter().map(|(c, _)| *c).collect();
    let loose = loosen(&text, true);
    if let Some(index) = edits.iter().position(|(old, _)| old.is_empty()) {
        return Outcome::Empty(index);
    }
    let all_exact = edits.iter().all(|(old, _)| !places(&text, old).is_empty());
    let mut ranges = Vec::new();
    for (index, (old, new)) in edits.iter().enumerate() {
        let (found, times, length) = if all_exact {
            let found = places(&text, old);
            let alike = places(&loose, &loosen(old, false)).len();
            (found.first().copied(), found.len().max(alike), old.len())
        } else {
            let old = loosen(old, true);
            let found = places(&loose, &old);
            (found.first().copied(), found.len(), old.len())
        };
        let Some(start) = found else { return Outcome::NotFound(index) };
        if times > 1 {
            return Outcome::NotUnique(index, times);
        }
        ranges.push((start, start + length, new.clone()));
    }
    ranges.sort();
    if ranges.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        return Outcome::Overlap;
    }
    if !all_exact {
        ranges = whole_lines(&text, &loose, &ranges);
    }
    let mut out = String::new();
    let mut done = 0;
    let mut is_same = true;
    for (start, end, new) in ranges {
        if text[start..end] == new {
            continue;
        }
        is_same = false;
        out.extend(units[done..start].iter().map(|(_, raw)| *raw));
        let ending = ending(units, start);
        for c in new {
            if c == '\n' { out.push_str(ending) } else { out.push(c) }
        }
        done = end;
    }
    out.extend(units[done..].iter().map(|(_, raw)| *raw));
    if is_same { Outcome::NoChange } else { Outcome::File(out) }
}

/// How the line at `position` ends, or the one before it.
fn ending(units: &[Unit], position: usize) -> &'static str {
    let (before, after) = units.split_at(position);
    let is_break = |unit: &&Unit| unit.0 == '\n';
    after
        .iter()
        .find(is_break)
        .or_else(|| before.iter().rev().find(is_break))
        .map_or("\n", |unit| unit.1)
}

/// Where `piece` is, one behind the other.
fn places(text: &[char], piece: &[char]) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 0;
    while !piece.is_empty() && at + piece.len() <= text.len() {
        if text[at..].starts_with(piece) {
            found.push(at);
            at += piece.len();
        } else {
            at += 1;
        }
    }
    found
}

fn loosen(text: &[char], trim_last: bool) -> Vec<char> {
    let lines: Vec<&[char]> = text.split(|c| *c == '\n').collect();
    let mut out = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let is_last = index + 1 == lines.len();
        let start = out.len() + usize::from(index > 0);
        if index > 0 {
            out.push('\n');
        }
        for c in *line {
            match c {
                '\u{201c}' => out.push('"'),
                '\u{2013}' => out.push('-'),
                '\u{a0}' => out.push(' '),
                '\u{fb01}' => out.extend(['f', 'i']),
                other => out.push(*other),
            }
        }
        while (trim_last || !is_last) && out.len() > start && matches!(out.last(), Some(' ' | '\t'))
        {
            out.pop();
        }
    }
    out
}

/// Edits of the loose text as replacements of whole lines of the text; those that share a line are
/// one.
fn whole_lines(
    text: &[char],
    loose: &[char],
    edits: &[(usize, usize, Vec<char>)],
) -> Vec<(usize, usize, Vec<char>)> {
    let line_of = |at: usize| loose[..at].iter().filter(|c| **c == '\n').count();
    // Start and end, without its break, of a line.
    let bounds = |text: &[char], line: usize| {
        let length: usize = text.split(|c| *c == '\n').take(line).map(|line| line.len() + 1).sum();
        let end =
            text[length..].iter().position(|c| *c == '\n').map_or(text.len(), |at| length + at);
        (length, end)
    };
    let mut blocks: Vec<(usize, usize, bool, Vec<char>, usize)> = Vec::new();
    for (start, end, new) in edits {
        let (first, last) = (line_of(*start), line_of(*end - 1));
        let with_break = *end > bounds(loose, last).1;
        match blocks.last_mut().filter(|block| first <= block.1) {
            Some(block) => {
                block.3.extend(&loose[block.4..*start]);
                (block.1, block.2) = (last, with_break);
            }
            None => {
                let so_far = loose[bounds(loose, first).0..*start].to_vec();
                blocks.push((first, last, with_break, so_far, 0));
            }
        }
        let block = blocks.last_mut().unwrap();
        block.3.extend(new);
        block.4 = *end;
    }
    blocks
        .into_iter()
        .map(|(first, last, with_break, mut new, done)| {
            let end_of = |text: &[char]| bounds(text, last).1 + usize::from(with_break);
            new.extend(&loose[done..end_of(loose)]);
            (bounds(text, first).0, end_of(text), new)
        })
        .collect()
}

/// What the tool makes of it.
fn outcome(file: &str, edits: &[(String, String)]) -> Outcome {
    let list: Vec<Edit> =
        edits.iter().map(|(old, new)| Edit { old: old.clone(), new: new.clone() }).collect();
    let error = match edited("f", file.as_bytes(), &list) {
        Ok(edited) => return Outcome::File(String::from_utf8(edited.content).unwrap()),
        Err(error) => error.0,
    };
    let index = |before: &str| -> usize {
        let rest = error.split_once(before).map_or("0]", |(_, rest)| rest);
        rest.split(']').next().unwrap().parse().unwrap()
    };
    if error.contains("must not be empty") {
        Outcome::Empty(index("edits["))
    } else if error.starts_with("Could not find") {
        Outcome::NotFound(index("Could not find edits["))
    } else if let Some(rest) = error.strip_prefix("Found ") {
        let times = rest.split(' ').next().unwrap().parse().unwrap();
        Outcome::NotUnique(index("occurrences of edits["), times)
    } else if error.contains(" overlap in ") {
        Outcome::Overlap
    } else {
        assert!(error.starts_with("No changes made"), "{error}");
        Outcome::NoChange
    }
}

/// One edit: a piece of the text as a share of it, how it is written, and what takes its place.
#[derive(Debug, Clone)]
struct Plan {
    from: prop::sample::Index,
    length: usize,
    /// Look-alikes as plain characters, blanks at line ends left out.
    is_loose: bool,
    /// Something that need not be there at all.
    foreign: Option<Vec<Unit>>,
    new: Vec<Unit>,
}

fn units(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Unit>> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), length).prop_map(joined)
}

/// A carriage return before a line feed is one break.
fn joined(units: Vec<Unit>) -> Vec<Unit> {
    let mut out: Vec<Unit> = Vec::new();
    for unit in units {
        match out.last_mut().filter(|last| last.1 == "\r" && unit.1 == "\n") {
            Some(last) => last.1 = "\r\n",
            None => out.push(unit),
        }
    }
    out
}

fn plan() -> impl Strategy<Value = Plan> {
    let foreign = prop::option::weighted(0.1, units(1..4));
    (any::<prop::sample::Index>(), 1_usize..12, any::<bool>(), foreign, units(0..5)).prop_map(
        |(from, length, is_loose, foreign, new)| Plan { from, length, is_loose, foreign, new },
    )
}

fn characters(units: &[Unit]) -> Vec<char> {
    units.iter().map(|(c, _)| *c).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn edits_do_what_a_plain_model_does(
        file in units(0..60),
        plans in prop::collection::vec(plan(), 1..4),
        mark in any::<bool>(),
    ) {
        let text = characters(&file);
        let edits: Vec<(Vec<char>, Vec<char>)> = plans
            .iter()
            .map(|plan| {
                let start = if text.is_empty() { 0 } else { plan.from.index(text.len()) };
                let piece = &text[start..text.len().min(start + plan.length)];
                let old = match &plan.foreign {
                    Some(foreign) => characters(foreign),
                    None if plan.is_loose => loosen(piece, false),
                    None => piece.to_vec(),
                };
                (old, characters(&plan.new))
            })
            .collect();
        let given: Vec<(String, String)> =
            edits.iter().map(|(old, new)| (old.iter().collect(), new.iter().collect())).collect();
        let mark = if mark { "\u{feff}" } else { "" };
        let raw: String = file.iter().map(|(_, raw)| *raw).collect();
        let want = match model(&file, &edits) {
            Outcome::File(file) => Outcome::File(format!("{mark}{file}")),
            other => other,
        };
        prop_assert_eq!(outcome(&format!("{mark}{raw}"), &given), want);
    }
}
