//! The gateway's events in the form for the hub, and how they are read.
//!
//! serenity drops a whole event if it cannot read a part of it: a message would be lost because it replies to one with
//! components that serenity does not know. So messages and interactions are normalised first: unused fields are
//! removed, and missing ones get a neutral value.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use serenity::all::{
    Cache, ChannelCreateEvent, ChannelDeleteEvent, ChannelUpdateEvent, Guild, GuildCreateEvent,
    GuildDeleteEvent, GuildMemberUpdateEvent, GuildRoleCreateEvent, GuildRoleDeleteEvent,
    GuildRoleUpdateEvent, GuildUpdateEvent, Interaction, Message, MessageCreateEvent,
    MessageDeleteBulkEvent, MessageDeleteEvent, MessageUpdateEvent, PartialGuild, ReadyEvent,
    ThreadCreateEvent, ThreadDeleteEvent, ThreadUpdateEvent, UnavailableGuild, User,
    UserUpdateEvent,
};
use serenity::cache::CacheUpdate;

use super::shown::{shown, with_card};
use crate::domain::{ChannelId, GuildId, MessageId};

/// An event on Discord, or of the session with it, in the gateway's order.
#[derive(Debug)]
pub(in crate::discord) enum InboundEvent {
    /// A new session: events before it may have been missed.
    Ready,
    /// The old session continues.
    Resumed,
    /// A server we are in, with its channels and threads.
    GuildCreate(Box<Guild>),
    /// A server has another name or owner.
    GuildUpdate(Box<PartialGuild>),
    /// A server is not available, or we are no longer in it.
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

/// Reads the event `name`, updates the cache with it, and returns the event for the hub. The cache comes first, because
/// the event's handler uses it.
///
/// The types are those of single events, not serenity's `Event`, which silently turns unreadable input into an unknown
/// event.
///
/// # Errors
///
/// Fails if the event does not have the shape that serenity knows.
pub(super) fn inbound_event(
    cache: &Cache,
    name: &str,
    mut data: Value,
) -> Result<Option<InboundEvent>, serde_json::Error> {
    normalise(name, &mut data);
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

/// Handles events that change only a server's state.
fn only_cached(cache: &Cache, name: &str, data: Value) -> Result<(), serde_json::Error> {
    match name {
        "CHANNEL_CREATE" => cached::<ChannelCreateEvent>(cache, data).map(drop),
        "CHANNEL_UPDATE" => cached::<ChannelUpdateEvent>(cache, data).map(drop),
        "THREAD_CREATE" => cached::<ThreadCreateEvent>(cache, data).map(drop),
        "THREAD_UPDATE" => cached::<ThreadUpdateEvent>(cache, data).map(drop),
        "GUILD_ROLE_CREATE" => cached::<GuildRoleCreateEvent>(cache, data).map(drop),
        "GUILD_ROLE_UPDATE" => cached::<GuildRoleUpdateEvent>(cache, data).map(drop),
        "GUILD_ROLE_DELETE" => cached::<GuildRoleDeleteEvent>(cache, data).map(drop),
        // With our intents, this is only about our own membership.
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

type Object = Map<String, Value>;

/// The fields of a message that are used, or that serenity requires.
const OF_MESSAGE: &[&str] = &[
    "id",
    "channel_id",
    "guild_id",
    "author",
    "member",
    "content",
    "timestamp",
    "type",
    "webhook_id",
    "attachments",
    "message_reference",
    "message_snapshots",
    "referenced_message",
    "mentions",
];

/// The possible parts of a message besides its text and files. Their content is put into words ([`shown`]), as one
/// embed.
const SHOWN: [&str; 4] = ["embeds", "components", "sticker_items", "poll"];

/// Normalises the data of the event `name`.
fn normalise(name: &str, data: &mut Value) {
    let normalise: fn(&mut Object) = match name {
        "MESSAGE_CREATE" => normalise_message,
        "MESSAGE_UPDATE" => update,
        "INTERACTION_CREATE" => interaction,
        "GUILD_CREATE" => server,
        "CHANNEL_CREATE" | "CHANNEL_UPDATE" | "THREAD_CREATE" | "THREAD_UPDATE" => place,
        _ => return,
    };
    if let Some(data) = data.as_object_mut() {
        normalise(data);
    }
}

/// Parts of a server's description that would stay in memory as long as we are connected, although they are not used.
const UNREAD_OF_SERVER: [&str; 8] = [
    "emojis",
    "stickers",
    "presences",
    "voice_states",
    "stage_instances",
    "guild_scheduled_events",
    "soundboard_sounds",
    "embedded_activities",
];

/// Removes from the description of a server its pictures, its sounds, its online members and its channels' topics.
fn server(described: &mut Object) {
    for list in UNREAD_OF_SERVER {
        if described.contains_key(list) {
            described.insert(list.to_owned(), json!([]));
        }
    }
    for list in ["channels", "threads"] {
        let places = described.get_mut(list).and_then(Value::as_array_mut);
        let places = places.into_iter().flatten();
        places.filter_map(Value::as_object_mut).for_each(place);
    }
}

/// Normalises a channel or a thread.
fn place(described: &mut Object) {
    if described.contains_key("topic") {
        described.insert("topic".to_owned(), Value::Null);
    }
}

pub(in crate::discord) fn normalise_message(message: &mut Object) {
    let card = card_of(message);
    keep(message, OF_MESSAGE);
    if let Some(author) = object(message, "author") {
        person(author);
    }
    match object(message, "member") {
        Some(member) => {
            keep(member, &["roles", "nick"]);
            list_of(member, "roles", |_| {});
        }
        None => drop(message.remove("member")),
    }
    replied_to(message);
    let here = message.get("channel_id").cloned().unwrap_or_default();
    match object(message, "message_reference") {
        Some(reference) => {
            keep(reference, &["type", "message_id", "channel_id"]);
            reference.entry("channel_id").or_insert(here);
        }
        None => drop(message.remove("message_reference")),
    }
    list_of(message, "message_snapshots", |wrapped| {
        let snapshot = wrapped.entry("message").or_insert_with(|| json!({}));
        if let Some(snapshot) = snapshot.as_object_mut() {
            let card = card_of(snapshot);
            keep(snapshot, &["content", "attachments", "type", "mentions"]);
            common(snapshot);
            snapshot.insert("embeds".into(), card);
        }
    });
    common(message);
    message.insert("embeds".into(), card);
    for flag in ["tts", "mention_everyone", "pinned"] {
        message.insert(flag.into(), false.into());
    }
}

/// Returns the content of a message besides its text and files, as a list of one embed: an empty one if it has no
/// words.
fn card_of(message: &Object) -> Value {
    match shown(message) {
        Some(words) => json!([{"description": words}]),
        None if SHOWN.iter().any(|key| holds(message, key)) => json!([{}]),
        None => json!([]),
    }
}

/// Normalises the message that another one replies to. If serenity cannot read it, it is removed.
fn replied_to(message: &mut Object) {
    let Some(mut original) = message.remove("referenced_message") else {
        return;
    };
    if let Some(original) = original.as_object_mut() {
        original.remove("referenced_message");
        normalise_message(original);
    }
    if serde_json::from_value::<Message>(original.clone()).is_ok() {
        message.insert("referenced_message".into(), original);
    }
}

/// Normalises a changed message: only the fields in it have changed.
///
/// A changed card is changed text. The preview of a link, which Discord adds a moment later to people's messages, is
/// not.
fn update(message: &mut Object) {
    let author = message.get("author").and_then(Value::as_object);
    let is_bot = author.is_some_and(|author| author.get("bot") == Some(&Value::Bool(true)));
    if !is_bot && !holds(message, "webhook_id") {
        message.remove("embeds");
    }
    let shown = shown(message);
    if let (Some(Value::String(content)), Some(shown)) = (message.get_mut("content"), shown) {
        *content = with_card(content, &shown);
    }
    keep(
        message,
        &[
            "id",
            "channel_id",
            "guild_id",
            "author",
            "content",
            "attachments",
            "mentions",
        ],
    );
    if message.contains_key("mentions") {
        mentions(message);
    }
    match object(message, "author") {
        Some(author) => person(author),
        None => drop(message.remove("author")),
    }
    if message.get("attachments").is_some_and(Value::is_array) {
        list_of(message, "attachments", file);
    }
}

/// Normalises a command, a press or a form.
fn interaction(event: &mut Object) {
    let there = event.get("channel").map(|channel| channel["id"].clone());
    if let (None, Some(channel)) = (event.get("channel_id"), there) {
        event.insert("channel_id".into(), channel);
    }
    match object(event, "channel") {
        Some(channel) => keep(channel, &["id", "type", "name", "parent_id", "permissions"]),
        None => drop(event.remove("channel")),
    }
    if let Some(shown) = object(event, "message") {
        normalise_message(shown);
    }
    if let Some(chosen) = event
        .get_mut("data")
        .and_then(|data| data.pointer_mut("/resolved/messages"))
        .and_then(Value::as_object_mut)
    {
        let messages = chosen.values_mut().filter_map(Value::as_object_mut);
        messages.for_each(normalise_message);
    }
    event.remove("context");
    event.remove("authorizing_integration_owners");
    event.insert("entitlements".into(), json!([]));
    missing(event, "version", json!(1));
    missing(event, "locale", json!("en-US"));
    missing(event, "attachment_size_limit", json!(10 * 1024 * 1024));
}

/// Normalises the common parts of messages and of the copies in forwards.
fn common(message: &mut Object) {
    list_of(message, "attachments", file);
    for list in ["embeds", "mention_roles"] {
        message.insert(list.into(), json!([]));
    }
    mentions(message);
    missing(message, "content", json!(""));
    missing(message, "type", json!(0));
    missing(
        message,
        "timestamp",
        json!("2015-01-01T00:00:00.000000+00:00"),
    );
}

/// Normalises the people that a message mentions, with their names in its server.
fn mentions(message: &mut Object) {
    let all = message.remove("mentions").unwrap_or_default();
    let all = all.as_array().cloned().unwrap_or_default();
    let named = all.into_iter().filter_map(|user| {
        let Value::Object(mut user) = user else {
            return None;
        };
        let nick = user.get("member").map(|member| member["nick"].clone());
        if let Some(nick) = nick.filter(Value::is_string) {
            user.insert("global_name".into(), nick);
        }
        person(&mut user);
        let user = Value::Object(user);
        serde_json::from_value::<User>(user.clone())
            .is_ok()
            .then_some(user)
    });
    let named: Vec<Value> = named.collect();
    message.insert("mentions".into(), named.into());
}

fn person(user: &mut Object) {
    keep(user, &["id", "username", "global_name", "bot", "system"]);
    missing(user, "username", json!(""));
}

fn file(attachment: &mut Object) {
    keep(
        attachment,
        &["id", "filename", "size", "url", "content_type"],
    );
    missing(attachment, "filename", json!("file"));
    missing(attachment, "size", json!(0));
    let url = attachment.get("url").cloned().unwrap_or(json!(""));
    attachment.insert("proxy_url".into(), url);
}

/// Returns whether there is a value under `key`.
fn holds(object: &Object, key: &str) -> bool {
    match object.get(key) {
        None | Some(Value::Null) => false,
        Some(Value::Array(list)) => !list.is_empty(),
        Some(_) => true,
    }
}

fn keep(object: &mut Object, keys: &[&str]) {
    object.retain(|key, _| keys.contains(&key.as_str()));
}

fn missing(object: &mut Object, key: &str, value: Value) {
    if object.get(key).is_none_or(Value::is_null) {
        object.insert(key.into(), value);
    }
}

fn object<'a>(object: &'a mut Object, key: &str) -> Option<&'a mut Object> {
    object.get_mut(key)?.as_object_mut()
}

/// Normalises the list under `key`, or an empty one, by applying `normalise` to the objects in it.
fn list_of(object: &mut Object, key: &str, normalise: impl Fn(&mut Object)) {
    let list = object.entry(key).or_insert_with(|| json!([]));
    match list {
        Value::Array(all) => all
            .iter_mut()
            .filter_map(Value::as_object_mut)
            .for_each(normalise),
        other => *other = json!([]),
    }
}
