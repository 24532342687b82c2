use std::fs;

use super::*;
use crate::env::{LocalEnv, LocalEnvConfig};

fn local() -> LocalEnv {
    LocalEnv::new(LocalEnvConfig::default())
}

/// A directory to put skills in.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new(files: &[(&str, &str)]) -> Self {
        let scratch = Self(tempfile::tempdir().unwrap());
        for (path, content) in files {
            scratch.write(path, content);
        }
        scratch
    }

    /// A skill in each of these files, called `s0`, `s1`, ...
    fn with_skills(paths: &[&str]) -> Self {
        let scratch = Self::new(&[]);
        for (number, path) in paths.iter().enumerate() {
            scratch.write(path, skill(&format!("s{number}")));
        }
        scratch
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    #[cfg(unix)]
    fn link(&self, target: &str, path: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(self.path(target), path).unwrap();
    }

    fn path(&self, below: &str) -> PathBuf {
        self.0.path().join(below)
    }

    async fn discover(
        &self,
        below: &str,
        root_files: RootFiles,
    ) -> (Skills, Vec<ResourceDiagnostic>) {
        let mut skills = Skills::default();
        let diagnostics = skills.discover(&local(), &self.path(below), root_files).await;
        (skills, diagnostics)
    }

    /// The files of the skills in a directory, below it.
    async fn files(&self, below: &str, root_files: RootFiles) -> Vec<String> {
        let (skills, diagnostics) = self.discover(below, root_files).await;
        assert_eq!(diagnostics, []);
        let root = self.path(below);
        let paths = skills.iter().map(|skill| skill.file_path.strip_prefix(&root).unwrap());
        paths.map(|path| path.display().to_string()).collect()
    }
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: About {name}.\n---\nDo {name}.\n")
}

fn parse(path: &str, head: &str) -> (Option<Skill>, Vec<(Option<usize>, ResourceProblem)>) {
    let (skill, diagnostics) = Skill::parse(path, &format!("---\n{head}\n---\nBody\n"));
    assert!(diagnostics.iter().all(|diagnostic| diagnostic.path == Path::new(path)));
    (skill, diagnostics.into_iter().map(|found| (found.line, found.problem)).collect())
}

#[test]
fn a_skill_is_what_its_front_matter_says() {
    let head = "description: Does it\nname: pdf\ndisable-model-invocation: true\n\
                license: MIT\ncompatibility: any\nmetadata:\n  a: b\nallowed-tools: read\nodd: [1]";
    let (found, diagnostics) = parse("/s/pdf-tools/SKILL.md", head);
    assert_eq!(diagnostics, []);
    let expected = Skill {
        name: "pdf".into(),
        description: "Does it".into(),
        file_path: "/s/pdf-tools/SKILL.md".into(),
        base_dir: "/s/pdf-tools".into(),
        disable_model_invocation: true,
    };
    assert_eq!(found, Some(expected));
}

#[test]
fn without_a_name_a_skill_is_called_like_its_directory_or_its_file() {
    let cases = [
        ("/s/pdf/SKILL.md", "description: d", "pdf"),
        ("/s/pdf/SKILL.md", "name: \"\"\ndescription: d", "pdf"),
        ("/s/pdf/SKILL.md", "name:\ndescription: d", "pdf"),
        ("/s/pdf/SKILL.md", "name: 12\ndescription: d", "pdf"),
        ("/s/pdf/SKILL.md", "name: other\ndescription: d", "other"),
        ("/s/notes.md", "description: d", "notes"),
        ("/s/a.b.md", "description: d\nname: c", "c"),
    ];
    for (path, head, name) in cases {
        let (found, diagnostics) = parse(path, head);
        assert_eq!(found.unwrap().name, name, "{path} {head:?}");
        assert_eq!(diagnostics, []);
    }
}

#[test]
fn only_true_hides_a_skill_from_the_model() {
    for (value, hides) in
        [("true", true), ("True", true), ("false", false), ("yes", false), ("\"true\"", false)]
    {
        let (found, _) =
            parse("/s/a/SKILL.md", &format!("description: d\ndisable-model-invocation: {value}"));
        assert_eq!(found.unwrap().disable_model_invocation, hides, "{value}");
    }
}

#[test]
fn a_description_may_have_several_lines_and_is_kept_as_it_is() {
    let long = "d".repeat(1024);
    for (yaml, expected) in [
        (">\n  folded text\n  here", "folded text here\n"),
        ("|\n  l1\n  l2", "l1\nl2\n"),
        ("plain\n  goes on", "plain goes on"),
        ("\"  padded  \"", "  padded  "),
        (&long, &long),
    ] {
        let (found, diagnostics) = parse("/s/a/SKILL.md", &format!("description: {yaml}"));
        assert_eq!(found.unwrap().description, expected);
        assert_eq!(diagnostics, []);
    }
}

