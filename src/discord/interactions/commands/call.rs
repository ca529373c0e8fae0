//! A command's context: its user, its place, its agent, the user's rights, and how to answer.

use serenity::all::{ChannelType, ComponentInteraction, Member, Permissions};
use tracing::Instrument as _;

use crate::discord::bot::Bot;
use crate::discord::bot::servers::OPERATOR_ONLY;
use crate::discord::interactions::here::Here;
use crate::discord::people;
use crate::discord::rest::body::Body;
use crate::domain::{ChannelId, GuildId, Person, UserId};
use crate::manager::{Access, AgentSummary, ManagerError};
use crate::text;

pub(super) use crate::discord::bot::Refusal;
pub(super) use crate::discord::interactions::responder::HEARD_WITHIN;
pub(super) use crate::discord::interactions::{Responder, Visibility};

/// The context of a command.
pub(super) type Context<'a> = poise::ApplicationContext<'a, Bot, Refusal>;

/// Answers a command with the result of `work`; only the person who asked sees a refusal.
pub(super) async fn answer(
    ctx: Context<'_>,
    visibility: Visibility,
    work: impl Future<Output = Result<Body, Refusal>> + Send,
) -> Result<(), Refusal> {
    let span = tracing::info_span!("command", command = %ctx.command().qualified_name);
    // A failed answer was logged where it failed; there is no one else to notify.
    let _ = responder(ctx)
        .answer(visibility, work)
        .instrument(span)
        .await;
    Ok(())
}

/// Answers the person who gave a command.
pub(super) fn responder(ctx: Context<'_>) -> Responder {
    let interaction = ctx.interaction;
    Responder::new(
        bot(ctx),
        interaction.guild_id,
        interaction.id.get(),
        &interaction.token,
    )
    .in_channel(channel(ctx))
}

/// Returns the state that all commands share.
pub(super) fn bot<'a>(ctx: Context<'a>) -> &'a Bot {
    ctx.framework.user_data
}

/// Returns the server a command was given in.
pub(super) fn guild(ctx: Context<'_>) -> Result<GuildId, Refusal> {
    let guild = ctx.interaction.guild_id.map(|id| GuildId(id.get()));
    guild.ok_or_else(|| Refusal::new("Commands work in a server, not in direct messages."))
}

/// Returns the channel or thread a command was given in.
pub(super) fn channel(ctx: Context<'_>) -> ChannelId {
    ChannelId(ctx.interaction.channel_id.get())
}

/// Returns the user of a command, with the roles that Discord sent along.
pub(super) fn person(ctx: Context<'_>) -> Person {
    let nobody = || Person {
        id: UserId(ctx.interaction.user.id.get()),
        name: ctx.interaction.user.name.clone(),
        roles: Vec::new(),
        is_administrator: false,
        may_manage_server: false,
    };
    match &ctx.interaction.member {
        Some(member) => people::person_with(member, member.permissions.unwrap_or_default()),
        None => nobody(),
    }
}

/// Returns the channel above, if a command was given in a thread.
pub(super) fn parent(ctx: Context<'_>) -> Option<ChannelId> {
    let thread = ctx.interaction.channel.as_ref()?;
    let is_thread = matches!(
        thread.kind,
        ChannelType::PublicThread | ChannelType::PrivateThread | ChannelType::NewsThread
    );
    if !is_thread {
        return None;
    }
    let above = thread.parent_id.map(|id| ChannelId(id.get()));
    above.or_else(|| bot(ctx).parent_of(guild(ctx).ok()?, channel(ctx)))
}

/// Returns the agent that a command is for, if the person may talk to it.
pub(super) async fn agent_here(ctx: Context<'_>) -> Result<Here, Refusal> {
    Here::of(bot(ctx), person(ctx), channel(ctx), parent(ctx)).await
}

/// Refuses people who may not talk to an agent.
pub(super) async fn may_talk(ctx: Context<'_>, agent: &AgentSummary) -> Result<(), Refusal> {
    admits(bot(ctx), &person(ctx), agent).await
}

