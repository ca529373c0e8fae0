//! A running supervisor, and the socket to it.
//!
//! The daemon holds one end of a socket, the supervisor the other. Closing it (a timeout, a stop, a dropped future, the
//! daemon's own death) makes the supervisor end everything the command started.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;

use super::cgroup::Group;
use super::handover;
use super::job::{AT_ONCE, HELPER_COMMAND, IN_ORDER, Job, Report, SUPERVISE};
use super::process::{Ending, Process};

/// A supervisor and the socket to it.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) child: tokio::process::Child,
    pub(super) process: Process,
    line: BufReader<UnixStream>,
    /// Dropped after the child and the socket: a group can be removed only after its processes have ended.
    pub(super) group: Option<Group>,
}

impl Running {
    /// Starts a supervisor in `group` with a command that will read `input` and print into `output` and `errors`.
    pub(super) fn start(
        helper: &Path,
        input: Option<OwnedFd>,
        output: OwnedFd,
        errors: OwnedFd,
        group: Option<Group>,
    ) -> std::io::Result<Self> {
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        handover::send(&ours, input.as_ref())?;
        drop(input);
        let members: Vec<PathBuf> = group.iter().flat_map(Group::members).collect();
        writeln!(ours, "{}", serde_json::to_string(&members)?)?;
        ours.set_nonblocking(true)?;
        let child = tokio::process::Command::new(helper)
            .args([HELPER_COMMAND, SUPERVISE])
            .env_clear()
            .current_dir("/")
            // Signals of the terminal are for the daemon, which then ends its commands cleanly.
            .process_group(0)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(errors))
            .spawn()?;
        let process = child
            .id()
            .and_then(Process::of)
            .ok_or_else(|| std::io::Error::other("/proc does not show the process just started"))?;
        Ok(Self {
            child,
            process,
            line: BufReader::new(UnixStream::from_std(ours)?),
            group,
        })
    }

    pub(super) async fn send(&mut self, job: &Job) -> std::io::Result<()> {
        let job = serde_json::to_string(job)?;
        self.line.write_all(format!("{job}\n").as_bytes()).await
    }

    /// Tells the supervisor to end everything and report. A second call may demand more speed.
    pub(super) async fn end(&mut self, ending: Ending) {
        let word = match ending {
            Ending::InOrder => IN_ORDER,
            Ending::AtOnce => AT_ONCE,
        };
        // A supervisor that cannot be written to has ended.
        let _ = self.line.write_all(&[word]).await;
    }

    /// Kills supervisor and command, if the supervisor fails to do it.
    pub(super) async fn kill(&mut self) {
        let process = self.process;
        let _ = tokio::task::spawn_blocking(move || process.kill_tree()).await;
        let _ = self.child.wait().await;
    }

    /// Returns the supervisor's report; `None` if it was killed.
    pub(super) async fn report(&mut self) -> Option<Report> {
        let mut line = String::new();
        self.line.read_line(&mut line).await.ok()?;
        serde_json::from_str(&line).ok()
    }
}
