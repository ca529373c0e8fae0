//! A command as it was given: by whom, where, and the way back to them.

use std::future::Future;

use serenity::all::ChannelType;
use tracing::Instrument as _;

use crate::discord::bot::Bot;
use crate::discord::bot::Refusal;
use crate::discord::interactions::{Responder, Visibility};
use crate::discord::people;
use crate::discord::rest::body::Body;
use crate::domain::{ChannelId, GuildId, Person, UserId};

/// What a command is called with.
pub(super) type Context<'a> = poise::ApplicationContext<'a, Bot, Refusal>;

/// Answers a command with what `work` gives; its refusal goes to the one who asked.
pub(super) async fn answer(
    ctx: Context<'_>,
    eyes: Visibility,
    work: impl Future<Output = Result<Body, Refusal>> + Send,
) -> Result<(), Refusal> {
    let span = tracing::info_span!("command", command = %ctx.command().qualified_name);
    // A failed answer was logged where it failed; there is nobody left to tell.
    let _ = responder(ctx).answer(eyes, work).instrument(span).await;
    Ok(())
}

/// The way back to the one who gave a command.
pub(super) fn responder(ctx: Context<'_>) -> Responder {
    let bot = ctx.framework.user_data;
    Responder::new(
        &bot.rest,
        bot.application,
        ctx.interaction.id.get(),
        &ctx.interaction.token,
    )
}

/// What all commands share.
pub(super) fn bot<'a>(ctx: Context<'a>) -> &'a Bot {
    ctx.framework.user_data
}

/// The server a command was given in.
pub(super) fn guild(ctx: Context<'_>) -> Result<GuildId, Refusal> {
    let guild = ctx.interaction.guild_id.map(|id| GuildId(id.get()));
    guild.ok_or_else(|| Refusal::new("Commands work in a server, not in direct messages."))
}

/// The channel or thread a command was given in.
pub(super) fn channel(ctx: Context<'_>) -> ChannelId {
    ChannelId(ctx.interaction.channel_id.get())
}

/// Who gave a command, with the roles that Discord sent along.
pub(super) fn person(ctx: Context<'_>) -> Person {
    let nobody = || Person {
        id: UserId(ctx.interaction.user.id.get()),
        name: ctx.interaction.user.name.clone(),
        roles: Vec::new(),
        is_administrator: false,
        may_manage_server: false,
    };
    match &ctx.interaction.member {
        Some(member) => people::person_with(member, member.permissions.unwrap_or_default()),
        None => nobody(),
    }
}

/// The channel above, when a command was given in a thread.
pub(super) fn parent(ctx: Context<'_>) -> Option<ChannelId> {
    let thread = ctx.interaction.channel.as_ref()?;
    let is_thread = matches!(
        thread.kind,
        ChannelType::PublicThread | ChannelType::PrivateThread | ChannelType::NewsThread
    );
    if !is_thread {
        return None;
    }
    let above = thread.parent_id.map(|id| ChannelId(id.get()));
    above.or_else(|| bot(ctx).parent_of(guild(ctx).ok()?, channel(ctx)))
}
