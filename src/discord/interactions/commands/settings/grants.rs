//! `/settings grants`: which roles may hand out which profiles.

use serenity::all::Role;

use super::super::call::{Context, answer, bot, guild};
use super::super::complete;
use super::roles::Change;
use super::set;
use crate::config::effective;
use crate::discord::bot::Refusal;
use crate::discord::interactions::Visibility;
use crate::discord::render;
use crate::domain::RoleId;

/// Shows or changes which roles may grant which permission profiles
#[poise::command(slash_command)]
pub(super) async fn grants(
    ctx: Context<'_>,
    #[description = "What to do; left out, the profile is added"] change: Option<Change>,
    #[description = "The role"] role: Option<Role>,
    #[description = "The profile its members may grant; left out with remove, all of the role's"]
    #[autocomplete = "complete::profile"]
    profile: Option<String>,
) -> Result<(), Refusal> {
    answer(ctx, Visibility::Ephemeral, async {
        let bot = bot(ctx);
        let server = bot.manager.server(guild(ctx)?);
        let mut table = server.permission_grants.0;
        let role = role.map(|role| RoleId(role.id.get()));
        match (change, role, profile) {
            (None, None, None) => return Ok(render::grants(&table)),
            (Some(Change::Clear), _, _) => table.clear(),
            (Some(Change::Remove), Some(role), None) => {
                table.remove(&role);
            }
            (Some(Change::Remove), Some(role), Some(profile)) => {
                if let Some(profiles) = table.get_mut(&role) {
                    profiles.retain(|held| *held != profile);
                }
                table.retain(|_, profiles| !profiles.is_empty());
            }
            (None | Some(Change::Add), Some(role), Some(profile)) => {
                if !bot.profiles.load().iter().any(|(name, _)| name == profile) {
                    return Err(Refusal(format!(
                        "There is no profile `{}`; /permissions shows them all.",
                        profile.replace('`', "'")
                    )));
                }
                let profiles = table.entry(role).or_default();
                if !profiles.contains(&profile) {
                    profiles.push(profile);
                }
            }
            (None | Some(Change::Add | Change::Remove), _, _) => {
                return Err(Refusal::new(
                    "Name the role and the profile: the options `role` and `profile`.",
                ));
            }
        }
        let json = serde_json::to_value(&table).map_err(|error| Refusal(error.to_string()))?;
        set::store(ctx, &effective::PERMISSION_GRANTS, Some(json)).await?;
        Ok(render::grants(&table))
    })
    .await
}
