//! The answers to commands. Pure: values in, messages out, within Discord's limits and with foreign text escaped.

mod agents;
pub(super) mod always_allow;
pub mod approval;
mod decisions;
pub(super) mod first_contact;
mod hooks;
mod lists;
mod mcp;
mod overview;
mod records;
mod role_list;
mod runs;
mod schedules;
mod server;
mod servers;
mod sessions;
pub(super) mod status_text;
mod tasks;
mod times;
mod turns;

pub use agents::{agents, ask_destroy, ask_new_folder, config_value, destroyed, made, welcome};
pub use decisions::{decision_added, decision_withdrawn, decisions};
pub use hooks::{hook, hook_made, hook_rotated, hook_tested, hooks, hooks_changed};
pub use mcp::{mcp_asked, mcp_decided, mcp_marked, mcp_server, mcp_servers};
pub use overview::overview;
pub use records::{ShownUse, ask_purge, audit, purged, usage};
pub use role_list::role_list;
pub use runs::{RUNS_PER_PAGE, run_file, run_list, run_shown};
pub use schedules::{announced, plan, planned, runs_now, schedule, schedules, schedules_changed};
pub use server::{
    HelpKind, HelpLine, grants, help, keys, models, profiles, roles, setting_changed, settings,
};
pub use servers::{
    Listed as ListedServer, server_accepted, server_removed, server_request, servers,
};
pub use sessions::{SESSIONS_PER_PAGE, ask_clear, cleared, history, imported, restored, saved};
pub use tasks::{about, log, status, tasks};
pub use turns::{
    NOTHING_RUNS, aborted, asked, asked_about, branch_asked, branch_history, branch_opened,
    branches, branches_killed, retried, stopping,
};
