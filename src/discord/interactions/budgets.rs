//! The buttons that raise a budget until the day ends.

use serenity::all::ComponentInteraction;

use super::commands::call::who;
use super::{Responder, Visibility};
use crate::agent::read_button;
use crate::discord::bot::{Bot, Refusal};
use crate::discord::rest::body::Body;
use crate::text::escape;

/// Handles *+1 USD today* and *+5 USD today*. Everyone in the channel sees who pressed.
pub(super) async fn raise(
    bot: &Bot,
    responder: &Responder,
    press: &ComponentInteraction,
    id: &str,
) {
    let work = async {
        let (guild, person) = who(press.guild_id, press.member.as_ref())
            .ok_or_else(|| Refusal::new("Buttons work only in a server."))?;
        let (usd, budget) =
            read_button(id).ok_or_else(|| Refusal::new("This button no longer works."))?;
        let budgets = &bot.manager.budgets;
        let raised = budgets.raise(guild, &budget, usd, &person).await?;
        let by = escape::name(&person.name);
        Ok(Body::text(format!("**{by}** {}", raised.words(usd))))
    };
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder.answer(Visibility::Public, work).await;
}
