//! Actions of people in tests that are missing on the page, or differ there.

use chrono::{DateTime, Utc};
use serde_json::json;

use crate::guild::Draft;
use crate::interaction::{Answer, Choice, Kind};
use crate::people::{Person, Refusal, visible};
use crate::wire;
use chorus_base::discord_ids::{ChannelId, MessageId};

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

    /// Writes a message with a time in the past.
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

    /// Archives a thread; writing in it opens it again, unless it is locked.
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

    /// Renames a channel.
    pub fn renames_channel(&self, channel: ChannelId, name: &str) {
        self.discord.change(|world| {
            if let Some(found) = world.channels.get_mut(&channel) {
                name.clone_into(&mut found.name);
            }
            world.channel_event("CHANNEL_UPDATE", channel);
        });
    }

    /// Sets their nickname in every server.
    pub fn is_called(&self, nick: &str) {
        self.discord.change(|world| {
            let guilds: Vec<_> = world.guilds.keys().copied().collect();
            for id in guilds {
                if let Some(member) = world
                    .guilds
                    .get_mut(&id)
                    .and_then(|guild| guild.members.get_mut(&self.id))
                {
                    member.nick = Some(nick.to_owned());
                }
                world.member_event(id, self.id);
            }
        });
    }

    /// Leaves every server.
    pub fn leaves(&self) {
        self.discord.change(|world| {
            let guilds: Vec<_> = world.guilds.keys().copied().collect();
            for id in guilds {
                let member = world
                    .guilds
                    .get_mut(&id)
                    .and_then(|guild| guild.members.remove(&self.id));
                if member.is_some() {
                    let user = wire::user_by_id(world, self.id);
                    let data = json!({"guild_id": id.to_string(), "user": user});
                    world.dispatch("GUILD_MEMBER_REMOVE", data);
                }
            }
        });
    }

    /// Refuses direct messages from the bot from now on.
    pub fn closes_direct_messages(&self) {
        self.discord.change(|world| {
            if let Some(user) = world.users.get_mut(&self.id) {
                user.closed_to_direct_messages = true;
            }
        });
    }

    /// Presses the button that says `label` on a message.
    ///
    /// # Errors
    ///
    /// Fails if there is no such button, if it is disabled, or if they cannot see the message.
    pub fn clicks(
        &self,
        channel: ChannelId,
        message: MessageId,
        label: &str,
    ) -> Result<u64, Refusal> {
        self.discord.change(|world| {
            let shown = visible(world, self.id, channel, message)?;
            let button = shown
                .buttons()
                .into_iter()
                .find(|button| button.label == label);
            let button = button.ok_or_else(|| {
                let there: Vec<String> = shown.buttons().into_iter().map(|b| b.label).collect();
                format!(
                    "there is no button `{label}`; there are: {}",
                    there.join(", ")
                )
            })?;
            if button.is_disabled {
                return Err(format!("the button `{label}` is greyed out").into());
            }
            let data = json!({"custom_id": button.custom_id, "component_type": 2});
            Ok(world.interact(Kind::Component, self.id, channel, Some(message), None, data))
        })
    }

    /// Chooses values in the select menu with `custom_id` on a message.
    ///
    /// # Errors
    ///
    /// Fails if there is no such menu, or a value is not among its options.
    pub fn selects(
        &self,
        channel: ChannelId,
        message: MessageId,
        custom_id: &str,
        values: &[&str],
    ) -> Result<u64, Refusal> {
        self.discord.change(|world| {
            let shown = visible(world, self.id, channel, message)?;
            let menus = shown.selects();
            let menu = menus.iter().find(|menu| menu["custom_id"] == custom_id);
            let menu = menu.ok_or_else(|| format!("there is no menu `{custom_id}`"))?;
            let offered = menu["options"].as_array();
            let unknown = values.iter().find(|value| {
                offered.is_some_and(|all| all.iter().all(|option| option["value"] != **value))
            });
            if let Some(unknown) = unknown {
                return Err(format!("the menu `{custom_id}` does not offer `{unknown}`").into());
            }
            let kind = menu["type"].clone();
            let data = json!({"custom_id": custom_id, "component_type": kind, "values": values});
            Ok(world.interact(Kind::Component, self.id, channel, Some(message), None, data))
        })
    }

    /// Waits for the suggestions for an autocomplete interaction.
    pub async fn choices(&self, interaction: u64) -> Vec<Choice> {
        self.discord
            .wait_for(|discord| match discord.answer_to(interaction) {
                Answer::Choices(choices) => Some(choices),
                Answer::Nothing
                | Answer::Thinking(_)
                | Answer::Message(_)
                | Answer::Acknowledged
                | Answer::Updated(_)
                | Answer::Form(_) => None,
            })
            .await
    }
}
