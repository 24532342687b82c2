//! Walking a tree with several threads.

use std::num::NonZero;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use ignore::Match;
use ignore::overrides::Override;
use pi_agent::env::{BlockingFiles, DirEntry, EnvError, FileKind};
use tokio_util::sync::CancellationToken;

use super::ignore_rules::{GlobalRules, RuleKind, Rules};
use super::schedule::{Place, Schedule};

/// Most threads: beyond this the file system is what is waited for.
const MAX_THREADS: usize = 8;

/// Most entries looked at in one go by one thread.
const GROUP: usize = 64;

/// Most groups looked at while an earlier one is not finished.
const MAX_AHEAD: usize = 256;

/// What a walk is for.
pub(crate) trait Visit: Sync {
    /// An entry of interest.
    type Picked: Send;
    /// What became of entries that follow each other.
    type Found: Send;
    /// What a thread needs for its work and nobody else may use meanwhile.
    type Bench;

    fn bench(&self) -> Self::Bench;

    /// Looks at the name of an entry that no rule leaves out.
    fn pick(&self, path: &Path, kind: FileKind) -> Option<Self::Picked>;

    /// Looks at what was picked. Worth a thread of its own if `Self::IS_LONG`.
    fn look(&self, bench: &mut Self::Bench, picked: Vec<Self::Picked>) -> Self::Found;

    const IS_LONG: bool;
}

/// Where to walk and what to leave out.
#[derive(Debug)]
pub(crate) struct Tree {
    files: Arc<dyn BlockingFiles>,
    root: PathBuf,
    kind: RuleKind,
    global: GlobalRules,
    overrides: Override,
    cancel: CancellationToken,
}

impl Tree {
    pub(super) fn new(
        files: Arc<dyn BlockingFiles>,
        root: PathBuf,
        kind: RuleKind,
        global: GlobalRules,
        cancel: CancellationToken,
    ) -> Self {
        Self { files, root, kind, global, overrides: Override::empty(), cancel }
    }

    /// Files that match these globs only. A glob counts more than the ignore files.
    pub(crate) fn with_overrides(mut self, overrides: Override) -> Self {
        self.overrides = overrides;
        self
    }

    /// Gives what is found below the root to `take`, in the order of the names, until it has enough.
    /// Links are not followed. Folders that cannot be listed are left out and told of.
    ///
    /// # Errors
    /// The root cannot be listed.
    pub(crate) fn walk<V: Visit>(
        &self,
        visit: &V,
        take: impl FnMut(V::Found) -> ControlFlow<()> + Send,
    ) -> Result<Vec<EnvError>, EnvError> {
        let entries = self.files.list(&self.root)?;
        let above = Rules::above(&*self.files, self.kind, &self.root);
        let rules = Rules::of_folder(&*self.files, self.kind, &self.root, &entries, above.as_ref());
        let site = Site {
            tree: self,
            visit,
            state: Mutex::new(State {
                schedule: Schedule::new(),
                take,
                is_over: false,
                problems: Vec::new(),
            }),
            news: Condvar::new(),
        };
        let root = Folder { path: self.root.clone(), rules };
        let start = site.sort(&Place::root(), &root, entries, &mut visit.bench());
        site.finish(&Place::root(), start);
        let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_THREADS);
        thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(|| site.work());
            }
            site.work();
        });
        Ok(site.state.into_inner().unwrap_or_else(PoisonError::into_inner).problems)
    }

    fn leaves_out(&self, rules: &Rules, path: &Path, is_dir: bool) -> bool {
        match self.overrides.matched(path, is_dir) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => rules.ignore(&self.global, path, is_dir),
        }
    }
}

/// A folder whose names are to be listed.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// Those of the folder it is in, until it has been listed.
    rules: Arc<Rules>,
}

enum Job<P> {
    List(Folder),
    Look(Vec<P>),
}

/// What a job has brought.
struct Outcome<V: Visit> {
    jobs: Vec<(Place, Job<V::Picked>)>,
    found: Vec<(Place, V::Found)>,
    problem: Option<EnvError>,
}

impl<V: Visit> Outcome<V> {
    fn new() -> Self {
        Self { jobs: Vec::new(), found: Vec::new(), problem: None }
    }
}

/// One walk, as its threads share it.
struct Site<'a, V: Visit, T> {
    tree: &'a Tree,
    visit: &'a V,
    state: Mutex<State<V, T>>,
    /// Somebody has finished a job.
    news: Condvar,
}

struct State<V: Visit, T> {
    schedule: Schedule<Job<V::Picked>, V::Found>,
    take: T,
    /// Nothing more is wanted.
    is_over: bool,
    problems: Vec<EnvError>,
}

