//! Reactions on messages: added and removed, with their events.

use serde_json::json;

use crate::guild::Reaction;
use crate::wire;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, MessageId, UserId};

impl World {
    /// Adds this person's reaction, or removes it.
    pub(crate) fn toggle_reaction(
        &mut self,
        channel: ChannelId,
        id: MessageId,
        user: UserId,
        emoji: &str,
    ) {
        let has = self.message(channel, id).is_some_and(|message| {
            message
                .reactions
                .iter()
                .any(|one| one.emoji == emoji && one.by.contains(&user))
        });
        if has {
            self.unreact(channel, id, user, emoji);
        } else {
            self.react(channel, id, user, emoji);
        }
    }

    pub(crate) fn react(&mut self, channel: ChannelId, id: MessageId, user: UserId, emoji: &str) {
        let Some(message) = self.message_mut(channel, id) else {
            return;
        };
        match message
            .reactions
            .iter_mut()
            .find(|reaction| reaction.emoji == emoji)
        {
            Some(reaction) if reaction.by.contains(&user) => return,
            Some(reaction) => reaction.by.push(user),
            None => message.reactions.push(Reaction {
                emoji: emoji.to_owned(),
                by: vec![user],
            }),
        }
        self.reaction_event("MESSAGE_REACTION_ADD", channel, id, user, emoji);
    }

    pub(crate) fn unreact(&mut self, channel: ChannelId, id: MessageId, user: UserId, emoji: &str) {
        let Some(message) = self.message_mut(channel, id) else {
            return;
        };
        for reaction in &mut message.reactions {
            if reaction.emoji == emoji {
                reaction.by.retain(|one| *one != user);
            }
        }
        message.reactions.retain(|reaction| !reaction.by.is_empty());
        self.reaction_event("MESSAGE_REACTION_REMOVE", channel, id, user, emoji);
    }

    fn reaction_event(
        &mut self,
        name: &'static str,
        channel: ChannelId,
        id: MessageId,
        user: UserId,
        emoji: &str,
    ) {
        let mut data = json!({
            "user_id": user.to_string(),
            "channel_id": channel.to_string(),
            "message_id": id.to_string(),
            "emoji": wire::emoji(emoji),
            "burst": false,
            "type": 0,
        });
        if let Some(guild) = self.guild_of(channel) {
            data["guild_id"] = json!(guild.id.to_string());
        }
        if let Some(message) = self.message(channel, id) {
            let shown = wire::message_event(self, message);
            self.tell(message.only_for, json!({"t": "MESSAGE_UPDATE", "d": shown}));
        }
        self.dispatch(name, data);
    }
}
