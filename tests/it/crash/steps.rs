//! The daemon's durable steps, one at a time: `strace` halts it after each system call that changes what is kept, and
//! here it is let go on, or killed.
//!
//! What a killed program has written stays written, so the states that it can leave are those between two such calls.
//! Of a transaction two count: a part of it is in the log, all of it is. Of a new file: it is written, it has its name.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread::JoinHandle;

use regex::Regex;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::world::strace;

/// The system calls that change what is kept, and those that make it last.
const CALLS: &str =
    "pwrite64,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat";

static CALL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^(\w+)\((.*)\) += (-?\d+)").unwrap());
static OPEN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\d+<([^>]*)>").unwrap());
static NAMED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r#""([^"]*)"[^"]*$"#).unwrap());

/// A moment at which a kill leaves something new behind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Edge {
    pub(super) side: Side,
    pub(super) step: Step,
    /// The file, within the home.
    pub(super) file: PathBuf,
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = match self.side {
            Side::Before => "before",
            Side::After => "after",
        };
        let file = self.file.display();
        match self.step {
            Step::Commit => write!(f, "{side} a commit in {file}"),
            Step::Name => write!(f, "{side} the naming of {file}"),
            Step::Removal => write!(f, "{side} the removal of {file}"),
        }
    }
}

impl Edge {
    /// The edge with a file name that is the same in every life, where the file has another in each.
    pub(super) fn kind(&self) -> Self {
        let name = if is_unnamed(&self.file) {
            "(unfinished)"
        } else {
            "(finished)"
        };
        let file = match self.file.parent() {
            Some(folder) if !self.file.starts_with("db") => folder.join(name),
            _ => self.file.clone(),
        };
        Self {
            file,
            ..self.clone()
        }
    }
}

/// What makes something last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Step {
    /// What was written into a file is synced: a transaction, or the log's way into the database.
    Commit,
    /// A new file gets its name.
    Name,
    /// A file goes.
    Removal,
}

/// On which side of a durable step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    /// It is begun and does not count yet.
    Before,
    /// It counts, and nobody was told.
    After,
}

/// How a life ended.
#[derive(Debug)]
pub(super) enum End {
    /// It was killed here.
    Killed(Edge),
    /// Nobody killed it; the last edge that it came to.
    ByItself(Option<Edge>),
}

/// A life of the daemon that ends at an edge.
pub(super) struct Life {
    log: TempDir,
    watcher: JoinHandle<End>,
}

impl Life {
    /// Kills the daemon of `home` at the first edge that is `the_last`. It is to be launched by [`Self::tracer`].
    pub(super) fn until(home: &Path, the_last: impl FnMut(&Edge) -> bool + Send + 'static) -> Self {
        let log = tempfile::tempdir().unwrap();
        let pipe = log.path().join("calls");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let home = home.canonicalize().unwrap();
        let watcher = std::thread::spawn(move || watch(&pipe, home, the_last));
        Self { log, watcher }
    }

    /// What the daemon is to be run by.
    pub(super) fn tracer(&self) -> Vec<String> {
        strace::injecting(CALLS, "signal=STOP", &self.log.path().join("calls"))
    }

    /// Waits for its end.
    pub(super) fn ended(self) -> End {
        tokio::task::block_in_place(|| self.watcher.join().unwrap())
    }
}

/// Reads what `strace` writes until all of the program has ended.
fn watch(pipe: &Path, home: PathBuf, mut is_last: impl FnMut(&Edge) -> bool) -> End {
    let mut calls = Calls::of(home);
    let mut end = End::ByItself(None);
    for line in BufReader::new(File::open(pipe).unwrap()).lines() {
        match calls.read(&line.unwrap()) {
            Some((thread, Told::Edge(edge))) if matches!(end, End::ByItself(_)) => {
                end = if is_last(&edge) {
                    kills(thread);
                    End::Killed(edge)
                } else {
                    End::ByItself(Some(edge))
                };
            }
            Some((thread, Told::Halt)) => signals(thread, Signal::CONT),
            Some((_, Told::Edge(_))) | None => {}
        }
    }
    end
}

