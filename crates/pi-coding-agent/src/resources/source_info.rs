//! Where a skill or a prompt template comes from, as clients are told.

use std::path::Path;

use serde::Serialize;

/// The origin of one file. The names of the fields and their values are those of the RPC protocol.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SourceInfo {
    /// Absolute path of the file.
    pub path: String,
    /// `auto`: found where pi looks by itself; `local`: a path somebody gave; else the package, as it
    /// stands in the settings.
    pub source: String,
    pub scope: ResourceScope,
    pub origin: ResourceOrigin,
    /// The directory its place belongs to. Absent for a path of the settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_dir: Option<String>,
}

/// Whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ResourceScope {
    User,
    Project,
    /// Of this run alone.
    Temporary,
}

/// Whether it lies by itself or in a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResourceOrigin {
    TopLevel,
    Package,
}

impl SourceInfo {
    pub(super) fn new(path: &Path, place: &PlaceOrigin) -> Self {
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        let base_dir = match &place.base {
            Base::Unsaid => None,
            Base::OwnDirectory => path.parent().map(shown),
            Base::Directory(dir) => Some(shown(dir)),
        };
        Self {
            path: shown(path),
            source: place.source.clone(),
            scope: place.scope,
            origin: place.origin,
            base_dir,
        }
    }
}

/// What all files of one place have in common.
#[derive(Debug, Clone)]
pub(super) struct PlaceOrigin {
    pub(super) source: String,
    pub(super) scope: ResourceScope,
    pub(super) origin: ResourceOrigin,
    pub(super) base: Base,
}

/// Which directory is told as the base.
#[derive(Debug, Clone)]
pub(super) enum Base {
    Unsaid,
    /// The one the file is in.
    OwnDirectory,
    Directory(std::path::PathBuf),
}

impl PlaceOrigin {
    /// A place where pi looks by itself, below `base`.
    pub(super) fn found(scope: ResourceScope, base: &Path) -> Self {
        Self {
            source: "auto".to_owned(),
            scope,
            origin: ResourceOrigin::TopLevel,
            base: Base::Directory(base.to_owned()),
        }
    }

    /// A path of the settings.
    pub(super) fn of_settings(scope: ResourceScope) -> Self {
        Self {
            source: "local".to_owned(),
            scope,
            origin: ResourceOrigin::TopLevel,
            base: Base::Unsaid,
        }
    }

    /// A path of the command line.
    pub(super) fn of_command_line() -> Self {
        Self {
            source: "local".to_owned(),
            scope: ResourceScope::Temporary,
            origin: ResourceOrigin::TopLevel,
            base: Base::OwnDirectory,
        }
    }

    /// A package, installed at `root`.
    pub(super) fn of_package(scope: ResourceScope, source: &str, root: &Path) -> Self {
        Self {
            source: source.to_owned(),
            scope,
            origin: ResourceOrigin::Package,
            base: Base::Directory(root.to_owned()),
        }
    }
}