#[test]
fn without_a_description_there_is_no_skill() {
    for (head, line) in [
        ("name: a", None),
        ("name: a\ndescription:", Some(3)),
        ("name: a\ndescription: \"\"", Some(3)),
        ("description: \"  \"", Some(2)),
        ("description: 5", Some(2)),
        ("description: [a, b]", Some(2)),
        ("- a", None),
        ("text", None),
        ("", None),
    ] {
        let (found, diagnostics) = parse("/s/a/SKILL.md", head);
        assert_eq!(found, None, "{head:?}");
        assert_eq!(diagnostics, [(line, ResourceProblem::NoDescription)], "{head:?}");
        assert_eq!(
            parse("/s/a.md", head),
            (None, vec![]),
            "other files may be no skills: {head:?}"
        );
    }
    assert_eq!(ResourceProblem::NoDescription.to_string(), "description is required");
    for text in ["", "no head", "---\ndescription: d\nnot closed", "\n---\ndescription: d\n---\n"] {
        assert_eq!(Skill::parse("/s/a/SKILL.md", text).0, None, "{text:?}");
        assert_eq!(Skill::parse("/s/a.md", text), (None, vec![]), "{text:?}");
    }
}

#[test]
fn names_and_descriptions_that_break_the_rules_are_told_and_loaded() {
    use ResourceProblem::{
        DescriptionTooLong, NameCharacters, NameDoublesHyphen, NameEndsInHyphen, NameTooLong,
    };
    let cases: &[(&str, &[ResourceProblem])] = &[
        ("a-1", &[]),
        (&"n".repeat(64), &[]),
        (&"n".repeat(65), &[NameTooLong(65)]),
        ("Upper", &[NameCharacters]),
        ("two words", &[NameCharacters]),
        ("under_score", &[NameCharacters]),
        ("é", &[NameCharacters]),
        ("\"-a\"", &[NameEndsInHyphen]),
        ("a-", &[NameEndsInHyphen]),
        ("a--b", &[NameDoublesHyphen]),
        (
            "Z-______________________________________________________________________--",
            &[NameTooLong(74), NameCharacters, NameEndsInHyphen, NameDoublesHyphen],
        ),
    ];
    for (name, problems) in cases {
        let (found, diagnostics) = parse("/s/a/SKILL.md", &format!("description: d\nname: {name}"));
        assert_eq!(found.unwrap().name, name.trim_matches('"'));
        let expected: Vec<_> = problems.iter().map(|problem| (Some(3), problem.clone())).collect();
        assert_eq!(diagnostics, expected, "{name}");
    }

    let (found, diagnostics) =
        parse("/s/a/SKILL.md", &format!("name: B\ndescription: {}", "é".repeat(1025)));
    assert_eq!(found.unwrap().description.chars().count(), 1025, "in full");
    assert_eq!(
        diagnostics,
        [(Some(3), DescriptionTooLong(1025)), (Some(2), NameCharacters)],
        "the description first"
    );

    let (_, diagnostics) = parse("/s/Upper/SKILL.md", "description: d");
    assert_eq!(diagnostics, [(None, NameCharacters)], "a name by default is checked as well");
}

#[test]
fn bad_yaml_is_told_and_not_loaded() {
    for path in ["/s/a/SKILL.md", "/s/a.md"] {
        let (found, diagnostics) = parse(path, "name: a\ndescription: b: c");
        assert_eq!(found, None);
        assert_matches_yaml_error(&diagnostics, 3);
    }
    let (found, diagnostics) = parse("/s/a/SKILL.md", "description: a\ndescription: b");
    assert_eq!(found, None, "a field may be there once");
    assert_matches_yaml_error(&diagnostics, 3);
}

fn assert_matches_yaml_error(diagnostics: &[(Option<usize>, ResourceProblem)], line: usize) {
    let [(found, ResourceProblem::FrontMatter(message))] = diagnostics else {
        panic!("{diagnostics:?}")
    };
    assert_eq!(*found, Some(line), "{message}");
    assert!(!message.is_empty());
}

