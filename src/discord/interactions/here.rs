//! The person who gives a command, presses a button or submits a form, with the channel and the channel's agent.

use serenity::all::{ComponentInteraction, Member, ModalInteraction};

use super::commands::call::{admits, who};
use crate::discord::bot::{Bot, Refusal};
use crate::domain::{ChannelId, Inbound, MessageId, Person};
use crate::manager::{AgentSummary, ManagerError};

/// A person who may talk to the agent of the channel they are in.
pub(super) struct Here {
    pub(super) person: Person,
    /// The channel, or a thread under an agent's channel.
    pub(super) channel: ChannelId,
    /// The channel above, if it is a thread.
    pub(super) parent: Option<ChannelId>,
    pub(super) agent: AgentSummary,
}

impl Here {
    /// Returns the person who pressed a button.
    pub(super) async fn of_press(bot: &Bot, press: &ComponentInteraction) -> Result<Self, Refusal> {
        let channel = ChannelId(press.channel_id.get());
        Self::of_member(bot, press.guild_id, press.member.as_ref(), channel).await
    }

    /// Returns the person who sent a form.
    pub(super) async fn of_form(bot: &Bot, form: &ModalInteraction) -> Result<Self, Refusal> {
        let channel = ChannelId(form.channel_id.get());
        Self::of_member(bot, form.guild_id, form.member.as_ref(), channel).await
    }

    async fn of_member(
        bot: &Bot,
        guild: Option<serenity::all::GuildId>,
        member: Option<&Member>,
        channel: ChannelId,
    ) -> Result<Self, Refusal> {
        let (guild, person) =
            who(guild, member).ok_or_else(|| Refusal::new("Buttons work only in a server."))?;
        let parent = bot.parent_of(guild, channel);
        Self::of(bot, person, channel, parent).await
    }

    /// Returns `person` in this channel, if they may talk to its agent.
    pub(super) async fn of(
        bot: &Bot,
        person: Person,
        channel: ChannelId,
        parent: Option<ChannelId>,
    ) -> Result<Self, Refusal> {
        let agent = bot
            .manager
            .directory
            .agent_for(channel, parent)
            .ok_or(ManagerError::NoAgentHere)?;
        admits(bot, &person, &agent).await?;
        Ok(Self {
            person,
            channel,
            parent,
            agent,
        })
    }

    /// Returns the same person in the agent's own channel.
    #[must_use]
    pub(super) fn at_the_agent(mut self) -> Self {
        self.channel = self.agent.channel.unwrap_or(self.channel);
        self.parent = None;
        self
    }

    /// Returns `words` as a message of this person. Its id is that of `shown`, the message that was posted to show
    /// them.
    pub(super) fn says(self, shown: MessageId, words: impl Into<String>) -> Inbound {
        Inbound {
            id: shown,
            channel_id: self.channel,
            guild_id: self.agent.guild,
            parent_id: self.parent,
            author: self.person,
            content: words.into(),
            attachments: Vec::new(),
            reply_to: None,
            quote: None,
            sent_at: shown.sent_at(),
            via: None,
            is_from_webhook: false,
            is_from_bot: false,
        }
    }
}
