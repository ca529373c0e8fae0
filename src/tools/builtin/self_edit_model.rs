//! `self_edit_model`: the agent switches to another model.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::effective;
use crate::permission::{Action, Group, LeftOut};
use crate::tools::change::Change;
use crate::tools::error::ToolError;
use crate::tools::rights;
use crate::tools::{Output, Tool, ToolContext};

/// The tool that its actions name.
const TOOL: &str = "self_edit";

pub(super) struct SelfEditModel;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    new_model: String,
}

#[async_trait]
impl Tool for SelfEditModel {
    type Args = Args;

    const NAME: &'static str = "self_edit_model";
    const DESCRIPTION: &'static str = "Change the model you run on.";
    const GROUP: Group = Group::SelfEdit;
    const SHELF: Option<&'static str> = Some("change the model you use");
    const SUBJECT: &'static str = "self_edit:model";
    const COMMAND: Option<&'static str> = Some("/agent config");
    const BY_PEOPLE: bool = true;

    fn action(args: &Args) -> Action {
        Action::new(TOOL, format!("model:{}", args.new_model))
    }

    async fn change(&self, args: &Args, context: &ToolContext) -> Option<Change> {
        let resolved = context.services.models.resolve(&args.new_model).await;
        Some(Change {
            edited: "model".into(),
            old: context.config.model.clone().unwrap_or_default(),
            new: resolved.unwrap_or_else(|_| args.new_model.clone()),
        })
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let model = context.services.models.resolve(&args.new_model).await?;
        rights::may_manage_channels("/agent config", context).await?;
        check_meant(&args.new_model, &model, context)?;
        let configure = &context.services.configure;
        configure
            .set(context, &effective::MODEL, model.as_str().into())
            .await?;
        Ok(format!("You run on `{model}`, from the next step on.").into())
    }
}

/// Checks that the model meant by a short name is not denied.
fn check_meant(name: &str, model: &str, context: &ToolContext) -> Result<(), ToolError> {
    let denying = context.rights.denying(TOOL);
    let denied = LeftOut::new(TOOL, &denying).map_err(ToolError::failed)?;
    if denied.has(&format!("model:{model}")) {
        return Err(ToolError::Rejected(format!(
            "`{name}` means `{model}`, which the permissions deny; choose another model"
        )));
    }
    Ok(())
}
