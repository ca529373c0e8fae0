//! `record_decision`: adds a decision of the server's people.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::change::Change;
use crate::tools::error::ToolError;
use crate::tools::rights;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct RecordDecision;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// One sentence.
    text: String,
}

#[async_trait]
impl Tool for RecordDecision {
    type Args = Args;

    const NAME: &'static str = "record_decision";
    const DESCRIPTION: &'static str =
        "Record what the people of this server decided, for all of its agents.";
    const GROUP: Group = Group::SelfEdit;
    const SHELF: Option<&'static str> = Some("record a decision of people");
    const SUBJECT: &'static str = "self_edit:decision";
    const COMMAND: Option<&'static str> = Some("/decisions add");
    const BY_PEOPLE: bool = true;

    fn action(args: &Args) -> Action {
        Action::new("self_edit", format!("decision:{}", args.text))
    }

    async fn change(&self, args: &Args, _: &ToolContext) -> Option<Change> {
        Some(Change {
            edited: "decision".into(),
            old: String::new(),
            new: args.text.clone(),
        })
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        rights::may_manage_channels("/decisions add", context).await?;
        let ledger = &context.services.decisions;
        let number = ledger.record(context, args.text).await?;
        Ok(format!(
            "Recorded as decision {number}. Every new conversation in this server is told of it."
        )
        .into())
    }
}