#[test]
fn line_ends_and_byte_order_marks_do_not_get_in_the_way() {
    let text = "\u{feff}---\r\nname: a\r\ndescription: b c\r\n---\r\nBody\r\n";
    let (found, diagnostics) = Skill::parse("/s/x/SKILL.md", text);
    let found = found.unwrap();
    assert_eq!((found.name.as_str(), found.description.as_str()), ("a", "b c"));
    assert_eq!(diagnostics, []);
}

#[test]
fn diagnostics_read_as_file_line_and_problem() {
    let (_, diagnostics) = Skill::parse("/s/a/SKILL.md", "---\ndescription: d\nname: A\n---\n");
    assert_eq!(
        diagnostics.first().unwrap().to_string(),
        "/s/a/SKILL.md:3: the name may have only a-z, 0-9 and hyphens"
    );
}

#[tokio::test]
async fn a_directory_is_searched_in_the_order_of_names() {
    let paths = [
        "10/SKILL.md",
        "9/SKILL.md",
        "B/SKILL.md",
        "a/SKILL.md",
        "a-b/SKILL.md",
        "a.md",
        "b/z/SKILL.md",
        "b-c/SKILL.md",
        "f/SKILL.md",
        "é/SKILL.md",
        "ﬀ/SKILL.md",
        "😀/SKILL.md",
    ];
    let scratch = Scratch::new(&[]);
    for (number, path) in paths.iter().enumerate().rev() {
        scratch.write(path, skill(&format!("s{number}")));
    }
    assert_eq!(scratch.files("", RootFiles::Count).await, paths);
}

#[tokio::test]
async fn what_counts_as_a_skill_depends_on_where_it_lies() {
    let cases: &[(&[&str], &[&str])] = &[
        (&[], &[]),
        (&["one/SKILL.md", "one/inner/SKILL.md", "one/more.md"], &["one/SKILL.md"]),
        (&["SKILL.md", "other.md", "x/SKILL.md"], &["SKILL.md"]),
        (&["root.md", "group/sub.md", "group/deep/SKILL.md"], &["group/deep/SKILL.md", "root.md"]),
        (&[".dot/SKILL.md", ".dot.md", "node_modules/x/SKILL.md", "a/.b/SKILL.md"], &[]),
        (&["a/node_modules/SKILL.md", "a/b/SKILL.md"], &["a/b/SKILL.md"]),
        (&["caps.MD", "a/skill.md", "a.txt", "md"], &[]),
        (&["a/SKILL.md/x", "a/b/SKILL.md"], &["a/b/SKILL.md"]),
    ];
    for (files, expected) in cases {
        let scratch = Scratch::with_skills(files);
        assert_eq!(scratch.files("", RootFiles::Count).await, *expected, "{files:?}");
        let without: Vec<_> =
            expected.iter().filter(|path| path.ends_with("SKILL.md")).copied().collect();
        assert_eq!(scratch.files("", RootFiles::PassOver).await, without, "{files:?}");
    }
}

#[tokio::test]
async fn a_directory_with_a_broken_skill_is_still_no_group() {
    let scratch = Scratch::new(&[("a/SKILL.md", "no head"), ("a/b/SKILL.md", &skill("b"))]);
    let (skills, diagnostics) = scratch.discover("", RootFiles::Count).await;
    assert!(skills.is_empty());
    let expected =
        ResourceDiagnostic::new(scratch.path("a/SKILL.md"), ResourceProblem::NoDescription);
    assert_eq!(diagnostics, [expected]);
}

#[tokio::test]
async fn plain_markdown_beside_skills_is_passed_over() {
    let scratch = Scratch::new(&[
        ("README.md", "# Skills\n"),
        ("CHANGES.md", "---\ntitle: Changes\n---\n"),
        ("a/SKILL.md", &skill("a")),
    ]);
    assert_eq!(scratch.files("", RootFiles::Count).await, ["a/SKILL.md"]);
}

#[tokio::test]
async fn a_directory_that_is_not_there_has_no_skills() {
    assert_eq!(Scratch::new(&[]).files("none/at/all", RootFiles::Count).await, [""; 0]);
}

