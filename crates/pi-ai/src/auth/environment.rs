//! Variables as a value.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// A set of variables, cheap to clone. Empty values count as unset. `Debug` shows names only.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Arc<BTreeMap<String, String>>);

impl Environment {
    /// The value of a variable that is set and not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// This environment with `variables` put over it.
    #[must_use]
    pub fn overlay<N, V>(&self, variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<String>,
    {
        let mut variables = variables.into_iter().peekable();
        if variables.peek().is_none() {
            return self.clone();
        }
        let mut all = BTreeMap::clone(&self.0);
        all.extend(variables.map(|(name, value)| (name.into(), value.into())));
        Self(Arc::new(all))
    }

    /// Every variable, for a child process.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let pairs = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self(Arc::new(pairs.collect()))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_values_count_as_unset() {
        let environment: Environment = [("A", "1"), ("B", "")].into_iter().collect();
        assert_eq!(environment.get("A"), Some("1"));
        assert_eq!(environment.get("B"), None);
        assert_eq!(environment.get("C"), None);
    }

    #[test]
    fn an_overlay_wins_and_leaves_the_base_alone() {
        let base: Environment = [("A", "1"), ("B", "2")].into_iter().collect();
        let over = base.overlay([("B", "3"), ("A", "")]);
        assert_eq!((over.get("A"), over.get("B")), (None, Some("3")));
        assert_eq!((base.get("A"), base.get("B")), (Some("1"), Some("2")));
    }

    #[test]
    fn debug_output_holds_names_only() {
        let environment: Environment = [("KEY", "sk-1")].into_iter().collect();
        assert_eq!(format!("{environment:?}"), "{\"KEY\"}");
    }
}
