//! Which crate may depend on which. Dependencies point one way.

use toml::{Table, Value};

use super::Finding;
use super::tree::{File, Tree};

struct Layer {
    name: &'static str,
    /// Crates of ours it may use.
    uses: &'static [&'static str],
    /// Crates of ours its tests may use beside those.
    tests_use: &'static [&'static str],
}

const TESTS: &[&str] = &["pi-test"];
const ALL: &[&str] = &["pi-ai", "pi-tui", "pi-agent", "pi-ext", "pi-ext-js"];

/// Rows of crates that do not exist yet keep their place.
const LAYERS: &[Layer] = &[
    Layer { name: "pi-ai", uses: &[], tests_use: TESTS },
    Layer { name: "pi-tui", uses: &[], tests_use: TESTS },
    Layer { name: "pi-agent", uses: &["pi-ai"], tests_use: TESTS },
    Layer { name: "pi-ext", uses: &["pi-ai", "pi-agent"], tests_use: TESTS },
    Layer { name: "pi-ext-js", uses: &["pi-ai", "pi-agent", "pi-ext"], tests_use: TESTS },
    Layer { name: "pi-coding-agent", uses: ALL, tests_use: TESTS },
    Layer { name: "pi-test", uses: &[], tests_use: &[] },
    Layer { name: "xtask", uses: &[], tests_use: &[] },
];

/// Foreign crates that only one of ours may depend on.
const OWNERS: &[(&str, &str)] = &[("reqwest", "pi-ai"), ("clap", "pi-coding-agent")];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    tree.files
        .iter()
        .filter(|file| file.path != "Cargo.toml" && file.path.ends_with("/Cargo.toml"))
        .flat_map(check_manifest)
        .collect()
}

fn check_manifest(file: &File) -> Vec<Finding> {
    let manifest: Table = match file.text.parse() {
        Ok(manifest) => manifest,
        Err(error) => return vec![Finding::fault(&file.path, 1, format!("not TOML: {error}"))],
    };
    let name = manifest
        .get("package")
        .and_then(|package| package.get("name"))
        .and_then(Value::as_str)
        .unwrap_or_default();
    let Some(layer) = LAYERS.iter().find(|layer| layer.name == name) else {
        let text = format!(
            "crate {name:?} has no row in the layer table; add it to xtask/src/tidy/layers.rs"
        );
        return vec![Finding::fault(&file.path, 1, text)];
    };
    let mut findings = Vec::new();
    for (dependency, for_tests) in dependencies(&manifest) {
        if let Some(text) = objection(layer, &dependency, for_tests) {
            findings.push(Finding::fault(&file.path, line_of(&file.text, &dependency), text));
        }
    }
    findings
}

/// Names of dependencies, and whether only tests see them.
fn dependencies(manifest: &Table) -> Vec<(String, bool)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let tables = targets.into_iter().flat_map(Table::values).filter_map(Value::as_table);
    let mut found = Vec::new();
    for table in std::iter::once(manifest).chain(tables) {
        for (key, for_tests) in
            [("dependencies", false), ("build-dependencies", false), ("dev-dependencies", true)]
        {
            let Some(Value::Table(entries)) = table.get(key) else { continue };
            found.extend(entries.keys().map(|name| (name.clone(), for_tests)));
        }
    }
    found
}

fn objection(layer: &Layer, dependency: &str, for_tests: bool) -> Option<String> {
    let name = layer.name;
    if LAYERS.iter().any(|other| other.name == dependency) {
        let allowed = layer.uses.contains(&dependency)
            || (for_tests && layer.tests_use.contains(&dependency));
        return (!allowed).then(|| {
            format!("{name} may not depend on {dependency}; hand in what it needs as a value, trait or closure")
        });
    }
    let (_, owner) = OWNERS.iter().find(|(foreign, _)| *foreign == dependency)?;
    (*owner != name).then(|| format!("{dependency} belongs to {owner}; go through that crate"))
}

fn line_of(text: &str, dependency: &str) -> usize {
    let starts = |line: &str| {
        line.trim_start().strip_prefix(dependency).is_some_and(|rest| {
            rest.starts_with(|c: char| c == '.' || c == '=' || c.is_whitespace())
        })
    };
    text.lines().position(starts).map_or(1, |index| index + 1)
}