impl<V: Visit, T: FnMut(V::Found) -> ControlFlow<()>> Site<'_, V, T> {
    fn work(&self) {
        let _alarm = Alarm(self);
        let mut bench = self.visit.bench();
        while let Some((place, job)) = self.next_job() {
            let outcome = match job {
                Job::List(folder) => self.list(&place, folder, &mut bench),
                Job::Look(picked) => {
                    let found = self.visit.look(&mut bench, picked);
                    Outcome { found: vec![(place.clone(), found)], ..Outcome::new() }
                }
            };
            self.finish(&place, outcome);
        }
    }

    fn next_job(&self) -> Option<(Place, Job<V::Picked>)> {
        let mut state = self.state();
        loop {
            if state.is_over || self.tree.cancel.is_cancelled() {
                return None;
            }
            let may_run = state.schedule.held_back() < MAX_AHEAD || !state.schedule.is_running();
            if let Some(job) = may_run.then(|| state.schedule.take()).flatten() {
                return Some(job);
            }
            if state.schedule.is_finished() {
                return None;
            }
            state = self.news.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn finish(&self, place: &Place, outcome: Outcome<V>) {
        let mut guard = self.state();
        let state = &mut *guard;
        for (place, job) in outcome.jobs {
            state.schedule.add(place, job);
        }
        for (place, found) in outcome.found {
            state.schedule.put(place, found);
        }
        state.schedule.done(place);
        state.problems.extend(outcome.problem);
        while !state.is_over
            && let Some(found) = state.schedule.next_result()
        {
            state.is_over = (state.take)(found).is_break();
        }
        drop(guard);
        self.news.notify_all();
    }

    fn list(&self, place: &Place, folder: Folder, bench: &mut V::Bench) -> Outcome<V> {
        let entries = match self.tree.files.list(&folder.path) {
            Ok(entries) => entries,
            Err(problem) => return Outcome { problem: Some(problem), ..Outcome::new() },
        };
        let files = &*self.tree.files;
        let rules =
            Rules::of_folder(files, self.tree.kind, &folder.path, &entries, Some(&folder.rules));
        self.sort(place, &Folder { rules, ..folder }, entries, bench)
    }

    /// Sorts the names of a folder into those to look at and folders to list.
    fn sort(
        &self,
        place: &Place,
        folder: &Folder,
        entries: Vec<DirEntry>,
        bench: &mut V::Bench,
    ) -> Outcome<V> {
        let mut outcome = Outcome::new();
        let mut group = Group { place: None, picked: Vec::new() };
        let mut path = folder.path.clone();
        for (position, entry) in (0..).zip(entries) {
            path.push(&entry.name);
            let is_dir = entry.kind == FileKind::Directory;
            if !self.tree.leaves_out(&folder.rules, &path, is_dir) {
                if let Some(picked) = self.visit.pick(&path, entry.kind) {
                    group.place.get_or_insert_with(|| place.child(position));
                    group.picked.push(picked);
                }
                if is_dir {
                    // What is in it comes before what follows it.
                    self.close(&mut group, &mut outcome, bench);
                    let below = Folder { path: path.clone(), rules: Arc::clone(&folder.rules) };
                    outcome.jobs.push((place.child(position), Job::List(below)));
                } else if group.picked.len() >= GROUP {
                    self.close(&mut group, &mut outcome, bench);
                }
            }
            path.pop();
        }
        self.close(&mut group, &mut outcome, bench);
        outcome
    }

    fn close(&self, group: &mut Group<V::Picked>, outcome: &mut Outcome<V>, bench: &mut V::Bench) {
        let Some(place) = group.place.take() else { return };
        let picked = std::mem::take(&mut group.picked);
        if V::IS_LONG {
            outcome.jobs.push((place, Job::Look(picked)));
        } else {
            outcome.found.push((place, self.visit.look(bench, picked)));
        }
    }

    fn state(&self) -> MutexGuard<'_, State<V, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the walk when a thread dies: the others would wait for its job for ever.
struct Alarm<'a, 'b, V: Visit, T: FnMut(V::Found) -> ControlFlow<()>>(&'a Site<'b, V, T>);

impl<V: Visit, T: FnMut(V::Found) -> ControlFlow<()>> Drop for Alarm<'_, '_, V, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.state().is_over = true;
            self.0.news.notify_all();
        }
    }
}

/// Entries that follow each other with no folder between them.
struct Group<P> {
    /// Of the first.
    place: Option<Place>,
    picked: Vec<P>,
}
