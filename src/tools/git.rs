//! git in the workspace's repository, and reading of those below it, without the git program.
//!
//! An agent can write everything in its repository, including its configuration, so nothing there is trusted. `vet`
//! refuses everything that would lead elsewhere or run something. `repository` opens the vetted repository with only
//! the vetted configuration, and each operation runs in a worker process that Landlock keeps inside the workspace.
//! `writing` allows one write at a time, and cleans up after one that was killed. A push has two parts: such a process
//! creates the pack, and the daemon uses the network, with credentials of the operator's hosts.
//!
//! ```text
//! builtin/git_* ═▶ worker ─▶ repository (Landlock) ─▶ vet ─▶ config ─▶ config_syntax
//!                                               └─▶ writing
//! builtin/git_status ─▶ nested (where the other repositories lie)
//! builtin/git_push ─▶ push ─▶ remote (URL, host) ─▶ http | ssh ─▶ wire (advertisement, command, report)
//! builtin/git_merge_request ─▶ forge
//! builtin/bash ─▶ changes (files that a command changed)
//! ```

pub(super) mod changes;
mod config;
mod config_syntax;
mod error;
mod forge;
mod http;
mod names;
mod nested;
mod push;
mod remote;
mod repository;
mod ssh;
mod vet;
mod wire;
mod worktree;
mod writing;

use std::time::Duration;

pub(super) use forge::{MergeRequest, open_merge_request};
pub(super) use names::{check_branch, check_remote, check_revision};
pub(super) use nested::{Nested, nested};
pub(super) use push::{Pack, Plan, push};
pub(super) use remote::Remote;
pub(super) use repository::{
    LARGEST_COMPARED, Opened, address, check_address, check_sizes, create, diff_options, read,
    read_nested, write,
};

pub use worktree::{EarlierWorktree, HowMade, Made, NewWorktree, make_worktree};

/// Longest time for a call that writes many files: hundreds of thousands, while the machine is busy.
pub(super) const WRITING_DEADLINE: Duration = Duration::from_secs(300);