/// Works like [`may_talk`] for people who did not use a command.
pub(in crate::discord::interactions) async fn admits(
    bot: &Bot,
    person: &Person,
    agent: &AgentSummary,
) -> Result<(), Refusal> {
    match bot.manager.access.of(agent).await {
        access if access.admits(person) => Ok(()),
        Access::Roles(_) => Err(Refusal::new("You have no access to this agent.")),
        Access::Unreadable => Err(Refusal::new(
            "You have no access to this agent: its configuration cannot be read, so only administrators of this server can talk to it.",
        )),
    }
}

/// Returns an agent of this server whose records the person may see ([`Viewer::on_record`]).
pub(super) async fn named_on_record(ctx: Context<'_>, name: &str) -> Result<AgentSummary, Refusal> {
    match viewer(ctx)? {
        Some(viewer) => viewer.on_record(name).await,
        None => Err(unknown(name, None)),
    }
}

/// Returns the agents of this server that the person sees and may talk to.
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

/// Returns an agent of this server by its name, in a channel that the person sees.
pub(super) fn agent_named(ctx: Context<'_>, name: &str) -> Result<AgentSummary, Refusal> {
    let agents = visible_agents(ctx)?;
    if let Some(agent) = agents.iter().find(|agent| agent.name.as_str() == name) {
        return Ok(agent.clone());
    }
    let near = text::near(name, agents.iter().map(|agent| agent.name.as_str()));
    Err(unknown(name, near))
}

/// Returns the agents of this server with channels that the person sees; those who manage channels see all.
pub(super) fn visible_agents(ctx: Context<'_>) -> Result<Vec<AgentSummary>, Refusal> {
    let guild = guild(ctx)?;
    let Some(viewer) = viewer(ctx)? else {
        return Ok(Vec::new());
    };
    let mut agents = bot(ctx).manager.directory.agents(guild);
    agents.retain(|agent| viewer.covers(agent.channel));
    Ok(agents)
}

/// Returns what the user of a command can see; fails outside a server.
pub(super) fn viewer(ctx: Context<'_>) -> Result<Option<Viewer<'_>>, Refusal> {
    let guild = guild(ctx)?;
    let member = ctx.interaction.member.as_deref();
    Ok(member.map(|member| Viewer::new(bot(ctx), guild, member)))
}

/// The parts of a server's agents that a member can see.
pub(in crate::discord) struct Viewer<'a> {
    bot: &'a Bot,
    pub(in crate::discord) guild: GuildId,
    member: &'a Member,
}

impl<'a> Viewer<'a> {
    pub(in crate::discord) const fn new(bot: &'a Bot, guild: GuildId, member: &'a Member) -> Self {
        Self { bot, guild, member }
    }

    /// Returns whether they see everything: those who manage channels do.
    pub(super) fn covers_all(&self) -> bool {
        let rights = self.member.permissions.unwrap_or_default();
        rights.administrator() || rights.manage_channels()
    }

    /// Returns whether they see this channel, of an agent that exists or existed.
    pub(super) fn covers(&self, channel: Option<ChannelId>) -> bool {
        let is_seen = |channel| self.bot.sees(self.guild, channel, self.member);
        self.covers_all() || channel.is_some_and(is_seen)
    }

    /// Returns whether they see the records of destroyed agents, whose own access roles are gone: like the audit log,
    /// these are for those who manage the server.
    pub(super) fn covers_destroyed(&self) -> bool {
        self.manages_server()
    }

    pub(super) fn manages_server(&self) -> bool {
        self.person().may_manage_server
    }

    /// Refuses people who may not look at the work of an existing agent: those who see its channel and may talk to it
    /// may.
    pub(in crate::discord) async fn may_look_at(
        &self,
        agent: &AgentSummary,
    ) -> Result<(), Refusal> {
        if !self.covers(agent.channel) {
            return Err(unknown(agent.name.as_str(), None));
        }
        admits(self.bot, &self.person(), agent).await
    }

