//! `sub_agent`: lets a role do a task in a separate conversation. The turn that calls it runs it, because a child turn
//! begins together with its call and ends together with its result. With `wait: false` a branch is opened instead.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::delegation::Delegation;
use crate::tools::error::ToolError;
use crate::tools::ports::BranchTask;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct SubAgent;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Or `@agent`.
    role: String,
    /// All it will know.
    prompt: String,
    /// 3 to 7 words.
    title: String,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    go_on: Option<String>,
    /// false: a branch does it and reports by a note.
    #[serde(skip_serializing_if = "Option::is_none")]
    wait: Option<bool>,
}

impl Args {
    fn waits(&self) -> bool {
        self.wait.unwrap_or(true)
    }
}

#[async_trait]
impl Tool for SubAgent {
    type Args = Args;

    const NAME: &'static str = "sub_agent";
    const DESCRIPTION: &'static str = "Have a role do a task; calls run side by side.";
    const GROUP: Group = Group::SubAgents;
    const COMMAND: Option<&'static str> = Some("/ask");

    fn action(args: &Args) -> Action {
        if args.waits() {
            Action::new(Self::NAME, &*args.role)
        } else {
            Action::new(Self::NAME, format!("{} background", args.role))
        }
    }

    fn delegation(args: &Args) -> Option<Delegation> {
        Some(Delegation {
            role: args.role.clone(),
            prompt: args.prompt.clone(),
            title: args.title.clone(),
            // Some models write every argument that exists.
            go_on: args.go_on.clone().filter(|id| !id.trim().is_empty()),
            waits: args.waits(),
        })
    }

    /// Opens the branch that does the task; child turns answer calls that wait, not this function.
    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        if args.waits() {
            return Err(ToolError::rejected("sub-agents are not available here"));
        }
        if let Err(wait) = context.services.branches.take(context.agent) {
            let seconds = wait.as_secs() + 1;
            return Err(ToolError::Rejected(format!(
                "you have opened branches too often; again in {seconds} s"
            )));
        }
        let task = BranchTask {
            role: args.role.clone(),
            prompt: args.prompt,
        };
        let directory = &context.services.directory;
        let number = directory.open_branch(context, task).await?;
        Ok(format!(
            "Branch #{number} does it as `{}`. Its report comes as a note; go on meanwhile.",
            args.role
        )
        .into())
    }
}
