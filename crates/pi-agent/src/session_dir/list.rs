//! All sessions of a directory or of everywhere, with what people choose one by.
//!
//! Owns: what is said of a session without opening it. Never: keeps the text of a conversation
//! unless asked to, or prints. Files are read whole but one line at a time, by threads of this
//! module's own: call [`SessionDir::list`] where blocking is allowed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use super::SessionDir;
use super::folder::{Candidate, candidates};
use super::locate::Directory;

mod scan;
mod title;

pub use title::on_one_line;

use scan::Scanner;

/// What is known of a session without opening it.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionInfo {
    pub path: PathBuf,
    pub id: String,
    /// The directory it belongs to; empty in very old files.
    pub cwd: String,
    /// The name given last, if it was not cleared.
    pub name: Option<String>,
    /// The file it was forked or started from, as its header has it.
    pub parent_session: Option<String>,
    /// Unix time in milliseconds.
    pub created: i64,
    /// When the user or a model last said something, else [`Self::created`]; Unix time in
    /// milliseconds. Naming a session does not change it.
    pub modified: i64,
    /// Messages of every role.
    pub message_count: usize,
    /// What the user said first; empty before that.
    pub first_message: String,
    /// Cost of everything in the file, abandoned branches included, in US dollars.
    pub cost: f64,
    /// All that user and models said, if it was asked for.
    pub all_messages_text: Option<String>,
}

/// Whose sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Those of this directory, by their headers.
    Project(&'a Path),
    All,
}

/// How sessions are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListOptions {
    /// Most files read at the same time; at least one is.
    pub threads: usize,
    /// Whether [`SessionInfo::all_messages_text`] is wanted.
    pub with_text: bool,
}

/// One more file was read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress<'a> {
    pub loaded: usize,
    pub total: usize,
    /// `None`: the file is no session, or none of those asked for.
    pub info: Option<&'a SessionInfo>,
}

impl SessionDir {
    /// The sessions in `scope`, the last modified first.
    ///
    /// Files are taken up in the order they were touched, newest first, and `on_progress` hears of
    /// each when it is read, on the thread of the caller. Once `cancel` is set no more is read, and
    /// what was read so far is returned. Files that cannot be read are left out.
    pub fn list(
        &self,
        scope: Scope<'_>,
        options: ListOptions,
        cancel: &AtomicBool,
        mut on_progress: impl FnMut(Progress<'_>),
    ) -> Vec<SessionInfo> {
        let (folders, here) = match scope {
            Scope::Project(cwd) => (vec![self.for_cwd(cwd)], Some(Directory::new(cwd))),
            Scope::All => (self.folders(), None),
        };
        let files = candidates(folders);
        let job =
            Job { files: &files, here: here.as_ref(), options, cancel, next: &AtomicUsize::new(0) };
        let mut sessions = Vec::with_capacity(files.len());
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let mut started = 0;
            while started < options.threads.clamp(1, files.len().max(1)) {
                let sender = sender.clone();
                let thread = thread::Builder::new().name("session-list".to_owned());
                if thread.spawn_scoped(scope, move || job.run(&sender)).is_err() {
                    break;
                }
                started += 1;
            }
            if started == 0 {
                job.run(&sender);
            }
            drop(sender);
            for (index, info) in receiver.into_iter().enumerate() {
                let (loaded, total) = (index + 1, files.len());
                on_progress(Progress { loaded, total, info: info.as_ref() });
                sessions.extend(info);
            }
        });
        sort_newest_first(&mut sessions);
        sessions
    }
}

/// The last modified first; of two at the same moment, the one with the later file name.
pub fn sort_newest_first(sessions: &mut [SessionInfo]) {
    sessions.sort_by(|a, b| (b.modified, &b.path).cmp(&(a.modified, &a.path)));
}

/// What the threads share.
#[derive(Clone, Copy)]
struct Job<'a> {
    files: &'a [Candidate],
    here: Option<&'a Directory<'a>>,
    options: ListOptions,
    cancel: &'a AtomicBool,
    /// The file nobody took up yet.
    next: &'a AtomicUsize,
}

impl Job<'_> {
    fn run(&self, sender: &Sender<Option<SessionInfo>>) {
        let mut scanner = Scanner::new(self.options.with_text, self.cancel);
        while !self.cancel.load(Ordering::Relaxed) {
            let Some(file) = self.files.get(self.next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let info =
                scanner.scan(file, |header| self.here.is_none_or(|here| here.is(&header.cwd)));
            if self.cancel.load(Ordering::Relaxed) || sender.send(info).is_err() {
                break;
            }
        }
    }
}

#[cfg(test)]
mod tests;
