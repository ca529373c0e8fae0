//! Processes by identity: a pid and its start time, so that a reused pid is never mistaken for the old one.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use serde::{Deserialize, Serialize};

/// Shortest time between two checks of the rest of a tree: each reads all of `/proc`.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How long to wait for a killed process before the tree is checked again.
const VANISHES_IN: Duration = Duration::from_millis(50);

/// How long to wait for killed processes to end: only one that hangs in the kernel takes longer.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// How a command is ended from outside: with SIGTERM, and after some time with SIGKILL for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// Leaves time to flush a file and remove a lock; short enough that a timeout returns within 5 s.
    InOrder,
    /// A person aborted the turn: everything ends within a second.
    AtOnce,
}

impl Ending {
    /// Returns the time between SIGTERM and SIGKILL.
    pub(super) const fn grace(self) -> Duration {
        match self {
            Self::InOrder => Duration::from_secs(2),
            Self::AtOnce => Duration::from_millis(250),
        }
    }
}

/// One process of this machine, for as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    /// Its pid as the daemon sees it.
    pub pid: u32,
    /// When it started, in clock ticks since boot.
    pub started: u64,
}

impl Process {
    /// Returns the process that has `pid` now; `None` if there is no such process.
    pub fn of(pid: u32) -> Option<Self> {
        Stat::read(pid).map(|stat| stat.process)
    }

    /// Returns whether it still runs; a zombie does not.
    pub fn is_alive(self) -> bool {
        Stat::read(self.pid).is_some_and(|stat| stat.process == self && stat.runs())
    }

    /// Sends `signal` to exactly this process, never to one that got the same pid later.
    fn signal(self, signal: Signal) {
        if let Some(handle) = self.handle() {
            let _ = pidfd_send_signal(handle, signal);
        }
    }

    /// Waits until it has ended, at most for `timeout`. Blocks.
    pub fn wait_end(self, timeout: Duration) {
        let (Some(handle), Ok(timeout)) = (self.handle(), Timespec::try_from(timeout)) else {
            return;
        };
        let mut end = [PollFd::new(&handle, PollFlags::IN)];
        let _ = retry_on_intr(|| poll(&mut end, Some(&timeout)));
    }

    /// Returns a handle of exactly this process; `None` if it has ended.
    fn handle(self) -> Option<OwnedFd> {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw)?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).ok()?;
        // The pid may have been reused: check again before using this handle.
        (Self::of(self.pid) == Some(self)).then_some(handle)
    }

    /// Returns all running descendants.
    fn below(self) -> Vec<Stat> {
        let mut children: HashMap<u32, Vec<Stat>> = HashMap::new();
        for stat in Stat::all() {
            children.entry(stat.parent).or_default().push(stat);
        }
        let mut found = Vec::new();
        let mut seen = HashSet::new();
        let mut waiting = vec![self.pid];
        while let Some(pid) = waiting.pop() {
            if !seen.insert(pid) {
                continue;
            }
            for stat in children.remove(&pid).unwrap_or_default() {
                waiting.push(stat.process.pid);
                found.push(stat);
            }
        }
        found.retain(Stat::runs);
        found
    }

    /// Ends all its descendants: SIGTERM, some time, SIGKILL. Blocks until none is left.
    ///
    /// Bubblewrap's own processes get no SIGTERM: the outer one would end the rest at once.
    pub fn end_below(self, ending: Ending) {
        for stat in self.below() {
            if stat.name != "bwrap" {
                stat.process.signal(Signal::TERM);
            }
        }
        if self.wait_below(ending.grace()) {
            return;
        }
        self.kill_below();
    }

    /// Kills all its descendants, repeatedly until none is left.
    pub fn kill_below(self) {
        let start = Instant::now();
        loop {
            let left = self.below();
            if left.is_empty() || start.elapsed() > KILL_TIMEOUT {
                return;
            }
            for stat in &left {
                stat.process.signal(Signal::KILL);
            }
            wait_for_one(&left, VANISHES_IN);
        }
    }

    /// Kills it and all its descendants. For a supervisor that no longer answers.
    pub fn kill_tree(self) {
        self.kill_below();
        self.signal(Signal::KILL);
    }

    /// Waits until it has no descendants; false if `timeout` expired first.
    fn wait_below(self, timeout: Duration) -> bool {
        let start = Instant::now();
        loop {
            let left = self.below();
            let time = timeout.saturating_sub(start.elapsed());
            if left.is_empty() || time.is_zero() {
                return left.is_empty();
            }
            wait_for_one(&left, time);
        }
    }
}

/// Waits until one of these has ended, at most for `timeout`, and long enough that the checks do not take all the time.
fn wait_for_one(left: &[Stat], timeout: Duration) {
    if let Some(stat) = left.first() {
        stat.process.wait_end(timeout);
    }
    std::thread::sleep(LOOK_EVERY);
}

/// The parts of `/proc/<pid>/stat` that are needed.
struct Stat {
    process: Process,
    name: String,
    state: u8,
    parent: u32,
}

impl Stat {
    fn read(pid: u32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Reads `pid (name) state ppid … starttime …`; the name may contain spaces and brackets.
    fn parse(pid: u32, line: &[u8]) -> Option<Self> {
        let line = String::from_utf8_lossy(line);
        let (head, rest) = line.rsplit_once(')')?;
        let (_, name) = head.split_once('(')?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        Some(Self {
            process: Process {
                pid,
                // Field 22 of the line; the state is field 3 and the first one here.
                started: fields.get(19)?.parse().ok()?,
            },
            name: name.to_owned(),
            state: *fields.first()?.as_bytes().first()?,
            parent: fields.get(1)?.parse().ok()?,
        })
    }

    fn all() -> Vec<Self> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(Self::read)
            .collect()
    }

    fn runs(&self) -> bool {
        !matches!(self.state, b'Z' | b'X' | b'x')
    }
}
