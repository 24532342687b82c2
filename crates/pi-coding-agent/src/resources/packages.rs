//! Packages that are installed: where they lie and what they offer.
//!
//! Owns: the forms of a package's source, its folder, and its manifest. Never: installs anything.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use serde_json::{Map, Value};

use super::patterns::Patterns;
use super::source_info::ResourceScope;
use crate::env::Env;

/// One entry of the setting `packages`.
#[derive(Debug, Clone)]
pub(super) struct Package {
    /// As it stands in the settings.
    pub(super) source: String,
    pub(super) scope: ResourceScope,
    pub(super) root: PathBuf,
    identity: Identity,
    /// What the settings choose of it; by the kind's key. An absent key chooses everything.
    choices: Map<String, Value>,
    /// False: the choices change those of the user's entry for the same package.
    is_loaded_by_itself: bool,
    manifest: Option<Map<String, Value>>,
}

/// What makes two sources the same package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Identity {
    Npm(String),
    Git(String),
    Local(PathBuf),
}

/// Where the sources of one scope's settings begin.
#[derive(Debug, Clone, Copy)]
pub(super) struct PackageBase<'a> {
    pub(super) scope: ResourceScope,
    /// The directory of the settings file, which holds `npm` and `git` too.
    pub(super) dir: &'a Path,
    pub(super) env: &'a Env,
}

/// The packages of the project's and of the user's settings, in the order they count. A project's
/// entry stands in for the user's of the same package, or changes what is chosen of it.
pub(super) fn packages(
    project: Option<(&PackageBase<'_>, &[Value])>,
    user: (&PackageBase<'_>, &[Value]),
) -> Vec<Package> {
    let read = |base: &PackageBase<'_>, entries: &[Value]| -> Vec<Package> {
        entries.iter().filter_map(|entry| Package::read(entry, base)).collect()
    };
    let of_project = project.map(|(base, entries)| read(base, entries)).unwrap_or_default();
    let mut of_user = read(user.0, user.1);
    let (changes, mut packages): (Vec<_>, Vec<_>) =
        of_project.into_iter().partition(|package| !package.is_loaded_by_itself);
    for change in changes {
        if let Some(package) = of_user.iter_mut().find(|user| user.identity == change.identity) {
            package.add_choices(&change.choices);
        }
    }
    packages.append(&mut of_user);
    let mut met = BTreeSet::new();
    packages.retain(|package| met.insert(package.identity.clone()));
    for package in &mut packages {
        package.manifest = manifest(&package.root);
    }
    packages
}

impl Package {
    fn read(entry: &Value, base: &PackageBase<'_>) -> Option<Self> {
        let (source, choices) = match entry {
            Value::String(source) => (source.as_str(), Map::new()),
            Value::Object(fields) => (fields.get("source")?.as_str()?, fields.clone()),
            _ => return None,
        };
        let source = source.trim();
        let (identity, root) = place(source, base)?;
        Some(Self {
            source: source.to_owned(),
            scope: base.scope,
            root,
            identity,
            is_loaded_by_itself: choices.get("autoload").and_then(Value::as_bool).unwrap_or(true),
            choices,
            manifest: None,
        })
    }

    /// Marked entries are added to the user's; plain ones have nothing to narrow.
    fn add_choices(&mut self, change: &Map<String, Value>) {
        for (kind, entries) in change {
            let marked = texts(entries)
                .filter(|entry| entry.starts_with(['!', '+', '-']))
                .map(|entry| Value::String(entry.to_owned()));
            let marked: Vec<Value> = marked.collect();
            match self.choices.get_mut(kind) {
                Some(Value::Array(entries)) => entries.extend(marked),
                _ if marked.is_empty() => {}
                _ => drop(self.choices.insert(kind.clone(), Value::Array(marked))),
            }
        }
    }

    /// What the settings choose of a kind; `None` chooses everything.
    pub(super) fn choice(&self, kind: &str) -> Option<Patterns> {
        let entries = self.choices.get(kind).filter(|entries| entries.is_array())?;
        Some(Patterns::parse(texts(entries)))
    }

    /// What the manifest declares of a kind. `None`: the package has no manifest, and the folder of
    /// the kind's name is what it offers.
    pub(super) fn declared(&self, kind: &str) -> Option<Patterns> {
        let manifest = self.manifest.as_ref()?;
        Some(Patterns::parse(manifest.get(kind).into_iter().flat_map(texts)))
    }

    pub(super) fn is_installed(&self) -> bool {
        self.root.exists()
    }
}

fn texts(entries: &Value) -> impl Iterator<Item = &str> {
    entries.as_array().into_iter().flatten().filter_map(Value::as_str)
}

/// The `pi` object of a `package.json`.
fn manifest(root: &Path) -> Option<Map<String, Value>> {
    let text = fs::read(root.join("package.json")).ok()?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&text);
    let mut manifest: Map<String, Value> = serde_json::from_slice(text).ok()?;
    match manifest.shift_remove("pi") {
        Some(Value::Object(pi)) => Some(pi),
        _ => None,
    }
}