#[tokio::test]
async fn ignore_files_are_respected() {
    type Files<'a> = &'a [(&'a str, &'a str)];
    let cases: &[(Files<'_>, &[&str])] = &[
        (&[(".gitignore", "a/\n*.ign.md\n")], &["b/SKILL.md", "g/x/SKILL.md"]),
        (&[(".ignore", "b\n")], &["a/SKILL.md", "g/x/SKILL.md", "k.ign.md"]),
        (&[(".fdignore", "/g/x\n")], &["a/SKILL.md", "b/SKILL.md", "k.ign.md"]),
        (
            &[(".gitignore", "a/\n"), (".ignore", "!a/\n")],
            &["a/SKILL.md", "b/SKILL.md", "g/x/SKILL.md", "k.ign.md"],
        ),
        (&[(".gitignore", "*\n!b\n!b/**\n")], &["b/SKILL.md"]),
        (&[("g/.gitignore", "x\n")], &["a/SKILL.md", "b/SKILL.md", "k.ign.md"]),
        (
            &[(".gitignore", "x\n"), ("g/.gitignore", "!x\n")],
            &["a/SKILL.md", "b/SKILL.md", "g/x/SKILL.md", "k.ign.md"],
        ),
        (&[(".gitignore", "SKILL.md\n")], &["k.ign.md"]),
        (
            &[(".gitignore", "a/[\n# b\n\n")],
            &["a/SKILL.md", "b/SKILL.md", "g/x/SKILL.md", "k.ign.md"],
        ),
    ];
    for (ignore_files, expected) in cases {
        let scratch =
            Scratch::with_skills(&["a/SKILL.md", "b/SKILL.md", "g/x/SKILL.md", "k.ign.md"]);
        for (path, content) in *ignore_files {
            scratch.write(path, content);
        }
        assert_eq!(scratch.files("", RootFiles::Count).await, *expected, "{ignore_files:?}");
    }
}

#[tokio::test]
async fn ignore_files_above_the_directory_do_not_count() {
    let scratch = Scratch::with_skills(&["skills/a/SKILL.md"]);
    scratch.write(".gitignore", "skills/a\n");
    assert_eq!(scratch.files("skills", RootFiles::Count).await, ["a/SKILL.md"]);
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_followed_and_what_they_lead_to_counts_once() {
    let scratch = Scratch::with_skills(&["real/deep/SKILL.md", "s/own/SKILL.md"]);
    scratch.link("real/deep", "s/link1");
    scratch.link("real/deep", "s/link2");
    scratch.link("real/deep/SKILL.md", "s/file.md");
    scratch.link("s", "s/circle");
    scratch.link("s", "s/sub/circle");
    scratch.link("none", "s/broken");
    scratch.link("none.md", "s/broken.md");
    assert_eq!(scratch.files("s", RootFiles::Count).await, ["file.md", "own/SKILL.md"]);

    fs::remove_file(scratch.path("s/file.md")).unwrap();
    assert_eq!(scratch.files("s", RootFiles::Count).await, ["link1/SKILL.md", "own/SKILL.md"]);
    let (skills, _) = scratch.discover("s", RootFiles::Count).await;
    assert_eq!(skills.iter().next().unwrap().base_dir, scratch.path("s/link1"), "as it was met");
}

#[tokio::test]
async fn the_first_keeps_a_name_that_several_have() {
    let scratch = Scratch::new(&[
        ("first/a/SKILL.md", &skill("same")),
        ("first/b/SKILL.md", &skill("same")),
        ("second/c/SKILL.md", &skill("same")),
        ("second/d/SKILL.md", &skill("other")),
    ]);
    let mut skills = Skills::default();
    let mut diagnostics = skills.discover(&local(), &scratch.path("first"), RootFiles::Count).await;
    diagnostics.extend(skills.discover(&local(), &scratch.path("second"), RootFiles::Count).await);
    let winner = scratch.path("first/a/SKILL.md");
    let expected = ["first/b/SKILL.md", "second/c/SKILL.md"].map(|loser| {
        let problem = ResourceProblem::Collision { name: "same".into(), winner: winner.clone() };
        ResourceDiagnostic::new(scratch.path(loser), problem)
    });
    assert_eq!(diagnostics, expected);
    assert_eq!(
        expected.first().unwrap().to_string(),
        format!(
            "{}: skipped, as {} is named \"same\" already",
            scratch.path("first/b/SKILL.md").display(),
            winner.display()
        )
    );
    let names: Vec<_> = skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["same", "other"]);
    assert_eq!(skills.get("same").unwrap().file_path, winner);
}

#[cfg(unix)]
#[tokio::test]
async fn the_same_file_in_several_places_is_no_collision() {
    let scratch = Scratch::with_skills(&["one/a/SKILL.md"]);
    scratch.write("one/b/SKILL.md", "broken");
    scratch.link("one", "two");
    let mut skills = Skills::default();
    assert_eq!(skills.discover(&local(), &scratch.path("one"), RootFiles::Count).await.len(), 1);
    assert_eq!(skills.discover(&local(), &scratch.path("one"), RootFiles::Count).await, []);
    assert_eq!(skills.discover(&local(), &scratch.path("two"), RootFiles::Count).await, []);
    assert_eq!(skills.load(&local(), &scratch.path("two/a/SKILL.md")).await, []);
    assert_eq!(skills.len(), 1);
}

#[tokio::test]
async fn what_is_given_by_path_is_loaded_wherever_it_lies() {
    let scratch = Scratch::with_skills(&["a/SKILL.md", "a/in/SKILL.md", ".dot/SKILL.md", "x/y.md"]);
    scratch.write("x/plain.txt", "");
    scratch.write("x/plain.md", "just text");
    let mut skills = Skills::default();
    for path in ["a", "a/in/SKILL.md", ".dot", "x/y.md", "x/plain.md"] {
        assert_eq!(skills.load(&local(), &scratch.path(path)).await, [], "{path}");
    }
    let names: Vec<_> = skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["s0", "s1", "s2", "s3"]);
    for (path, problem) in
        [("none", ResourceProblem::Missing), ("x/plain.txt", ResourceProblem::NotMarkdown)]
    {
        let path = scratch.path(path);
        assert_eq!(skills.load(&local(), &path).await, [ResourceDiagnostic::new(path, problem)]);
    }
}

