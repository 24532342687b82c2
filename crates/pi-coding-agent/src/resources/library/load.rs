//! Looking in every place, in the order they count.

use std::path::Path;

use pi_agent::env::ExecutionEnv;
use pi_agent::resources::ResourceFile;
use pi_agent::resources::prompt_templates::TemplateDepth;
use pi_agent::resources::skills::RootFiles;
use serde_json::Value;

use super::kind::Kind;
use super::scope::{Scope, scopes};
use super::{Library, LibrarySources};
use crate::env::Env;
use crate::resources::packages::{Package, PackageBase, packages};
use crate::resources::patterns::{Candidate, Patterns, fixed_part, is_glob};
use crate::resources::source_info::{PlaceOrigin, ResourceScope, SourceInfo};

pub(super) async fn load(sources: &LibrarySources<'_>, files: &dyn ExecutionEnv) -> Library {
    let (installed, missing): (Vec<_>, Vec<_>) =
        all_packages(sources).into_iter().partition(Package::is_installed);
    let mut library = Library {
        missing_packages: missing.into_iter().map(|package| package.source).collect(),
        ..Library::default()
    };
    for kind in [Kind::Skills, Kind::Prompts] {
        let mut loader = Loader { library: &mut library, files, env: sources.env, kind };
        if !kind.flags(sources).only_these {
            for scope in scopes(sources) {
                loader.add_scope(&scope).await;
            }
            for package in &installed {
                loader.add_package(package).await;
            }
        }
        // They come last, so that one keeps no name that another one has.
        for given in &kind.flags(sources).paths {
            loader.add_given(&sources.env.resolve_path(sources.launch_dir, given)).await;
        }
    }
    library
}

fn all_packages(sources: &LibrarySources<'_>) -> Vec<Package> {
    let base = |scope, dir| PackageBase { scope, dir, env: sources.env };
    let user = base(ResourceScope::User, sources.agent_dir);
    let project = sources.project.and_then(|project| {
        Some((base(ResourceScope::Project, project.dir?), project.settings.packages))
    });
    let project = project.as_ref().map(|(base, entries)| (base, *entries));
    packages(project, (&user, sources.settings.packages))
}

/// Adds files of one kind.
struct Loader<'a> {
    library: &'a mut Library,
    files: &'a dyn ExecutionEnv,
    env: &'a Env,
    kind: Kind,
}

impl Loader<'_> {
    async fn add_scope(&mut self, scope: &Scope<'_>) {
        let Scope { owner, dir, entries, shared } = scope;
        let patterns = self.kind.entries(entries).iter().filter_map(Value::as_str);
        let patterns = Patterns::parse(patterns);
        let is_kept = |file: &Candidate<'_>| patterns.keep(file);
        if let Some(dir) = dir {
            let origin = PlaceOrigin::of_settings(*owner);
            for entry in &patterns.plain {
                let found = self.at_entry(dir, entry).await;
                self.add(found, &origin, dir, is_kept).await;
            }
            let found = self.in_folder(dir, RootFiles::Count).await;
            self.add(found, &PlaceOrigin::found(*owner, dir), dir, is_kept).await;
        }
        if self.kind == Kind::Skills {
            for dir in shared {
                let found = self.in_folder(dir, RootFiles::PassOver).await;
                self.add(found, &PlaceOrigin::found(*owner, dir), dir, is_kept).await;
            }
        }
    }

    async fn add_package(&mut self, package: &Package) {
        let choice = package.choice(self.kind.name());
        if choice.as_ref().is_some_and(Patterns::is_empty) {
            return;
        }
        let root = &package.root;
        let mut found = Vec::new();
        let declared = package.declared(self.kind.name());
        if let Some(declared) = &declared {
            for entry in &declared.plain {
                found.extend(self.at_entry(root, entry).await);
            }
        } else {
            found = self.in_folder(root, RootFiles::Count).await;
        }
        let is_chosen = |file: &Candidate<'_>| {
            declared.as_ref().is_none_or(|declared| declared.keep(file))
                && choice.as_ref().is_none_or(|choice| choice.select(file))
        };
        let origin = PlaceOrigin::of_package(package.scope, &package.source, root);
        self.add(found, &origin, root, is_chosen).await;
    }

    async fn add_given(&mut self, path: &Path) {
        let found = self.at_path(path, TemplateDepth::Direct).await;
        self.add(found, &PlaceOrigin::of_command_line(), path, |_| true).await;
    }

    /// What a path or glob of a list leads to.
    async fn at_entry(&mut self, base: &Path, entry: &str) -> Vec<ResourceFile> {
        if !is_glob(entry) {
            return self.at_path(&self.env.resolve_path(base, entry), TemplateDepth::Nested).await;
        }
        let fixed = self.env.resolve_path(base, &fixed_part(entry).to_string_lossy());
        let mut found = self.at_path(&fixed, TemplateDepth::Nested).await;
        found.retain(|file| Candidate { path: &file.path, base }.matches(entry));
        found
    }

    async fn at_path(&mut self, path: &Path, depth: TemplateDepth) -> Vec<ResourceFile> {
        match self.kind.at_path(self.files, path, depth).await {
            Ok((found, diagnostics)) => {
                self.library.diagnostics.extend(diagnostics);
                found
            }
            Err(diagnostic) => {
                self.library.diagnostics.push(diagnostic);
                Vec::new()
            }
        }
    }

    /// What is in the kind's folder of a directory, which need not exist.
    async fn in_folder(&mut self, dir: &Path, root_files: RootFiles) -> Vec<ResourceFile> {
        let folder = dir.join(self.kind.name());
        // Most do not exist, and to ask for that this way costs next to nothing.
        if !folder.exists() {
            return Vec::new();
        }
        let (found, diagnostics) = self.kind.in_folder(self.files, &folder, root_files).await;
        self.library.diagnostics.extend(diagnostics);
        found
    }

    async fn add(
        &mut self,
        mut found: Vec<ResourceFile>,
        origin: &PlaceOrigin,
        base: &Path,
        is_chosen: impl Fn(&Candidate<'_>) -> bool,
    ) {
        found.retain(|file| is_chosen(&Candidate { path: &file.path, base }));
        for file in &found {
            let info = SourceInfo::new(&file.path, origin);
            self.library.origins.entry(file.path.clone()).or_insert(info);
        }
        let diagnostics = self.kind.add(self.library, self.files, found).await;
        self.library.diagnostics.extend(diagnostics);
    }
}
