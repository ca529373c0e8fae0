//! The outer half of the helper: starts one command, adopts its orphans, ends all of it.
//!
//! It is the "subreaper" of everything the command starts, so a process that calls `setsid` or forks twice stays below
//! it. It talks to the daemon over its standard input, a socket: it receives its control groups and, possibly much
//! later, the job; it sends the report. When the daemon closes its end, an attached command is ended.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    DumpableBehavior, WaitOptions, WaitStatus, getpid, set_child_subreaper, set_dumpable_behavior,
    wait,
};

use super::error::{HelperError, failed};
use super::job::{
    AT_ONCE, CONFINE, CONFINED, Confinement, HELPER_COMMAND, HELPER_INSIDE, Job, Lifetime, Report,
};
use super::process::{Ending, Process};
use super::{handover, repair};

/// The helper's own binary, even after it was replaced on disk.
const OWN_BINARY: &str = "/proc/self/exe";

/// Descriptors from this number on are not for a command, which has only its three standard streams.
const FIRST_INHERITED: i32 = 3;

/// How often, and how long each time, the last processes of a command may end by themselves before a search for them.
const LAST_MOMENTS: u32 = 20;
const LAST_MOMENT: Duration = Duration::from_micros(300);

/// Runs one job.
///
/// # Errors
///
/// Fails if the job cannot be read or the report cannot be delivered.
pub(super) fn main() -> Result<(), HelperError> {
    // Descriptors that the daemon itself inherited, for example from a terminal or a build tool, are not for commands
    // either.
    close_fds::set_fds_cloexec(FIRST_INHERITED, &[]);
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed("hiding itself"))?;
    set_child_subreaper(Some(getpid())).map_err(failed("adopting orphans"))?;
    let daemon = super::confine::standard_input()?;
    let input = handover::receive(&daemon).map_err(failed("taking over the input"))?;
    let mut inbox = BufReader::new(daemon.try_clone().map_err(failed("reading the job"))?);
    let joined = join(&next_line(&mut inbox)?);
    let job = next_line(&mut inbox)?;
    let job: Job = serde_json::from_str(&job).map_err(failed("reading the job"))?;

    let own = Process::of(std::process::id()).ok_or(HelperError::NoProc)?;
    let closed = match job.life {
        Lifetime::Attached => Some(Ending::InOrder),
        Lifetime::Talking => Some(Ending::AtOnce),
        Lifetime::Detached { .. } => None,
    };
    if let Some(closed) = closed {
        thread::spawn(move || end_when_told(&mut inbox, own, closed));
    }
    let ran = joined.and_then(|()| run(&job, input, own));
    if let Some(workspace) = &job.repository {
        repair::repository(workspace, job.confinement.pin.as_ref());
    }
    let report = match ran {
        Ok(code) => Report::Exited(code),
        Err(why) => Report::Failed(why.to_string()),
    };
    if let Lifetime::Detached { exit_file } = &job.life {
        write_exit_code(exit_file, &report).map_err(failed("writing the exit code"))?;
    }
    let line = serde_json::to_string(&report).map_err(failed("reporting"))?;
    // The daemon may have ended; then there is no receiver.
    let _ = writeln!(&daemon, "{line}");
    Ok(())
}

/// Ends the command when the daemon says so, and faster when it says so again, or in the manner of `closed` when it
/// closes the socket.
fn end_when_told(inbox: &mut impl Read, own: Process, closed: Ending) {
    let mut told = || {
        let mut word = [0];
        match inbox.read(&mut word) {
            Ok(1) if word == [AT_ONCE] => Some(Ending::AtOnce),
            Ok(1) => Some(Ending::InOrder),
            Ok(_) | Err(_) => None,
        }
    };
    let first = told();
    if first.unwrap_or(closed) == Ending::InOrder {
        thread::spawn(move || own.end_below(Ending::InOrder));
        let second = if first.is_some() { told() } else { None };
        let then = second.or(first.map(|_| closed));
        if then != Some(Ending::AtOnce) {
            return;
        }
    }
    own.end_below(Ending::AtOnce);
}

