use std::fs;

use pi_agent::env::{LocalEnv, LocalEnvConfig};
use serde_json::json;

use super::*;
use crate::resources::{ResourceOrigin, ResourceScope};

/// A home, an agent directory in it, and a repository whose folder `sub` is the working directory.
struct Scratch {
    dir: tempfile::TempDir,
    user: Value,
    project: Value,
    skills: ResourceFlags,
    prompts: ResourceFlags,
    is_trusted: bool,
}

impl Scratch {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let scratch = Self {
            dir,
            user: json!({}),
            project: json!({}),
            skills: ResourceFlags::default(),
            prompts: ResourceFlags::default(),
            is_trusted: true,
        };
        scratch.write("home/repo/.git/HEAD", "");
        scratch.write("home/repo/sub/.pi/keep", "");
        scratch
    }

    fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    fn write(&self, below: &str, text: &str) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A skill named after its folder.
    fn skill(&self, below: &str) {
        self.write(&format!("{below}/SKILL.md"), &format!("---\ndescription: in {below}\n---\nB"));
    }

    async fn load(&self) -> Library {
        let env = Env::from_variables([("HOME", self.path("home"))]);
        let project_dir = self.path("home/repo/sub/.pi");
        let sources = LibrarySources {
            env: &env,
            agent_dir: &self.path("home/.pi/agent"),
            cwd: &self.path("home/repo/sub"),
            project: self.is_trusted.then(|| ProjectSources {
                dir: Some(&project_dir),
                settings: lists(&self.project),
            }),
            settings: lists(&self.user),
            skills: &self.skills,
            prompt_templates: &self.prompts,
            launch_dir: &self.path("home"),
        };
        Library::load(&sources, &LocalEnv::new(LocalEnvConfig::default())).await
    }

    async fn skills(&self) -> Vec<String> {
        self.load().await.skills.iter().map(|skill| skill.name.clone()).collect()
    }

    async fn templates(&self) -> Vec<String> {
        self.load().await.prompt_templates.iter().map(|template| template.name.clone()).collect()
    }
}

fn lists(settings: &Value) -> ResourceLists<'_> {
    let list = |key: &str| settings[key].as_array().map(Vec::as_slice).unwrap_or_default();
    ResourceLists { skills: list("skills"), prompts: list("prompts"), packages: list("packages") }
}

fn flags(paths: &[&str], only_these: bool) -> ResourceFlags {
    ResourceFlags { paths: paths.iter().map(|&path| path.to_owned()).collect(), only_these }
}

/// Every place, in the order in which the first to have a name keeps it.
const PLACES: [&str; 10] = [
    "home/repo/sub/ps",
    "home/repo/sub/.pi/skills",
    "home/repo/sub/.agents/skills",
    "home/repo/.agents/skills",
    "home/.pi/agent/us",
    "home/.pi/agent/skills",
    "home/.agents/skills",
    "home/repo/sub/.pi/npm/node_modules/pp/skills",
    "home/.pi/agent/git/host/o/up/skills",
    "home/given",
];

fn everywhere() -> Scratch {
    let mut scratch = Scratch::new();
    scratch.user = json!({"skills": ["us"], "packages": ["git:host/o/up@v1"]});
    scratch.project = json!({"skills": ["../ps"], "packages": ["npm:pp"]});
    scratch.skills = flags(&["given"], false);
    for (number, place) in PLACES.iter().enumerate() {
        scratch.skill(&format!("{place}/only-{number}"));
        scratch.skill(&format!("{place}/same"));
        scratch.write(&format!("{place}/root-{number}.md"), "---\ndescription: d\n---\n");
    }
    scratch
}

#[tokio::test]
async fn skills_count_in_the_order_of_their_places() {
    let scratch = everywhere();
    // In places other programs share, files that lie directly there are no skills.
    let expected = [
        "only-0", "root-0", "same", "only-1", "root-1", "only-2", "only-3", "only-4", "root-4",
        "only-5", "root-5", "only-6", "only-7", "root-7", "only-8", "root-8", "only-9", "root-9",
    ];
    assert_eq!(scratch.skills().await, expected);
    let library = scratch.load().await;
    let same = library.skills.get("same").unwrap();
    assert_eq!(same.file_path, scratch.path("home/repo/sub/ps/same/SKILL.md"));
    let collisions = library.diagnostics.iter().filter(
        |found| matches!(&found.problem, ResourceProblem::Collision { name, .. } if name == "same"),
    );
    assert_eq!((collisions.count(), library.diagnostics.len()), (9, 9));
}

