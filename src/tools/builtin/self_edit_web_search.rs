//! `self_edit_web_search`: the agent turns its provider's web search on or off.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::effective;
use crate::permission::{Action, Group};
use crate::tools::change::Change;
use crate::tools::error::ToolError;
use crate::tools::rights;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct SelfEditWebSearch;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    enabled: bool,
}

const fn word(enabled: bool) -> &'static str {
    if enabled { "on" } else { "off" }
}

#[async_trait]
impl Tool for SelfEditWebSearch {
    type Args = Args;

    const NAME: &'static str = "self_edit_web_search";
    const DESCRIPTION: &'static str = "Turn web search on or off for yourself.";
    const GROUP: Group = Group::SelfEdit;
    const SHELF: Option<&'static str> = Some("turn web search on, off");
    const SUBJECT: &'static str = "self_edit:web_search";
    const COMMAND: Option<&'static str> = Some("/agent config");
    const BY_PEOPLE: bool = true;

    fn action(args: &Args) -> Action {
        Action::new("self_edit", format!("web_search:{}", word(args.enabled)))
    }

    async fn change(&self, args: &Args, context: &ToolContext) -> Option<Change> {
        Some(Change {
            edited: "web_search".into(),
            old: word(context.config.web_search).into(),
            new: word(args.enabled).into(),
        })
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        rights::may_manage_channels("/agent config", context).await?;
        let configure = &context.services.configure;
        configure
            .set(context, &effective::WEB_SEARCH, args.enabled.into())
            .await?;
        let word = word(args.enabled);
        Ok(format!("Web search is {word}, from the next step on.").into())
    }
}
