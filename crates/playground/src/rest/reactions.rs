//! Routes about the reactions on a message.

use axum::http::Method;

use super::channels::needs;
use super::messages::find;
use super::reply::{Outcome, Reply};
use crate::desk::error::ApiError;
use crate::rights::Rights;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::UserId;

/// Adds, removes, clears or lists reactions.
pub(super) fn serve(
    world: &mut World,
    method: &Method,
    channel: &str,
    message: &str,
    rest: &[&str],
) -> Outcome {
    let (channel, id) = find(world, channel, message)?;
    match (method, rest) {
        (&Method::PUT, [emoji, "@me"]) => {
            needs(
                world,
                channel,
                Rights::ADD_REACTIONS | Rights::READ_MESSAGE_HISTORY,
            )?;
            world.react(channel, id, world.bot, emoji);
        }
        (&Method::DELETE, [emoji, "@me"]) => world.unreact(channel, id, world.bot, emoji),
        (&Method::DELETE, [emoji, user]) => {
            needs(world, channel, Rights::MANAGE_MESSAGES)?;
            let user = user
                .parse()
                .map(UserId)
                .map_err(|_| ApiError::unknown_user())?;
            world.unreact(channel, id, user, emoji);
        }
        (&Method::DELETE, []) => {
            needs(world, channel, Rights::MANAGE_MESSAGES)?;
            if let Some(message) = world.message_mut(channel, id) {
                message.reactions.clear();
            }
        }
        (&Method::GET, [emoji]) => {
            let message = world.message(channel, id);
            let found = message.and_then(|one| one.reactions.iter().find(|r| r.emoji == *emoji));
            let by = found
                .map(|reaction| reaction.by.as_slice())
                .unwrap_or_default();
            return Ok(Reply::Json(
                by.iter()
                    .map(|user| wire::user_by_id(world, *user))
                    .collect(),
            ));
        }
        _ => return Err(ApiError::unknown_route()),
    }
    Ok(Reply::Nothing)
}
