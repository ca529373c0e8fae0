//! Buttons, menus, commands and forms, as a person uses them.

use serde_json::{Value, json};

use super::command::{self, OptionValue};
use super::person::{Person, Refusal};
use crate::guild::{ChannelKind, Message};
use crate::interaction::{Answer, Choice, Kind};
use crate::rights::Rights;
use crate::world::World;
use chorus_ids::{ChannelId, MessageId, UserId};

impl Person {
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
