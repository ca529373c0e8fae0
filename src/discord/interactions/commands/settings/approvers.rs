//! `/settings approvers`.

use serenity::all::Role;

use super::super::call::Context;
use super::roles::{self, Change};
use crate::config::SettingKey;
use crate::discord::bot::Refusal;

/// Shows or changes the roles whose members may allow and deny, besides those with Manage Server
#[poise::command(slash_command)]
pub(super) async fn approvers(
    ctx: Context<'_>,
    #[description = "What to do; left out, the role is added"] change: Option<Change>,
    #[description = "The role"] role: Option<Role>,
) -> Result<(), Refusal> {
    let none = "No role is set: members with Manage Server decide, and whoever started the turn.";
    roles::change(
        ctx,
        SettingKey::ApproverRoles,
        change,
        role,
        |server| &server.approver_roles,
        none,
    )
    .await
}
