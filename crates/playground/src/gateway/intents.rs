//! Intents: the events a session subscribed to, and the messages it may read.

use serde_json::{Value, json};

use chorus_base::discord_ids::UserId;

/// Intent bit: servers, channels, roles and threads.
const GUILDS: u64 = 1 << 0;
/// Intent bit: members joining, leaving and changing. Privileged.
const GUILD_MEMBERS: u64 = 1 << 1;
/// Intent bit: messages in servers.
const GUILD_MESSAGES: u64 = 1 << 9;
/// Intent bit: reactions in servers.
const GUILD_REACTIONS: u64 = 1 << 10;
/// Intent bit: typing in servers.
const GUILD_TYPING: u64 = 1 << 11;
/// Intent bit: direct messages.
const DIRECT_MESSAGES: u64 = 1 << 12;
/// Intent bit: the content of messages. Privileged.
const MESSAGE_CONTENT: u64 = 1 << 15;

/// Returns whether intents include an event.
pub(super) fn covers(intents: u64, name: &str, data: &Value) -> bool {
    let is_direct = data.get("guild_id").is_none();
    let needed = match name {
        "MESSAGE_CREATE" | "MESSAGE_UPDATE" | "MESSAGE_DELETE" | "MESSAGE_DELETE_BULK" => {
            if is_direct {
                DIRECT_MESSAGES
            } else {
                GUILD_MESSAGES
            }
        }
        "MESSAGE_REACTION_ADD" | "MESSAGE_REACTION_REMOVE" => GUILD_REACTIONS,
        "TYPING_START" => GUILD_TYPING,
        "GUILD_MEMBER_ADD" | "GUILD_MEMBER_UPDATE" | "GUILD_MEMBER_REMOVE" => GUILD_MEMBERS,
        "INTERACTION_CREATE" => return true,
        _ if name.starts_with("GUILD_")
            || name.starts_with("CHANNEL_")
            || name.starts_with("THREAD_") =>
        {
            GUILDS
        }
        _ => return true,
    };
    intents & needed != 0
}

/// Returns whether a session may read an event unchanged: without the intent for all messages only its own, direct ones
/// and those that mention it.
pub(super) fn may_read(intents: u64, name: &str, data: &Value, bot: UserId) -> bool {
    let is_message = name.starts_with("MESSAGE_") && data.get("content").is_some();
    let is_own = data["author"]["id"].as_str() == Some(bot.to_string().as_str());
    let is_direct = data.get("guild_id").is_none();
    let names_the_bot = || {
        let content = data["content"].as_str();
        content.is_some_and(|content| content.contains(&format!("<@{bot}>")))
    };
    !is_message || intents & MESSAGE_CONTENT != 0 || is_own || is_direct || names_the_bot()
}

/// Returns a message without its content.
pub(super) fn blank(data: &Value) -> Value {
    let mut blank = data.clone();
    blank["content"] = json!("");
    for list in ["embeds", "attachments", "components"] {
        blank[list] = json!([]);
    }
    blank
}
