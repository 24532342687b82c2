//! The environment of the process, read once and handed inward as a value.
//!
//! Owns: every environment variable pi knows ([`registry`]), the home and the agent directory.
//! Never: changes the environment. Nothing else in the program reads a variable.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};

use pi_ai::CacheRetention;

use crate::paths;

pub mod registry;

/// All variables, and the home directory they imply.
#[derive(Clone, PartialEq, Eq)]
pub struct Env {
    variables: BTreeMap<String, String>,
    /// As the process got them, for the commands it runs.
    raw: BTreeMap<OsString, OsString>,
    home: PathBuf,
}

/// Proxy URLs as the environment gives them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Proxies {
    pub http: Option<String>,
    pub https: Option<String>,
    /// For requests the two others leave out.
    pub all: Option<String>,
    /// Comma separated hosts that are reached directly.
    pub no_proxy: Option<String>,
}

impl Env {
    /// Bytes that are no UTF-8 are replaced: no variable pi reads needs them.
    pub fn from_process() -> Self {
        let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("."));
        Self::new(std::env::vars_os().collect(), home)
    }

    /// An environment that holds just `variables`; home is `HOME`, or `/nonexistent`.
    pub fn from_variables<N, V>(variables: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
    {
        let raw: BTreeMap<OsString, OsString> =
            variables.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let home = raw.get(OsStr::new("HOME")).map_or("/nonexistent".into(), PathBuf::from);
        Self::new(raw, home)
    }

    fn new(raw: BTreeMap<OsString, OsString>, home: PathBuf) -> Self {
        let lossy = |text: &OsString| text.to_string_lossy().into_owned();
        let variables = raw.iter().map(|(name, value)| (lossy(name), lossy(value))).collect();
        Self { variables, raw, home }
    }

    /// The variable's value; an empty one counts as not set.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All variables, for looking up provider keys.
    pub fn variables(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Where the user's configuration lives.
    pub fn agent_dir(&self) -> PathBuf {
        match self.get(registry::AGENT_DIR) {
            Some(dir) => self.expand_home(dir),
            None => self.home.join(".pi").join("agent"),
        }
    }

    /// Where sessions go, if the environment says so.
    pub fn session_dir(&self) -> Option<PathBuf> {
        self.get(registry::SESSION_DIR).map(|dir| self.expand_home(dir))
    }

    /// Where pi's own documentation lies, if the environment says so.
    pub fn package_dir(&self) -> Option<PathBuf> {
        self.get(registry::PACKAGE_DIR).map(|dir| self.expand_home(dir))
    }

    /// No network but for the model itself.
    pub fn offline(&self) -> bool {
        self.switch(registry::OFFLINE).unwrap_or(false)
    }

    /// Whether pi may name itself to providers that keep statistics; `None` leaves it to the
    /// settings.
    pub fn telemetry(&self) -> Option<bool> {
        self.switch(registry::TELEMETRY)
    }

    pub fn cache_retention(&self) -> CacheRetention {
        match self.get(registry::CACHE_RETENTION) {
            Some("long") => CacheRetention::Long,
            _ => CacheRetention::Short,
        }
    }

    /// The upper-case variable wins over its lower-case twin.
    pub fn proxies(&self) -> Proxies {
        let find = |upper: &str| {
            self.get(upper).or_else(|| self.get(&upper.to_lowercase())).map(str::to_owned)
        };
        Proxies {
            http: find(registry::HTTP_PROXY),
            https: find(registry::HTTPS_PROXY),
            all: find(registry::ALL_PROXY),
            no_proxy: find(registry::NO_PROXY),
        }
    }

    /// PEM file with certificate authorities to trust beside those of the system.
    pub fn extra_certificates(&self) -> Option<PathBuf> {
        self.get(registry::EXTRA_CA_CERTS).map(|path| self.expand_home(path))
    }

    /// Where temporary files go.
    pub fn temp_dir(&self) -> PathBuf {
        PathBuf::from(self.get(registry::TMPDIR).unwrap_or("/tmp"))
    }

    /// What commands inherit. The tools add who started them and what session they belong to.
    pub fn for_commands(&self, offline: bool) -> BTreeMap<OsString, OsString> {
        let mut variables = self.raw.clone();
        if offline {
            variables.insert(registry::OFFLINE.into(), "1".into());
            variables.insert(registry::SKIP_VERSION_CHECK.into(), "1".into());
        }
        variables
    }

    /// The path a user wrote, absolute: `~` is home, the rest starts at `base`; `.` and `..` are
    /// folded without looking at the disk.
    pub fn resolve_path(&self, base: &Path, path: &str) -> PathBuf {
        paths::fold(&base.join(self.expand_home(path)))
    }

    pub(crate) fn expand_home(&self, path: &str) -> PathBuf {
        paths::expand_home(path, &self.home)
    }

    fn switch(&self, name: &str) -> Option<bool> {
        let value = self.get(name)?.to_ascii_lowercase();
        match value.as_str() {
            "1" | "true" | "yes" => Some(true),
            "0" | "false" | "no" => Some(false),
            _ => None,
        }
    }
}

/// Names only: the values hold keys.
impl fmt::Debug for Env {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Env")
            .field("home", &self.home)
            .field("variables", &self.variables.keys())
            .finish()
    }
}

