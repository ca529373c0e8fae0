//! Starts commands that outlive the turn, and the daemon if it crashes.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::fs::File;
use tokio::io::AsyncReadExt;
use tokio::task::spawn_blocking;

use super::command::{Command, ExecError};
use super::error::NeverRan;
use super::job::{Job, Lifetime, Report};
use super::process::{Ending, Process};
use super::running::Running;
use super::sandbox::Sandbox;

/// How often to check for the end of the supervisor of an ended tree.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Most bytes that are read of the file with a task's end: a number, or a reason. Without a sandbox the command can
/// write there.
const LONGEST_END: u64 = 4096;

/// How long a supervisor may take to notice that its command has ended.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(1);

/// The paths of a task's files.
#[derive(Clone, Debug)]
pub struct TaskFiles {
    pub stdout: PathBuf,
    pub stderr: PathBuf,
    /// Exit code as a line of text, written completely by the supervisor at the end.
    pub exit_code: PathBuf,
    /// The command's private temporary folder if it has no `/tmp` of its own.
    pub scratch: PathBuf,
}

impl TaskFiles {
    /// Returns the files of a task under `folder`.
    pub fn under(folder: &Path) -> Self {
        Self {
            stdout: folder.join("stdout.log"),
            stderr: folder.join("stderr.log"),
            exit_code: folder.join("exit_code"),
            scratch: folder.join("tmp"),
        }
    }

    /// Returns the exit code that the supervisor left, or its reason why the command never ran; `None` while there is
    /// neither.
    pub async fn read_end(&self) -> Option<Result<i32, NeverRan>> {
        let mut text = String::new();
        let file = File::open(&self.exit_code).await.ok()?;
        let mut end = file.take(LONGEST_END);
        end.read_to_string(&mut text).await.ok()?;
        let text = text.trim();
        Some(text.parse().map_err(|_| NeverRan::Failed(text.to_owned())))
    }
}

/// A command that outlives its turn.
#[derive(Debug)]
pub struct Spawned {
    running: Running,
}

impl Drop for Spawned {
    /// Leaves the command and its limits in place.
    fn drop(&mut self) {
        if let Some(group) = self.running.group.take() {
            group.leave();
        }
    }
}

impl Spawned {
    /// Returns its supervisor, which people see as the task's pid.
    pub fn process(&self) -> Process {
        self.running.process
    }

    /// Waits for its end, and returns the exit code, or why it never ran.
    ///
    /// # Errors
    ///
    /// Fails with the reason if the command could not be started or its supervisor was killed.
    pub async fn wait(mut self) -> Result<i32, NeverRan> {
        let _ = self.running.child.wait().await;
        drop(self.running.group.take());
        match self.running.report().await {
            Some(Report::Exited(code)) => Ok(code),
            Some(Report::Failed(why)) => Err(NeverRan::Failed(why)),
            None => Err(NeverRan::SupervisorKilled),
        }
    }
}

impl Sandbox {
    /// Starts `command` with its output going to `files`.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started; [`Spawned::wait`] reports later failures.
    pub async fn spawn(&self, command: &Command, files: &TaskFiles) -> Result<Spawned, ExecError> {
        let group = self.group(&command.limits)?;
        let (sandbox, command, files) = (self.clone(), command.clone(), files.clone());
        let prepared = spawn_blocking(move || sandbox.detached(&command, &files)).await;
        let (job, [stdout, stderr]) = prepared.map_err(io::Error::from)??;
        let mut running = Running::start(self.helper(), None, stdout, stderr, group)?;
        running.send(&job).await?;
        Ok(Spawned { running })
    }

    /// Returns the job of a task's supervisor, and the logs that the task prints into.
    fn detached(
        &self,
        command: &Command,
        files: &TaskFiles,
    ) -> Result<(Job, [OwnedFd; 2]), ExecError> {
        fs::create_dir_all(&files.scratch)?;
        let life = Lifetime::Detached {
            exit_file: files.exit_code.clone(),
        };
        let job = self.job(command, &files.scratch, life)?;
        Ok((job, [log(&files.stdout)?, log(&files.stderr)?]))
    }
}

/// Ends a task: all descendants of `supervisor`, then the supervisor itself if it does not exit.
pub async fn end_tree(supervisor: Process, ending: Ending) {
    let ended = tokio::task::spawn_blocking(move || {
        supervisor.end_below(ending);
        let mut waited = Duration::ZERO;
        while supervisor.is_alive() && waited < SUPERVISOR_TIMEOUT {
            std::thread::sleep(LOOK_EVERY);
            waited += LOOK_EVERY;
        }
        supervisor.kill_tree();
    });
    let _ = ended.await;
}

fn log(path: &Path) -> io::Result<OwnedFd> {
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)?;
    Ok(file.into())
}
