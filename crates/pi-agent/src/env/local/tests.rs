use super::*;

mod endings;
mod files;
mod processes;

/// A scratch folder and an environment that works there.
struct Bed {
    dir: tempfile::TempDir,
    env: LocalEnv,
}

impl Bed {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let env = LocalEnv::new(LocalEnvConfig {
            cwd: root.clone(),
            home: Some(root.join("home")),
            temp_dir: root,
            environment: [("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())].into(),
            processes: ProcessGroups::default(),
        });
        Self { dir, env }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.env.cwd().join(name)
    }

    fn put(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.dir.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

/// Operation and kind of an error.
fn what<T>(result: Result<T, EnvError>) -> (Operation, EnvErrorKind) {
    match result {
        Ok(_) => panic!("it worked"),
        Err(error) => (error.operation, error.kind),
    }
}

#[test]
fn an_environment_knows_what_it_was_told() {
    let bed = Bed::new();
    let env: &dyn ExecutionEnv = &bed.env;
    let root = bed.dir.path().canonicalize().unwrap();
    assert_eq!((env.cwd(), env.temp_dir()), (&*root, &*root));
    assert_eq!(env.home(), Some(&*root.join("home")));
    assert_eq!(env.environment().len(), 1);
    assert!(env.now_ms() > 1_700_000_000_000);
}
