//! Checks that every dependency has a licence the project accepts.
//!
//! The allow list is the one in `deny.toml`, so `cargo deny check licenses` and this agree; doing it
//! here spares everyone the build of another tool.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use spdx::{Expression, ParseMode};

/// Checks the locked dependencies of the workspace at `root`, on every platform.
pub(crate) fn check(root: &Path) -> Result<()> {
    let allowed = allowed(root)?;
    let packages = packages(root)?;
    let findings = findings(&allowed, &packages);
    if findings.is_empty() {
        eprintln!("{} dependencies, all under accepted licences", packages.len());
        return Ok(());
    }
    bail!("{}", findings.join("\n"));
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// Absent for the workspace's own crates.
    source: Option<String>,
}

fn allowed(root: &Path) -> Result<BTreeSet<String>> {
    #[derive(Deserialize)]
    struct Deny {
        licenses: Licenses,
    }
    #[derive(Deserialize)]
    struct Licenses {
        allow: BTreeSet<String>,
    }
    let path = root.join("deny.toml");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let deny: Deny = toml::from_str(&text).with_context(|| path.display().to_string())?;
    Ok(deny.licenses.allow)
}

fn packages(root: &Path) -> Result<Vec<Package>> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(root)
        .output()
        .context("cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let metadata: Metadata = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    Ok(metadata.packages.into_iter().filter(|package| package.source.is_some()).collect())
}

fn findings(allowed: &BTreeSet<String>, packages: &[Package]) -> Vec<String> {
    packages.iter().filter_map(|package| finding(allowed, package)).collect()
}

fn finding(allowed: &BTreeSet<String>, package: &Package) -> Option<String> {
    let Package { name, version, .. } = package;
    let Some(license) = &package.license else {
        return Some(format!("{name} {version}: names no licence; replace it"));
    };
    let expression = match Expression::parse_mode(license, ParseMode::LAX) {
        Ok(expression) => expression,
        Err(error) => {
            return Some(format!("{name} {version}: cannot read licence {license:?}: {error}"));
        }
    };
    let accepted = expression.evaluate(|requirement| allowed.contains(&requirement.to_string()));
    (!accepted).then(|| {
        format!("{name} {version}: licence {license:?} is not in deny.toml; replace the crate, or add the licence if it is permissive")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_are_judged_by_the_allow_list() {
        let allowed: BTreeSet<String> = ["MIT", "Apache-2.0", "Apache-2.0 WITH LLVM-exception"]
            .into_iter()
            .map(str::to_owned)
            .collect();
        let cases = [
            (Some("MIT"), true),
            (Some("MIT/Apache-2.0"), true),
            (Some("GPL-3.0-only OR MIT"), true),
            (Some("MIT AND GPL-3.0-only"), false),
            (Some("MPL-2.0"), false),
            (Some("Apache-2.0 WITH LLVM-exception"), true),
            (Some("no such thing"), false),
            (None, false),
        ];
        for (license, accepted) in cases {
            let package = Package {
                name: "x".to_owned(),
                version: "1.0.0".to_owned(),
                license: license.map(str::to_owned),
                source: Some("registry".to_owned()),
            };
            assert_eq!(finding(&allowed, &package).is_none(), accepted, "{license:?}");
        }
    }
}
