//! Process groups of commands: who belongs to one, and how to end all of it.
//!
//! What is ended is stopped first, all of it, so that nothing starts something new while it is
//! being counted: the group, and every descendant that left it. A daemon that has left both its
//! group and its parent is not found; it was made to outlive whoever started it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

use super::process_table::Process;

/// Every process group that commands have started and that may still run. Clones share the list.
#[derive(Debug, Clone, Default)]
pub struct ProcessGroups {
    list: Arc<Mutex<List>>,
}

#[derive(Debug, Default)]
struct List {
    groups: BTreeMap<u64, Group>,
    /// Nothing may be started any more.
    closed: bool,
}

#[derive(Debug, Clone)]
enum Group {
    /// The process it was started with leads it.
    Led(Pid),
    /// The leader has ended, others have not. They tell the group from a later one that got the
    /// same number: as long as one of them is alive, it is theirs.
    Leaderless { id: Pid, members: Vec<Process> },
    /// Was asked to end a moment ago. The members are all that was found, in the group or not.
    Ending { id: Pid, members: Vec<Process> },
}

impl ProcessGroups {
    /// Kills everything that commands have started, those still running and what they left behind,
    /// and lets no further command start. Nothing is asked to end before: whoever calls this has no
    /// time to wait for it.
    pub fn kill_all(&self) {
        let groups = {
            let mut list = self.lock();
            list.closed = true;
            std::mem::take(&mut list.groups)
        };
        for group in groups.into_values() {
            group.kill();
        }
    }

