//! Runs one command to its end.
//!
//! The daemon holds one end of a socket, the supervisor the other. Letting go of it (a timeout, a stop, a dropped
//! future, the daemon's own death) makes the supervisor end everything the command started.

use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::GRACE;
use super::ahead::Waiting;
use super::capture::Capture;
use super::cgroup::Group;
use super::command::{Command, Ended, ExecError, Finished, Limits};
use super::job::{HELPER_COMMAND, Job, Life, Report, SUPERVISE};
use super::process::Process;
use super::sandbox::Sandbox;

/// Bytes taken from the pipe at once: its usual capacity.
const CHUNK: usize = 64 * 1024;

/// How long the supervisor may take beyond the grace it gives, before it is taken for stuck.
const SUPERVISOR_PATIENCE: Duration = Duration::from_secs(2);

/// What ends a command besides itself, and where its output goes.
#[derive(Clone, Debug)]
pub struct Bounds {
    /// How long it may take.
    pub timeout: Duration,
    /// File for all of its output, made only when that does not fit into the result.
    pub spool: Option<PathBuf>,
}

impl Sandbox {
    /// Runs `command` and waits for it. `stop` ends it, and so does dropping the future.
    ///
    /// # Errors
    ///
    /// When the command was not run at all; a command that fails is [`Finished`].
    pub async fn run(
        &self,
        command: &Command,
        bounds: Bounds,
        stop: &CancellationToken,
    ) -> Result<Finished, ExecError> {
        let scratch = tempfile::tempdir()?;
        let job = self.job(command, scratch.path(), Life::Tied)?;
        let start = Instant::now();
        let Waiting {
            mut running,
            mut output,
            ..
        } = self.supervisor(&command.limits)?;
        running.send(&job).await?;
        self.start_ahead(&command.limits);

        let mut capture = Capture::new(bounds.spool);
        let mut ended = Ended::Exited;
        let mut chunk = vec![0; CHUNK];
        let mut open = true;
        let time_up = tokio::time::sleep(bounds.timeout);
        let patience = tokio::time::sleep(Duration::MAX);
        tokio::pin!(time_up, patience);
        loop {
            let cause = tokio::select! {
                biased;
                _ = running.child.wait() => break,
                () = stop.cancelled(), if ended == Ended::Exited => Ended::Stopped,
                () = &mut time_up, if ended == Ended::Exited => Ended::TimedOut,
                () = &mut patience, if ended != Ended::Exited => {
                    running.kill().await;
                    break;
                }
                read = output.read(&mut chunk), if open => {
                    match read {
                        Ok(0) | Err(_) => open = false,
                        Ok(count) => capture.push(&chunk[..count]).await,
                    }
                    continue;
                }
            };
            ended = cause;
            running.let_go().await;
            patience
                .as_mut()
                .reset(tokio::time::Instant::now() + GRACE + SUPERVISOR_PATIENCE);
        }
        // What is left in the pipe. Its end is not waited for: somebody may hold it open.
        while let Ok(count @ 1..) = output.try_read(&mut chunk) {
            capture.push(&chunk[..count]).await;
        }
        let output = capture.finish().await;
        let report = running.report().await;
        let exit = match (report, ended) {
            (Some(Report::Exited(code)), Ended::Exited) => Some(code),
            (_, Ended::TimedOut | Ended::Stopped) => None,
            (Some(Report::Failed(why)), Ended::Exited) => {
                let said = String::from_utf8_lossy(&output.head);
                return Err(ExecError::Setup(format!("{why} {said}").trim().to_owned()));
            }
            (None, Ended::Exited) => {
                return Err(ExecError::Setup("its supervisor was killed".to_owned()));
            }
        };
        Ok(Finished {
            exit,
            ended,
            output,
            duration: start.elapsed(),
        })
    }
}

/// A supervisor and the line to it.
pub(super) struct Running {
    pub(super) child: tokio::process::Child,
    pub(super) process: Process,
    line: BufReader<UnixStream>,
    /// After the child and the line: a group is removed when its processes have gone.
    pub(super) group: Option<Group>,
}

impl Running {
    /// Starts a supervisor in `group`, whose command will print into `output` and `errors`.
    pub(super) fn start(
        helper: &Path,
        output: OwnedFd,
        errors: OwnedFd,
        group: Option<Group>,
    ) -> std::io::Result<Self> {
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        let members: Vec<PathBuf> = group.iter().flat_map(Group::members).collect();
        writeln!(ours, "{}", serde_json::to_string(&members)?)?;
        ours.set_nonblocking(true)?;
        let child = tokio::process::Command::new(helper)
            .args([HELPER_COMMAND, SUPERVISE])
            .env_clear()
            .current_dir("/")
            // Signals of the terminal are for the daemon, which then ends its commands in order.
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

    /// Sends the job.
    pub(super) async fn send(&mut self, job: &Job) -> std::io::Result<()> {
        let job = serde_json::to_string(job)?;
        self.line.write_all(format!("{job}\n").as_bytes()).await
    }

    /// Whether the supervisor has not ended.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sets what the command may take, where a group limits it.
    pub(super) fn limit(&self, limits: &Limits) -> std::io::Result<()> {
        self.group
            .as_ref()
            .map_or(Ok(()), |group| group.limit(limits))
    }

    /// Lets go of the line: the supervisor ends everything and reports.
    async fn let_go(&mut self) {
        let _ = self.line.get_mut().shutdown().await;
    }

    /// Kills supervisor and command, for when the supervisor does not get it done.
    async fn kill(&mut self) {
        let process = self.process;
        let _ = tokio::task::spawn_blocking(move || process.kill_tree()).await;
        let _ = self.child.wait().await;
    }

    /// What the supervisor said at its end; none when it was killed.
    pub(super) async fn report(&mut self) -> Option<Report> {
        let mut line = String::new();
        self.line.read_line(&mut line).await.ok()?;
        serde_json::from_str(&line).ok()
    }
}
