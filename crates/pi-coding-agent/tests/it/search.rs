//! grep and find beside `rg` and `fd`, where they are installed, on a tree of 100,000 files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use pi_agent::env::{LocalEnv, LocalEnvConfig, ProcessGroups};
use pi_agent::{Tool, ToolCallInput};
use pi_coding_agent::tools::{NoSession, ToolContext, builtin_tools};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

struct Bed {
    dir: tempfile::TempDir,
    tools: Vec<Arc<dyn Tool>>,
}

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let env = LocalEnv::new(LocalEnvConfig {
            cwd: root.clone(),
            home: None,
            temp_dir: root,
            environment: BTreeMap::new(),
            processes: ProcessGroups::default(),
        });
        let tools = builtin_tools(&Arc::new(ToolContext {
            env: Arc::new(env),
            agent_dir: PathBuf::from("/nonexistent"),
            shell_path: None,
            shell_command_prefix: None,
            session: Arc::new(NoSession),
        }));
        Self { dir, tools }
    }

    /// The lines of a result, without limits in the way; several parts, each below the byte limit.
    async fn lines(&self, tool: &str, arguments: Value) -> Vec<String> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let tool = self.tools.iter().find(|known| known.definition().name == tool).unwrap();
        let output = tool
            .execute(ToolCallInput {
                id: "call",
                arguments,
                cancel: CancellationToken::new(),
                on_update: Arc::new(|_| {}),
            })
            .await
            .unwrap();
        assert_eq!(output.details, None, "the pattern finds too much for one result");
        output.content[0].as_text().unwrap().lines().map(str::to_owned).collect()
    }

    /// The sorted lines another program prints.
    fn other(&self, program: &str, arguments: &[&str]) -> Vec<String> {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(self.dir.path())
            .env("HOME", self.dir.path())
            .env_remove("XDG_CONFIG_HOME")
            .output()
            .unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    }
}

/// 100,000 files in 2,000 folders, with rules of every kind.
fn plant(root: &Path) {
    let put = |name: &str, content: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    };
    put(".gitignore", "*.log\n/build/\n!keep.log\n*.tmp\ngen[0-4]/\n");
    put(".git/info/exclude", "secret*\n");
    put(".git/HEAD", "ref: refs/heads/main\n");
    let endings = ["rs", "ts", "md", "log", "tmp", "c"];
    for folder in 0..2000 {
        let top = ["src", "build", "docs", ".hidden", "vendor"][folder % 5];
        let below = ["a", "gen3", "deep/er", "gen7", "x y"][folder / 5 % 5];
        let path = root.join(format!("{top}/{below}/d{folder}"));
        fs::create_dir_all(&path).unwrap();
        // Most names of a folder are links to one file: a new file costs a disk more.
        let plain = path.join("plain");
        fs::write(&plain, format!("line one of {folder}\nline two\n")).unwrap();
        for file in 0..50 {
            let number = folder * 50 + file;
            let name = path.join(format!("f{number}.{}", endings[number % 6]));
            match number % 4999 {
                0 => fs::write(name, format!("first\nneedle {number} and needle\nlast\n")),
                1 => fs::write(name, format!("\u{e9}\u{e9} Needle{number}")),
                2 => fs::write(name, "needle\0binary"),
                _ => fs::hard_link(&plain, name),
            }
            .unwrap();
        }
    }
    put("src/a/.gitignore", "*.md\n!f100.*\n");
    put("src/deep/.ignore", "*.c\n");
    put("docs/a/d52/.gitignore", "*\n!*.rs\n");
    put("docs/keep.log", "needle\n");
    put("src/secret.rs", "needle\n");
    put("vendor/sub/.git/HEAD", "");
    put("vendor/sub/inner.log", "needle\n");
    put("vendor/sub/.gitignore", "*.rs\n");
    put("vendor/sub/inner.rs", "needle\n");
    put("vendor/.gitignore", "sub/inner.log\n");
}

fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

#[tokio::test]
async fn the_same_is_found_as_by_ripgrep_and_fd() {
    let fd = ["fdfind", "fd"].into_iter().find(|program| is_installed(program));
    let rg = is_installed("rg");
    if fd.is_none() && !rg {
        eprintln!("left out: neither rg nor fd is installed");
        return;
    }
    let bed = Bed::new();
    plant(bed.dir.path());
    if rg {
        compare_grep(&bed).await;
    }
    if let Some(fd) = fd {
        compare_find(&bed, fd).await;
    }
}

async fn compare_grep(bed: &Bed) {
    let cases: [(Value, &[&str]); 7] = [
        (json!({"pattern": "needle"}), &["needle"]),
        (json!({"pattern": "NEEDLE", "ignoreCase": true}), &["-i", "NEEDLE"]),
        (json!({"pattern": r"needle \d{3,}"}), &[r"needle \d{3,}"]),
        (json!({"pattern": "needle", "glob": "*.log"}), &["-g", "*.log", "needle"]),
        (json!({"pattern": "needle", "glob": "!*.rs"}), &["-g", "!*.rs", "needle"]),
        (
            json!({"pattern": "needle", "glob": "src/**/*.{rs,c}"}),
            &["-g", "src/**/*.{rs,c}", "needle"],
        ),
        (json!({"pattern": "line two", "glob": "**/d777/*"}), &["-g", "**/d777/*", "line two"]),
    ];
    for (mut arguments, rg) in cases {
        arguments["limit"] = json!(1000);
        let mut ours: Vec<String> = bed
            .lines("grep", arguments.clone())
            .await
            .iter()
            .map(|line| line.replacen(": ", ":", 1))
            .filter(|line| line != "No matches found")
            .collect();
        ours.sort();
        let always = ["--hidden", "--no-config", "--no-heading", "-n", "--color=never"];
        let theirs: Vec<String> = bed
            .other("rg", &[&always, rg].concat())
            .into_iter()
            .filter(|line| !line.contains("WARNING: stopped searching binary file"))
            .collect();
        assert_eq!(ours, theirs, "{arguments}");
    }
    // In order, whatever the number of threads.
    let lines = bed.lines("grep", json!({"pattern": "needle", "limit": 1000})).await;
    let names: Vec<&Path> =
        lines.iter().map(|line| Path::new(line.split(':').next().unwrap())).collect();
    assert!(names.is_sorted() && names.len() > 10, "{names:?}");
}

async fn compare_find(bed: &Bed, fd: &str) {
    let cases: [(&str, &[&str]); 8] = [
        ("f*77.rs", &["--glob", "f*77.rs"]),
        ("F1234*", &["--glob", "F1234*"]),
        ("f1234*", &["--glob", "f1234*"]),
        ("*.log", &["--glob", "*.log"]),
        ("*5555.{c,md,tmp}", &["--glob", "*5555.{c,md,tmp}"]),
        ("d1?0", &["--glob", "d1?0"]),
        ("inner.*", &["--glob", "inner.*"]),
        (".git*", &["--glob", ".git*"]),
    ];
    for (pattern, fd_arguments) in cases {
        let ours: Vec<String> = bed
            .lines("find", json!({"pattern": pattern, "limit": 5000}))
            .await
            .iter()
            .map(|line| line.trim_end_matches('/').to_owned())
            .filter(|line| line != "No files found matching pattern")
            .collect();
        let names: Vec<&Path> = ours.iter().map(Path::new).collect();
        assert!(names.is_sorted(), "{pattern}");
        let mut ours = ours;
        ours.sort();
        let theirs: Vec<String> = bed
            .other(fd, &[&["--hidden", "--color=never"], fd_arguments].concat())
            .iter()
            .map(|line| line.trim_start_matches("./").trim_end_matches('/').to_owned())
            .collect();
        assert_eq!(ours, theirs, "{pattern}");
    }
}
