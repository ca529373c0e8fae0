//! `self_edit_permissions`: the agent requests other permissions, with the rights of the people it works for.

use async_trait::async_trait;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::config::effective;
use crate::domain::{Participant, ProfileRef};
use crate::permission::{Action, Group, all_known, all_may_grant};
use crate::tools::change::Change;
use crate::tools::error::ToolError;
use crate::tools::rights;
use crate::tools::{Output, Tool, ToolContext};

/// The one profile that everyone may grant, because it only narrows.
const FREE: &str = "locked";

pub(super) struct SelfEditPermissions;

#[derive(Deserialize, Serialize, JsonSchema)]
pub(super) struct Args {
    /// A profile's name, or {"allow": [regex], "ask": [], "deny": []}.
    #[schemars(schema_with = "name_or_object")]
    new_profile: ProfileRef,
}

fn name_or_object(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"anyOf": [{"type": "string"}, {"type": "object"}]})
}

#[async_trait]
impl Tool for SelfEditPermissions {
    type Args = Args;

    const NAME: &'static str = "self_edit_permissions";
    const DESCRIPTION: &'static str = "Change your own permission profile.";
    const GROUP: Group = Group::SelfEdit;
    const SHELF: Option<&'static str> = Some("change your permission profile");
    const SUBJECT: &'static str = "self_edit:permissions";
    const COMMAND: Option<&'static str> = Some("/agent config");
    const BY_PEOPLE: bool = true;

    fn action(args: &Args) -> Action {
        let label = args.new_profile.label();
        Action::new("self_edit", format!("permissions:{label}"))
    }

    async fn change(&self, args: &Args, context: &ToolContext) -> Option<Change> {
        let written = |profile: &ProfileRef| match profile {
            ProfileRef::Named(name) => name.clone(),
            ProfileRef::Custom(map) => Value::Object(map.clone()).to_string(),
        };
        Some(Change {
            edited: "permissions".into(),
            old: written(&context.config.permissions),
            new: written(&args.new_profile),
        })
    }

    async fn run(&self, args: Args, context: &ToolContext) -> Result<Output, ToolError> {
        let configure = &context.services.configure;
        let profile = args.new_profile;
        configure
            .profiles()
            .resolve(&profile)
            .map_err(|error| ToolError::Rejected(error.to_string()))?;
        may_grant(&profile, context).await?;
        rights::may_manage_channels("/agent config", context).await?;
        let value = serde_json::to_value(&profile).map_err(ToolError::failed)?;
        configure
            .set(context, &effective::PERMISSIONS, value)
            .await?;
        let label = profile.label();
        Ok(format!("Your permissions are `{label}`, from the next step on.").into())
    }
}

/// Checks that everyone behind the turn has the right, by their current roles.
async fn may_grant(profile: &ProfileRef, context: &ToolContext) -> Result<(), ToolError> {
    // Without a person's message there was no request, so the people behind earlier turns do not count.
    let people: &[Participant] = if context.has_message {
        &context.people
    } else {
        &[]
    };
    let grants = context.services.configure.grants(context.guild).await?;
    let is_free = match profile {
        ProfileRef::Named(name) => name == FREE || *name == grants.default_profile,
        ProfileRef::Custom(_) => false,
    };
    if is_free {
        all_known(people).map(drop)
    } else {
        all_may_grant(&grants.table, people, profile)
    }
    .map_err(|reason| ToolError::rejected(reason.to_string()))
}
