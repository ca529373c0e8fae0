//! What a person can do in Discord: write, edit, react, press, run commands.
//!
//! A person can do only what Discord would let them: a command must be registered and its options must fit,
//! a button must exist. What cannot be done is an error that says why.

mod command;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

pub use self::command::OptionValue;
use super::guild::{ChannelKind, Message};
use super::interaction::{Answer, Choice, Kind};
use super::rights::Rights;
use super::server::Discord;
use super::world::{Draft, World};
use crate::domain::{ChannelId, MessageId, RoleId, UserId};

/// Somebody at the local Discord.
#[derive(Clone)]
pub struct Person {
    pub(crate) discord: Discord,
    /// Their id.
    pub id: UserId,
    /// Their name.
    pub name: String,
}

/// Why a person could not do something, in a sentence.
pub type Refusal = String;

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

    /// Presses the button that says `label` on a message.
    ///
    /// # Errors
    ///
    /// When there is no such button, or it is greyed out, or they cannot see the message.
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
                return Err(format!("the button `{label}` is greyed out"));
            }
            let data = json!({"custom_id": button.custom_id, "component_type": 2});
            Ok(world.interact(Kind::Component, self.id, channel, Some(message), None, data))
        })
    }

    /// Presses a component by its id, as the page does.
    ///
    /// # Errors
    ///
    /// When they cannot see the message.
    pub(crate) fn presses(
        &self,
        channel: ChannelId,
        message: MessageId,
        data: Value,
    ) -> Result<u64, Refusal> {
        self.discord.change(|world| {
            visible(world, self.id, channel, message)?;
            Ok(world.interact(Kind::Component, self.id, channel, Some(message), None, data))
        })
    }

    /// Chooses values in the select menu with `custom_id` on a message.
    ///
    /// # Errors
    ///
    /// When there is no such menu or a value is not among its options.
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
                return Err(format!("the menu `{custom_id}` does not offer `{unknown}`"));
            }
            let kind = menu["type"].clone();
            let data = json!({"custom_id": custom_id, "component_type": kind, "values": values});
            Ok(world.interact(Kind::Component, self.id, channel, Some(message), None, data))
        })
    }

    /// Runs a command such as `/agent init`, with its options.
    ///
    /// # Errors
    ///
    /// When there is no such command for this person, or its options do not fit.
    pub fn runs(
        &self,
        channel: ChannelId,
        command: &str,
        options: &[(&str, OptionValue)],
    ) -> Result<u64, Refusal> {
        self.discord.change(|world| {
            let data = command::data(world, self.id, channel, command, options, None)?;
            let words = Some(command.to_owned());
            Ok(world.interact(Kind::Command, self.id, channel, None, words, data))
        })
    }

    /// Types into the option `focused` of a command; the suggestions come by [`Person::choices`].
    ///
    /// # Errors
    ///
    /// As for [`Person::runs`], but required options may be missing.
    pub fn types_option(
        &self,
        channel: ChannelId,
        command: &str,
        options: &[(&str, OptionValue)],
        focused: &str,
    ) -> Result<u64, Refusal> {
        if !options.iter().any(|(name, _)| *name == focused) {
            return Err(format!("nothing is typed into {focused}"));
        }
        self.discord.change(|world| {
            let data = command::data(world, self.id, channel, command, options, Some(focused))?;
            Ok(world.interact(Kind::Autocomplete, self.id, channel, None, None, data))
        })
    }

    /// Sends the form that answered `interaction`, with texts by custom id; fields left out keep their value.
    ///
    /// # Errors
    ///
    /// When the interaction was not answered by a form, or a field is too short or too long.
    pub fn submits(&self, interaction: u64, fields: &[(&str, &str)]) -> Result<u64, Refusal> {
        self.discord.change(|world| {
            let found = world
                .interactions
                .get(&interaction)
                .ok_or("no such interaction")?;
            let Answer::Form(form) = &found.answer else {
                return Err("that was not answered by a form".to_owned());
            };
            let rows = command::filled(form, fields)?;
            let data = json!({"custom_id": form["custom_id"], "components": rows});
            let (channel, message) = (found.channel, found.message);
            Ok(world.interact(Kind::Form, self.id, channel, message, None, data))
        })
    }

    /// Gives this person a role by name in every server they are in; it is made when it is missing.
    pub fn gets_role(&self, name: &str, rights: Rights) -> RoleId {
        self.discord.change(|world| {
            let guilds: Vec<_> = world.guilds.keys().copied().collect();
            let mut given = RoleId(0);
            for id in guilds {
                given = world.role(id, name, rights);
                if let Some(member) = world
                    .guilds
                    .get_mut(&id)
                    .and_then(|guild| guild.members.get_mut(&self.id))
                    && !member.roles.contains(&given)
                {
                    member.roles.push(given);
                }
                world.member_event(id, self.id);
            }
            given
        })
    }

    /// Takes a role from this person in every server.
    pub fn loses_role(&self, name: &str) {
        self.discord.change(|world| {
            let guilds: Vec<_> = world.guilds.keys().copied().collect();
            for id in guilds {
                if let Some(guild) = world.guilds.get_mut(&id) {
                    let role = guild
                        .roles
                        .iter()
                        .find(|role| role.name == name)
                        .map(|role| role.id);
                    if let Some(member) = guild.members.get_mut(&self.id) {
                        member.roles.retain(|held| Some(*held) != role);
                    }
                }
                world.member_event(id, self.id);
            }
        });
    }

    /// Has a name of its own in every server.
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

    /// Refuses direct messages from the bot from now on.
    pub fn closes_direct_messages(&self) {
        self.discord.change(|world| {
            if let Some(user) = world.users.get_mut(&self.id) {
                user.closed_to_direct_messages = true;
            }
        });
    }

    /// Their conversation with the bot.
    pub fn direct_messages(&self) -> ChannelId {
        self.discord.change(|world| world.direct(self.id))
    }

    /// Waits for the suggestions that an autocomplete interaction gets.
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

/// The message, if `user` can see it.
fn visible(
    world: &World,
    user: UserId,
    channel: ChannelId,
    id: MessageId,
) -> Result<Message, Refusal> {
    let message = world
        .message(channel, id)
        .ok_or("there is no such message")?;
    if message.only_for.is_some_and(|owner| owner != user) {
        return Err("only somebody else can see that message".to_owned());
    }
    let is_direct = world
        .channels
        .get(&channel)
        .is_some_and(|one| one.kind == ChannelKind::Direct);
    if !is_direct && !world.rights(channel, user).contains(Rights::VIEW_CHANNEL) {
        return Err(format!("{} cannot see that channel", world.name_of(user)));
    }
    Ok(message.clone())
}
