//! Finding where each edit applies. Every edit is looked for in the original text.

use std::fmt::{self, Write as _};
use std::ops::Range;

use memchr::memmem;
use pi_agent::ToolError;

use super::fuzzy::{self, LooseText};
use super::nearest::{Nearest, nearest};
use super::text::{self, FileText, count_lines};

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
    NotUnique(Occurrences),
    Overlap { first: usize, second: usize },
}

/// Of a text that should be there once.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Occurrences {
    times: usize,
    /// The first lines they start on, from 1.
    lines: Vec<u64>,
    /// There are more.
    has_more: bool,
}

/// Lines told of a text that is not unique.
const LINES_TOLD: usize = 5;

impl Occurrences {
    fn of(piece: &[u8], text: &[u8]) -> Self {
        let mut found = Self { times: 0, lines: Vec::new(), has_more: false };
        let (mut line, mut counted) = (1, 0);
        let places = memmem::find_iter(text, piece);
        for at in places.take(if piece.is_empty() { 0 } else { usize::MAX }) {
            found.times += 1;
            if found.has_more {
                continue;
            }
            line += count_lines(text.get(counted..at).unwrap_or_default());
            counted = at;
            if found.lines.last() == Some(&line) {
                continue;
            }
            found.has_more = found.lines.len() == LINES_TOLD;
            if !found.has_more {
                found.lines.push(line);
            }
        }
        found
    }

    /// The place of the first, if it is the only one.
    fn only(self, place: Range<usize>) -> Result<Range<usize>, ProblemKind> {
        if self.times > 1 { Err(ProblemKind::NotUnique(self)) } else { Ok(place) }
    }
}

impl fmt::Display for Occurrences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = *self.lines {
            return write!(f, "They all start on line {only}.");
        }
        let lines: Vec<String> = self.lines.iter().map(ToString::to_string).collect();
        let more = if self.has_more { ", ..." } else { "." };
        write!(f, "They start on lines {}{more}", lines.join(", "))
    }
}

impl Problem {
    /// The words for the model: what is wrong, then what helps to do better. `path` is the one the
    /// model gave.
    pub(super) fn in_file(&self, path: &str) -> ToolError {
        let mut text = self.fault(path);
        match &self.kind {
            ProblemKind::NotFound(Some(nearest)) => _ = write!(text, "\n\n{nearest}"),
            ProblemKind::NotUnique(found) => _ = write!(text, " {found}"),
            ProblemKind::NotFound(None) | ProblemKind::Empty | ProblemKind::Overlap { .. } => {}
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
            (ProblemKind::NotUnique(found), None) => format!(
                "Found {} occurrences of the text in {path}. \
                 The text must be unique. Please provide more context to make it unique.",
                found.times
            ),
            (ProblemKind::NotUnique(found), Some(i)) => format!(
                "Found {} occurrences of edits[{i}] in {path}. \
                 Each oldText must be unique. Please provide more context to make it unique.",
                found.times
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
        let alike = Occurrences::of(&fuzzy::loosen_but_end(old), loose.text());
        let same = Occurrences::of(old, file.normalised());
        let found = if alike.times > same.times { alike } else { same };
        return found.only(start..start + old.len());
    }
    let old_loose = fuzzy::loosen(old);
    if old_loose.is_empty() {
        return Err(not_found());
    }
    let start = memmem::find(loose.text(), &old_loose).ok_or_else(not_found)?;
    Occurrences::of(&old_loose, loose.text()).only(start..start + old_loose.len())
}