#[tokio::test]
async fn clients_are_told_where_each_is_from() {
    use ResourceOrigin::{Package, TopLevel};
    use ResourceScope::{Project, Temporary, User};
    let scratch = everywhere();
    let library = scratch.load().await;
    let bases = [
        ("local", Project, TopLevel, None),
        ("auto", Project, TopLevel, Some("home/repo/sub/.pi")),
        ("auto", Project, TopLevel, Some("home/repo/sub/.agents")),
        ("auto", Project, TopLevel, Some("home/repo/.agents")),
        ("local", User, TopLevel, None),
        ("auto", User, TopLevel, Some("home/.pi/agent")),
        ("auto", User, TopLevel, Some("home/.agents")),
        ("npm:pp", Project, Package, Some("home/repo/sub/.pi/npm/node_modules/pp")),
        ("git:host/o/up@v1", User, Package, Some("home/.pi/agent/git/host/o/up")),
        ("local", Temporary, TopLevel, Some("home/given/only-9")),
    ];
    for (number, (source, scope, origin, base)) in bases.into_iter().enumerate() {
        let skill = library.skills.get(&format!("only-{number}")).unwrap();
        let shown = |path: PathBuf| path.to_string_lossy().into_owned();
        let expected = SourceInfo {
            path: shown(skill.file_path.clone()),
            source: source.to_owned(),
            scope,
            origin,
            base_dir: base.map(|base| shown(scratch.path(base))),
        };
        assert_eq!(library.source_info(&skill.file_path), Some(&expected));
    }
    let skill = library.skills.get("only-9").unwrap();
    let json = serde_json::to_value(library.source_info(&skill.file_path)).unwrap();
    assert_eq!((&json["scope"], &json["origin"]), (&json!("temporary"), &json!("top-level")));
}

#[tokio::test]
async fn an_untrusted_project_adds_nothing() {
    let mut scratch = everywhere();
    scratch.is_trusted = false;
    scratch.user["packages"] = json!([]);
    let expected = ["only-4", "root-4", "same", "only-5", "root-5", "only-6", "only-9", "root-9"];
    assert_eq!(scratch.skills().await, expected);
}

#[tokio::test]
async fn what_the_command_line_names_is_loaded_alone_or_last() {
    let mut scratch = everywhere();
    scratch.skills.only_these = true;
    assert_eq!(scratch.skills().await, ["only-9", "root-9", "same"]);
    scratch.skills = flags(&["given/same/SKILL.md", "given/only-9"], true);
    assert_eq!(scratch.skills().await, ["same", "only-9"]);
    scratch.skills = flags(&["missing"], true);
    let library = scratch.load().await;
    let resolve = |path: &str| scratch.path("home").join(path);
    let missing = library.missing_path(&scratch.skills, resolve).unwrap();
    assert_eq!(missing.path, scratch.path("home/missing"));
    assert!(library.skills.is_empty());
    assert_eq!(scratch.load().await.missing_path(&flags(&[], true), resolve), None);
}

#[tokio::test]
async fn shared_skills_are_looked_for_up_to_the_repository_and_never_at_home() {
    let scratch = Scratch::new();
    scratch.skill("home/.agents/skills/home");
    scratch.skill("home/repo/.agents/skills/group/deep");
    let library = scratch.load().await;
    let scopes: Vec<_> = library
        .skills
        .iter()
        .map(|skill| (&*skill.name, library.source_info(&skill.file_path).unwrap().scope))
        .collect();
    assert_eq!(scopes, [("deep", ResourceScope::Project), ("home", ResourceScope::User)]);
    // Without a repository the search goes on to the root, but home is the user's all the same.
    fs::remove_dir_all(scratch.path("home/repo/.git")).unwrap();
    let library = scratch.load().await;
    let home = library.skills.get("home").unwrap();
    assert_eq!(library.source_info(&home.file_path).unwrap().scope, ResourceScope::User);
}

#[tokio::test]
async fn lists_of_the_settings_add_and_leave_out() {
    for (user, project, expected) in [
        (json!([]), json!([]), "x y a b"),
        (json!(["!a"]), json!([]), "x y b"),
        (json!(["!a", "!x"]), json!(["!b"]), "x y b"),
        (json!(["-skills/a"]), json!(["-skills/x"]), "y b"),
        (json!(["!*", "+skills/b"]), json!([]), "x y b"),
        (json!(["more"]), json!([]), "x y m1 m2 a b"),
        (json!(["more", "!m1"]), json!([]), "x y m2 a b"),
        (json!(["more/*1"]), json!([]), "x y m1 a b"),
        (json!(["more/m2/SKILL.md"]), json!([]), "x y m2 a b"),
        (json!(["~/tilde"]), json!([]), "x y tilde a b"),
        (json!([7, null, ""]), json!([]), "x y a b"),
    ] {
        let mut scratch = Scratch::new();
        for name in ["skills/a", "skills/b", "more/m1", "more/m2"] {
            scratch.skill(&format!("home/.pi/agent/{name}"));
        }
        for name in ["x", "y"] {
            scratch.skill(&format!("home/repo/sub/.pi/skills/{name}"));
        }
        scratch.skill("home/tilde");
        scratch.user = json!({"skills": user});
        scratch.project = json!({"skills": project});
        assert_eq!(scratch.skills().await.join(" "), expected, "{user} {project}");
    }
}

