//! `/settings access`.

use serenity::all::Role;

use super::super::call::Context;
use super::roles::{self, Change};
use crate::config::SettingKey;
use crate::discord::bot::Refusal;

/// Shows or changes the roles whose members may talk to the agents of this server
#[poise::command(slash_command)]
pub(super) async fn access(
    ctx: Context<'_>,
    #[description = "What to do; left out, the role is added"] change: Option<Change>,
    #[description = "The role"] role: Option<Role>,
) -> Result<(), Refusal> {
    let none = "No role is set: everyone who sees an agent's channel may talk to it.";
    roles::change(
        ctx,
        SettingKey::AccessRoles,
        change,
        role,
        |server| &server.access_roles,
        none,
    )
    .await
}
