//! `sub_agent`: has a role do a task in a conversation of its own. The turn that calls it runs it, for a child turn begins
//! together with its call and ends together with its result.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::delegation::Delegation;
use crate::tools::error::ToolError;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct SubAgent;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    role: String,
    /// All it will know.
    prompt: String,
    /// 3 to 7 words.
    title: String,
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    go_on: Option<String>,
}

#[async_trait]
impl Tool for SubAgent {
    type Args = Args;

    const NAME: &'static str = "sub_agent";
    const DESCRIPTION: &'static str = "Have a role do a task; calls run side by side.";
    const GROUP: Group = Group::SubAgents;

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, &*args.role)
    }

    fn delegation(args: &Args) -> Option<Delegation> {
        Some(Delegation {
            role: args.role.clone(),
            prompt: args.prompt.clone(),
            title: args.title.clone(),
            go_on: args.go_on.clone(),
        })
    }

    async fn run(&self, _: Args, _: &ToolContext) -> Result<Output, ToolError> {
        Err(ToolError::rejected("sub-agents are not available here"))
    }
}