impl Proxies {
    /// Fills what the environment leaves open with the proxy of the settings.
    #[must_use]
    pub fn or_setting(mut self, proxy: Option<&str>) -> Self {
        let proxy = proxy.map(str::trim).filter(|proxy| !proxy.is_empty());
        self.http = self.http.or_else(|| proxy.map(str::to_owned));
        self.https = self.https.or_else(|| proxy.map(str::to_owned));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_dir_is_below_home_unless_named() {
        let cases = [
            (Env::from_variables([("HOME", "/h")]), "/h/.pi/agent"),
            (Env::from_variables([("HOME", "/h"), ("PI_CODING_AGENT_DIR", "/x/y")]), "/x/y"),
            (Env::from_variables([("HOME", "/h"), ("PI_CODING_AGENT_DIR", "~/y")]), "/h/y"),
            (Env::from_variables([("HOME", "/h"), ("PI_CODING_AGENT_DIR", "~")]), "/h"),
            (Env::from_variables([("HOME", "/h"), ("PI_CODING_AGENT_DIR", "")]), "/h/.pi/agent"),
            (Env::from_variables([("HOME", "/h"), ("PI_CODING_AGENT_DIR", "~user/y")]), "~user/y"),
        ];
        for (env, expected) in cases {
            assert_eq!(env.agent_dir(), Path::new(expected));
        }
    }

    #[test]
    fn switches_know_three_words_each_way() {
        for (value, expected) in [
            ("1", Some(true)),
            ("true", Some(true)),
            ("YES", Some(true)),
            ("0", Some(false)),
            ("False", Some(false)),
            ("no", Some(false)),
            ("", None),
            ("maybe", None),
        ] {
            let env = Env::from_variables([("PI_TELEMETRY", value), ("PI_OFFLINE", value)]);
            assert_eq!(env.telemetry(), expected, "{value:?}");
            assert_eq!(env.offline(), expected == Some(true), "{value:?}");
        }
    }

    #[test]
    fn cache_retention_is_short_unless_told() {
        for (value, expected) in [
            ("long", CacheRetention::Long),
            ("", CacheRetention::Short),
            ("odd", CacheRetention::Short),
        ] {
            let env = Env::from_variables([("PI_CACHE_RETENTION", value)]);
            assert_eq!(env.cache_retention(), expected, "{value:?}");
        }
    }

    #[test]
    fn the_environment_wins_over_the_proxy_setting() {
        let env = Env::from_variables([
            ("https_proxy", "http://low:1"),
            ("HTTPS_PROXY", "http://up:1"),
            ("no_proxy", "localhost"),
        ]);
        assert_eq!(
            env.proxies().or_setting(Some(" http://set:1 ")),
            Proxies {
                http: Some("http://set:1".into()),
                https: Some("http://up:1".into()),
                all: None,
                no_proxy: Some("localhost".into()),
            }
        );
        assert_eq!(Proxies::default().or_setting(Some("  ")), Proxies::default());
    }

    #[test]
    fn keys_do_not_show_in_debug_output() {
        let env = Env::from_variables([("OPENAI_API_KEY", "sk-secret")]);
        let text = format!("{env:?}");
        assert!(text.contains("OPENAI_API_KEY") && !text.contains("sk-secret"), "{text}");
    }

    #[test]
    fn a_pi_inside_an_offline_pi_is_quiet_too() {
        let env = Env::from_variables([("A", "b")]);
        assert_eq!(env.for_commands(false), [("A".into(), "b".into())].into());
        let offline = env.for_commands(true);
        for name in ["PI_OFFLINE", "PI_SKIP_VERSION_CHECK"] {
            assert_eq!(offline.get(OsStr::new(name)), Some(&"1".into()), "{name}");
        }
    }

    #[test]
    fn paths_resolve_against_home_and_base() {
        let env = Env::from_variables([("HOME", "/h")]);
        for (path, expected) in [
            ("a", "/base/a"),
            ("./a/../b", "/base/b"),
            ("../../../x", "/x"),
            ("/abs/./x", "/abs/x"),
            ("~/x", "/h/x"),
            ("~", "/h"),
            ("~x", "/base/~x"),
            ("", "/base"),
        ] {
            assert_eq!(env.resolve_path(Path::new("/base"), path), Path::new(expected), "{path:?}");
        }
    }
}
