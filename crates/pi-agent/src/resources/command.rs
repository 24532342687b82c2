//! Text that begins with a command: `/name arguments`.

/// Takes a command apart: its name without the slash, and all that follows the name. `None` if the
/// text does not begin with a slash.
pub(super) fn split(text: &str) -> Option<(&str, &str)> {
    let command = text.strip_prefix('/')?;
    let end = command.find(is_blank).unwrap_or(command.len());
    command.split_at_checked(end)
}

/// White space as JavaScript has it, so that prompts are split the same way everywhere.
pub(super) fn is_blank(c: char) -> bool {
    c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}')
}
