//! Which agent a command is for, and which agents the one who gave it sees.

use serenity::all::Member;

use super::call::{Context, bot, channel, guild, parent, person};
use crate::discord::access;
use crate::discord::bot::Bot;
use crate::discord::refusal::Refusal;
use crate::domain::{ChannelId, GuildId};
use crate::manager::{AgentSummary, ManagerError};
use crate::text;

/// Where a command was given and whose channel that is.
pub(super) struct Here {
    /// The channel, or a thread under an agent's channel.
    pub(super) channel: ChannelId,
    /// The channel above, when it is a thread.
    pub(super) parent: Option<ChannelId>,
    pub(super) agent: AgentSummary,
}

/// The agent that a command is for, once it is clear that the person may talk to it.
pub(super) fn agent_here(ctx: Context<'_>) -> Result<Here, Refusal> {
    let bot = bot(ctx);
    let (channel, parent) = (channel(ctx), parent(ctx));
    let agent = bot
        .manager
        .agent_for(channel, parent)
        .ok_or(ManagerError::NoAgentHere)?;
    if !access::may_talk(&person(ctx), &bot.access_roles(&agent)) {
        return Err(Refusal::new("You have no access to this agent."));
    }
    Ok(Here {
        channel,
        parent,
        agent,
    })
}

/// An agent of this server by its name, in a channel that the person sees.
pub(super) fn agent_named(ctx: Context<'_>, name: &str) -> Result<AgentSummary, Refusal> {
    let agents = visible_agents(ctx)?;
    if let Some(agent) = agents.iter().find(|agent| agent.name.as_str() == name) {
        return Ok(agent.clone());
    }
    let near = text::near(name, agents.iter().map(|agent| agent.name.as_str()));
    Err(Refusal::from(ManagerError::NoSuchAgent {
        name: name.to_owned(),
        near: near.map(str::to_owned),
    }))
}

/// The agents of this server whose channels the person sees; those who manage channels see all.
pub(super) fn visible_agents(ctx: Context<'_>) -> Result<Vec<AgentSummary>, Refusal> {
    let guild = guild(ctx)?;
    let Some(sight) = sight(ctx)? else {
        return Ok(Vec::new());
    };
    let mut agents = bot(ctx).manager.agents(guild);
    agents.retain(|agent| sight.covers(agent.channel));
    Ok(agents)
}

/// What the one who gave a command sees; none outside a server.
pub(super) fn sight(ctx: Context<'_>) -> Result<Option<Sight<'_>>, Refusal> {
    let guild = guild(ctx)?;
    let member = ctx.interaction.member.as_deref();
    Ok(member.map(|member| Sight::new(bot(ctx), guild, member)))
}

/// What a member sees of a server's agents.
pub(in crate::discord) struct Sight<'a> {
    bot: &'a Bot,
    pub(super) guild: GuildId,
    member: &'a Member,
}

impl<'a> Sight<'a> {
    pub(in crate::discord) const fn new(bot: &'a Bot, guild: GuildId, member: &'a Member) -> Self {
        Self { bot, guild, member }
    }

    /// Whether they see all there is: those who manage channels do.
    pub(super) fn covers_all(&self) -> bool {
        let rights = self.member.permissions.unwrap_or_default();
        rights.administrator() || rights.manage_channels()
    }

    /// Whether they see the agent that lives, or lived, in this channel.
    pub(super) fn covers(&self, channel: Option<ChannelId>) -> bool {
        let is_seen = |channel| self.bot.sees(self.guild, channel, self.member);
        self.covers_all() || channel.is_some_and(is_seen)
    }

    /// Whether they see the agent of this name.
    pub(super) fn covers_named(&self, name: &str) -> bool {
        let agents = self.bot.manager.agents(self.guild);
        let found = agents.iter().find(|agent| agent.name.as_str() == name);
        found.is_some_and(|agent| self.covers(agent.channel))
    }
}
