//! External programs that the daemon talks to over their standard streams, for longer than one command.
//!
//! A program has the supervisor and the sandbox of a command, but sees other paths: its own home, and the given part of
//! the agent's workspace. Its caller interprets its output.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::command::{ExecError, Home, HomeAccess, Limits, Policy};
use super::error::NeverRan;
use super::guard::{self, Guard};
use super::home;
use super::job::{Confinement, Input, Job, Lifetime, RELAY_INSIDE, Report};
use super::process::{Ending, Process};
use super::running::Running;
use super::sandbox::{Reach, Sandbox};
use super::view;
use super::worktree::Worktree;
use crate::domain::SandboxMode;

/// Variables that tell programs where to store data; all lead into the home.
const HOMES: &[(&str, &str)] = &[
    ("HOME", ""),
    ("TMPDIR", "tmp"),
    ("XDG_CACHE_HOME", ".cache"),
    ("XDG_CONFIG_HOME", ".config"),
    ("XDG_DATA_HOME", ".local/share"),
];

/// How long a program may take to end by itself after its input is closed.
const AFTER_INPUT: Duration = Duration::from_secs(1);

/// How long the supervisor may take in addition to the grace period.
const SUPERVISOR_TIMEOUT: Duration = Duration::from_secs(1);

/// A program to start.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its file: an absolute path.
    pub file: PathBuf,
    pub arguments: Vec<String>,
    /// Variables in addition to those of every command.
    pub environment: BTreeMap<String, String>,
    /// Its home, which it may write. The folder above it exists.
    pub home: PathBuf,
    /// Its working directory, relative to the home.
    pub directory: PathBuf,
    /// The agent's workspace, as far as it is given.
    pub workspace: Option<(PathBuf, GivenWorkspace)>,
    /// The worktree that it works in. It needs bubblewrap.
    pub worktree: Option<Worktree>,
    /// The socket of the relay that it reaches at a port of its own. It needs bubblewrap.
    pub relay: Option<PathBuf>,
    /// Additional paths that it may read.
    pub read: Vec<PathBuf>,
    pub policy: Policy,
    pub limits: Limits,
}

/// What a program may do in a workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenWorkspace {
    Read,
    /// Also write, except the files that make git run something.
    Write,
}

/// A running program. Dropping it ends the program with all its descendants.
#[derive(Debug)]
pub struct RunningProgram {
    running: Running,
}

/// The streams of a program.
#[derive(Debug)]
pub struct Streams {
    pub input: pipe::Sender,
    pub output: pipe::Receiver,
    pub errors: pipe::Receiver,
}

impl Sandbox {
    /// Starts `program` in the strongest available sandbox.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be started, or not as confined as its policy requires. A later failure ends its streams;
    /// [`RunningProgram::wait`] then returns the reason.
    pub async fn start(&self, program: &Program) -> Result<(RunningProgram, Streams), ExecError> {
        let (sandbox, program) = (self.clone(), program.clone());
        let prepared = spawn_blocking(move || {
            let job = sandbox.program_job(&program)?;
            let (input, ours_in) = io::pipe()?;
            let (ours_out, output) = io::pipe()?;
            let (ours_err, errors) = io::pipe()?;
            let streams = Streams {
                input: pipe::Sender::from_owned_fd(ours_in.into())?,
                output: pipe::Receiver::from_owned_fd(ours_out.into())?,
                errors: pipe::Receiver::from_owned_fd(ours_err.into())?,
            };
            let group = sandbox.group(&program.limits)?;
            let input = Some(OwnedFd::from(input));
            let running =
                Running::start(sandbox.helper(), input, output.into(), errors.into(), group)?;
            Ok::<_, ExecError>((job, running, streams))
        });
        let (job, mut running, streams) = prepared.await.map_err(io::Error::from)??;
        running.send(&job).await?;
        Ok((RunningProgram { running }, streams))
    }

    /// Returns whether every confined program can read `path` anyway.
    pub fn shows(&self, path: &Path) -> bool {
        let view = self.view();
        let links = view.links.iter().map(|(link, _)| link);
        let mut shown = view.system.iter().chain(&view.tools).chain(links);
        shown.any(|folder| path.starts_with(folder))
    }