/// Returns the daemon's next line; empty if it has closed the socket.
fn next_line(inbox: &mut impl BufRead) -> Result<String, HelperError> {
    let mut line = String::new();
    inbox
        .read_line(&mut line)
        .map_err(failed("reading the job"))?;
    Ok(line)
}

/// Joins the control groups whose files `line` lists.
fn join(line: &str) -> Result<(), HelperError> {
    let files: Vec<PathBuf> =
        serde_json::from_str(line).map_err(failed("reading the control groups"))?;
    let pid = std::process::id().to_string();
    for file in files {
        fs::write(file, &pid).map_err(failed("joining the control group"))?;
    }
    Ok(())
}

/// Starts the command, waits for it, and leaves nothing behind.
fn run(job: &Job, input: Option<OwnedFd>, own: Process) -> Result<i32, HelperError> {
    let (ours, theirs) = UnixStream::pair().map_err(failed("opening a line to the sandbox"))?;
    let mut command = match job.wrapper.split_first() {
        Some((program, arguments)) => {
            let mut command = Command::new(program);
            command.args(arguments).arg("--").arg(HELPER_INSIDE);
            command
        }
        None => Command::new(OWN_BINARY),
    };
    let child = command
        .args([HELPER_COMMAND, CONFINE])
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .map_err(failed(command.get_program().display().to_string()))?;
    // Drops our copy of the other end, so that the death of the child is noticed.
    drop(command);

    let confined = confine_over(&ours, input.as_ref(), &job.confinement);
    // The program holds it now, so that it ends with the program's.
    drop(input);
    drop(ours);
    if let Err(why) = confined {
        own.kill_below();
        reap_all();
        return Err(why);
    }
    let code = wait_for(child.id())?;
    clear(own);
    Ok(code)
}

/// Ends the processes that the command left running in the background.
fn clear(own: Process) {
    // The first process of a namespace ends the others with it, a moment later: searching for it costs more than
    // waiting.
    for _ in 0..LAST_MOMENTS {
        if reap_all() {
            return;
        }
        thread::sleep(LAST_MOMENT);
    }
    while !reap_all() {
        own.kill_below();
    }
}

/// Sends the inner half its instructions and waits for its answer that it is confined.
fn confine_over(
    line: &UnixStream,
    input: Option<&OwnedFd>,
    confinement: &Confinement,
) -> Result<(), HelperError> {
    let mut order = serde_json::to_vec(confinement).map_err(failed("writing the orders"))?;
    order.push(b'\n');
    let mut writer = line;
    // A child that failed early has closed its end; its answer or silence explains more than the write error.
    let _ = handover::send(line, input);
    let _ = writer.write_all(&order);
    let mut answer = String::new();
    BufReader::new(line)
        .read_line(&mut answer)
        .map_err(failed("hearing from the sandbox"))?;
    match answer.trim_end() {
        CONFINED => Ok(()),
        "" => Err(HelperError::EndedEarly),
        why => Err(HelperError::NotConfined(why.to_owned())),
    }
}

/// Waits for `child`, and reaps orphans that end meanwhile.
fn wait_for(child: u32) -> Result<i32, HelperError> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if pid.as_raw_nonzero().get().unsigned_abs() == child => {
                return Ok(exit_code(status));
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed("waiting for the command")(error)),
        }
    }
}

/// Reaps all children that have ended; true if none is left.
fn reap_all() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Ok(None) => return false,
            Err(_) => return true,
        }
    }
}

/// Returns the code as a shell reports it: 128 + n after signal n.
fn exit_code(status: WaitStatus) -> i32 {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => -1,
    }
}

/// Writes the code completely or not at all, so that readers of the file can trust it.
fn write_exit_code(path: &Path, report: &Report) -> std::io::Result<()> {
    let text = match report {
        Report::Exited(code) => format!("{code}\n"),
        Report::Failed(why) => format!("failed: {why}\n"),
    };
    let draft = path.with_extension("draft");
    fs::write(&draft, text)?;
    fs::rename(draft, path)
}
