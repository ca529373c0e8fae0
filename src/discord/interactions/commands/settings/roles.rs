//! A list of roles as a setting: shown, added to, taken from, emptied.

use serenity::all::Role;

use super::super::call::{Context, answer, bot, guild};
use super::set;
use crate::config::SettingKey;
use crate::config::effective::Server;
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

/// Changes a list of roles, or shows it where nothing is to be changed.
pub(super) async fn change(
    ctx: Context<'_>,
    key: SettingKey,
    change: Option<Change>,
    role: Option<Role>,
    now: fn(&Server) -> &[RoleId],
    none: &str,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let server = bot(ctx).manager.server(guild(ctx)?);
        let mut roles = now(&server).to_vec();
        let role = role.map(|role| RoleId(role.id.get()));
        match (change, role) {
            (None, None) => return Ok(render::roles(key.as_str(), &roles, none)),
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
        set::store(ctx, key, serde_json::json!(ids)).await?;
        Ok(render::roles(key.as_str(), &roles, none))
    })
    .await
}
