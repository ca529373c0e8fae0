//! What the gateway's events are to the hub.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serenity::all::{
    Cache, ChannelCreateEvent, ChannelDeleteEvent, ChannelUpdateEvent, Guild, GuildCreateEvent,
    GuildDeleteEvent, GuildMemberUpdateEvent, GuildRoleCreateEvent, GuildRoleDeleteEvent,
    GuildRoleUpdateEvent, GuildUpdateEvent, Interaction, Message, MessageCreateEvent,
    MessageDeleteBulkEvent, MessageDeleteEvent, MessageUpdateEvent, PartialGuild, ReadyEvent,
    ThreadCreateEvent, ThreadDeleteEvent, ThreadUpdateEvent, UnavailableGuild, UserUpdateEvent,
};
use serenity::cache::CacheUpdate;

use super::normalise;
use crate::domain::{ChannelId, GuildId, MessageId};

/// Something that happened on Discord, or to the session with it, in the gateway's order.
#[derive(Debug)]
pub(in crate::discord) enum InboundEvent {
    /// A new session: events before it may have been missed.
    Ready,
    /// The old session goes on.
    Resumed,
    /// A server we are in, with its channels and threads.
    GuildCreate(Box<Guild>),
    /// A server has another name or owner.
    GuildUpdate(Box<PartialGuild>),
    /// A server is not available, or we are not in it any more.
    GuildDelete(UnavailableGuild),
    ChannelDelete(ChannelId),
    ThreadDelete(GuildId, ChannelId),
    MessageCreate(Box<Message>),
    MessageUpdate(Box<MessageUpdateEvent>),
    MessageDelete {
        guild: Option<GuildId>,
        channel: ChannelId,
        ids: Vec<MessageId>,
    },
    /// A command, a button or a form.
    Interaction(Box<Interaction>),
}

/// Reads the event `name`, brings the cache up to date with it, and says what the hub is told. The cache comes first:
/// whoever handles the event asks it.
///
/// The types are those of single events, not serenity's `Event`, which takes what it cannot read for an unknown event
/// without a word.
///
/// # Errors
///
/// When the event is not of the shape that serenity knows.
pub(super) fn inbound_event(
    cache: &Cache,
    name: &str,
    mut data: Value,
) -> Result<Option<InboundEvent>, serde_json::Error> {
    normalise::event(name, &mut data);
    Ok(Some(match name {
        "READY" => {
            cached::<ReadyEvent>(cache, data)?;
            InboundEvent::Ready
        }
        "RESUMED" => InboundEvent::Resumed,
        "GUILD_CREATE" => {
            InboundEvent::GuildCreate(Box::new(cached::<GuildCreateEvent>(cache, data)?.guild))
        }
        "GUILD_UPDATE" => {
            InboundEvent::GuildUpdate(Box::new(cached::<GuildUpdateEvent>(cache, data)?.guild))
        }
        "GUILD_DELETE" => InboundEvent::GuildDelete(cached::<GuildDeleteEvent>(cache, data)?.guild),
        "CHANNEL_DELETE" => {
            let channel = cached::<ChannelDeleteEvent>(cache, data)?.channel;
            InboundEvent::ChannelDelete(ChannelId(channel.id.get()))
        }
        "THREAD_DELETE" => {
            let thread = cached::<ThreadDeleteEvent>(cache, data)?.thread;
            InboundEvent::ThreadDelete(GuildId(thread.guild_id.get()), ChannelId(thread.id.get()))
        }
        "MESSAGE_CREATE" => {
            let message = cached::<MessageCreateEvent>(cache, data)?.message;
            InboundEvent::MessageCreate(Box::new(message))
        }
        "MESSAGE_UPDATE" => {
            InboundEvent::MessageUpdate(Box::new(read::<MessageUpdateEvent>(data)?))
        }
        "MESSAGE_DELETE" => {
            let event = read::<MessageDeleteEvent>(data)?;
            deleted(event.guild_id, event.channel_id, &[event.message_id])
        }
        "MESSAGE_DELETE_BULK" => {
            let event = read::<MessageDeleteBulkEvent>(data)?;
            deleted(event.guild_id, event.channel_id, &event.ids)
        }
        "INTERACTION_CREATE" => InboundEvent::Interaction(Box::new(read::<Interaction>(data)?)),
        _ => {
            only_cached(cache, name, data)?;
            return Ok(None);
        }
    }))
}

/// Events that change nothing but a server's state.
fn only_cached(cache: &Cache, name: &str, data: Value) -> Result<(), serde_json::Error> {
    match name {
        "CHANNEL_CREATE" => cached::<ChannelCreateEvent>(cache, data).map(drop),
        "CHANNEL_UPDATE" => cached::<ChannelUpdateEvent>(cache, data).map(drop),
        "THREAD_CREATE" => cached::<ThreadCreateEvent>(cache, data).map(drop),
        "THREAD_UPDATE" => cached::<ThreadUpdateEvent>(cache, data).map(drop),
        "GUILD_ROLE_CREATE" => cached::<GuildRoleCreateEvent>(cache, data).map(drop),
        "GUILD_ROLE_UPDATE" => cached::<GuildRoleUpdateEvent>(cache, data).map(drop),
        "GUILD_ROLE_DELETE" => cached::<GuildRoleDeleteEvent>(cache, data).map(drop),
        // Of our own membership alone, as our intents are.
        "GUILD_MEMBER_UPDATE" => cached::<GuildMemberUpdateEvent>(cache, data).map(drop),
        "USER_UPDATE" => cached::<UserUpdateEvent>(cache, data).map(drop),
        _ => Ok(()),
    }
}

fn cached<E: CacheUpdate + DeserializeOwned>(
    cache: &Cache,
    data: Value,
) -> Result<E, serde_json::Error> {
    let mut event = read::<E>(data)?;
    cache.update(&mut event);
    Ok(event)
}

fn read<E: DeserializeOwned>(data: Value) -> Result<E, serde_json::Error> {
    serde_json::from_value(data)
}

fn deleted(
    guild: Option<serenity::all::GuildId>,
    channel: serenity::all::ChannelId,
    ids: &[serenity::all::MessageId],
) -> InboundEvent {
    InboundEvent::MessageDelete {
        guild: guild.map(|guild| GuildId(guild.get())),
        channel: ChannelId(channel.get()),
        ids: ids.iter().map(|id| MessageId(id.get())).collect(),
    }
}