    /// Returns the agent whose records `word` names: one that they see and may talk to, or a destroyed one.
    pub(in crate::discord) async fn on_record(&self, word: &str) -> Result<AgentSummary, Refusal> {
        let manager = &self.bot.manager;
        let mut agents = manager.directory.agents(self.guild);
        agents.retain(|agent| self.covers(agent.channel));
        let named =
            |agent: &&AgentSummary| agent.name.as_str() == word || agent.id.to_string() == word;
        if let Some(agent) = agents.iter().find(named) {
            admits(self.bot, &self.person(), agent).await?;
            return Ok(agent.clone());
        }
        if self.covers_destroyed()
            && let Some(agent) = manager.directory.destroyed(self.guild, word).await?
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

/// The category of commands that only the operator may use, regardless of rights in the server.
pub(super) const OPERATOR: &str = "operator";

/// Returns the permissions of the person who pressed; none outside a server.
pub(super) fn rights_of_press(press: &ComponentInteraction) -> Permissions {
    let member = press.member.as_ref();
    member
        .and_then(|member| member.permissions)
        .unwrap_or_default()
}

/// Returns who pressed a button or submitted a form, with the roles that Discord sent along, and in which server.
pub(in crate::discord::interactions) fn who(
    guild: Option<serenity::all::GuildId>,
    member: Option<&Member>,
) -> Option<(GuildId, Person)> {
    let (guild, member) = guild.zip(member)?;
    let rights = member.permissions.unwrap_or_default();
    Some((GuildId(guild.get()), people::person_with(member, rights)))
}

/// Works like [`who`], for people who may manage channels, which `what` requires.
pub(in crate::discord::interactions) fn who_manages(
    guild: Option<serenity::all::GuildId>,
    member: Option<&Member>,
    what: &str,
) -> Result<(GuildId, Person), Refusal> {
    let rights = member.and_then(|member| member.permissions);
    who(guild, member)
        .filter(|_| is_allowed(rights.unwrap_or_default(), Permissions::MANAGE_CHANNELS))
        .ok_or_else(|| Refusal(format!("{what} needs the permission Manage Channels.")))
}

/// Refuses people who may not manage channels, which `what` requires. Servers can give a command to others.
///
/// # Errors
///
/// Fails with the refusal.
pub(super) fn manages(ctx: Context<'_>, what: &str) -> Result<(), Refusal> {
    who_manages(
        ctx.interaction.guild_id,
        ctx.interaction.member.as_deref(),
        what,
    )
    .map(drop)
}

/// Returns the permissions a command needs: its own and those of its groups.
pub(super) fn needed(tree: &[&poise::Command<Bot, Refusal>]) -> Permissions {
    tree.iter().fold(Permissions::empty(), |sum, command| {
        sum | command.default_member_permissions
    })
}

/// Returns whether a person with `rights` may use the command.
pub(super) fn is_allowed(rights: Permissions, needed: Permissions) -> bool {
    rights.administrator() || rights.contains(needed)
}

/// Returns whether a command is only for the operator.
pub(super) fn is_operators(command: &poise::Command<Bot, Refusal>) -> bool {
    command.category.as_deref() == Some(OPERATOR)
}

/// Returns whether the person may use the command; checked before its own code runs.
pub(super) fn check(ctx: poise::Context<'_, Bot, Refusal>) -> Result<bool, Refusal> {
    let poise::Context::Application(ctx) = ctx else {
        return Ok(false);
    };
    let Some(member) = &ctx.interaction.member else {
        return Err(Refusal::new(
            "Commands work in a server, not in direct messages.",
        ));
    };
    let mut tree: Vec<_> = ctx.parent_commands().to_vec();
    tree.push(ctx.command());
    if tree.iter().any(|command| is_operators(command)) {
        let user = UserId(ctx.interaction.user.id.get());
        return if ctx.framework.user_data.is_operator(user) {
            Ok(true)
        } else {
            Err(Refusal::new(OPERATOR_ONLY))
        };
    }
    let needed = needed(&tree);
    if is_allowed(member.permissions.unwrap_or_default(), needed) {
        return Ok(true);
    }
    Err(Refusal(format!(
        "`/{}` needs the permission {}, which you do not have here.",
        ctx.command().qualified_name,
        needed.get_permission_names().join(", ")
    )))
}