/// Kills the program that has this thread, and then its tracer. `strace` can ask the kernel to leave a thread halted at the moment at which
/// that thread dies; it takes the refusal for an error, waits for the program before it lets go of its threads, and neither ever ends.
fn kills(thread: i32) {
    let tracer = tracer_of(thread);
    signals(thread, Signal::KILL);
    if let Some(tracer) = tracer {
        signals(tracer, Signal::KILL);
    }
}

/// Who traces a thread.
fn tracer_of(thread: i32) -> Option<i32> {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let tracer = status
        .lines()
        .find_map(|line| line.strip_prefix("TracerPid:"))?;
    tracer.trim().parse().ok().filter(|tracer| *tracer > 0)
}

/// Sends a signal to the program that has this thread. It may be gone already.
fn signals(thread: i32, which: Signal) {
    let _ = kill_process(Pid::from_raw(thread).unwrap(), which);
}

/// What a line of `strace` tells of a thread.
enum Told {
    /// It has come to an edge. It does not get further: it is about to be halted.
    Edge(Edge),
    /// It is halted now, and the program with it.
    Halt,
}

/// Whether a file is one that is still being written, under a name that nobody looks for.
fn is_unnamed(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// What `strace` has told so far.
struct Calls {
    home: PathBuf,
    /// Beginnings of lines, by thread, whose ends follow.
    unfinished: HashMap<i32, String>,
    /// Threads that are about to be halted.
    halting: HashSet<i32>,
    /// Files that something was written into since they were synced.
    begun: HashSet<PathBuf>,
}

impl Calls {
    fn of(home: PathBuf) -> Self {
        Self {
            home,
            unfinished: HashMap::new(),
            halting: HashSet::new(),
            begun: HashSet::new(),
        }
    }

    fn read(&mut self, line: &str) -> Option<(i32, Told)> {
        let (thread, said) = line.split_once(char::is_whitespace)?;
        let (thread, said) = (thread.parse().ok()?, said.trim_start());
        if said.starts_with("--- SIGSTOP {") {
            self.halting.insert(thread);
            return None;
        }
        if said.starts_with("--- stopped by SIGSTOP") {
            // The other threads are halted along with it.
            return self.halting.remove(&thread).then_some((thread, Told::Halt));
        }
        if let Some(beginning) = said.strip_suffix(" <unfinished ...>") {
            self.unfinished.insert(thread, beginning.to_owned());
            return None;
        }
        let whole = match said.strip_prefix("<... ") {
            Some(resumed) => self.unfinished.remove(&thread)? + resumed.split_once('>')?.1,
            None => said.to_owned(),
        };
        Some((thread, Told::Edge(self.edge(&whole)?)))
    }

    /// The edge that a finished call is, if it is one.
    fn edge(&mut self, call: &str) -> Option<Edge> {
        let call = CALL.captures(call)?;
        let (name, arguments) = (&call[1], &call[2]);
        if call[3].starts_with('-') {
            return None;
        }
        let named = match name {
            "pwrite64" | "fsync" | "fdatasync" => OPEN.captures(arguments)?,
            _ => NAMED.captures(arguments)?,
        };
        let path = Path::new(&named[1]);
        let file = path.strip_prefix(&self.home).ok()?.to_owned();
        let (side, step) = match name {
            "pwrite64" if self.is_begun(&file, arguments) => (Side::Before, Step::Commit),
            "pwrite64" => return None,
            "fsync" | "fdatasync" if self.begun.remove(&file) => (Side::After, Step::Commit),
            // The log, before anything is in it, and the folder that it was made in.
            "fsync" | "fdatasync" if file.starts_with("db") => return None,
            "fsync" | "fdatasync" if path.is_dir() => (Side::After, Step::Name),
            "fsync" | "fdatasync" => (Side::Before, Step::Name),
            // What never got its name was not kept.
            "unlink" | "unlinkat" if is_unnamed(path) => return None,
            "unlink" | "unlinkat" => (Side::After, Step::Removal),
            _ => (Side::After, Step::Name),
        };
        Some(Edge { side, step, file })
    }

    /// Whether a write is the first since the file was synced. What is written at the beginning of a log is its header;
    /// what other processes see in memory is not kept.
    fn is_begun(&mut self, file: &Path, arguments: &str) -> bool {
        let name = file.to_string_lossy();
        let is_header = name.ends_with("-wal") && arguments.ends_with(", 0");
        !is_header && !name.ends_with("-shm") && self.begun.insert(file.to_owned())
    }
}
