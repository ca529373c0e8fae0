//! The table of the REST routes we use: method, path, and the key for counting its rate limit.

use reqwest::Method;

use super::limits::RouteKey;
use crate::domain::{ChannelId, GuildId, MessageId, UserId};

/// One route with its ids filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub method: Method,
    /// Path under `/api/v10`.
    pub path: String,
    /// The key for counting its limit.
    pub key: RouteKey,
}

/// Creates a function for each route: `name(ids) = METHOD "path", counted by` the channel, server or webhook that
/// Discord counts its limit for, 0 if it counts for the whole bot.
macro_rules! routes {
    ($($(#[$doc:meta])* $name:ident($($id:ident: $kind:ty),*) = $method:ident $path:literal, counted by $major:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name($($id: $kind),*) -> Route {
            Route {
                method: Method::$method,
                path: format!($path),
                key: RouteKey {
                    pattern: concat!(stringify!($method), " ", $path),
                    major: $major,
                },
            }
        }
    )*};
}

routes! {
    create_message(channel: ChannelId) = POST "/channels/{channel}/messages", counted by channel.0;
    /// Edits one of the bot's messages.
    edit_message(channel: ChannelId, message: MessageId) = PATCH "/channels/{channel}/messages/{message}", counted by channel.0;
    delete_message(channel: ChannelId, message: MessageId) = DELETE "/channels/{channel}/messages/{message}", counted by channel.0;
    /// Deletes 2 to 100 messages younger than two weeks.
    delete_messages(channel: ChannelId) = POST "/channels/{channel}/messages/bulk-delete", counted by channel.0;
    /// Reads messages: `query` is `after=…&limit=…` or `before=…&limit=…`.
    messages(channel: ChannelId, query: &str) = GET "/channels/{channel}/messages?{query}", counted by channel.0;
    /// Reads one message.
    message(channel: ChannelId, message: MessageId) = GET "/channels/{channel}/messages/{message}", counted by channel.0;
    /// Shows the bot as typing, for ten seconds.
    typing(channel: ChannelId) = POST "/channels/{channel}/typing", counted by channel.0;
    /// Adds the bot's reaction to a message. `emoji` is one Unicode emoji.
    react(channel: ChannelId, message: MessageId, emoji: &str) = PUT "/channels/{channel}/messages/{message}/reactions/{emoji}/@me", counted by channel.0;

    channel(channel: ChannelId) = GET "/channels/{channel}", counted by channel.0;
    /// Changes a channel's name or topic.
    edit_channel(channel: ChannelId) = PATCH "/channels/{channel}", counted by channel.0;
    /// Opens a thread below a channel that does not start from a message.
    create_thread(channel: ChannelId) = POST "/channels/{channel}/threads", counted by channel.0;
    delete_channel(channel: ChannelId) = DELETE "/channels/{channel}", counted by channel.0;

    /// Reads the channels of a server.
    guild_channels(guild: GuildId) = GET "/guilds/{guild}/channels", counted by guild.0;
    /// Creates a channel in a server.
    create_channel(guild: GuildId) = POST "/guilds/{guild}/channels", counted by guild.0;
    /// Reads a member of a server.
    member(guild: GuildId, user: UserId) = GET "/guilds/{guild}/members/{user}", counted by guild.0;
    leave_guild(guild: GuildId) = DELETE "/users/@me/guilds/{guild}", counted by guild.0;

    current_user() = GET "/users/@me", counted by 0;
    /// Opens the direct messages with a user.
    open_dm() = POST "/users/@me/channels", counted by 0;
    /// Reads the bot's application, with its owner.
    current_application() = GET "/oauth2/applications/@me", counted by 0;
    gateway() = GET "/gateway", counted by 0;
    /// Reads the gateway's address, and how many sessions may still be begun today.
    gateway_bot() = GET "/gateway/bot", counted by 0;

    /// Reads the commands that the application has everywhere.
    global_commands(application: u64) = GET "/applications/{application}/commands", counted by application;
    /// Replaces the commands that the application has everywhere.
    put_global_commands(application: u64) = PUT "/applications/{application}/commands", counted by application;
    /// Reads the commands that the application has in one server.
    guild_commands(application: u64, guild: GuildId) = GET "/applications/{application}/guilds/{guild}/commands", counted by guild.0;
    /// Replaces the commands that the application has in one server.
    put_guild_commands(application: u64, guild: GuildId) = PUT "/applications/{application}/guilds/{guild}/commands", counted by guild.0;

    /// Gives the first answer to an interaction, due within 3 s.
    interaction_callback(interaction: u64, token: &str) = POST "/interactions/{interaction}/{token}/callback", counted by interaction;
    /// Posts a further message of an interaction.
    followup(application: u64, interaction: u64, token: &str) = POST "/webhooks/{application}/{token}", counted by interaction;
    /// Reads an interaction's first answer.
    read_original(application: u64, interaction: u64, token: &str) = GET "/webhooks/{application}/{token}/messages/@original", counted by interaction;
    /// Edits an interaction's first answer.
    edit_original(application: u64, interaction: u64, token: &str) = PATCH "/webhooks/{application}/{token}/messages/@original", counted by interaction;
    /// Deletes an interaction's first answer.
    delete_original(application: u64, interaction: u64, token: &str) = DELETE "/webhooks/{application}/{token}/messages/@original", counted by interaction;
}

/// Reads all commands of the application, everywhere or in one server.
pub fn commands(application: u64, guild: Option<GuildId>) -> Route {
    match guild {
        None => global_commands(application),
        Some(guild) => guild_commands(application, guild),
    }
}

/// Replaces all commands of the application, everywhere or in one server.
pub fn put_commands(application: u64, guild: Option<GuildId>) -> Route {
    match guild {
        None => put_global_commands(application),
        Some(guild) => put_guild_commands(application, guild),
    }
}
