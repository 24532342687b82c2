//! A session's name or first message, fit for one line of a terminal.

use super::SessionInfo;

impl SessionInfo {
    /// The name, or what the user said first, on one line and without characters that steer a
    /// terminal. Empty when there is neither.
    pub fn title(&self) -> String {
        let named = self.name.as_deref().map(on_one_line).filter(|name| !name.is_empty());
        named.unwrap_or_else(|| on_one_line(&self.first_message))
    }
}

/// Blanks and line ends in a row become one space; control characters and those that turn the
/// direction of writing are left out.
pub fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split(char::is_whitespace) {
        let mut kept = word.chars().filter(|c| !steers(*c)).peekable();
        if kept.peek().is_some() && !line.is_empty() {
            line.push(' ');
        }
        line.extend(kept);
    }
    line
}

fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
