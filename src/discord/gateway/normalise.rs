//! Messages and interactions normalised to a shape that serenity reads, whatever Discord adds to them. Pure.
//!
//! serenity drops an event as a whole when it cannot read a part of it: what a person writes would be lost because it
//! replies to a message with components that serenity does not know. So what nobody here looks at is taken out, and
//! what is missing gets the value that means nothing.

use serde_json::{Map, Value, json};
use serenity::all::Message;

/// An object of JSON.
type Object = Map<String, Value>;

/// What of a message is looked at, or must be there for serenity.
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
];

/// What a message may show besides its text and files. Whether it does is all that counts here.
const SHOWN: [&str; 4] = ["embeds", "components", "sticker_items", "poll"];

/// Normalises the data of the event `name`.
pub(super) fn event(name: &str, data: &mut Value) {
    let normalise: fn(&mut Object) = match name {
        "MESSAGE_CREATE" => message,
        "MESSAGE_UPDATE" => update,
        "INTERACTION_CREATE" => interaction,
        _ => return,
    };
    if let Some(data) = data.as_object_mut() {
        normalise(data);
    }
}

/// A whole message.
pub(in crate::discord) fn message(message: &mut Object) {
    let shows_something = SHOWN.iter().any(|key| holds(message, key));
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
            keep(snapshot, &["content", "attachments", "type"]);
            common(snapshot);
        }
    });
    common(message);
    if shows_something {
        message.insert("embeds".into(), json!([{}]));
    }
    for flag in ["tts", "mention_everyone", "pinned"] {
        message.insert(flag.into(), false.into());
    }
}

/// The message that another one replies to, with what its embeds say. One that serenity cannot read is left out.
fn replied_to(message: &mut Object) {
    let Some(mut original) = message.remove("referenced_message") else {
        return;
    };
    if let Some(original) = original.as_object_mut() {
        original.remove("referenced_message");
        let mut embeds = original.remove("embeds").unwrap_or_default();
        for embed in embeds.as_array_mut().into_iter().flatten() {
            if let Some(embed) = embed.as_object_mut() {
                embed.retain(|key, value| EMBED_SAYS.contains(&key.as_str()) && value.is_string());
            }
        }
        self::message(original);
        if holds_objects(&embeds) {
            original.insert("embeds".into(), embeds);
        }
    }
    if serde_json::from_value::<Message>(original.clone()).is_ok() {
        message.insert("referenced_message".into(), original);
    }
}

/// What of an embed is words.
const EMBED_SAYS: [&str; 2] = ["title", "description"];

fn holds_objects(list: &Value) -> bool {
    list.as_array()
        .is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_object))
}

/// A message that was changed: only what is there was.
fn update(message: &mut Object) {
    keep(
        message,
        &[
            "id",
            "channel_id",
            "guild_id",
            "author",
            "content",
            "attachments",
        ],
    );
    match object(message, "author") {
        Some(author) => person(author),
        None => drop(message.remove("author")),
    }
    if message.get("attachments").is_some_and(Value::is_array) {
        list_of(message, "attachments", file);
    }
}

/// A command, a press or a form.
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
        message(shown);
    }
    event.remove("context");
    event.remove("authorizing_integration_owners");
    event.insert("entitlements".into(), json!([]));
    missing(event, "version", json!(1));
    missing(event, "locale", json!("en-US"));
    missing(event, "attachment_size_limit", json!(10 * 1024 * 1024));
}

/// What messages and the copies in forwards have in common.
fn common(message: &mut Object) {
    list_of(message, "attachments", file);
    for list in ["embeds", "mentions", "mention_roles"] {
        message.insert(list.into(), json!([]));
    }
    missing(message, "content", json!(""));
    missing(message, "type", json!(0));
    missing(
        message,
        "timestamp",
        json!("2015-01-01T00:00:00.000000+00:00"),
    );
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

/// Whether there is anything under `key`.
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

/// The list under `key`, empty where it is none, with `normalise` applied to the objects in it.
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
