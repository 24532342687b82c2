//! Finding where each edit applies. Every edit is looked for in the original text.

use std::ops::Range;

use memchr::memmem;
use pi_agent::ToolError;

use super::fuzzy::{self, LooseText};
use super::text::{self, FileText};

/// One replacement as the model asked for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edit {
    pub old: String,
    pub new: String,
}

/// One replacement in the normalised text, line breaks of the new text as line feeds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub range: Range<usize>,
    pub new: Vec<u8>,
}

/// Why edits cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Problem {
    kind: ProblemKind,
    /// The edit at fault, or `None` if it was the only one.
    index: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ProblemKind {
    Empty,
    NotFound,
    NotUnique { times: usize },
    Overlap { first: usize, second: usize },
}

impl Problem {
    /// The words for the model. `path` is the one the model gave.
    pub(super) fn in_file(&self, path: &str) -> ToolError {
        ToolError::new(match (&self.kind, self.index) {
            (ProblemKind::Empty, None) => format!("oldText must not be empty in {path}."),
            (ProblemKind::Empty, Some(i)) => {
                format!("edits[{i}].oldText must not be empty in {path}.")
            }
            (ProblemKind::NotFound, None) => format!(
                "Could not find the exact text in {path}. \
                 The old text must match exactly including all whitespace and newlines."
            ),
            (ProblemKind::NotFound, Some(i)) => format!(
                "Could not find edits[{i}] in {path}. \
                 The oldText must match exactly including all whitespace and newlines."
            ),
            (ProblemKind::NotUnique { times }, None) => format!(
                "Found {times} occurrences of the text in {path}. \
                 The text must be unique. Please provide more context to make it unique."
            ),
            (ProblemKind::NotUnique { times }, Some(i)) => format!(
                "Found {times} occurrences of edits[{i}] in {path}. \
                 Each oldText must be unique. Please provide more context to make it unique."
            ),
            (ProblemKind::Overlap { first, second }, _) => format!(
                "edits[{first}] and edits[{second}] overlap in {path}. \
                 Merge them into one edit or target disjoint regions."
            ),
        })
    }
}

/// The edits were found, but leave the file as it is.
pub(super) fn no_change(path: &str, edits: usize) -> ToolError {
    ToolError::new(if edits == 1 {
        format!(
            "No changes made to {path}. The replacement produced identical content. This might \
             indicate an issue with special characters or the text not existing as expected."
        )
    } else {
        format!("No changes made to {path}. The replacements produced identical content.")
    })
}

/// Places every edit that changes something, in the order of the file. If one is only found loosely, all are applied to
/// the loose form of the lines they touch.
pub(super) fn find(file: &FileText<'_>, edits: &[Edit]) -> Result<Vec<Splice>, Problem> {
    let problem = |index: usize, kind| Problem { kind, index: (edits.len() > 1).then_some(index) };
    let edits_lf: Vec<(Vec<u8>, Vec<u8>)> =
        edits.iter().map(|edit| (plain(file, &edit.old), plain(file, &edit.new))).collect();
    if let Some(index) = edits_lf.iter().position(|(old, _)| old.is_empty()) {
        return Err(problem(index, ProblemKind::Empty));
    }
    let loose = LooseText::new(file.normalised());
    let all_exact = edits_lf.iter().all(|(old, _)| memmem::find(file.normalised(), old).is_some());
    let mut places = Vec::with_capacity(edits.len());
    for (index, (old, _)) in edits_lf.iter().enumerate() {
        let place = place(file, &loose, old, all_exact).map_err(|kind| problem(index, kind))?;
        places.push((place, index));
    }
    places.sort_by_key(|(range, index)| (range.start, *index));
    for pair in places.windows(2) {
        if let [(before, first), (after, second)] = pair
            && after.start < before.end
        {
            let kind = ProblemKind::Overlap { first: *first, second: *second };
            return Err(Problem { kind, index: None });
        }
    }
    let placed = places.into_iter().filter_map(|(range, index)| {
        edits_lf.get(index).map(|(_, new)| Splice { range, new: new.clone() })
    });
    let splices: Vec<Splice> = if all_exact { placed.collect() } else { loose.splice(placed) };
    // An edit that changes nothing must not even touch line endings.
    let changes =
        |splice: &Splice| file.normalised().get(splice.range.clone()) != Some(&splice.new);
    Ok(splices.into_iter().filter(changes).collect())
}

/// Line feeds only; the byte order mark, which `read` shows, is no part of the text.
fn plain(file: &FileText<'_>, text: &str) -> Vec<u8> {
    let text = if file.has_bom() { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
    text::normalise(text)
}

/// The one place of `old`: in the exact text, or in the loose one unless `exact`.
fn place(
    file: &FileText<'_>,
    loose: &LooseText<'_>,
    old: &[u8],
    exact: bool,
) -> Result<Range<usize>, ProblemKind> {
    if exact {
        // Look-alikes make an exact match ambiguous too. Blanks at the end of the old text stay
        // for this count: they tell `a ` from `ab`.
        let alike = fuzzy::loosen_but_end(old);
        return only_place(file.normalised(), old, count(loose.text(), &alike));
    }
    match fuzzy::loosen(old) {
        old if old.is_empty() => Err(ProblemKind::NotFound),
        old => only_place(loose.text(), &old, 0),
    }
}

fn only_place(text: &[u8], old: &[u8], alike: usize) -> Result<Range<usize>, ProblemKind> {
    let start = memmem::find(text, old).ok_or(ProblemKind::NotFound)?;
    match count(text, old).max(alike) {
        0 | 1 => Ok(start..start + old.len()),
        times => Err(ProblemKind::NotUnique { times }),
    }
}

fn count(text: &[u8], piece: &[u8]) -> usize {
    if piece.is_empty() { 0 } else { memmem::find_iter(text, piece).count() }
}
