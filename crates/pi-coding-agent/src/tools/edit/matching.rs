//! Finding where each edit applies. Every edit is looked for in the original text.

use std::fmt::Write as _;
use std::ops::Range;

use memchr::memmem;
use pi_agent::ToolError;

use super::fuzzy::{self, LooseText};
use super::nearest::{Nearest, nearest};
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
    NotFound(Option<Nearest>),
    NotUnique { times: usize },
    Overlap { first: usize, second: usize },
}

impl Problem {
    /// The words for the model: what is wrong, then what helps to do better. `path` is the one the
    /// model gave.
    pub(super) fn in_file(&self, path: &str) -> ToolError {
        let mut text = self.fault(path);
        match &self.kind {
            ProblemKind::NotFound(Some(nearest)) => _ = write!(text, "\n\n{nearest}"),
            ProblemKind::NotFound(None)
            | ProblemKind::Empty
            | ProblemKind::NotUnique { .. }
            | ProblemKind::Overlap { .. } => {}
        }
        ToolError::new(text)
    }

    fn fault(&self, path: &str) -> String {
        match (&self.kind, self.index) {
            (ProblemKind::Empty, None) => format!("oldText must not be empty in {path}."),
            (ProblemKind::Empty, Some(i)) => {
                format!("edits[{i}].oldText must not be empty in {path}.")
            }
            (ProblemKind::NotFound(_), None) => format!(
                "Could not find the exact text in {path}. \
                 The old text must match exactly including all whitespace and newlines."
            ),
            (ProblemKind::NotFound(_), Some(i)) => format!(
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
        }
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
    let not_found = || ProblemKind::NotFound(nearest(file.normalised(), old));
    if exact {
        let start = memmem::find(file.normalised(), old).ok_or_else(not_found)?;
        // Look-alikes make an exact match ambiguous too. Blanks at the end of the old text stay
        // for this count: they tell `a ` from `ab`.
        let alike = occurrences(&fuzzy::loosen_but_end(old), loose.text());
        let times = alike.max(occurrences(old, file.normalised()));
        return only(start..start + old.len(), times);
    }
    let old_loose = fuzzy::loosen(old);
    if old_loose.is_empty() {
        return Err(not_found());
    }
    let start = memmem::find(loose.text(), &old_loose).ok_or_else(not_found)?;
    only(start..start + old_loose.len(), occurrences(&old_loose, loose.text()))
}

fn occurrences(piece: &[u8], text: &[u8]) -> usize {
    if piece.is_empty() { 0 } else { memmem::find_iter(text, piece).count() }
}

fn only(place: Range<usize>, times: usize) -> Result<Range<usize>, ProblemKind> {
    if times > 1 { Err(ProblemKind::NotUnique { times }) } else { Ok(place) }
}
