//! Which agent a command is for, and which agents the one who gave it sees.

use serenity::all::Member;

use super::call::{Context, bot, channel, guild, parent, person};
use crate::discord::bot::Bot;
use crate::discord::bot::Refusal;
use crate::discord::people;
use crate::domain::{ChannelId, GuildId, Person};
use crate::manager::{Access, AgentSummary, ManagerError};
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
pub(super) async fn agent_here(ctx: Context<'_>) -> Result<Here, Refusal> {
    let bot = bot(ctx);
    let (channel, parent) = (channel(ctx), parent(ctx));
    let agent = bot
        .manager
        .agent_for(channel, parent)
        .ok_or(ManagerError::NoAgentHere)?;
    may_talk(ctx, &agent).await?;
    Ok(Here {
        channel,
        parent,
        agent,
    })
}

/// Refuses who may not talk to an agent.
pub(super) async fn may_talk(ctx: Context<'_>, agent: &AgentSummary) -> Result<(), Refusal> {
    admits(bot(ctx), &person(ctx), agent).await
}

/// [`may_talk`] for whoever is known otherwise than by a command.
pub(super) async fn admits(
    bot: &Bot,
    person: &Person,
    agent: &AgentSummary,
) -> Result<(), Refusal> {
    match bot.manager.access(agent).await {
        access if access.admits(person) => Ok(()),
        Access::Roles(_) => Err(Refusal::new("You have no access to this agent.")),
        Access::Unreadable => Err(Refusal::new(
            "You have no access to this agent: its configuration cannot be read, so only administrators of this server can talk to it.",
        )),
    }
}

/// An agent of this server whose records the person may see ([`Sight::on_record`]).
pub(super) async fn named_on_record(ctx: Context<'_>, name: &str) -> Result<AgentSummary, Refusal> {
    match sight(ctx)? {
        Some(sight) => sight.on_record(name).await,
        None => Err(unknown(name, None)),
    }
}

/// The agents of this server that the person sees and may talk to.
pub(super) async fn reachable_agents(ctx: Context<'_>) -> Result<Vec<AgentSummary>, Refusal> {
    let mut reachable = Vec::new();
    for agent in visible_agents(ctx)? {
        if may_talk(ctx, &agent).await.is_ok() {
            reachable.push(agent);
        }
    }
    Ok(reachable)
}

fn unknown(name: &str, near: Option<&str>) -> Refusal {
    Refusal::from(ManagerError::NoSuchAgent {
        name: text::one_line(name, 60),
        near: near.map(str::to_owned),
    })
}

/// An agent of this server by its name, in a channel that the person sees.
pub(super) fn agent_named(ctx: Context<'_>, name: &str) -> Result<AgentSummary, Refusal> {
    let agents = visible_agents(ctx)?;
    if let Some(agent) = agents.iter().find(|agent| agent.name.as_str() == name) {
        return Ok(agent.clone());
    }
    let near = text::near(name, agents.iter().map(|agent| agent.name.as_str()));
    Err(unknown(name, near))
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

    /// Whether they see what is kept of destroyed agents, whose own access roles are gone: like the audit log, it is for
    /// those who manage the server.
    pub(super) fn covers_destroyed(&self) -> bool {
        self.person().may_manage_server
    }

    /// The agent whose records `word` names: one that they see and may talk to, or a destroyed one.
    pub(super) async fn on_record(&self, word: &str) -> Result<AgentSummary, Refusal> {
        let manager = &self.bot.manager;
        let mut agents = manager.agents(self.guild);
        agents.retain(|agent| self.covers(agent.channel));
        let named =
            |agent: &&AgentSummary| agent.name.as_str() == word || agent.id.to_string() == word;
        if let Some(agent) = agents.iter().find(named) {
            admits(self.bot, &self.person(), agent).await?;
            return Ok(agent.clone());
        }
        if self.covers_destroyed()
            && let Some(agent) = manager.destroyed(self.guild, word).await?
        {
            return Ok(agent);
        }
        let near = text::near(word, agents.iter().map(|agent| agent.name.as_str()));
        Err(unknown(word, near))
    }

    fn person(&self) -> Person {
        people::person_with(self.member, self.member.permissions.unwrap_or_default())
    }
}
