//! Reports changes to the pages, and to the bot through its gateway.

use serde_json::{Value, json};

use crate::guild::Guild;
use crate::rights::Rights;
use crate::wire;
use crate::world::{News, World};
use chorus_base::discord_ids::{ChannelId, GuildId, MessageId, UserId};

impl World {
    /// Tells the bot and the pages that a message is new or has changed.
    pub(crate) fn message_event(&mut self, name: &'static str, channel: ChannelId, id: MessageId) {
        let Some(message) = self.message(channel, id) else {
            return;
        };
        let only_for = message.only_for;
        let data = wire::message_event(self, message);
        self.tell(only_for, json!({"t": name, "d": data}));
        if only_for.is_none() {
            self.dispatch(name, data);
        }
    }

    /// Tells the bot and the pages about a channel.
    pub(crate) fn channel_event(&mut self, name: &'static str, id: ChannelId) {
        let Some(channel) = self.channels.get(&id) else {
            return;
        };
        let data = wire::channel(self, channel);
        self.tell(None, json!({"t": name, "d": data}));
        self.dispatch(name, data);
    }

    /// Tells the bot and the pages that a member has changed.
    pub(crate) fn member_event(&mut self, guild: GuildId, user: UserId) {
        let Some(member) = self
            .guilds
            .get(&guild)
            .and_then(|guild| guild.members.get(&user))
        else {
            return;
        };
        let mut data = wire::member(self, user, member);
        data["guild_id"] = json!(guild.to_string());
        self.tell(None, json!({"t": "reload"}));
        self.dispatch("GUILD_MEMBER_UPDATE", data);
    }

    /// Tells the pages, or the pages of one person.
    pub(crate) fn tell(&self, only_for: Option<UserId>, body: Value) {
        // It is fine if no page is open.
        let _ = self.news.send(News { only_for, body });
    }

    /// Returns an event, or a message of that shape, as it is sent.
    #[cfg(not(feature = "testing"))]
    pub(crate) fn altered(&self, _name: &str, data: Value) -> Value {
        data
    }

    /// Sends an event to every session of the bot that subscribed to its kind.
    pub(crate) fn dispatch(&mut self, name: &str, data: Value) {
        let data = self.altered(name, data);
        #[cfg(feature = "testing")]
        let Some(data) = self.gateway.orders.passes(name, data) else {
            return;
        };
        if is_visible(self, &data) {
            self.gateway.send(name, &data, self.bot);
        }
    }
}

/// Returns whether the bot may see the channel that an event is about.
fn is_visible(world: &World, data: &Value) -> bool {
    let channel = data["channel_id"]
        .as_str()
        .and_then(|id| id.parse::<u64>().ok());
    let Some(channel) = channel.map(ChannelId) else {
        return true;
    };
    let is_outside = |guild: &Guild| !guild.holds(world.bot);
    if world.guild_of(channel).is_some_and(is_outside) {
        return false;
    }
    if !world.channels.contains_key(&channel) || data.get("token").is_some() {
        return true;
    }
    world
        .rights(channel, world.bot)
        .contains(Rights::VIEW_CHANNEL)
}
