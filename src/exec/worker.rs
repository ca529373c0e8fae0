//! The `chorus` binary re-executed to do one piece of work on untrusted text.
//!
//! It limits itself, reads a [`WorkOrder`] and the bytes to work on from standard input, and writes its answer to
//! standard output; bytes that no model reads go to standard error, which is then a file. It is single-threaded, has no
//! secret and no other descriptor, may be killed at any moment, and ends with the daemon.

use std::ffi::OsString;
use std::io::{BufRead, Read, Write};
use std::process::ExitCode;

use rustix::process::{Resource, Rlimit, Signal, set_parent_process_death_signal, setrlimit};
use serde::{Deserialize, Serialize};

use super::command::Limits;
use super::error::{self, HelperError};
use super::limits;

/// First argument that turns the `chorus` binary into a worker.
pub(super) const WORK_COMMAND: &str = "__work";

/// Most bytes of an answer; a longer one is cut off. A model reads 50,000 characters of it and the rest in pages.
pub(super) const MOST_ANSWER: usize = 8 << 20;

/// Replaces the part that was cut off.
const CUT: &str = "\n[the rest is left out: the result has more than 8 MiB]";

/// Exit code of a worker with faulty input; its output explains the fault.
pub(super) const REFUSED: u8 = 3;

/// Exit code of a worker that could not do its work; its output explains why.
pub(super) const FAILED: u8 = 4;

/// Most open files of a worker: a walk needs one for each folder on its way.
const OPEN_FILES: u64 = 512;

/// Most threads and processes of the daemon's user; a worker adds none.
const PROCESSES: u64 = 4096;

/// Resource limits of one piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkLimits {
    /// Bytes of writable memory.
    pub memory: u64,
    /// Seconds of processor time.
    pub seconds: u64,
    /// Most bytes of a file that it may write.
    pub file_size: u64,
}

/// Instructions to a worker, as one line of JSON before the bytes to work on.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct WorkOrder {
    pub(super) name: String,
    /// The arguments of the work, as JSON.
    pub(super) job: String,
    pub(super) limits: WorkLimits,
}

/// Why a worker has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkFailure {
    /// The work itself is faulty.
    Refused(String),
    Failed(String),
}

/// Does one piece of work with `work` if the arguments request it; `None` means that this is an ordinary start.
///
/// `work` receives its name, its arguments as JSON, and the bytes to work on.
pub fn serve(
    mut arguments: impl Iterator<Item = OsString>,
    work: impl FnOnce(&str, &str, &[u8]) -> Result<String, WorkFailure>,
) -> Option<ExitCode> {
    if arguments.nth(1)? != WORK_COMMAND {
        return None;
    }
    let (code, answer) = match attempt(work) {
        Ok(answer) => (0, cut(answer)),
        Err(WorkFailure::Refused(why)) => (REFUSED, cut(why)),
        Err(WorkFailure::Failed(why)) => (FAILED, cut(why)),
    };
    // There is no reader if the call was ended; then the exit code does not matter.
    let _ = std::io::stdout().write_all(answer.as_bytes());
    Some(ExitCode::from(code))
}

fn attempt(
    work: impl FnOnce(&str, &str, &[u8]) -> Result<String, WorkFailure>,
) -> Result<String, WorkFailure> {
    let failed = |doing: &'static str| {
        move |error: std::io::Error| WorkFailure::Failed(format!("{doing}: {error}"))
    };
    // The daemon may be killed at any moment, and then the answer is not needed.
    set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| WorkFailure::Failed(format!("tying itself to the daemon: {error}")))?;
    let mut input = std::io::stdin().lock();
    let mut line = String::new();
    input
        .read_line(&mut line)
        .map_err(failed("reading the order"))?;
    let order: WorkOrder = serde_json::from_str(&line).map_err(|_| {
        WorkFailure::Failed(format!(
            "`{WORK_COMMAND}` is for Chorus itself: it reads pages, searches files and uses git"
        ))
    })?;
    restrict(order.limits).map_err(|why| WorkFailure::Failed(why.to_string()))?;
    let mut bytes = Vec::new();
    input
        .read_to_end(&mut bytes)
        .map_err(failed("reading what to work on"))?;
    work(&order.name, &order.job, &bytes)
}

/// Returns the worker's output for bytes of a result that no model reads: the file given to
/// [`super::Workers::run_into`].
pub fn bulk_output() -> impl Write {
    std::io::stderr().lock()
}

/// Limits this process for good.
fn restrict(wanted: WorkLimits) -> Result<(), HelperError> {
    limits::apply(&Limits {
        memory: wanted.memory,
        processes: PROCESSES,
        file_size: wanted.file_size,
        open_files: OPEN_FILES,
    })?;
    // The signal at the lower bound shows why it ended; the upper one is for a process that ignores it.
    let time = Rlimit {
        current: Some(wanted.seconds),
        maximum: Some(wanted.seconds + 1),
    };
    setrlimit(Resource::Cpu, time).map_err(error::failed("limiting processor time"))?;
    rustix::thread::set_no_new_privs(true).map_err(error::failed("giving up new privileges"))
}

/// Cuts `answer` to [`MOST_ANSWER`] with a note if it is longer.
fn cut(mut answer: String) -> String {
    if answer.len() <= MOST_ANSWER {
        return answer;
    }
    answer.truncate(answer.floor_char_boundary(MOST_ANSWER - CUT.len()));
    answer.push_str(CUT);
    answer
}
