//! Messages: typing, posted, changed and deleted.

use chrono::{DateTime, Utc};
use serde_json::json;

use super::pings;
use crate::guild::{Draft, Message};
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, MessageId, UserId, first_at};

impl World {
    /// Shows that a user is typing; clients show it for ten seconds or until the message.
    pub(crate) fn begin_typing(&mut self, channel: ChannelId, user: UserId) {
        #[cfg(feature = "testing")]
        if user == self.bot {
            self.typed.push(channel);
        }
        let mut data = json!({
            "channel_id": channel.to_string(),
            "user_id": user.to_string(),
            "timestamp": Utc::now().timestamp(),
        });
        if let Some(guild) = self
            .channels
            .get(&channel)
            .and_then(|channel| channel.guild)
        {
            data["guild_id"] = json!(guild.to_string());
        }
        self.tell(None, json!({"t": "TYPING_START", "d": data.clone()}));
        self.dispatch("TYPING_START", data);
    }

    /// Posts a message and tells everyone who may see it.
    pub(crate) fn post(&mut self, channel: ChannelId, author: UserId, draft: Draft) -> MessageId {
        let id = match draft.at {
            Some(at) => MessageId(self.id_at(at)),
            None => MessageId(self.next_id()),
        };
        let replied = draft
            .reply_to
            .and_then(|id| self.messages.get(&channel)?.get(&id))
            .map(|message| message.author);
        let pings = pings::of(self, &draft, replied);
        let (interaction, command) = match draft.interaction {
            Some((id, user, command)) => (Some((id, user)), command),
            None => (None, None),
        };
        let kind = if draft.reply_to.is_some() {
            19
        } else if command.is_some() {
            20
        } else {
            0
        };
        let message = Message {
            id,
            channel,
            author,
            author_name: self.name_of(author),
            content: draft.content,
            embeds: draft.embeds,
            components: draft.components,
            attachments: draft.attachments,
            reply_to: draft.reply_to,
            reactions: Vec::new(),
            flags: draft.flags,
            edited: None,
            only_for: draft.only_for,
            pings,
            command,
            thread: None,
            edits: 0,
            kind,
            nonce: draft.nonce,
            interaction,
        };
        let is_ephemeral = message.only_for.is_some();
        self.messages
            .entry(channel)
            .or_default()
            .insert(id, message);
        if let Some(place) = self.channels.get_mut(&channel)
            && !is_ephemeral
        {
            place.last_message = place.last_message.max(Some(id));
        }
        self.message_event("MESSAGE_CREATE", channel, id);
        id
    }

    /// Applies `change` to a message, marks it edited and tells everyone.
    pub(crate) fn edit(
        &mut self,
        channel: ChannelId,
        id: MessageId,
        change: impl FnOnce(&mut Message),
    ) {
        let Some(message) = self.message_mut(channel, id) else {
            return;
        };
        change(message);
        message.edited = Some(Utc::now());
        message.edits += 1;
        self.message_event("MESSAGE_UPDATE", channel, id);
    }

    /// Deletes a message.
    pub(crate) fn delete(&mut self, channel: ChannelId, id: MessageId) {
        let Some(message) = self
            .messages
            .get_mut(&channel)
            .and_then(|all| all.remove(&id))
        else {
            return;
        };
        let guild = self
            .channels
            .get(&channel)
            .and_then(|channel| channel.guild);
        let mut data = json!({"id": id.to_string(), "channel_id": channel.to_string()});
        if let Some(guild) = guild {
            data["guild_id"] = json!(guild.to_string());
        }
        self.tell(message.only_for, json!({"t": "MESSAGE_DELETE", "d": data}));
        if message.only_for.is_none() {
            self.dispatch("MESSAGE_DELETE", data);
        }
    }

    fn id_at(&mut self, at: DateTime<Utc>) -> u64 {
        let step = self.next_id() & 0x3f_ffff;
        first_at(at) | step
    }
}
