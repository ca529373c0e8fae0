//! Messages, reactions and threads of a person.

use chrono::{DateTime, Utc};

use super::person::Person;
use crate::guild::{ChannelKind, Draft};
use chorus_ids::{ChannelId, MessageId};

impl Person {
    /// Writes a message.
    pub fn says(&self, channel: ChannelId, text: &str) -> MessageId {
        self.posts(
            channel,
            Draft {
                content: text.to_owned(),
                ..Draft::default()
            },
        )
    }

    /// Writes a message that replies to another.
    pub fn replies(&self, channel: ChannelId, to: MessageId, text: &str) -> MessageId {
        self.posts(
            channel,
            Draft {
                content: text.to_owned(),
                reply_to: Some(to),
                ..Draft::default()
            },
        )
    }

    /// Writes a message with files: pairs of name and content.
    pub fn uploads(&self, channel: ChannelId, text: &str, files: &[(&str, &[u8])]) -> MessageId {
        let attachments = self.discord.change(|world| {
            files
                .iter()
                .map(|(name, bytes)| world.store_file(name, None, bytes.to_vec().into()))
                .collect()
        });
        self.posts(
            channel,
            Draft {
                content: text.to_owned(),
                attachments,
                ..Draft::default()
            },
        )
    }

    /// Wrote a message at some time before.
    pub fn said_at(&self, channel: ChannelId, text: &str, at: DateTime<Utc>) -> MessageId {
        self.posts(
            channel,
            Draft {
                content: text.to_owned(),
                at: Some(at),
                ..Draft::default()
            },
        )
    }

    fn posts(&self, channel: ChannelId, draft: Draft) -> MessageId {
        self.discord.change(|world| {
            world.unarchive(channel);
            world.post(channel, self.id, draft)
        })
    }

    /// Changes the text of a message of theirs.
    pub fn edits(&self, channel: ChannelId, message: MessageId, text: &str) {
        self.discord.change(|world| {
            world.edit(channel, message, |message| {
                text.clone_into(&mut message.content)
            });
        });
    }

    /// Deletes a message.
    pub fn deletes(&self, channel: ChannelId, message: MessageId) {
        self.discord.change(|world| world.delete(channel, message));
    }

    /// Begins to write.
    pub fn types(&self, channel: ChannelId) {
        self.discord
            .change(|world| world.begin_typing(channel, self.id));
    }

    /// Reacts to a message, or takes the reaction back.
    pub fn reacts(&self, channel: ChannelId, message: MessageId, emoji: &str) {
        self.discord
            .change(|world| world.toggle_reaction(channel, message, self.id, emoji));
    }

    /// Opens a thread under a channel, on a message or without one.
    pub fn opens_thread(&self, parent: ChannelId, on: Option<MessageId>, name: &str) -> ChannelId {
        self.discord
            .change(|world| world.add_thread(parent, on, name, ChannelKind::PublicThread, self.id))
    }

    /// Archives a thread; who writes in it opens it again, unless it is locked.
    pub fn archives(&self, thread: ChannelId, locked: bool) {
        self.discord.change(|world| {
            let state = world.channels.get_mut(&thread);
            if let Some(state) = state.and_then(|found| found.thread.as_mut()) {
                state.archived = true;
                state.locked = locked;
            }
            world.channel_event("THREAD_UPDATE", thread);
        });
    }

    /// Deletes a channel or a thread.
    pub fn deletes_channel(&self, channel: ChannelId) {
        self.discord.change(|world| world.remove_channel(channel));
    }

    /// Gives a channel another name.
    pub fn renames_channel(&self, channel: ChannelId, name: &str) {
        self.discord.change(|world| {
            if let Some(found) = world.channels.get_mut(&channel) {
                name.clone_into(&mut found.name);
            }
            world.channel_event("CHANNEL_UPDATE", channel);
        });
    }
}
