//! The REST routes we use, each with the key its rate limit is counted under.

use reqwest::Method;

use super::limits::RouteKey;
use crate::domain::{ChannelId, GuildId, MessageId, UserId};

/// One route with its ids filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// HTTP method.
    pub method: Method,
    /// Path under `/api/v10`.
    pub path: String,
    /// What its limit is counted under.
    pub key: RouteKey,
    /// How the request proves who it is.
    pub proof: Proof,
}

/// How a request proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// By the bot's token, in a header.
    BotToken,
    /// By the interaction's token, in the path.
    InteractionToken,
}

fn bot(method: Method, pattern: &'static str, major: u64, path: String) -> Route {
    Route {
        method,
        path,
        key: RouteKey { pattern, major },
        proof: Proof::BotToken,
    }
}

/// Posts a message.
pub fn create_message(channel: ChannelId) -> Route {
    let path = format!("/channels/{channel}/messages");
    bot(Method::POST, "POST /channels/:id/messages", channel.0, path)
}

/// Puts another text in place of a message of ours.
pub fn edit_message(channel: ChannelId, message: MessageId) -> Route {
    let path = format!("/channels/{channel}/messages/{message}");
    bot(
        Method::PATCH,
        "PATCH /channels/:id/messages/:id",
        channel.0,
        path,
    )
}

pub fn delete_message(channel: ChannelId, message: MessageId) -> Route {
    let path = format!("/channels/{channel}/messages/{message}");
    bot(
        Method::DELETE,
        "DELETE /channels/:id/messages/:id",
        channel.0,
        path,
    )
}

/// Deletes 2 to 100 messages younger than two weeks.
pub fn delete_messages(channel: ChannelId) -> Route {
    let path = format!("/channels/{channel}/messages/bulk-delete");
    bot(
        Method::POST,
        "POST /channels/:id/messages/bulk-delete",
        channel.0,
        path,
    )
}

/// Reads messages: `query` is `after=…&limit=…` or `before=…&limit=…`.
pub fn messages(channel: ChannelId, query: &str) -> Route {
    let path = format!("/channels/{channel}/messages?{query}");
    bot(Method::GET, "GET /channels/:id/messages", channel.0, path)
}

/// Shows that we are typing, for ten seconds.
pub fn typing(channel: ChannelId) -> Route {
    let path = format!("/channels/{channel}/typing");
    bot(Method::POST, "POST /channels/:id/typing", channel.0, path)
}

/// Puts our reaction on a message. `emoji` is one Unicode emoji.
pub fn react(channel: ChannelId, message: MessageId, emoji: &str) -> Route {
    let encoded: String = emoji.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let path = format!("/channels/{channel}/messages/{message}/reactions/{encoded}/@me");
    bot(
        Method::PUT,
        "PUT /channels/:id/messages/:id/reactions",
        channel.0,
        path,
    )
}

/// Reads a channel.
pub fn channel(channel: ChannelId) -> Route {
    let path = format!("/channels/{channel}");
    bot(Method::GET, "GET /channels/:id", channel.0, path)
}

/// Changes a channel's name or topic.
pub fn edit_channel(channel: ChannelId) -> Route {
    let path = format!("/channels/{channel}");
    bot(Method::PATCH, "PATCH /channels/:id", channel.0, path)
}

pub fn delete_channel(channel: ChannelId) -> Route {
    let path = format!("/channels/{channel}");
    bot(Method::DELETE, "DELETE /channels/:id", channel.0, path)
}

/// Opens a thread on a message.
pub fn thread_on(channel: ChannelId, message: MessageId) -> Route {
    let path = format!("/channels/{channel}/messages/{message}/threads");
    bot(
        Method::POST,
        "POST /channels/:id/messages/:id/threads",
        channel.0,
        path,
    )
}

/// Reads the channels of a server.
pub fn guild_channels(guild: GuildId) -> Route {
    let path = format!("/guilds/{guild}/channels");
    bot(Method::GET, "GET /guilds/:id/channels", guild.0, path)
}

/// Makes a channel in a server.
pub fn create_channel(guild: GuildId) -> Route {
    let path = format!("/guilds/{guild}/channels");
    bot(Method::POST, "POST /guilds/:id/channels", guild.0, path)
}

