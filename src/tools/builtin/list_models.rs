//! `list_models`: lists the models that an agent can switch to.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::permission::{Action, Group};
use crate::tools::error::ToolError;
use crate::tools::{Output, Tool, ToolContext};

pub(super) struct ListModels;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// Only ids that contain this.
    #[serde(skip_serializing_if = "Option::is_none")]
    contains: Option<String>,
}

#[async_trait]
impl Tool for ListModels {
    type Args = Args;

    const NAME: &'static str = "list_models";
    const DESCRIPTION: &'static str = "List the models you could run on.";
    const GROUP: Group = Group::Information;
    const SHELF: Option<&'static str> = Some("models you could run on");
    const COMMAND: Option<&'static str> = Some("/models");

    fn action(args: &Args) -> Action {
        Action::new(Self::NAME, args.contains.as_deref().unwrap_or_default())
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let wanted = args.contains.unwrap_or_default().to_lowercase();
        let mut models = context.services.models.list().await?;
        models.retain(|id| id.to_lowercase().contains(&wanted));
        if models.is_empty() {
            return Err(ToolError::rejected(
                "no model is known by that; call list_models without arguments for all of them",
            ));
        }
        let current = context.config.model.as_deref();
        let lines: Vec<String> = models
            .into_iter()
            .map(|id| {
                if current == Some(id.as_str()) {
                    format!("{id} (yours)")
                } else {
                    id
                }
            })
            .collect();
        Ok(lines.join("\n").into())
    }
}
