//! Finding sessions by what people remember of them.
//!
//! Pure: works on what [`super::list`] found. Names and directories may be written roughly; ids and
//! what was said are only found as written, or nearly everything would match.

use std::cmp::Reverse;

use regex::{Regex, RegexBuilder};

use super::SessionInfo;

mod fuzzy;

/// What somebody looks for: words that all must be found, in any order and case.
///
/// `"two words"` in quotes are one phrase, found only as written. After `re:` the rest is a regular
/// expression.
#[derive(Debug, Clone)]
pub struct Query {
    terms: Vec<Term>,
    named_only: bool,
}

/// The regular expression after `re:` cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("Not a regular expression: {0}")]
pub struct InvalidPattern(#[from] regex::Error);

#[derive(Debug, Clone)]
struct Term {
    pattern: Regex,
    /// The word itself, where names and directories may be written roughly.
    rough: Option<String>,
}

impl Query {
    /// # Errors
    /// There is no valid regular expression after `re:`.
    pub fn parse(text: &str) -> Result<Self, InvalidPattern> {
        let text = text.trim();
        let terms = match text.strip_prefix("re:") {
            Some(pattern) => vec![Term { pattern: ignoring_case(pattern.trim())?, rough: None }],
            None => words(text).into_iter().map(Term::new).collect::<Result<_, _>>()?,
        };
        Ok(Self { terms, named_only: false })
    }

    /// Leaves out sessions without a name.
    #[must_use]
    pub fn named_only(mut self, named_only: bool) -> Self {
        self.named_only = named_only;
        self
    }

    /// Which of the sessions fit, the best first; those that fit alike by their last activity, and a
    /// query of nothing keeps the order given.
    pub fn search(&self, sessions: &[SessionInfo]) -> Vec<usize> {
        let fitting = sessions.iter().enumerate().filter_map(|(index, session)| {
            Some((self.distance(session)?, Reverse(session.modified), index))
        });
        let mut fitting: Vec<_> = fitting.collect();
        if !self.terms.is_empty() {
            fitting.sort_unstable();
        }
        fitting.into_iter().map(|(_, _, index)| index).collect()
    }

    /// How far the session is from the query; `None`: it does not fit.
    fn distance(&self, session: &SessionInfo) -> Option<usize> {
        if self.named_only && session.name.is_none() {
            return None;
        }
        self.terms.iter().try_fold(0, |sum, term| Some(sum + term.distance(session)?))
    }
}

/// Distances of the places a word is found in. Rough matches come behind good ones: to theirs, what
/// was left out between the letters is added.
mod place {
    pub(super) const NAME: usize = 0;
    pub(super) const FIRST_MESSAGE: usize = 100;
    pub(super) const CWD: usize = 200;
    pub(super) const ID: usize = 300;
    pub(super) const TEXT: usize = 400;
    pub(super) const ROUGH_NAME: usize = 500;
    pub(super) const ROUGH_CWD: usize = 1000;
    /// Most that a rough match adds.
    pub(super) const MOST_GAP: usize = 400;
}

impl Term {
    fn new((word, is_phrase): (&str, bool)) -> Result<Self, InvalidPattern> {
        let rough = (!is_phrase).then(|| word.to_lowercase());
        Ok(Self { pattern: ignoring_case(&regex::escape(word))?, rough })
    }

    fn distance(&self, session: &SessionInfo) -> Option<usize> {
        let name = session.name.as_deref().unwrap_or_default();
        let text = session.all_messages_text.as_deref().unwrap_or_default();
        let as_written = [
            (name, place::NAME),
            (&session.first_message, place::FIRST_MESSAGE),
            (&session.cwd, place::CWD),
            (&session.id, place::ID),
            (text, place::TEXT),
        ];
        let found = as_written.into_iter().find(|(text, _)| self.pattern.is_match(text));
        found.map(|(_, distance)| distance).or_else(|| {
            let rough = self.rough.as_deref()?;
            let gap = |text, place| Some(place + fuzzy::gap(rough, text)?.min(place::MOST_GAP));
            gap(name, place::ROUGH_NAME).or_else(|| gap(&session.cwd, place::ROUGH_CWD))
        })
    }
}

fn ignoring_case(pattern: &str) -> Result<Regex, InvalidPattern> {
    Ok(RegexBuilder::new(pattern).case_insensitive(true).build()?)
}

/// The words of a query, and which of them are phrases. A quote that is not closed yet ends with the
/// text: somebody is still typing.
fn words(text: &str) -> Vec<(&str, bool)> {
    let parts = text.split('"').enumerate();
    let words = parts.flat_map(|(index, part)| {
        let is_phrase = index % 2 == 1;
        let plain = (!is_phrase).then(|| part.split_whitespace()).into_iter().flatten();
        let phrase = is_phrase.then(|| part.trim()).filter(|part| !part.is_empty());
        plain.map(|word| (word, false)).chain(phrase.map(|phrase| (phrase, true)))
    });
    words.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Vec<SessionInfo> {
        let info = |id: &str, name: Option<&str>, cwd: &str, text: &str, modified| SessionInfo {
            id: id.to_owned(),
            name: name.map(str::to_owned),
            cwd: cwd.to_owned(),
            first_message: text.lines().next().unwrap_or_default().to_owned(),
            all_messages_text: Some(text.to_owned()),
            ..SessionInfo::sample("/s.jsonl", modified)
        };
        vec![
            info("0192-aaaa", Some("Fix the parser"), "/home/u/lexer", "please help\nit is RED", 1),
            info("0192-bbbb", None, "/home/u/parser-tools", "write tests\nthe red fox", 2),
            info(
                "0192-cccc",
                Some("Release"),
                "/srv/site",
                "ship it\nfixed the parser of dates",
                3,
            ),
            info("0193-dddd", None, "/srv/api", "hello", 4),
        ]
    }

    fn found(query: &str) -> Vec<usize> {
        Query::parse(query).expect("query").search(&sessions())
    }

    #[test]
    fn names_come_before_directories_before_what_was_said() {
        assert_eq!(found("parser"), [0, 1, 2]);
        assert_eq!(found("PARSER"), [0, 1, 2]);
    }

    #[test]
    fn names_and_directories_may_be_written_roughly() {
        assert_eq!(found("fxprsr"), [0], "the name");
        assert_eq!(found("prsrtls"), [1], "the directory");
        assert_eq!(found("rls"), [2, 1], "a name before a directory");
    }

    #[test]
    fn ids_and_what_was_said_are_found_only_as_written() {
        assert_eq!(found("0193-d"), [3]);
        assert_eq!(found("0193d"), [0; 0]);
        assert_eq!(found("fox"), [1]);
        assert_eq!(found("redfx"), [0; 0]);
    }

    #[test]
    fn every_word_must_be_found_somewhere() {
        assert_eq!(found("red parser"), [0, 1]);
        assert_eq!(found("parser nowhere-at-all"), [0; 0]);
    }

    #[test]
    fn a_phrase_is_found_only_as_written() {
        assert_eq!(found("\"the parser\""), [0, 2]);
        assert_eq!(found("\"parser the\""), [0; 0]);
        assert_eq!(found("\"fx\""), [0; 0], "not roughly");
        assert_eq!(found("\"the par"), [0, 2], "while it is typed");
        assert_eq!(found("fixed \"of dates\" \"\""), [2]);
    }

    #[test]
    fn what_follows_re_is_a_regular_expression() {
        assert_eq!(found("re:^fix|^hello$"), [0, 3]);
        assert_eq!(found("re: par.er\\b"), [0, 1, 2]);
        assert!(Query::parse("re:(").is_err());
        assert_eq!(found("("), [0; 0], "elsewhere such characters are themselves");
    }

    #[test]
    fn a_query_of_nothing_keeps_all_in_their_order() {
        assert_eq!(found(""), [0, 1, 2, 3]);
        assert_eq!(found("  \"\" "), [0, 1, 2, 3]);
    }

    #[test]
    fn equal_matches_come_newest_first() {
        assert_eq!(found("0192"), [2, 1, 0]);
    }

    #[test]
    fn sessions_without_a_name_can_be_left_out() {
        let named =
            |query| Query::parse(query).expect("query").named_only(true).search(&sessions());
        assert_eq!(named(""), [0, 2]);
        assert_eq!(named("parser"), [0, 2]);
    }

    #[test]
    fn without_the_text_the_first_message_is_searched() {
        let mut sessions = sessions();
        sessions[3].all_messages_text = None;
        assert_eq!(Query::parse("ell").expect("query").search(&sessions), [3]);
    }
}