#[tokio::test]
async fn templates_lie_directly_in_their_folders_and_anywhere_below_a_listed_one() {
    let mut scratch = Scratch::new();
    for path in [
        "home/repo/sub/.pi/prompts/project.md",
        "home/repo/sub/.pi/prompts/nested/no.md",
        "home/.pi/agent/prompts/user.md",
        "home/.pi/agent/listed/nested/deep.md",
        "home/.pi/agent/listed/top.md",
        "home/.pi/agent/listed/user.md",
        "home/given/given.md",
        "home/given/nested/no.md",
        "home/one.md",
    ] {
        scratch.write(path, "Text\n");
    }
    scratch.user = json!({"prompts": ["listed"]});
    scratch.prompts = flags(&["given", "one.md"], false);
    let expected = ["project", "deep", "top", "user", "given", "one"];
    assert_eq!(scratch.templates().await, expected);
    let library = scratch.load().await;
    let user = library.prompt_templates.get("user").unwrap();
    assert_eq!(user.file_path, scratch.path("home/.pi/agent/listed/user.md"));
    scratch.prompts.only_these = true;
    assert_eq!(scratch.templates().await, ["given", "one"]);
    scratch.user = json!({"prompts": ["!user.md", "listed/**/*.md"]});
    scratch.prompts = ResourceFlags::default();
    assert_eq!(scratch.templates().await, ["project", "deep", "top"]);
}

#[tokio::test]
async fn a_package_offers_what_it_declares_and_the_settings_choose() {
    let choices: &[(Value, &str, &str)] = &[
        (json!("npm:p"), "k1 k2", "t1 t2"),
        (json!({"source": "npm:p"}), "k1 k2", "t1 t2"),
        (json!({"source": "npm:p", "skills": []}), "", "t1 t2"),
        (json!({"source": "npm:p", "skills": ["skills/k1"]}), "k1", "t1 t2"),
        (json!({"source": "npm:p", "skills": ["k1"]}), "k1", "t1 t2"),
        (
            json!({"source": "npm:p", "skills": ["!**/k1"], "prompts": ["prompts/t1.md"]}),
            "k2",
            "t1",
        ),
        (json!({"source": "npm:p", "skills": ["-skills/k1"]}), "k2", "t1 t2"),
        (json!("npm:declared"), "far", "x"),
        (json!("npm:none"), "", ""),
        (json!({"skills": ["k1"]}), "", ""),
    ];
    for (entry, skills, templates) in choices {
        let mut scratch = Scratch::new();
        let root = "home/.pi/agent/npm/node_modules";
        for name in ["k1", "k2"] {
            scratch.skill(&format!("{root}/p/skills/{name}"));
            scratch.skill(&format!("{root}/declared/skills/{name}"));
        }
        for name in ["t1", "t2"] {
            scratch.write(&format!("{root}/p/prompts/{name}.md"), "T");
        }
        scratch.write(&format!("{root}/p/package.json"), r#"{"name":"p"}"#);
        scratch.skill(&format!("{root}/declared/res/far"));
        for name in ["x", "y"] {
            scratch.write(&format!("{root}/declared/res/{name}.md"), "T");
        }
        let manifest = json!({"pi": {"skills": ["./res/far"], "prompts": ["./res/*.md", "!y.md"]}});
        scratch.write(&format!("{root}/declared/package.json"), &manifest.to_string());
        scratch.user = json!({"packages": [entry]});
        assert_eq!(scratch.skills().await.join(" "), *skills, "{entry}");
        assert_eq!(scratch.templates().await.join(" "), *templates, "{entry}");
        let missing = scratch.load().await.missing_packages;
        assert_eq!(missing.len(), usize::from(entry == "npm:none"), "{entry}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn the_same_file_by_another_path_is_no_collision() {
    let mut scratch = Scratch::new();
    scratch.skill("home/.pi/agent/skills/a");
    scratch.write("home/.pi/agent/prompts/t.md", "T");
    fs::create_dir_all(scratch.path("home/.agents")).unwrap();
    let link = |from: &str, to: &str| {
        std::os::unix::fs::symlink(scratch.path(from), scratch.path(to)).unwrap();
    };
    link("home/.pi/agent/skills", "home/.agents/skills");
    link("home/.pi/agent/prompts", "home/linked");
    scratch.prompts = flags(&["linked"], false);
    let library = scratch.load().await;
    assert_eq!((library.skills.len(), library.prompt_templates.len()), (1, 1));
    assert_eq!(library.diagnostics, []);
}
