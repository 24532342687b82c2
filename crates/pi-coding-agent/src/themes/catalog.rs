//! Which themes there are, and which one the settings mean.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{Appearance, Theme, ThemeError};
use crate::error::Warning;

/// The themes that are built in, and the folders where others lie.
#[derive(Debug, Clone, Default)]
pub struct Themes {
    /// Earlier ones win.
    folders: Vec<PathBuf>,
}

/// What the setting `theme` comes to.
#[derive(Debug, Clone, PartialEq)]
pub enum ThemeChoice {
    /// The same one always.
    One(Box<Theme>),
    /// By the background the reader has.
    Pair { light: Box<Theme>, dark: Box<Theme> },
}

impl Default for ThemeChoice {
    fn default() -> Self {
        let builtin = |appearance| Box::new(builtin(appearance));
        Self::Pair { light: builtin(Appearance::Light), dark: builtin(Appearance::Dark) }
    }
}

impl Themes {
    /// Themes of these folders beside the built-in ones; a folder need not be there.
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders }
    }

    /// What `setting` means: a name, `light/dark` names, or `system`, as no setting does. A theme that
    /// is missing or broken is told of, and the built-in one takes its place.
    pub fn choose(&self, setting: Option<&str>) -> (ThemeChoice, Vec<Warning>) {
        let mut warnings = Vec::new();
        let mut find = |name: &str| {
            let found = self.find(name);
            found.map_err(|warning| warnings.push(warning)).ok().map(Box::new)
        };
        let setting = setting.map(str::trim).filter(|name| !matches!(*name, "" | "system"));
        let choice = match setting.map(|name| (name, name.split_once('/'))) {
            None => ThemeChoice::default(),
            Some((_, Some((light, dark)))) => {
                let mut or_builtin = |name: &str, appearance| match name.trim() {
                    "" | "system" => Box::new(builtin(appearance)),
                    name => find(name).unwrap_or_else(|| Box::new(builtin(appearance))),
                };
                ThemeChoice::Pair {
                    light: or_builtin(light, Appearance::Light),
                    dark: or_builtin(dark, Appearance::Dark),
                }
            }
            Some((name, None)) => find(name).map_or_else(ThemeChoice::default, ThemeChoice::One),
        };
        (choice, warnings)
    }

    fn find(&self, name: &str) -> Result<Theme, Warning> {
        match name {
            "dark" => return Ok(builtin(Appearance::Dark)),
            "light" => return Ok(builtin(Appearance::Light)),
            _ => {}
        }
        let mut broken = None;
        for path in self.folders.iter().flat_map(|folder| files(folder, name)) {
            let is_own = path.file_stem().is_some_and(|stem| stem == name);
            match read(&path) {
                Ok(theme) if theme.name == name => return Ok(theme),
                Err(error) if is_own => {
                    broken = broken.or_else(|| {
                        Some(format!(
                            "Theme \"{name}\" cannot be used: {}: {error}",
                            path.display()
                        ))
                    });
                }
                // Another theme, in whatever state.
                Ok(_) | Err(_) => {}
            }
        }
        let missing = || format!("Theme \"{name}\" not found; the built-in colors are used");
        Err(Warning(broken.unwrap_or_else(missing)))
    }
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Theme(#[from] ThemeError),
}

fn read(path: &Path) -> Result<Theme, ReadError> {
    Ok(Theme::from_json(&fs::read_to_string(path)?)?)
}

/// Theme files of a folder, the one that is called like the theme first, then by name.
fn files(folder: &Path, name: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    let is_other = |path: &PathBuf| path.file_stem().is_none_or(|stem| stem != name);
    paths.sort_by(|a, b| (is_other(a), a).cmp(&(is_other(b), b)));
    paths
}

pub(super) fn builtin(appearance: Appearance) -> Theme {
    let text = match appearance {
        Appearance::Dark => include_str!("dark.json"),
        Appearance::Light => include_str!("light.json"),
    };
    // A test reads both, so there is always a theme; without one everything is the terminal's own.
    Theme::from_json(text).unwrap_or_else(|_| Theme {
        name: String::new(),
        appearance,
        colors: Vec::new(),
        export: super::ExportColors::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn themes(files: &[(&str, &str)]) -> (tempfile::TempDir, Themes) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let folders = ["user", "project", "gone"].map(|folder| root.path().join(folder));
        (root, Themes::new(folders.into()))
    }

    fn named(name: &str) -> String {
        include_str!("dark.json").replace("\"name\": \"dark\"", &format!("\"name\": \"{name}\""))
    }

    fn names(choice: &ThemeChoice) -> String {
        match choice {
            ThemeChoice::One(theme) => theme.name.clone(),
            ThemeChoice::Pair { light, dark } => format!("{}/{}", light.name, dark.name),
        }
    }

    #[test]
    fn built_in_themes_are_whole() {
        for (text, name, appearance) in [
            (include_str!("dark.json"), "dark", Appearance::Dark),
            (include_str!("light.json"), "light", Appearance::Light),
        ] {
            let theme = Theme::from_json(text).unwrap();
            assert_eq!((theme.name.as_str(), theme.appearance), (name, appearance));
            assert_eq!(Theme::builtin(appearance), theme);
        }
    }

    #[test]
    fn a_setting_names_one_theme_or_one_for_each_background() {
        let (_root, themes) = themes(&[
            ("user/mine.json", &named("mine")),
            ("project/called-otherwise.json", &named("ours")),
            ("project/broken.json", "{"),
            ("user/wrong.json", "{\"name\": \"wrong\", \"colors\": {}}"),
        ]);
        let cases = [
            (None, "light/dark", None),
            (Some("system"), "light/dark", None),
            (Some(" "), "light/dark", None),
            (Some("dark"), "dark", None),
            (Some("light"), "light", None),
            (Some("mine"), "mine", None),
            (Some("ours"), "ours", None),
            (Some("mine/ours"), "mine/ours", None),
            (Some("light/mine"), "light/mine", None),
            (
                Some("gone"),
                "light/dark",
                Some("Theme \"gone\" not found; the built-in colors are used"),
            ),
            (Some("gone/mine"), "light/mine", Some("not found")),
            (Some("wrong"), "light/dark", Some("missing colors: accent, ")),
            (Some("broken"), "light/dark", Some("Theme \"broken\" cannot be used: ")),
            (Some("../user/mine"), "light/dark", Some("not found")),
        ];
        for (setting, expected, warning) in cases {
            let (choice, warnings) = themes.choose(setting);
            assert_eq!(names(&choice), expected, "{setting:?}");
            match warning {
                None => assert_eq!(warnings, [], "{setting:?}"),
                Some(text) => assert!(warnings[0].0.contains(text), "{setting:?}: {warnings:?}"),
            }
        }
    }

    #[test]
    fn the_first_folder_wins() {
        let light = include_str!("light.json")
            .replace("\"light\",\n  \"appearance\"", "\"mine\",\n  \"appearance\"");
        let (_root, themes) =
            themes(&[("user/mine.json", &named("mine")), ("project/mine.json", &light)]);
        let (ThemeChoice::One(theme), _) = themes.choose(Some("mine")) else { panic!() };
        assert_eq!(theme.appearance, Appearance::Dark);
    }
}