/// `None`: a source that names nothing, or a folder outside of those pi keeps.
fn place(source: &str, base: &PackageBase<'_>) -> Option<(Identity, PathBuf)> {
    if let Some(spec) = source.strip_prefix("npm:") {
        let name = npm_name(spec)?;
        let root = base.dir.join("npm/node_modules").join(&name);
        return Some((Identity::Npm(name), root));
    }
    if let Some(repository) = git_repository(source) {
        let repository = Some(repository).filter(|path| is_inside(path))?;
        let root = base.dir.join("git").join(&repository);
        return Some((Identity::Git(repository), root));
    }
    let root = base.env.resolve_path(base.dir, source.strip_prefix("file:").unwrap_or(source));
    Some((Identity::Local(root.clone()), root))
}

/// The name in `name`, `name@version`, `@scope/name` or `@scope/name@version`.
fn npm_name(spec: &str) -> Option<String> {
    let version = spec.char_indices().skip(1).find(|(_, c)| *c == '@').map(|(at, _)| at);
    let name = version.and_then(|at| spec.get(..at)).unwrap_or(spec).trim();
    (!name.is_empty() && is_inside(name)).then(|| name.to_owned())
}

/// `host/path` of a repository, without its reference; `None` for what is no git source.
fn git_repository(source: &str) -> Option<String> {
    let is_marked = source.starts_with("git:");
    let rest = source.strip_prefix("git:").unwrap_or(source);
    let schemes = ["https://", "http://", "ssh://", "git://", "git+ssh://", "git+https://"];
    let address = schemes.iter().find_map(|scheme| rest.strip_prefix(scheme));
    let is_short = rest.starts_with("git@");
    if !is_marked && address.is_none() && !is_short {
        return None;
    }
    let address = address.unwrap_or(rest);
    // A user before the host, not the reference behind the path.
    let (before, after) = address.split_once(['/', ':']).unwrap_or((address, ""));
    let host = before.rsplit_once('@').map_or(before, |(_, host)| host);
    // A port is no part of the folder.
    let path = match after.split_once('/') {
        Some((port, path)) if !port.is_empty() && port.chars().all(|c| c.is_ascii_digit()) => path,
        _ => after,
    };
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let name = name.split(['@', '#']).next().unwrap_or(name);
    let name = name.strip_suffix(".git").unwrap_or(name);
    let parts = [host, folder, name];
    let parts: Vec<&str> =
        parts.into_iter().map(|part| part.trim_matches('/')).filter(|p| !p.is_empty()).collect();
    Some(parts.join("/"))
}

