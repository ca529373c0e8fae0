//! `send_to_agent`: gives another agent a message to work on, in its own channel and with its own rights.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::peers;
use crate::tools::{Output, Tool, ToolContext};

/// Most characters of a message: one whole task; longer content belongs in a file.
const LONGEST: usize = 8_000;

pub(super) struct SendToAgent;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    agent: String,
    message: String,
}

#[async_trait]
impl Tool for SendToAgent {
    type Args = Args;

    const NAME: &'static str = "send_to_agent";
    const DESCRIPTION: &'static str =
        "Give another agent a message; it answers in its own channel, not to you.";
    const GROUP: Group = Group::AgentComm;
    const SUBJECT: &'static str = "agent_comm:send";
    const COMMAND: Option<&'static str> = Some("/ask");
    const BY_PEOPLE: bool = true;

    fn action(args: &Args) -> Action {
        Action::new("agent_comm", format!("send {}", args.agent))
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let peer = peers::find(&args.agent, context).await?;
        if args.message.trim().is_empty() {
            return Err(ToolError::rejected("`message` is empty"));
        }
        if args.message.chars().count() > LONGEST {
            return Err(ToolError::Rejected(format!(
                "`message` has more than {LONGEST} characters; say it shorter"
            )));
        }
        if context.may_hop().is_err() {
            return Err(ToolError::Rejected(format!(
                "this turn is {} hops from a person already; report in your own channel instead",
                context.depth
            )));
        }
        if let Err(wait) = context.services.sends.take(context.agent) {
            let seconds = wait.as_secs() + 1;
            return Err(ToolError::Rejected(format!(
                "you have written to other agents too often; again in {seconds} s"
            )));
        }
        let directory = &context.services.directory;
        directory.send(context, &peer.name, args.message).await?;
        Ok(format!("Delivered to `{}`.", peer.name).into())
    }
}
