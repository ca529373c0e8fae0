//! Buttons, menus, commands and forms, as a person uses them.

use serde_json::{Value, json};

use super::command::{self, OptionValue};
use super::person::{Person, Refusal};
use crate::guild::{ChannelKind, Message};
use crate::interaction::{Answer, Kind};
use crate::rights::Rights;
use crate::world::World;
use chorus_base::discord_ids::{ChannelId, MessageId, UserId};

impl Person {
    /// Presses a component, identified by its id.
    ///
    /// # Errors
    ///
    /// Fails if they cannot see the message.
    pub fn presses(
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

    /// Runs a command such as `/agent init`, with its options.
    ///
    /// # Errors
    ///
    /// Fails if there is no such command for this person, or its options do not fit.
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

    /// Chooses a message command, such as `Retry`, for a message.
    ///
    /// # Errors
    ///
    /// Fails if they cannot see the message, or there is no such command for them.
    pub fn chooses(
        &self,
        channel: ChannelId,
        message: MessageId,
        command: &str,
    ) -> Result<u64, Refusal> {
        self.discord.change(|world| {
            let shown = visible(world, self.id, channel, message)?;
            let data = command::of_message(world, self.id, channel, &shown, command)?;
            let words = Some(command.to_owned());
            Ok(world.interact(Kind::Command, self.id, channel, None, words, data))
        })
    }

    /// Types into the option `focused` of a command; the bot answers with suggestions.
    ///
    /// # Errors
    ///
    /// Fails like [`Person::runs`], but required options may be missing.
    pub fn types_option(
        &self,
        channel: ChannelId,
        command: &str,
        options: &[(&str, OptionValue)],
        focused: &str,
    ) -> Result<u64, Refusal> {
        if !options.iter().any(|(name, _)| *name == focused) {
            return Err(format!("nothing is typed into {focused}").into());
        }
        self.discord.change(|world| {
            let data = command::data(world, self.id, channel, command, options, Some(focused))?;
            Ok(world.interact(Kind::Autocomplete, self.id, channel, None, None, data))
        })
    }

    /// Submits the form that answered `interaction`, with texts by custom id; fields left out keep their value.
    ///
    /// # Errors
    ///
    /// Fails if the interaction was not answered by a form, or a field is too short or too long.
    pub fn submits(&self, interaction: u64, fields: &[(&str, &str)]) -> Result<u64, Refusal> {
        self.discord.change(|world| {
            let found = world
                .interactions
                .get(&interaction)
                .ok_or("no such interaction")?;
            let Answer::Form(form) = &found.answer else {
                return Err("that interaction was not answered by a form".into());
            };
            let rows = command::filled(form, fields)?;
            let data = json!({"custom_id": form["custom_id"], "components": rows});
            let (channel, message) = (found.channel, found.message);
            Ok(world.interact(Kind::Form, self.id, channel, message, None, data))
        })
    }
}

/// Returns the message, if `user` can see it.
pub(crate) fn visible(
    world: &World,
    user: UserId,
    channel: ChannelId,
    id: MessageId,
) -> Result<Message, Refusal> {
    let message = world
        .message(channel, id)
        .ok_or("there is no such message")?;
    if message.only_for.is_some_and(|owner| owner != user) {
        return Err("only another user can see that message".into());
    }
    let is_direct = world
        .channels
        .get(&channel)
        .is_some_and(|one| one.kind == ChannelKind::Direct);
    if !is_direct && !world.rights(channel, user).contains(Rights::VIEW_CHANNEL) {
        return Err(format!("{} cannot see that channel", world.name_of(user)).into());
    }
    Ok(message.clone())
}
