//! Runs one command to its end.

use std::fs::Permissions;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use super::command::{Bounds, Command, Ended, ExecError, Finished};
use super::job::{Job, Lifetime, Report};
use super::process::Ending;
use super::running::Running;
use super::sandbox::Sandbox;

/// Bytes taken from the pipe at a time: its usual capacity.
const CHUNK: usize = 64 * 1024;

/// How long the supervisor may take in addition to the grace period before it counts as stuck.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(2);

impl Sandbox {
    /// Runs `command` and waits for it. `stop` ends it, and so does dropping the future; an abort ends it at once.
    ///
    /// # Errors
    ///
    /// Fails if the command was not run at all; a command that fails is [`Finished`].
    pub async fn run(
        &self,
        command: &Command,
        bounds: Bounds,
        stop: &CancellationToken,
    ) -> Result<Finished, ExecError> {
        let Attached {
            job,
            scratch,
            running,
            output,
        } = self.attached(command).await?;
        let finished = supervise(&job, running, output, bounds, stop).await;
        scratch.remove().await;
        finished
    }

    /// Prepares the job of a command and starts its supervisor.
    async fn attached(&self, command: &Command) -> Result<Attached, ExecError> {
        let (sandbox, command) = (self.clone(), command.clone());
        let prepared = spawn_blocking(move || {
            let scratch = tempfile::Builder::new()
                .permissions(Permissions::from_mode(0o700))
                .tempdir()?;
            let job = sandbox.job(&command, scratch.path(), Lifetime::Attached)?;
            let (reader, writer) = io::pipe()?;
            let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
            let errors = writer.try_clone()?;
            let group = sandbox.group(&command.limits)?;
            let running =
                Running::start(sandbox.helper(), None, writer.into(), errors.into(), group)?;
            Ok(Attached {
                job,
                scratch: Scratch(Some(scratch)),
                running,
                output,
            })
        });
        prepared.await.map_err(io::Error::from)?
    }
}

/// A command with a started supervisor that has no job yet.
struct Attached {
    job: Job,
    scratch: Scratch,
    running: Running,
    /// The output of the command.
    output: pipe::Receiver,
}

/// Gives the supervisor its job and waits until the command has ended.
async fn supervise(
    job: &Job,
    mut running: Running,
    mut output: pipe::Receiver,
    bounds: Bounds,
    stop: &CancellationToken,
) -> Result<Finished, ExecError> {
    let start = Instant::now();
    running.send(job).await?;

    let mut capture = Capture::new(bounds.spool);
    let (mut ended, mut aborted) = (Ended::Exited, false);
    let mut chunk = vec![0; CHUNK];
    let mut open = true;
    let time_up = tokio::time::sleep(bounds.timeout);
    let supervisor_timeout = tokio::time::sleep(Duration::MAX);
    tokio::pin!(time_up, supervisor_timeout);
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
    // The rest in the pipe. Its end is not awaited: another process may hold it open.
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

/// A command's own temporary folder. A command may leave any number of files in it, so it is removed off the async
/// threads, even if the command is given up.
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
