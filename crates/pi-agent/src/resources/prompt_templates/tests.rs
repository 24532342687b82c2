use std::fs;

use super::*;
use crate::env::{LocalEnv, LocalEnvConfig};

fn local() -> LocalEnv {
    LocalEnv::new(LocalEnvConfig::default())
}

fn scratch(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (path, content) in files {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    dir
}

fn names(templates: &PromptTemplates) -> Vec<&str> {
    templates.iter().map(|template| template.name.as_str()).collect()
}

fn parse(text: &str) -> PromptTemplate {
    PromptTemplate::parse("/p/name.md", text).unwrap()
}

#[test]
fn a_template_is_its_files_text_with_what_the_front_matter_says() {
    let text = "---\ndescription: Review things\nargument-hint: \"[focus]\"\nodd: 1\n---\n\n  Body $1 \n\n";
    let expected = PromptTemplate {
        name: "rev".into(),
        description: "Review things".into(),
        argument_hint: Some("[focus]".into()),
        body: "Body $1".into(),
        file_path: "/p/rev.md".into(),
    };
    assert_eq!(PromptTemplate::parse("/p/rev.md", text), Ok(expected));
    for (path, name) in
        [("/p/Case.md", "Case"), ("/p/a.b.md", "a.b"), ("/p/two words.md", "two words")]
    {
        assert_eq!(PromptTemplate::parse(path, text).unwrap().name, name);
    }
}

#[test]
fn a_body_is_trimmed_below_front_matter_and_else_kept() {
    for (text, body) in [
        ("---\ndescription: d\n---\n\n a\n\nb \n\n", "a\n\nb"),
        ("---\ndescription: d\n---\n", ""),
        ("\n a \n\n", "\n a \n\n"),
        ("a\r\nb\r\n", "a\nb\n"),
        ("\u{feff}a\n", "a\n"),
        ("", ""),
        ("a\n---\nb: c\n---\n", "a\n---\nb: c\n---\n"),
    ] {
        assert_eq!(parse(text).body, body, "{text:?}");
    }
}

#[test]
fn the_description_falls_back_to_the_first_line() {
    let long = "é".repeat(61);
    let cut = format!("{}...", "é".repeat(60));
    for (text, description) in [
        ("---\ndescription: d\n---\nbody", "d"),
        ("---\ndescription: \"\"\n---\nbody line\nmore", "body line"),
        ("---\ndescription: 5\n---\nbody", "body"),
        ("---\nargument-hint: <x>\n---\n\nfirst\nsecond", "first"),
        ("\n \n# Heading\ntext", "# Heading"),
        ("", ""),
        (&long, &cut),
        (&"x".repeat(60), &"x".repeat(60)),
    ] {
        assert_eq!(parse(text).description, description, "{text:?}");
    }
    assert_eq!(parse("---\nargument-hint: 7\n---\n").argument_hint, None);
}

#[tokio::test]
async fn bad_yaml_is_told_and_not_loaded() {
    let dir = scratch(&[("a.md", "---\ndescription: [x\n---\nbody\n"), ("b.md", "b")]);
    let mut templates = PromptTemplates::default();
    let diagnostics = templates.discover(&local(), dir.path()).await;
    let [ResourceDiagnostic { path, line, problem: ResourceProblem::FrontMatter(_) }] =
        &*diagnostics
    else {
        panic!("{diagnostics:?}")
    };
    assert_eq!(*path, dir.path().join("a.md"));
    assert!(line.is_some());
    assert_eq!(names(&templates), ["b"]);
}

#[tokio::test]
async fn a_directory_gives_its_own_markdown_files_in_order() {
    let dir = scratch(&[
        ("b.md", "b"),
        ("a.md", "a"),
        ("B.md", "B"),
        ("c.MD", "no"),
        ("d.txt", "no"),
        ("nested/e.md", "no"),
        ("f.md/g", "no"),
    ]);
    let mut templates = PromptTemplates::default();
    assert_eq!(templates.discover(&local(), dir.path()).await, []);
    assert_eq!(names(&templates), ["B", "a", "b"]);
    assert_eq!(templates.discover(&local(), &dir.path().join("none")).await, []);
    assert_eq!(templates.len(), 3);
}

#[tokio::test]
async fn the_first_keeps_a_name_that_several_have() {
    let dir = scratch(&[("one/a.md", "1"), ("two/a.md", "2"), ("two/b.md", "3")]);
    let mut templates = PromptTemplates::default();
    assert_eq!(templates.discover(&local(), &dir.path().join("one")).await, []);
    let winner = dir.path().join("one/a.md");
    let expected = ResourceDiagnostic::new(
        dir.path().join("two/a.md"),
        ResourceProblem::Collision { name: "a".into(), winner: winner.clone() },
    );
    assert_eq!(templates.discover(&local(), &dir.path().join("two")).await, [expected]);
    assert_eq!(templates.load(&local(), &winner).await, [], "the same file again is no collision");
    assert_eq!(names(&templates), ["a", "b"]);
    assert_eq!(templates.get("a").unwrap().body, "1");
}

#[tokio::test]
async fn what_is_given_by_path_is_loaded_or_told() {
    let dir = scratch(&[("x/a.md", "a"), ("x/deep/b.md", "b"), ("c.txt", "c")]);
    let mut templates = PromptTemplates::default();
    assert_eq!(templates.load(&local(), &dir.path().join("x")).await, []);
    assert_eq!(templates.load(&local(), &dir.path().join("x/deep/b.md")).await, []);
    assert_eq!(names(&templates), ["a", "b"]);
    for (path, problem) in
        [("none.md", ResourceProblem::Missing), ("c.txt", ResourceProblem::NotMarkdown)]
    {
        let path = dir.path().join(path);
        assert_eq!(templates.load(&local(), &path).await, [ResourceDiagnostic::new(path, problem)]);
    }
}

#[test]
fn a_template_is_called_by_a_slash_its_name_and_white_space() {
    let mut templates = PromptTemplates::default();
    for (name, body) in
        [("t", "<$@>"), ("model", "m"), ("n:x", "n"), ("two words", "no"), ("v", "$1\n")]
    {
        let path = format!("/p/{name}.md");
        assert_eq!(templates.add(PromptTemplate::parse(path, body).unwrap()), None);
    }
    for (text, expected) in [
        ("/t", Some("<>")),
        ("/t ", Some("<>")),
        ("/t a b", Some("<a b>")),
        ("/t  a", Some("<a>")),
        ("/t\ta", Some("<a>")),
        ("/t\na\nb", Some("<a b>")),
        ("/t\r\na", Some("<a>")),
        ("/t\u{a0}a", Some("<a>")),
        ("/t a\n\n", Some("<a>")),
        ("/v \"a\nb\"", Some("a\nb\n")),
        ("/n:x a", Some("n")),
        ("/model", Some("m")),
        (" /t a", None),
        ("\n/t a", None),
        ("/T a", None),
        ("/tx a", None),
        ("/t/a", None),
        ("//t", None),
        ("/two words", None),
        ("/ t", None),
        ("/", None),
        ("t a", None),
        ("", None),
    ] {
        assert_eq!(templates.expand(text).as_deref(), expected, "{text:?}");
    }
}
