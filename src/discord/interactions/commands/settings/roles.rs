//! `/settings access` and `/settings approvers`: lists of roles, shown, added to, taken from, emptied.

use serenity::all::Role;

use super::super::call::{Context, answer, bot, guild};
use super::set;
use crate::config::effective::Server;
use crate::config::{Key, effective};
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;
use crate::domain::RoleId;

/// What to do with a list of roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, poise::ChoiceParameter)]
pub(super) enum Change {
    /// One more role.
    #[name = "add"]
    Add,
    /// One role less.
    #[name = "remove"]
    Remove,
    /// No role.
    #[name = "clear"]
    Clear,
}

/// Shows or changes the roles whose members may talk to the agents of this server
#[poise::command(slash_command)]
pub(super) async fn access(
    ctx: Context<'_>,
    #[description = "What to do; left out, the role is added"] change: Option<Change>,
    #[description = "The role"] role: Option<Role>,
) -> Result<(), Refusal> {
    let none = "No role is set: everyone who sees an agent's channel may talk to it.";
    let roles = |server: &Server| server.access_roles.clone();
    change_roles(ctx, &effective::ACCESS_ROLES, change, role, roles, none).await
}

/// Shows or changes the roles whose members may allow and deny, besides those with Manage Server
#[poise::command(slash_command)]
pub(super) async fn approvers(
    ctx: Context<'_>,
    #[description = "What to do; left out, the role is added"] change: Option<Change>,
    #[description = "The role"] role: Option<Role>,
) -> Result<(), Refusal> {
    let none = "No role is set: members with Manage Server decide, and whoever started the turn.";
    let roles = |server: &Server| server.approver_roles.clone();
    change_roles(ctx, &effective::APPROVER_ROLES, change, role, roles, none).await
}

/// Changes a list of roles, or shows it where nothing is to be changed.
async fn change_roles(
    ctx: Context<'_>,
    key: &'static Key,
    change: Option<Change>,
    role: Option<Role>,
    now: fn(&Server) -> Vec<RoleId>,
    none: &str,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let server = bot(ctx).manager.server(guild(ctx)?);
        let mut roles = now(&server);
        let role = role.map(|role| RoleId(role.id.get()));
        match (change, role) {
            (None, None) => return Ok(render::roles(key.name, &roles, none)),
            (None | Some(Change::Add), Some(role)) => {
                if !roles.contains(&role) {
                    roles.push(role);
                }
            }
            (Some(Change::Remove), Some(role)) => roles.retain(|held| *held != role),
            (Some(Change::Clear), _) => roles.clear(),
            (Some(Change::Add | Change::Remove), None) => {
                return Err(Refusal::new("Name the role too: the option `role`."));
            }
        }
        let ids: Vec<String> = roles.iter().map(RoleId::to_string).collect();
        set::store(ctx, key, Some(serde_json::json!(ids))).await?;
        Ok(render::roles(key.name, &roles, none))
    })
    .await
}
