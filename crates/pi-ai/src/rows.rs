//! Embedded tables: JSON arrays with one object a line, which opens with its `id`, so that one row
//! is found without parsing the others.

/// The lines that hold an object.
pub(crate) fn rows(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(|line| line.trim_end_matches(',')).filter(|line| line.starts_with('{'))
}

/// The id of a row. Ids that need escapes in JSON are not found this way; there are none.
pub(crate) fn row_id(row: &'static str) -> Option<&'static str> {
    row.strip_prefix("{\"id\":\"")?.split('"').next()
}
