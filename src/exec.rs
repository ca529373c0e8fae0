//! Child processes: confined, bounded, and always ended with all their descendants.
//!
//! [`Sandbox::probe`] finds out once which sandbox layers this machine offers; [`Probing`] does so in the background.
//! [`Sandbox::run`] runs a command in the strongest of them and waits for it; [`Sandbox::spawn`] starts one that
//! outlives its turn. All processes that a command starts end with it: at its own end, at a timeout, when it is stopped
//! and when the future is dropped.
//!
//! [`Sandbox::start`] starts a [`Program`] that the daemon talks to for longer than one command.
//!
//! [`Workers`] process untrusted text in separate processes, so that the work can be bounded and ended.
//!
//! `docs/sandbox.md` lists what each of these walls prevents and what none of them does.

mod access;
mod bubblewrap;
mod capture;
mod cgroup;
mod command;
mod confine;
mod error;
mod guard;
mod handover;
mod harden;
pub mod helper;
mod home;
mod job;
mod last_words;
mod limits;
mod probe;
mod probing;
mod process;
mod program;
mod program_file;
mod relay;
mod repair;
mod run;
mod running;
mod sandbox;
mod spawn;
mod supervise;
mod syscalls;
mod view;
mod worker;
mod workers;
mod worktree;

pub use command::{
    Bounds, Command, Ended, ExecError, Finished, Home, HomeAccess, Limits, MAX_SCRIPT, Network,
    Output, Policy,
};
pub use error::{NeverRan, NoShell};
pub use harden::harden_self;
pub use home::write_in_home;
pub use job::{HELPER_COMMAND, InodePin};
pub use last_words::LastWords;
pub use probe::{Bubblewrap, SandboxSettings};
pub use probing::Probing;
pub use process::{Ending, Process};
pub use program::{GivenWorkspace, Program, RunningProgram, Streams, find_program};
pub use program_file::{
    NoProgram, WrittenByAgents, around, check_arguments, package, program_file,
};
pub use sandbox::Sandbox;
pub use spawn::{Spawned, TaskFiles, end_tree};
pub use worker::{WorkFailure, WorkLimits, bulk_output, serve};
pub use workers::{WorkError, Workers};
pub use worktree::Worktree;
