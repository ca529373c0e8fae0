//! Runs one command to its end.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::command::{Bounds, Command, Ended, ExecError, Finished, Limits};
use super::job::{Job, Lifetime, Report};
use super::process::Ending;
use super::sandbox::Sandbox;
use super::warm::IdleSupervisor;

/// Bytes taken from the pipe at once: its usual capacity.
const CHUNK: usize = 64 * 1024;

/// How long a command runs before the supervisor for the next one is started. While that joins its control group, the
/// kernel lets no process start or end anywhere, so many short commands would be slowed down.
const WARM_AFTER: Duration = Duration::from_millis(100);

/// How long the supervisor may take beyond the grace it gives, before it counts as stuck.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(2);

impl Sandbox {
    /// Runs `command` and waits for it. `stop` ends it, and so does dropping the future; an abort ends it at once.
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
        let (job, scratch) = self.attached(command).await?;
        let finished = self.supervise(&job, command.limits, bounds, stop).await;
        scratch.remove().await;
        finished
    }

    /// The job of a command's supervisor, and the command's own temporary folder.
    async fn attached(&self, command: &Command) -> Result<(Job, Scratch), ExecError> {
        let (sandbox, command) = (self.clone(), command.clone());
        let prepared = spawn_blocking(move || {
            let scratch = tempfile::Builder::new()
                .permissions(Permissions::from_mode(0o700))
                .tempdir()?;
            let job = sandbox.job(&command, scratch.path(), Lifetime::Attached)?;
            Ok((job, Scratch(Some(scratch))))
        });
        prepared.await.map_err(io::Error::from)?
    }

    /// Has a supervisor do `job`, until the command ends.
    async fn supervise(
        &self,
        job: &Job,
        limits: Limits,
        bounds: Bounds,
        stop: &CancellationToken,
    ) -> Result<Finished, ExecError> {
        let start = Instant::now();
        let IdleSupervisor {
            mut running,
            mut output,
            ..
        } = self.supervisor(&limits)?;
        running.send(job).await?;

        let mut capture = Capture::new(bounds.spool);
        let (mut ended, mut aborted) = (Ended::Exited, false);
        let mut chunk = vec![0; CHUNK];
        let mut open = true;
        let mut next = Next::due(self, &limits);
        let time_up = tokio::time::sleep(bounds.timeout);
        let settled = tokio::time::sleep(WARM_AFTER);
        let supervisor_timeout = tokio::time::sleep(Duration::MAX);
        tokio::pin!(time_up, settled, supervisor_timeout);
        loop {
            let (cause, ending) = tokio::select! {
                biased;
                _ = running.child.wait() => break,
                () = bounds.abort.cancelled(), if !aborted => {
                    aborted = true;
                    (Ended::Stopped, Ending::AtOnce)
                }
                () = stop.cancelled(), if ended == Ended::Exited => (Ended::Stopped, Ending::InOrder),
                () = &mut time_up, if ended == Ended::Exited => (Ended::TimedOut, Ending::InOrder),
                () = &mut settled, if next.is_due() => {
                    next.start();
                    continue;
                }
                () = &mut supervisor_timeout, if ended != Ended::Exited => {
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
            if ended == Ended::Exited {
                ended = cause;
            }
            running.end(ending).await;
            supervisor_timeout
                .as_mut()
                .reset(tokio::time::Instant::now() + ending.grace() + SUPERVISOR_TIMEOUT);
        }
        next.start();
        // What is left in the pipe. Its end is not waited for: another process may hold it open.
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

    /// The warm supervisor, or a new one.
    fn supervisor(&self, limits: &Limits) -> io::Result<IdleSupervisor> {
        let Some(mut waiting) = self.warm().and_then(|warm| warm.take_alive()) else {
            return self.start_supervisor(limits);
        };
        waiting.limit(limits)?;
        Ok(waiting)
    }

    fn start_supervisor(&self, limits: &Limits) -> io::Result<IdleSupervisor> {
        IdleSupervisor::start(self.helper(), self.group(limits)?, limits)
    }
}

/// A command's own temporary folder. A command may leave any number of files in it, so it is removed off the async threads,
/// also when the command is given up.
struct Scratch(Option<TempDir>);

impl Scratch {
    async fn remove(mut self) {
        let folder = self.0.take();
        let _ = spawn_blocking(|| drop(folder)).await;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let (Some(folder), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            runtime.spawn_blocking(|| drop(folder));
        }
    }
}

/// The supervisor for the next command, started once: when this command has ended, or has run for a while.
struct Next<'a> {
    sandbox: &'a Sandbox,
    /// None when it was started.
    limits: Option<Limits>,
}

impl<'a> Next<'a> {
    fn due(sandbox: &'a Sandbox, limits: &Limits) -> Self {
        Self {
            sandbox,
            limits: Some(*limits),
        }
    }

    fn is_due(&self) -> bool {
        self.limits.is_some()
    }

    fn start(&mut self) {
        if let (Some(limits), Some(warm)) = (self.limits.take(), self.sandbox.warm()) {
            let sandbox = self.sandbox.clone();
            warm.start_ahead(move || sandbox.start_supervisor(&limits));
        }
    }
}
