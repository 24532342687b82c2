//! The environment that is this machine.
//!
//! Owns: files through the operating system, on threads that may block; commands in process groups
//! of their own. Never: reads the environment of the process, all of its facts are handed in.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{
    BlockingFiles, DirEntry, EnvError, EnvErrorKind, EnvFuture, ExecutionEnv, FileReader, FileStat,
    FileVersion, FileWriter, Operation, ProcessCommand, RunningProcess,
};
use errno::failed;
use open_file::{LocalReader, LocalWriter};
use replace_file::Stages;

mod errno;
mod files;
mod open_file;
mod output_pipe;
mod process;
mod process_groups;
mod process_table;
mod real_path;
mod replace_file;
mod stat;
#[cfg(test)]
mod tests;

pub use process_groups::{ProcessGroups, RunningGroup};

/// Files and processes of this machine. Needs a Tokio runtime with I/O and time.
#[derive(Debug)]
pub struct LocalEnv {
    config: LocalEnvConfig,
    stages: Stages,
}

/// What a [`LocalEnv`] is told of itself.
#[derive(Debug, Clone, Default)]
pub struct LocalEnvConfig {
    /// Absolute.
    pub cwd: PathBuf,
    pub home: Option<PathBuf>,
    pub temp_dir: PathBuf,
    /// What commands inherit.
    pub environment: BTreeMap<OsString, OsString>,
    /// Where its commands are listed; environments that share a list end together.
    pub processes: ProcessGroups,
}

impl LocalEnv {
    pub fn new(config: LocalEnvConfig) -> Self {
        Self { config, stages: Stages::default() }
    }
}

impl ExecutionEnv for LocalEnv {
    fn cwd(&self) -> &Path {
        &self.config.cwd
    }

    fn home(&self) -> Option<&Path> {
        self.config.home.as_deref()
    }

    fn temp_dir(&self) -> &Path {
        &self.config.temp_dir
    }

    fn environment(&self) -> &BTreeMap<OsString, OsString> {
        &self.config.environment
    }

    fn now_ms(&self) -> i64 {
        pi_ai::now_ms()
    }

    fn stat<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, FileStat> {
        blocking(Operation::Stat, path, |path| Ok(stat::of(&fs::metadata(path)?)))
    }

    fn real_path<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, PathBuf> {
        blocking(Operation::RealPath, path, |path| Ok(real_path::real_path(path)))
    }

    fn open<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, Box<dyn FileReader>> {
        blocking(Operation::Open, path, |path| {
            Ok(Box::new(LocalReader::open(path)?) as Box<dyn FileReader>)
        })
    }

    fn list<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, Vec<DirEntry>> {
        blocking(Operation::List, path, |path| Ok(files::list(path)?))
    }

    fn replace<'a>(
        &'a self,
        path: &'a Path,
        content: Vec<u8>,
        expected: Option<FileVersion>,
    ) -> EnvFuture<'a, ()> {
        let stages = self.stages.clone();
        blocking(Operation::Replace, path, move |path| {
            replace_file::replace_file(&stages, path, &content, || match expected {
                Some(expected) if stat::of(&fs::metadata(path)?).version != expected => {
                    Err(EnvErrorKind::Changed.into())
                }
                _ => Ok(()),
            })
        })
    }

    fn make_dirs<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, ()> {
        blocking(Operation::MakeDirs, path, |path| Ok(fs::create_dir_all(path)?))
    }

    fn remove<'a>(&'a self, path: &'a Path) -> EnvFuture<'a, ()> {
        blocking(Operation::Remove, path, |path| {
            let is_dir = fs::symlink_metadata(path)?.is_dir();
            Ok(if is_dir { fs::remove_dir(path) } else { fs::remove_file(path) }?)
        })
    }

    fn temporary_file<'a>(
        &'a self,
        prefix: &'a str,
        suffix: &'a str,
    ) -> EnvFuture<'a, Box<dyn FileWriter>> {
        let random = uuid::Uuid::new_v4().as_u64_pair().1;
        let path = self.config.temp_dir.join(format!("{prefix}{random:016x}{suffix}"));
        Box::pin(
            async move { Ok(Box::new(LocalWriter::create(path).await?) as Box<dyn FileWriter>) },
        )
    }

    fn blocking_files(&self) -> Option<Arc<dyn BlockingFiles>> {
        Some(Arc::new(files::LocalFiles))
    }

    fn spawn<'a>(
        &'a self,
        command: ProcessCommand,
        cancel: CancellationToken,
    ) -> EnvFuture<'a, Box<dyn RunningProcess>> {
        let spawned = process::spawn(command, &self.config.processes, cancel);
        Box::pin(std::future::ready(spawned))
    }

    fn kill_all(&self) {
        self.config.processes.kill_all();
        self.stages.remove_all();
    }
}

/// Why something was not done: the operating system's reason or one of ours.
#[derive(Debug)]
enum Refusal {
    Os(io::Error),
    Kind(EnvErrorKind),
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        Self::Os(error)
    }
}

impl From<EnvErrorKind> for Refusal {
    fn from(kind: EnvErrorKind) -> Self {
        Self::Kind(kind)
    }
}

impl Refusal {
    fn of(self, operation: Operation, path: &Path) -> EnvError {
        match self {
            Self::Os(error) => failed(operation, path, error),
            Self::Kind(kind) => EnvError::new(operation, path, kind),
        }
    }
}

/// Runs `work` off the async threads. It goes on to its end even if nobody waits any more.
fn blocking<'a, T: Send + 'static>(
    operation: Operation,
    path: &'a Path,
    work: impl FnOnce(&Path) -> Result<T, Refusal> + Send + 'static,
) -> EnvFuture<'a, T> {
    let path = path.to_owned();
    Box::pin(async move {
        let of_work = path.clone();
        match tokio::task::spawn_blocking(move || work(&of_work)).await {
            Ok(result) => result.map_err(|refusal| refusal.of(operation, &path)),
            Err(broken) => {
                Err(EnvError::new(operation, path, EnvErrorKind::Other).with_source(broken))
            }
        }
    })
}