    /// Starts a process that leads a group of its own; `id` gives its number. `None` after
    /// [`Self::kill_all`]. The list is held meanwhile: a process must not run unlisted, or nobody
    /// could end it.
    ///
    /// # Errors
    /// Those of `start`.
    pub fn start<C, E>(
        &self,
        id: impl FnOnce(&C) -> Option<u32>,
        start: impl FnOnce() -> Result<C, E>,
    ) -> Result<Option<(C, RunningGroup)>, E> {
        let mut list = self.lock();
        if list.closed {
            return Ok(None);
        }
        list.groups.retain(|_, group| group.is_alive());
        let key = list.groups.last_key_value().map_or(0, |(last, _)| last + 1);
        let child = start()?;
        if let Some(pid) = id(&child).and_then(|id| Pid::from_raw(id.cast_signed())) {
            list.groups.insert(key, Group::Led(pid));
        }
        drop(list);
        Ok(Some((child, RunningGroup { groups: self.clone(), key, is_over: false })))
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A group whose command is being run. Dropped before the command is over, it kills the group, also
/// where only what the leader has left behind still runs.
#[derive(Debug)]
pub struct RunningGroup {
    groups: ProcessGroups,
    key: u64,
    is_over: bool,
}

impl RunningGroup {
    /// Kills the group and every descendant that left it.
    pub fn kill(&mut self) {
        if let Some(group) = self.group() {
            group.kill();
        }
    }

    /// Asks what the command has started to end (SIGTERM), and kills the program it was started
    /// with, which `arguments` tell, and copies of it: a shell would go on to its next command as
    /// soon as the one it waits for ends, whatever it is asked. A shell that has become another
    /// program (`exec`) is asked like the rest. Where processes cannot be listed all are killed.
    pub(super) fn terminate(&mut self, arguments: &[OsString]) {
        let ending = self.group().and_then(|group| group.terminate(arguments));
        let mut list = self.groups.lock();
        // All may have been killed meanwhile.
        if let Some(group) = list.groups.get_mut(&self.key)
            && let Some(ending) = ending
        {
            *group = ending;
        }
    }

    /// Whether something still runs.
    pub(super) fn is_alive(&self) -> bool {
        self.group().is_some_and(|group| group.is_alive())
    }

    /// The leader has ended, and what it left behind may stay.
    pub fn forget(mut self) {
        self.is_over = true;
        self.groups.lock().groups.remove(&self.key);
    }

    /// The leader has ended; what it left behind may still be waited for.
    pub(super) fn leader_ended(&mut self) {
        let mut list = self.groups.lock();
        let Some(Group::Led(id)) = list.groups.get(&self.key) else {
            return;
        };
        let id = *id;
        if test_kill_process_group(id).is_err() {
            list.groups.remove(&self.key);
        } else {
            let mut members = Process::related(id, &[]);
            members.retain(|process| process.group == id);
            list.groups.insert(self.key, Group::Leaderless { id, members });
        }
    }

    /// The command is over. What it left behind may stay, and stays on the list.
    pub(super) fn leave(&mut self) {
        self.is_over = true;
    }

    fn group(&self) -> Option<Group> {
        self.groups.lock().groups.get(&self.key).cloned()
    }
}

impl Drop for RunningGroup {
    fn drop(&mut self) {
        if !self.is_over {
            self.kill();
            self.groups.lock().groups.remove(&self.key);
        }
    }
}

impl Group {
    fn is_alive(&self) -> bool {
        match self {
            Self::Led(_) => true,
            Self::Leaderless { id, members } => {
                test_kill_process_group(*id).is_ok() && members.iter().any(Process::is_alive)
            }
            // The number cannot have been given anew to another group in so short a time.
            Self::Ending { id, members } => {
                members.iter().any(Process::is_alive)
                    || test_kill_process_group(*id).is_ok()
                        && !Process::related(*id, &[]).is_empty()
            }
        }
    }

    fn kill(&self) {
        if let Some(tree) = self.stopped() {
            tree.signal(Signal::KILL);
        }
    }

    /// What is ending now, if anything is.
    fn terminate(&self, arguments: &[OsString]) -> Option<Self> {
        let tree = self.stopped()?;
        if tree.members.is_empty() {
            tree.signal(Signal::KILL);
        }
        let (own, asked): (Vec<Process>, Vec<Process>) =
            tree.members.iter().partition(|process| process.runs(arguments));
        // From the leaves up, and the shells last: to the group of a leader that ends while something
        // in it is still stopped the system sends SIGHUP.
        send(asked.iter().rev(), Signal::TERM);
        send(asked.iter().rev(), Signal::CONT);
        send(own.iter().rev(), Signal::KILL);
        Some(Self::Ending { id: tree.group, members: asked })
    }

    /// Stops everything; `None` if there is nothing left.
    fn stopped(&self) -> Option<Tree> {
        if !self.is_alive() {
            return None;
        }
        Some(match self {
            Self::Led(leader) => Tree::stopped(*leader, Process::find(*leader).as_slice()),
            Self::Leaderless { id, members } | Self::Ending { id, members } => {
                Tree::stopped(*id, members)
            }
        })
    }
}

/// A group, and what left it.
struct Tree {
    group: Pid,
    /// All that was found, in the group or not.
    members: Vec<Process>,
}

impl Tree {
    /// Stops a group, those of `roots` that still run and all descendants.
    fn stopped(group: Pid, roots: &[Process]) -> Self {
        let members = roots.iter().copied().filter(Process::is_alive).collect();
        let mut tree = Self { group, members };
        tree.signal(Signal::STOP);
        // A process found late may have started another one before it was stopped.
        for _ in 0..8 {
            let found = Process::related(group, &tree.members);
            if found.is_empty() {
                break;
            }
            send(outside(group, &found), Signal::STOP);
            tree.members.extend(found);
        }
        tree
    }

    fn signal(&self, signal: Signal) {
        _ = kill_process_group(self.group, signal);
        send(outside(self.group, &self.members), signal);
    }
}

fn outside(group: Pid, processes: &[Process]) -> impl Iterator<Item = &Process> {
    processes.iter().filter(move |process| process.group != group)
}

fn send<'a>(processes: impl IntoIterator<Item = &'a Process>, signal: Signal) {
    for process in processes {
        _ = kill_process(process.id, signal);
    }
}