#[tokio::test]
async fn bad_bytes_are_replaced() {
    let scratch = Scratch::new(&[]);
    scratch.write("a/SKILL.md", b"---\ndescription: d\xff\n---\n");
    let (skills, _) = scratch.discover("", RootFiles::Count).await;
    assert_eq!(skills.get("a").unwrap().description, "d\u{fffd}");
}

fn described(name: &str, description: &str, path: &str, hidden: bool) -> Skill {
    Skill {
        name: name.into(),
        description: description.into(),
        file_path: path.into(),
        base_dir: Path::new(path).parent().unwrap().into(),
        disable_model_invocation: hidden,
    }
}

#[test]
fn the_prompt_lists_skills_in_order_and_escaped() {
    let mut skills = Skills::default();
    for added in [
        described("z<b>", "x & \"y\" 'z'\nline", "/p/a&b/SKILL.md", false),
        described("hidden", "h", "/p/h/SKILL.md", true),
        described("a", "f", "/p/a/SKILL.md", false),
    ] {
        assert_eq!(skills.add(added), None);
    }
    let section = skills_section(&skills, Some(SkillReader::Read)).unwrap();
    let (intro, list) = section.split_once("\n\n").unwrap();
    assert!(intro.contains("the read tool") && !intro.contains("bash"), "{intro}");
    assert!(intro.contains("relative to the directory") && intro.contains("absolute"), "{intro}");
    assert_eq!(
        list,
        "<available_skills>
  <skill>
    <name>z&lt;b&gt;</name>
    <description>x &amp; &quot;y&quot; &apos;z&apos;
line</description>
    <location>/p/a&amp;b/SKILL.md</location>
  </skill>
  <skill>
    <name>a</name>
    <description>f</description>
    <location>/p/a/SKILL.md</location>
  </skill>
</available_skills>"
    );
    let with_bash = skills_section(&skills, Some(SkillReader::Bash)).unwrap();
    let (intro, same_list) = with_bash.split_once("\n\n").unwrap();
    assert!(intro.contains("bash") && !intro.contains("read tool"), "{intro}");
    assert_eq!(same_list, list);
    assert_eq!(skills_section(&skills, None), None);
}

#[test]
fn without_a_skill_to_offer_there_is_no_section() {
    let mut skills = Skills::default();
    assert_eq!(skills_section(&skills, Some(SkillReader::Read)), None);
    skills.add(described("hidden", "h", "/p/h/SKILL.md", true));
    assert_eq!(skills_section(&skills, Some(SkillReader::Read)), None);
}

#[test]
fn the_read_tool_is_preferred_to_read_skills() {
    for (tools, expected) in [
        (&["bash", "read"][..], Some(SkillReader::Read)),
        (&["read"], Some(SkillReader::Read)),
        (&["edit", "bash"], Some(SkillReader::Bash)),
        (&["edit", "grep"], None),
        (&[], None),
    ] {
        assert_eq!(SkillReader::among(tools.iter().copied()), expected, "{tools:?}");
    }
}

#[test]
fn loading_may_move_between_threads() {
    fn assert_send<T: Send>(_: T) {}
    let env = local();
    assert_send(Skills::default().discover(&env, Path::new("/s"), RootFiles::Count));
    assert_send(Skills::default().load(&env, Path::new("/s")));
    assert_send(Skills::default().expand(&env, "/skill:a"));
}
