//! Process groups of commands: who belongs to one, and how to end all of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};

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
    /// The leader has ended, others have not. Their identities tell the group from a later one
    /// that got the same number.
    Leaderless { id: Pid, members: Vec<Process> },
}

impl ProcessGroups {
    /// Kills everything that commands have started, those still running and what they left behind,
    /// and lets no further command start.
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
        Ok(Some((child, RunningGroup { groups: self.clone(), key, running: true })))
    }

    fn lock(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A group whose command is being run. Dropped before the leader has ended, it kills the group.
#[derive(Debug)]
pub struct RunningGroup {
    groups: ProcessGroups,
    key: u64,
    running: bool,
}

impl RunningGroup {
    /// Kills the group and every descendant that left it.
    pub fn kill(&mut self) {
        let group = self.groups.lock().groups.get(&self.key).cloned();
        if let Some(group) = group {
            group.kill();
        }
    }

    /// The leader has ended, and what it left behind may stay.
    pub fn forget(mut self) {
        self.running = false;
        self.groups.lock().groups.remove(&self.key);
    }

    /// The leader has ended. What it left behind stays on the list.
    pub fn leader_ended(&mut self) {
        self.running = false;
        let mut list = self.groups.lock();
        let Some(Group::Led(id)) = list.groups.get(&self.key) else {
            return;
        };
        let id = *id;
        if test_kill_process_group(id).is_err() {
            list.groups.remove(&self.key);
            return;
        }
        let members = all_processes().into_iter().filter(|process| process.group == id).collect();
        list.groups.insert(self.key, Group::Leaderless { id, members });
    }
}

impl Drop for RunningGroup {
    fn drop(&mut self) {
        if self.running {
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
                test_kill_process_group(*id).is_ok()
                    && members.iter().any(|member| read_process(member.id) == Some(*member))
            }
        }
    }

    fn kill(&self) {
        match self {
            Self::Led(leader) => kill_tree(*leader, &[*leader]),
            Self::Leaderless { id, members } if self.is_alive() => {
                let roots: Vec<Pid> = members
                    .iter()
                    .filter(|member| read_process(member.id) == Some(**member))
                    .map(|member| member.id)
                    .collect();
                kill_tree(*id, &roots);
            }
            Self::Leaderless { .. } => {}
        }
    }
}

/// Kills a group and the descendants of `roots` outside it. Everything is stopped first, so that
/// nothing starts something new while it is being counted.
fn kill_tree(group: Pid, roots: &[Pid]) {
    _ = kill_process_group(group, Signal::STOP);
    let mut found: BTreeSet<i32> = roots.iter().map(|pid| pid.as_raw_nonzero().get()).collect();
    // A process found late may have started another one before it was stopped.
    for _ in 0..8 {
        let before = found.len();
        for process in descendants(&found) {
            if found.insert(process.id.as_raw_nonzero().get()) && process.group != group {
                _ = kill_process(process.id, Signal::STOP);
            }
        }
        if found.len() == before {
            break;
        }
    }
    _ = kill_process_group(group, Signal::KILL);
    for pid in found.into_iter().filter_map(Pid::from_raw) {
        _ = kill_process(pid, Signal::KILL);
    }
}

/// The processes below those in `ancestors`, at any depth.
fn descendants(ancestors: &BTreeSet<i32>) -> Vec<Process> {
    let mut rest = all_processes();
    let mut known = ancestors.clone();
    let mut found = Vec::new();
    loop {
        let (below, others): (Vec<Process>, Vec<Process>) =
            rest.into_iter().partition(|process| known.contains(&process.parent));
        if below.is_empty() {
            return found;
        }
        known.extend(below.iter().map(|process| process.id.as_raw_nonzero().get()));
        found.extend(below);
        rest = others;
    }
}

/// A process of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Process {
    id: Pid,
    /// 0 if it has none. Changes when the parent ends, so it is no part of the identity.
    parent: i32,
    group: Pid,
    /// Clock ticks since boot.
    start: u64,
}

/// Every process, or none where there is no `/proc`.
fn all_processes() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(|id| read_process(Pid::from_raw(id)?))
        .collect()
}

fn read_process(id: Pid) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
    parse_stat(id, &stat)
}

/// `pid (name) state parent group …`, the start as field 22. The name may hold anything.
fn parse_stat(id: Pid, stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let group = Pid::from_raw(fields.next()?.parse().ok()?)?;
    let start = fields.nth(16)?.parse().ok()?;
    Some(Process { id, parent, group, start })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines_are_read_whatever_the_name() {
        let id = Pid::from_raw(7).unwrap();
        let stat = "7 (a) b) S 3 5 5 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";
        let process = parse_stat(id, stat).unwrap();
        assert_eq!((process.parent, process.start), (3, 98765));
        assert_eq!(process.group, Pid::from_raw(5).unwrap());
        assert_eq!(parse_stat(id, "nonsense"), None);
    }
}
