//! From an entry of `agent_servers` to the program that is started: its file, its environment, its home, and what it sees.

use std::io;
use std::path::{Path, PathBuf};

use crate::config::{AgentProgram, Config, ProgramNetwork, RELAY_TOKEN};
use crate::domain::SandboxMode;
use crate::exec::{
    Limits, Network, NoProgram, Policy, Program, Sandbox, Worktree, WrittenByAgents, package,
    program_file, write_in_home,
};

/// Open files of one process of a member.
const OPEN_FILES: u64 = 8192;

/// Where a member works.
#[derive(Clone, Debug)]
pub struct MemberPlace {
    /// Its own folder for everything but its work. The folder above it exists.
    pub home: PathBuf,
    /// The folder that it works in, and the repository that this is a worktree of.
    pub worktree: Worktree,
    /// The socket of its relay.
    pub relay: PathBuf,
    /// What the relay knows it by.
    pub token: String,
    /// The home of Chorus, where no program may lie.
    pub chorus: PathBuf,
}

/// Why a member is not started. The text ends a state.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    #[error("{why}{}", install.map(|install| format!("; install it: {install}")).unwrap_or_default())]
    NoProgram {
        why: NoProgram,
        install: Option<&'static str>,
    },
    #[error("members need bubblewrap; install the package bubblewrap")]
    NoBubblewrap,
    #[error("its settings could not be written: {0}")]
    Settings(io::Error),
}

/// Finds the file of a program.
///
/// # Errors
///
/// When there is none, or agents could replace it.
pub fn check_program(
    program: &AgentProgram,
    config: &Config,
    chorus: &Path,
) -> Result<PathBuf, LaunchError> {
    let written = WrittenByAgents {
        home: chorus.to_owned(),
        folders: config.folders.clone(),
    };
    let file = program_file(&program.command, &written);
    file.map_err(|why| LaunchError::NoProgram {
        install: program
            .install
            .filter(|_| matches!(why, NoProgram::NotInPath(_))),
        why,
    })
}

/// Returns a member's program with all that it sees, and writes its settings into its home. Blocks.
///
/// # Errors
///
/// When there is no such program, or no bubblewrap.
pub fn member_program(
    program: &AgentProgram,
    place: &MemberPlace,
    config: &Config,
    sandbox: &Sandbox,
) -> Result<Program, LaunchError> {
    let file = check_program(program, config, &place.chorus)?;
    let policy = Policy {
        // Never less, whatever the settings say.
        mode: SandboxMode::Required,
        network: match program.network {
            ProgramNetwork::Provider => Network::Off,
            ProgramNetwork::On => Network::On,
        },
    };
    if sandbox.refuses(policy) {
        return Err(LaunchError::NoBubblewrap);
    }
    if let Some(settings) = &program.settings {
        let content = settings.content.to_string();
        write_in_home(&place.home, Path::new(settings.path), &content)
            .map_err(LaunchError::Settings)?;
    }
    let with_token = |(name, value): (&String, &String)| {
        (name.clone(), value.replace(RELAY_TOKEN, &place.token))
    };
    let mut read = program.read.clone();
    read.push(package(&file, &place.chorus));
    let limits = config.program_limits;
    Ok(Program {
        arguments: program.args.clone(),
        environment: program.env.iter().map(with_token).collect(),
        home: place.home.clone(),
        directory: PathBuf::from("."),
        workspace: None,
        worktree: Some(place.worktree.clone()),
        relay: Some(place.relay.clone()),
        read,
        policy,
        limits: Limits {
            memory: program.memory.unwrap_or(limits.memory).get(),
            processes: limits.processes.get().into(),
            file_size: limits.disk.get(),
            open_files: OPEN_FILES,
        },
        file,
    })
}
