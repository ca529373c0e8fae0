//! The tools themselves, one per file, and their list in the order that models see.
//!
//! To add a tool, add its file, its `mod` line and its line in `all`; a tool with work for a worker also needs a line
//! in `WORK`.

mod add_process_hooks;
mod append_file;
mod ask_person;
mod bash;
mod create_file;
mod find_tools;
mod git_branch;
mod git_checkout;
mod git_commit;
mod git_diff;
mod git_init;
mod git_log;
mod git_merge_request;
mod git_push;
mod git_status;
mod glob;
mod grep;
mod insert_at;
mod list_agents;
mod list_models;
mod list_tasks;
mod read_agent_docs;
mod read_task_output;
mod record_decision;
mod replace_lines;
mod run_background;
mod run_concurrent;
pub(super) mod schedule;
mod self_edit_docs;
mod self_edit_model;
mod self_edit_permissions;
mod self_edit_system_prompt;
mod self_edit_web_search;
mod send_file;
mod send_to_agent;
mod stop_task;
mod str_replace;
mod str_replace_all;
mod sub_agent;
mod tool_output;
mod view;
mod web_fetch;

use std::sync::Arc;

use super::Tool;
use super::erased::{AnyTool, erased};
use super::git;
use super::pictures::Fit;
use super::report::Judging;
use super::web::Layout;
use super::work::{self, Line};

/// The kinds of work for workers.
pub(super) const WORK: [Line; 21] = [
    work::line::<git_branch::Branches>(),
    work::line::<git_checkout::Checkout>(),
    work::line::<git_commit::Committing>(),
    work::line::<git_commit::LineCount>(),
    work::line::<git_diff::Patch>(),
    work::line::<git_init::Init>(),
    work::line::<git_log::History>(),
    work::line::<git_merge_request::Origin>(),
    work::line::<git_status::Look>(),
    work::line::<git_status::LookBelow>(),
    work::line::<git::changes::LookAtFiles>(),
    work::line::<git::Plan>(),
    work::line::<git::Pack>(),
    work::line::<git::NewWorktree>(),
    work::line::<glob::Listing>(),
    work::line::<grep::Search>(),
    work::line::<tool_output::Page>(),
    work::line::<read_task_output::Logs>(),
    work::line::<Layout>(),
    work::line::<Judging>(),
    work::line::<Fit>(),
];

/// The tool that finds others.
pub(super) const FIND_TOOLS: &str = <find_tools::FindTools as Tool>::NAME;

/// Its description for models.
pub(super) const FIND_TOOLS_DESCRIPTION: &str = <find_tools::FindTools as Tool>::DESCRIPTION;

/// The tool that asks people.
pub const ASK_PERSON: &str = <ask_person::AskPerson as Tool>::NAME;

/// Returns every tool.
pub(super) fn all() -> Vec<Arc<dyn AnyTool>> {
    vec![
        erased(view::View),
        erased(create_file::CreateFile),
        erased(append_file::AppendFile),
        erased(str_replace::StrReplace),
        erased(str_replace_all::StrReplaceAll),
        erased(insert_at::InsertAt),
        erased(replace_lines::ReplaceLines),
        erased(glob::Glob),
        erased(grep::Grep),
        erased(send_file::SendFile),
        erased(schedule::Schedule),
        erased(bash::Bash),
        erased(run_concurrent::RunConcurrent),
        erased(run_background::RunBackground),
        erased(list_tasks::ListTasks),
        erased(read_task_output::ReadTaskOutput),
        erased(stop_task::StopTask),
        erased(add_process_hooks::AddProcessHooks),
        erased(git_init::GitInit),
        erased(git_status::GitStatus),
        erased(git_commit::GitCommit),
        erased(git_branch::GitBranch),
        erased(git_checkout::GitCheckout),
        erased(git_diff::GitDiff),
        erased(git_log::GitLog),
        erased(git_push::GitPush),
        erased(git_merge_request::GitMergeRequest),
        erased(tool_output::ToolOutput),
        erased(ask_person::AskPerson),
        erased(list_models::ListModels),
        erased(self_edit_system_prompt::SelfEditSystemPrompt),
        erased(self_edit_docs::SelfEditDocs),
        erased(self_edit_permissions::SelfEditPermissions),
        erased(self_edit_model::SelfEditModel),
        erased(self_edit_web_search::SelfEditWebSearch),
        erased(record_decision::RecordDecision),
        erased(list_agents::ListAgents),
        erased(read_agent_docs::ReadAgentDocs),
        erased(send_to_agent::SendToAgent),
        erased(sub_agent::SubAgent),
        erased(web_fetch::WebFetch),
        erased(find_tools::FindTools),
    ]
}