    fn program_job(&self, program: &Program) -> Result<Job, ExecError> {
        check(program)?;
        let parts = match &program.worktree {
            Some(worktree) => worktree.parts()?,
            None => Guard::default(),
        };
        home::prepare(&Home {
            folder: program.home.clone(),
            access: HomeAccess::Whole,
        })?;
        for (_, below) in HOMES {
            home::make_below(&program.home, Path::new(below))?;
        }
        home::make_below(&program.home, &program.directory)?;
        let mut guard = match &program.workspace {
            Some((workspace, GivenWorkspace::Write)) => guard::repository(workspace, None)?,
            Some((_, GivenWorkspace::Read)) | None => Guard::default(),
        };
        guard.inode_pins.extend(parts.inode_pins.iter().cloned());
        let mut job = Job {
            wrapper: Vec::new(),
            life: Lifetime::Talking,
            repository: match &program.workspace {
                Some((workspace, GivenWorkspace::Write)) => Some(workspace.clone()),
                Some((_, GivenWorkspace::Read)) | None => None,
            },
            confinement: Confinement {
                program: program.file.clone(),
                arguments: program.arguments.clone(),
                input: Input::Given,
                workspace: program.home.clone(),
                pin: None,
                directory: program.home.join(&program.directory),
                environment: self.environment(program),
                limits: program.limits,
                inode_pins: guard.inode_pins.clone(),
                access: None,
                relay: program.relay.as_ref().map(|_| RELAY_INSIDE.into()),
            },
        };
        self.confine_program(&mut job, program, &guard, &parts)?;
        Ok(job)
    }

    /// The variables of a program: those of every command, its home, and its own.
    fn environment(&self, program: &Program) -> BTreeMap<String, String> {
        let mut environment = self.view().environment.clone();
        for (name, below) in HOMES {
            let path = match *below {
                "" => program.home.clone(),
                below => program.home.join(below),
            };
            environment.insert((*name).to_owned(), path.display().to_string());
        }
        environment.extend(program.environment.clone());
        environment
    }

    fn confine_program(
        &self,
        job: &mut Job,
        program: &Program,
        guard: &Guard,
        parts: &Guard,
    ) -> Result<(), ExecError> {
        let mut reach = Reach {
            read: program.read.clone(),
            write: vec![program.home.clone()],
            relay: program.relay.clone(),
            ..Reach::default()
        };
        if let Some(worktree) = &program.worktree {
            reach.read.extend(worktree.repository.clone());
            reach.write.push(worktree.folder.clone());
            reach.write.extend(parts.pinned.iter().cloned());
            reach.frozen.extend(parts.frozen.iter().cloned());
        }
        match &program.workspace {
            Some((workspace, GivenWorkspace::Write)) => {
                reach.write.push(workspace.clone());
                reach.held.clone_from(&guard.pinned);
                reach.frozen.extend(guard.frozen.iter().cloned());
            }
            Some((workspace, GivenWorkspace::Read)) => reach.read.push(workspace.clone()),
            None => {}
        }
        self.confine(job, &reach, program.policy)
    }
}

/// Finds the first program called `name` in the `PATH` of this process.
pub fn find_program(name: &str) -> Option<PathBuf> {
    view::find(name, &view::path())
}

impl RunningProgram {
    /// Returns its supervisor.
    pub fn process(&self) -> Process {
        self.running.process
    }

    /// Waits until it has ended by itself, and returns its exit code, or why it never ran.
    ///
    /// # Errors
    ///
    /// Fails with the reason if it never ran or its supervisor was killed.
    pub async fn wait(&mut self) -> Result<i32, NeverRan> {
        let _ = self.running.child.wait().await;
        match self.running.report().await {
            Some(Report::Exited(code)) => Ok(code),
            Some(Report::Failed(why)) => Err(NeverRan::Failed(why)),
            None => Err(NeverRan::SupervisorKilled),
        }
    }

    /// Ends it with all its descendants, after its input was closed: a second to end by itself, SIGTERM, two seconds,
    /// SIGKILL.
    pub async fn end(mut self) {
        if timeout(AFTER_INPUT, self.running.child.wait())
            .await
            .is_ok()
        {
            return;
        }
        self.running.end(Ending::InOrder).await;
        let longest = Ending::InOrder.grace() + SUPERVISOR_TIMEOUT;
        if timeout(longest, self.running.child.wait()).await.is_err() {
            self.running.kill().await;
        }
    }
}

/// Checks for values that the kernel or the helper would refuse, and for paths that would leave the home.
fn check(program: &Program) -> Result<(), ExecError> {
    let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !program.directory.components().all(stays) {
        return Err(ExecError::Invalid(
            "its working folder is not below its home".to_owned(),
        ));
    }
    let needs_bubblewrap = program.worktree.is_some() || program.relay.is_some();
    if needs_bubblewrap && program.policy.mode != SandboxMode::Required {
        return Err(ExecError::Invalid(
            "a program with a worktree or a relay runs only in bubblewrap".to_owned(),
        ));
    }
    if !program.file.is_absolute() {
        return Err(ExecError::Invalid(
            "its path is not an absolute one".to_owned(),
        ));
    }
    Ok(())
}