/// Leaves a server.
pub fn leave_guild(guild: GuildId) -> Route {
    let path = format!("/users/@me/guilds/{guild}");
    bot(
        Method::DELETE,
        "DELETE /users/@me/guilds/:id",
        guild.0,
        path,
    )
}

/// Reads a member of a server.
pub fn member(guild: GuildId, user: UserId) -> Route {
    let path = format!("/guilds/{guild}/members/{user}");
    bot(Method::GET, "GET /guilds/:id/members/:id", guild.0, path)
}

/// Opens the direct messages with a user.
pub fn open_dm() -> Route {
    bot(
        Method::POST,
        "POST /users/@me/channels",
        0,
        "/users/@me/channels".into(),
    )
}

pub fn current_user() -> Route {
    bot(Method::GET, "GET /users/@me", 0, "/users/@me".into())
}

/// The application we are, with its owner.
pub fn current_application() -> Route {
    let path = "/oauth2/applications/@me";
    bot(Method::GET, "GET /oauth2/applications/@me", 0, path.into())
}

pub fn gateway() -> Route {
    bot(Method::GET, "GET /gateway", 0, "/gateway".into())
}

/// Where the gateway is, and how many sessions may still be begun today.
pub fn gateway_bot() -> Route {
    bot(Method::GET, "GET /gateway/bot", 0, "/gateway/bot".into())
}

/// Reads all commands of the application, everywhere or in one server.
pub fn commands(application: u64, guild: Option<GuildId>) -> Route {
    Route {
        method: Method::GET,
        key: RouteKey {
            pattern: "GET /applications/:id/commands",
            major: guild.map_or(application, |guild| guild.0),
        },
        ..put_commands(application, guild)
    }
}

/// Replaces all commands of the application, everywhere or in one server.
pub fn put_commands(application: u64, guild: Option<GuildId>) -> Route {
    match guild {
        None => bot(
            Method::PUT,
            "PUT /applications/:id/commands",
            application,
            format!("/applications/{application}/commands"),
        ),
        Some(guild) => bot(
            Method::PUT,
            "PUT /applications/:id/guilds/:id/commands",
            guild.0,
            format!("/applications/{application}/guilds/{guild}/commands"),
        ),
    }
}

/// The first answer to an interaction, due within 3 s.
pub fn interaction_callback(id: u64, token: &str) -> Route {
    Route {
        method: Method::POST,
        path: format!("/interactions/{id}/{token}/callback"),
        key: RouteKey {
            pattern: "POST /interactions/:id/:token/callback",
            major: id,
        },
        proof: Proof::InteractionToken,
    }
}

/// A further message of an interaction; `with_response` is always on, for we want its id.
pub fn followup(application: u64, interaction: u64, token: &str) -> Route {
    webhook(
        Method::POST,
        "POST /webhooks/:id/:token",
        interaction,
        format!("/webhooks/{application}/{token}"),
    )
}

/// Puts another text in place of an interaction's first answer.
pub fn edit_original(application: u64, interaction: u64, token: &str) -> Route {
    let path = format!("/webhooks/{application}/{token}/messages/@original");
    webhook(
        Method::PATCH,
        "PATCH /webhooks/:id/:token/messages/@original",
        interaction,
        path,
    )
}

/// Reads an interaction's first answer.
pub fn read_original(application: u64, interaction: u64, token: &str) -> Route {
    let path = format!("/webhooks/{application}/{token}/messages/@original");
    webhook(
        Method::GET,
        "GET /webhooks/:id/:token/messages/@original",
        interaction,
        path,
    )
}

/// Deletes an interaction's first answer.
pub fn delete_original(application: u64, interaction: u64, token: &str) -> Route {
    let path = format!("/webhooks/{application}/{token}/messages/@original");
    webhook(
        Method::DELETE,
        "DELETE /webhooks/:id/:token/messages/@original",
        interaction,
        path,
    )
}

fn webhook(method: Method, pattern: &'static str, interaction: u64, path: String) -> Route {
    Route {
        method,
        path,
        key: RouteKey {
            pattern,
            major: interaction,
        },
        proof: Proof::InteractionToken,
    }
}
