//! What the operator presses where a server asks to be served, and what a server hears that is not.

use serenity::all::{ComponentInteraction, Interaction};

use super::{Responder, Visibility};
use crate::discord::bot::servers::OPERATOR_ONLY;
use crate::discord::bot::{Bot, Refusal};
use crate::discord::render;
use crate::discord::rest::body::Body;
use crate::domain::{GuildId, UserId};
use crate::manager::PRIVATE;
use crate::text::escape;

/// A press of Accept or Leave. `rest` is what follows `server:` in the button's id.
pub(super) async fn pressed(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    rest: &str,
) {
    let user = UserId(press.user.id.get());
    // A failed answer was logged where it failed; there is nobody left to tell.
    let _ = responder.replace(decide(bot, user, rest)).await;
}

async fn decide(bot: &Bot, user: UserId, rest: &str) -> Result<Body, Refusal> {
    if !bot.is_operator(user) {
        return Err(Refusal::new(OPERATOR_ONLY));
    }
    let unknown = || Refusal::new("This button does nothing any more.");
    let (what, guild) = rest.split_once(':').ok_or_else(unknown)?;
    let guild = guild.parse().map_err(|_| unknown())?;
    match what {
        "accept" => Ok(render::server_accepted(
            &bot.manager.accept_server(guild, user).await?,
        )),
        "leave" => refuse(bot, guild, user).await,
        _ => Err(unknown()),
    }
}

/// Has the bot leave a server, as the operator says.
async fn refuse(bot: &Bot, guild: GuildId, user: UserId) -> Result<Body, Refusal> {
    let row = bot.manager.refuse_server(guild, user).await?;
    let name = escape::name(&row.name);
    match bot.leave_server(guild).await {
        Ok(()) => Ok(Body::text(format!(
            "I left **{name}**. If I am invited there again, I leave at once; `/servers accept` changes that."
        ))),
        Err(error) => Ok(Body::text(format!(
            "I do nothing in **{name}**, but I could not leave it yet: {error}. I try again within the hour."
        ))),
    }
}

/// Answers an interaction from a server that is not served; suggestions are not answered at all.
pub(super) async fn turn_away(bot: &Bot, interaction: &Interaction) {
    let token = match interaction {
        Interaction::Command(command) => &command.token,
        Interaction::Component(press) => &press.token,
        Interaction::Modal(form) => &form.token,
        _ => return,
    };
    let responder = Responder::new(&bot.rest, bot.application, interaction.id().get(), token);
    // A failed answer was logged where it failed; there is nobody left to tell.
    let _ = responder
        .say(&Body::text(PRIVATE), Visibility::Ephemeral)
        .await;
}
