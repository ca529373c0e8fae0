//! git in the workspace's repository, and reading of those below it, without the git program.
//!
//! An agent can write everything in its repository, its configuration too, so nothing there is trusted: `vet` refuses what
//! would lead elsewhere or run something, `repository` opens the vetted repository with the vetted configuration alone, and
//! each operation runs in a thread of its own that Landlock keeps inside the workspace. A push has two parts: the pack is
//! made in such a thread, and outside of it the network is used, with credentials of the operator's hosts.
//!
//! ```text
//! builtin/git_* ─▶ repository (thread, Landlock) ─▶ vet ─▶ config
//! builtin/git_status ─▶ nested (where the other repositories lie)
//! builtin/git_push ─▶ push ─▶ remote (URL, host) ─▶ http | ssh ─▶ wire (advertisement, command, report)
//! builtin/git_merge_request ─▶ forge
//! ```

mod config;
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

pub(super) use forge::{MergeRequest, open_merge_request};
pub(super) use names::{check_branch, check_remote, check_revision};
pub(super) use nested::{Nested, nested};
pub(super) use push::push;
pub(super) use remote::Remote;
pub(super) use repository::{
    Opened, address, check_address, check_sizes, create, diff_options, in_repository, read,
    read_nested,
};