/// Whether a path written by somebody stays below where it is put.
fn is_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components().peekable();
    parts.peek().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn env() -> Env {
        Env::from_variables([("HOME", "/home/u")])
    }

    fn root(source: &str) -> Option<PathBuf> {
        let env = env();
        let base = PackageBase {
            scope: ResourceScope::User,
            dir: Path::new("/home/u/.pi/agent"),
            env: &env,
        };
        Package::read(&json!(source), &base).map(|package| package.root)
    }

    #[test]
    fn a_source_leads_to_the_folder_it_was_installed_in() {
        for (source, below) in [
            ("npm:tools", "npm/node_modules/tools"),
            ("npm:tools@1.2.3", "npm/node_modules/tools"),
            ("npm:@s/tools", "npm/node_modules/@s/tools"),
            ("npm:@s/tools@^1", "npm/node_modules/@s/tools"),
            ("git:github.com/o/r", "git/github.com/o/r"),
            ("git:github.com/o/r@v1", "git/github.com/o/r"),
            ("git:git@github.com:o/r.git@main", "git/github.com/o/r"),
            ("https://github.com/o/r.git", "git/github.com/o/r"),
            ("https://user@host.org:8443/a/b/r@1", "git/host.org/a/b/r"),
            ("ssh://git@host.org:22/a/r", "git/host.org/a/r"),
            ("git@host.org:a/r", "git/host.org/a/r"),
        ] {
            assert_eq!(root(source), Some(Path::new("/home/u/.pi/agent").join(below)), "{source}");
        }
        for (source, path) in
            [("../pkg", "/home/u/.pi/pkg"), ("~/pkg", "/home/u/pkg"), ("/abs/pkg", "/abs/pkg")]
        {
            assert_eq!(root(source).as_deref(), Some(Path::new(path)), "{source}");
        }
        for source in ["npm:", "npm:../x", "npm:/x", "git:", "git:../../x", "git:host/../../../x"] {
            assert_eq!(root(source), None, "{source}");
        }
    }

    #[test]
    fn a_projects_entry_stands_in_for_the_users_or_changes_its_choice() {
        let env = env();
        let project_dir = Path::new("/p/.pi");
        let project = PackageBase { scope: ResourceScope::Project, dir: project_dir, env: &env };
        let user = PackageBase { scope: ResourceScope::User, dir: Path::new("/u"), env: &env };
        let read = |of_project: Value, of_user: Value| -> Vec<(PathBuf, Option<bool>)> {
            let (of_project, of_user) =
                (of_project.as_array().unwrap().clone(), of_user.as_array().unwrap().clone());
            let packages = packages(Some((&project, &of_project)), (&user, &of_user));
            let keeps_a = |package: &Package| {
                let file = package.root.join("skills/a/SKILL.md");
                let candidate =
                    super::super::patterns::Candidate { path: &file, base: &package.root };
                package.choice("skills").map(|choice| choice.select(&candidate))
            };
            packages.iter().map(|package| (package.root.clone(), keeps_a(package))).collect()
        };
        let path = |path: &str| PathBuf::from(path);
        assert_eq!(
            read(json!(["npm:x@2", "npm:y"]), json!(["npm:x@1", "npm:z"])),
            [
                (path("/p/.pi/npm/node_modules/x"), None),
                (path("/p/.pi/npm/node_modules/y"), None),
                (path("/u/npm/node_modules/z"), None),
            ]
        );
        let change =
            |skills: Value| json!([{"source": "npm:x", "autoload": false, "skills": skills}]);
        for (skills, keeps_a) in [
            (json!(["-skills/a"]), Some(false)),
            (json!(["skills/b"]), None),
            (json!(["!b"]), Some(true)),
        ] {
            assert_eq!(
                read(change(skills.clone()), json!(["npm:x"])),
                [(path("/u/npm/node_modules/x"), keeps_a)],
                "{skills}"
            );
        }
        assert_eq!(read(change(json!([])), json!([])), [], "it is not loaded by itself");
    }
}
