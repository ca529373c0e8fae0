//! From an entry to the program that is started: its file, its environment, its home, and what it sees.

use std::fs;
use std::path::{Path, PathBuf};

use chorus_mcp::{Entry, MissingVariable, Transport, Workspace};
use tokio::task::{JoinError, spawn_blocking};

use crate::config::{Config, ProgramLimits, memory_of};
use crate::exec::{
    GivenWorkspace, Limits, Network, NoProgram, Policy, Program, Sandbox, WrittenByAgents, around,
    check_arguments, program_file,
};
use crate::text;

/// Open files of one process of a server.
const OPEN_FILES: u64 = 8192;

/// Entries of a home that are counted: a larger one counts as too large.
const MOST_ENTRIES: usize = 1_000_000;

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Launch {
    /// With its variables replaced.
    entry: Entry,
    /// Values of variables, which are secrets.
    pub secrets: Vec<String>,
    /// Its home, and the folder that is the agent's workspace where there is an agent.
    seen: Seen,
    /// Folders of the machine in which agents may work, so that no server's program may lie there.
    folders: Vec<PathBuf>,
    limits: ProgramLimits,
    policy: Policy,
}

/// The folders of a server.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Its own, which it may write.
    pub home: PathBuf,
    /// The agent's workspace, which it sees as its entry says.
    pub workspace: Option<PathBuf>,
    /// The home of Chorus, where no server's program may lie.
    pub chorus: PathBuf,
}

/// Why a server is not started. The text ends a state: `failed (npx is not in PATH)`.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("{0}")]
    Variable(#[from] MissingVariable),
    #[error("it is a server of HTTP, which is not supported yet")]
    Http,
    #[error("{0}")]
    NoProgram(#[from] NoProgram),
    #[error("{0}")]
    BrokeOff(#[from] JoinError),
    #[error("its home is larger than {}", text::bytes(*.0))]
    HomeTooLarge(u64),
}

impl Launch {
    /// Prepares an entry whose variables have the values that `value` returns.
    ///
    /// # Errors
    ///
    /// When a variable is missing.
    pub fn of(
        entry: &Entry,
        seen: Seen,
        config: &Config,
        value: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, LaunchError> {
        let (entry, secrets) = entry.expanded(value)?;
        Ok(Self {
            secrets,
            seen,
            folders: config.folders.clone(),
            limits: config.program_limits,
            policy: Policy {
                mode: config.sandbox,
                network: Network::from(entry.chorus.network),
            },
            entry,
        })
    }

    /// How it is confined.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Checks that its program is there, without starting anything.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn check_program(&self) -> Result<(), LaunchError> {
        match &self.entry.transport {
            Transport::Stdio { command, args, .. } => self.files(command, args).map(drop),
            Transport::Http { .. } => Err(LaunchError::Http),
        }
    }

    /// How it is reached, with its variables replaced.
    pub(super) fn transport(&self) -> &Transport {
        &self.entry.transport
    }

    /// Returns the program with all that it sees.
    ///
    /// # Errors
    ///
    /// When there is no such program, or its home is too large.
    pub(super) async fn program(&self, sandbox: &Sandbox) -> Result<Program, LaunchError> {
        match &self.entry.transport {
            Transport::Stdio { command, args, .. } => {
                self.running(sandbox, command, args.clone()).await
            }
            Transport::Http { .. } => Err(LaunchError::Http),
        }
    }

    /// Returns a program that runs `command` in the server's place: it sees the same.
    ///
    /// # Errors
    ///
    /// As for [`Launch::program`].
    pub(super) async fn running(
        &self,
        sandbox: &Sandbox,
        command: &str,
        arguments: Vec<String>,
    ) -> Result<Program, LaunchError> {
        let (launch, sandbox, command) = (self.clone(), sandbox.clone(), command.to_owned());
        let looked = spawn_blocking(move || launch.look(&sandbox, &command, arguments));
        looked.await?
    }

    fn look(
        &self,
        sandbox: &Sandbox,
        command: &str,
        arguments: Vec<String>,
    ) -> Result<Program, LaunchError> {
        let Transport::Stdio { env, cwd, .. } = &self.entry.transport else {
            return Err(LaunchError::Http);
        };
        let file = self.files(command, &arguments)?;
        let most = self.limits.disk.get();
        if size(&self.seen.home, most) > most {
            return Err(LaunchError::HomeTooLarge(most));
        }
        let workspace = self.seen.workspace.clone().and_then(|workspace| {
            let given = match self.entry.chorus.workspace {
                Workspace::None => return None,
                Workspace::Read => GivenWorkspace::Read,
                Workspace::Write => GivenWorkspace::Write,
            };
            Some((workspace, given))
        });
        let mut read: Vec<PathBuf> = self.entry.chorus.read.iter().map(PathBuf::from).collect();
        if !sandbox.shows(&file) {
            read.push(around(&file, &self.seen.chorus));
        }
        let own = self.entry.chorus.memory.as_deref();
        let memory = own.and_then(|text| memory_of(text).ok());
        Ok(Program {
            file,
            arguments,
            environment: env.clone(),
            home: self.seen.home.clone(),
            directory: PathBuf::from(cwd),
            workspace,
            read,
            policy: self.policy,
            worktree: None,
            relay: None,
            limits: Limits {
                memory: memory.unwrap_or(self.limits.memory).get(),
                processes: self.limits.processes.get().into(),
                file_size: most,
                open_files: OPEN_FILES,
            },
        })
    }

    /// Returns the program, after a check that agents can write neither it nor what it runs by its arguments.
    fn files(&self, command: &str, arguments: &[String]) -> Result<PathBuf, LaunchError> {
        let written = WrittenByAgents {
            home: self.seen.chorus.clone(),
            folders: self.folders.clone(),
        };
        let file = program_file(command, &written)?;
        check_arguments(&file, arguments, &written)?;
        Ok(file)
    }
}

/// Bytes of the files below a folder, without following links; more than `most` where it has too many entries to count.
pub(super) fn size(folder: &Path, most: u64) -> u64 {
    let (mut total, mut entries) = (0_u64, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            entries += 1;
            if entries > MOST_ENTRIES || total > most {
                return most.saturating_add(1);
            }
            match entry.metadata() {
                Ok(meta) if meta.is_dir() => folders.push(entry.path()),
                Ok(meta) => total = total.saturating_add(meta.len()),
                Err(_) => {}
            }
        }
    }
    total
}
