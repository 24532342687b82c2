//! An environment whose files lie elsewhere than its paths say, that watches, may deny and has
//! faults.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_agent::env::{
    DirEntry, EnvError, EnvErrorKind, EnvFuture, ExecutionEnv, FileReader, FileStat, FileVersion,
    FileWriter, LocalEnv, Operation, ProcessCommand, RunningProcess,
};
use tokio_util::sync::CancellationToken;

use super::faults::{Fault, Faults, Gate, Reader, Writer};

/// Passes everything on to the machine, under `root`. Who goes round it finds nothing there.
pub(crate) struct Elsewhere {
    inner: Arc<LocalEnv>,
    cwd: PathBuf,
    home: Option<PathBuf>,
    temp_dir: PathBuf,
    /// What `/` stands for.
    root: PathBuf,
    /// Nothing at or below it may be touched.
    denied: Option<PathBuf>,
    faults: Faults,
    calls: Mutex<Vec<String>>,
}

impl Elsewhere {
    /// In the same place as `inner`.
    pub(crate) fn new(inner: Arc<LocalEnv>) -> Self {
        Self {
            cwd: inner.cwd().to_owned(),
            home: inner.home().map(ToOwned::to_owned),
            temp_dir: inner.temp_dir().to_owned(),
            root: "/".into(),
            denied: None,
            faults: Faults::default(),
            calls: Mutex::default(),
            inner,
        }
    }

    /// Files of `/project`, `/home` and `/tmp` lie in `root`, in the folders of those names.
    pub(crate) fn moved(inner: Arc<LocalEnv>, root: PathBuf) -> Self {
        Self {
            cwd: "/project".into(),
            home: Some("/home".into()),
            temp_dir: "/tmp".into(),
            root,
            ..Self::new(inner)
        }
    }

    pub(crate) fn denying(mut self, path: impl Into<PathBuf>) -> Self {
        self.denied = Some(path.into());
        self
    }

    /// Does something just before the next call of a name.
    pub(crate) fn before(self, call: &'static str, act: impl FnOnce() + Send + 'static) -> Self {
        self.with(call, Fault::Meanwhile(Box::new(act)))
    }

    /// Lets the next call of a name meet a fault. A call is named like the method, a `read_at`
    /// `read`.
    pub(crate) fn with(self, call: &'static str, fault: Fault) -> Self {
        self.faults.add(call, fault);
        self
    }

    /// Holds back the next call of a name.
    pub(crate) fn slow(&self, call: &'static str) -> Gate {
        let gate = Gate::new();
        self.faults.add(call, Fault::Slow(gate.clone()));
        gate
    }

    /// What was asked for, with the environment's own paths.
    pub(crate) fn calls(&self) -> Vec<String> {
        self.calls.lock().unwrap().clone()
    }

    /// Where a path really is.
    fn at(&self, path: &Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap())
    }

    /// What a real path is called here.
    fn named(&self, path: &Path) -> PathBuf {
        Path::new("/").join(path.strip_prefix(&self.root).unwrap())
    }

    async fn enter(
        &self,
        operation: Operation,
        call: &str,
        path: &Path,
    ) -> Result<PathBuf, EnvError> {
        self.calls.lock().unwrap().push(format!("{call} {}", path.display()));
        let room = self.faults.meet(operation, call, path).await?;
        if room.is_some() {
            return Err(EnvError::new(operation, path, EnvErrorKind::NoSpace));
        }
        if self.denied.as_ref().is_some_and(|denied| path.starts_with(denied)) {
            return Err(EnvError::new(operation, path, EnvErrorKind::AccessDenied));
        }
        Ok(self.at(path))
    }

    /// Does `work` at the real place; errors name the path that was given.
    fn pass<'a, T, F>(
        &'a self,
        operation: Operation,
        call: &'a str,
        path: &'a Path,
        work: impl FnOnce(PathBuf) -> F + Send + 'a,
    ) -> EnvFuture<'a, T>
    where
        F: Future<Output = Result<T, EnvError>> + Send + 'a,
        T: Send + 'a,
    {
        Box::pin(async move {
            let real = self.enter(operation, call, path).await?;
            work(real).await.map_err(|error| EnvError { path: path.to_owned(), ..error })
        })
    }
}

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Elsewhere").field("root", &self.root).finish_non_exhaustive()
    }
}

impl ExecutionEnv for Elsewhere {
    fn cwd(&self) -> &Path {
        &self.cwd
    }

    fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    fn temp_dir(&self) -> &Path {
        &self.temp_dir
    }

    fn environment(&self) -> &BTreeMap<OsString, OsString> {
        self.inner.environment()
    }

    fn now_ms(&self) -> i64 {
        self.inner.now_ms()
    }

    fn stat<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, FileStat> {
        self.pass(Operation::Stat, "stat", path, async |at| self.inner.stat(&at).await)
    }

    fn real_path<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, PathBuf> {
        self.pass(Operation::RealPath, "real_path", path, async |at| {
            Ok(self.named(&self.inner.real_path(&at).await?))
        })
    }

    fn open<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, Box<dyn FileReader>> {
        self.pass(Operation::Open, "open", path, async move |at| {
            let inner = self.inner.open(&at).await?;
            let reader = Reader { inner, path: path.to_owned(), faults: self.faults.clone() };
            Ok(Box::new(reader) as Box<dyn FileReader>)
        })
    }

    fn list<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, Vec<DirEntry>> {
        self.pass(Operation::List, "list", path, async |at| self.inner.list(&at).await)
    }

    fn replace<'a>(
        &'a self,
        path: &'a Path,
        content: Vec<u8>,
        expected: Option<FileVersion>,
    ) -> EnvFuture<'a, ()> {
        self.pass(Operation::Replace, "replace", path, async |at| {
            self.inner.replace(&at, content, expected).await
        })
    }

    fn make_dirs<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, ()> {
        self.pass(Operation::MakeDirs, "make_dirs", path, async |at| {
            self.inner.make_dirs(&at).await
        })
    }

    fn remove<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, ()> {
        self.pass(Operation::Remove, "remove", path, async |at| self.inner.remove(&at).await)
    }

    fn temporary_file<'a>(
        &'a self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> EnvFuture<'a, Box<dyn FileWriter>> {
        self.pass(Operation::TemporaryFile, "temporary_file", &self.temp_dir, async move |_| {
            let inner = self.inner.temporary_file(prefix, suffix).await?;
            let path = self.named(inner.path());
            let writer = Writer { inner, path, faults: self.faults.clone() };
            Ok(Box::new(writer) as Box<dyn FileWriter>)
        })
    }

    fn spawn<'a>(
        &'a self,
        command: ProcessCommand,
        cancel: CancellationToken,
    ) -> EnvFuture<'a, Box<dyn RunningProcess>> {
        Box::pin(async move {
            let cwd = self.enter(Operation::ChangeDirectory, "spawn", &command.cwd).await?;
            let ProcessCommand { mut program, .. } = command;
            if program.is_absolute() {
                program = self.at(&program);
            }
            self.inner.spawn(ProcessCommand { program, cwd, ..command }, cancel).await
        })
    }

    fn kill_all(&self) {
        self.inner.kill_all();
    }
}
