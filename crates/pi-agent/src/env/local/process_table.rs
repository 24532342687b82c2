//! The processes of this machine, as `/proc` shows them. Where there is none, there are none.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;

use rustix::process::Pid;

/// A process that has not ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Process {
    pub(super) id: Pid,
    /// 0 if it has none.
    parent: i32,
    pub(super) group: Pid,
    /// Clock ticks since boot. Tells it from a later process with the same number.
    start: u64,
}

impl Process {
    /// `None` if there is no such process, or only what its parent has not taken note of.
    pub(super) fn find(id: Pid) -> Option<Self> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", id.as_raw_nonzero())).ok()?;
        parse_stat(id, &stat)
    }

    pub(super) fn all() -> Vec<Self> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|id| Self::find(Pid::from_raw(id)?))
            .collect()
    }

    /// The processes of a group, those below them and those below `ancestors`, at any depth; not
    /// the ancestors themselves.
    pub(super) fn related(group: Pid, ancestors: &[Self]) -> Vec<Self> {
        let mut known: BTreeSet<i32> = ancestors.iter().map(Self::number).collect();
        let mut rest = Self::all();
        rest.retain(|process| !known.contains(&process.number()));
        let mut found = Vec::new();
        loop {
            let (related, others): (Vec<Self>, Vec<Self>) = rest
                .into_iter()
                .partition(|process| process.group == group || known.contains(&process.parent));
            if related.is_empty() {
                return found;
            }
            known.extend(related.iter().map(Self::number));
            found.extend(related);
            rest = others;
        }
    }

    /// Whether it still runs, and is not a later one that got its number.
    pub(super) fn is_alive(&self) -> bool {
        Self::find(self.id).is_some_and(|found| found.start == self.start)
    }

    /// Whether it was started with these arguments, or is a copy of one that was.
    pub(super) fn runs(&self, arguments: &[OsString]) -> bool {
        let line = fs::read(format!("/proc/{}/cmdline", self.number())).unwrap_or_default();
        let mut wanted = vec![0];
        for argument in arguments {
            wanted.extend_from_slice(argument.as_bytes());
            wanted.push(0);
        }
        line.ends_with(&wanted)
    }

    fn number(&self) -> i32 {
        self.id.as_raw_nonzero().get()
    }
}

/// `pid (name) state parent group …`, the start as field 22. The name may hold anything.
fn parse_stat(id: Pid, stat: &str) -> Option<Process> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace();
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
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
        assert!(parse_stat(id, &stat.replace(") S", ") Z")).is_none());
        assert!(parse_stat(id, "nonsense").is_none());
    }

    #[test]
    fn a_process_knows_what_it_runs() {
        let id = Pid::from_raw(std::process::id().cast_signed()).unwrap();
        let process = Process::find(id).unwrap();
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        assert!(process.is_alive() && process.runs(&arguments));
        assert!(!process.runs(&["other".into()]));
    }
}
