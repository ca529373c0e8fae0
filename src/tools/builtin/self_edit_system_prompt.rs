//! `self_edit_system_prompt`: the agent rewrites its own instructions.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{PROMPT_MAX, effective};
use crate::permission::{Action, Group};
use crate::text;
use crate::tools::change::Change;
use crate::tools::error::ToolError;
use crate::tools::rights;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct SelfEditSystemPrompt;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    new_prompt: String,
}

#[async_trait]
impl Tool for SelfEditSystemPrompt {
    type Args = Args;

    const NAME: &'static str = "self_edit_system_prompt";
    const DESCRIPTION: &'static str = "Replace your own system prompt.";
    const GROUP: Group = Group::SelfEdit;
    const SHELF: Option<&'static str> = Some("replace your system prompt");
    const SUBJECT: &'static str = "self_edit:system_prompt";
    const COMMAND: Option<&'static str> = Some("/agent config");
    const BY_PEOPLE: bool = true;

    fn action(_: &Args) -> Action {
        Action::new("self_edit", "system_prompt")
    }

    async fn change(&self, args: &Args, context: &ToolContext) -> Option<Change> {
        Some(Change {
            edited: "system_prompt".into(),
            old: context.config.system_prompt.clone(),
            new: args.new_prompt.clone(),
        })
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        if args.new_prompt.trim().is_empty() {
            return Err(ToolError::rejected("`new_prompt` is empty"));
        }
        if args.new_prompt.len() > PROMPT_MAX {
            return Err(ToolError::Rejected(format!(
                "`new_prompt` has {}, a prompt may have 64 KiB; keep details in docs/",
                text::bytes(args.new_prompt.len() as u64)
            )));
        }
        let value = args.new_prompt.into();
        rights::may_manage_channels("/agent config", context).await?;
        let configure = &context.services.configure;
        configure
            .set(context, &effective::SYSTEM_PROMPT, value)
            .await?;
        Ok("Your system prompt is replaced, from the next step on."
            .to_owned()
            .into())
    }
}
