//! Slash commands: each one file, which parses, makes one call to the manager, and renders.
//!
//! A command is registered with the permission it needs, and that permission is checked again here, for Discord lets
//! a server's administrators change who sees a command.

mod abort;
mod agent;
mod ask;
mod audit;
mod branch;
mod complete;
mod context;
mod help;
mod models;
pub(super) mod pages;
mod permissions;
mod ping;
mod process;
mod purge;
mod settings;
mod shortcut;
mod status;
mod stop;
mod tasks;
mod usage;

use std::future::Future;

use poise::FrameworkError;
use serenity::all::{ChannelType, FullEvent, Member, Permissions};
use tracing::{Instrument as _, error};

use super::body::Body;
use super::bot::{Bot, Commands};
use super::interaction::{Eyes, Responder};
use super::{access, people};
use crate::domain::{ChannelId, GuildId, Person, UserId};
use crate::manager::{AgentSummary, ManagerError};
use crate::store::StoreError;

pub(super) use agent::{EDIT_PROMPT, confirm_destroy, open_prompt, submit_prompt};
pub(super) use purge::confirm as confirm_purge;

/// What a command is called with.
pub(super) type Context<'a> = poise::ApplicationContext<'a, Bot, Refusal>;

/// Why a command was not done: a sentence for the one who gave it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Refusal(pub(super) String);

impl Refusal {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl From<ManagerError> for Refusal {
    fn from(error: ManagerError) -> Self {
        if let ManagerError::Failed(cause) = &error {
            error!(%cause, "a command failed");
        }
        Self(error.to_string())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        error!(%error, "a command failed");
        Self(format!("The database could not be used: {error}."))
    }
}

/// All commands, with shortcuts for the models of the catalogue.
pub(super) fn options() -> Commands {
    let mut commands = vec![
        agent::agent(),
        settings::settings(),
        context::context(),
        branch::branch(),
        process::process(),
        ask::ask(),
        stop::stop(),
        abort::abort(),
        status::status(),
        tasks::tasks(),
        models::models(),
        permissions::permissions(),
        usage::usage(),
        audit::audit(),
        purge::purge(),
        ping::ping(),
        help::help(),
    ];
    commands.extend(shortcut::all());
    poise::set_qualified_names(&mut commands);
    Commands {
        commands,
        initialize_owners: false,
        command_check: Some(|context| Box::pin(async move { check(context) })),
        on_error: |failure| Box::pin(on_error(failure)),
        ..Commands::default()
    }
}

/// Serves a command, or completes what is being typed.
pub(super) async fn dispatch(bot: &Bot, context: &serenity::all::Context, event: FullEvent) {
    let Some(shards) = bot.shards.load_full() else {
        return;
    };
    let framework = poise::FrameworkContext {
        serenity_context: context,
        options: &bot.commands,
        user_data: bot,
        shard_manager: &shards,
    };
    poise::dispatch_event(framework, event).await;
}

/// Answers a command with what `work` gives; its refusal goes to the one who asked.
async fn answer(
    ctx: Context<'_>,
    eyes: Eyes,
    work: impl Future<Output = Result<Body, Refusal>> + Send,
) -> Result<(), Refusal> {
    let span = tracing::info_span!("command", command = %ctx.command().qualified_name);
    let work = async { work.await.map_err(|refusal| refusal.0) };
    // A failed answer was logged where it failed; there is nobody left to tell.
    let _ = responder(ctx).answer(eyes, work).instrument(span).await;
    Ok(())
}

fn responder(ctx: Context<'_>) -> Responder {
    let bot = ctx.framework.user_data;
    Responder::new(
        &bot.rest,
        bot.application,
        ctx.interaction.id.get(),
        &ctx.interaction.token,
    )
}

fn bot<'a>(ctx: Context<'a>) -> &'a Bot {
    ctx.framework.user_data
}

/// The server a command was given in.
fn guild(ctx: Context<'_>) -> Result<GuildId, Refusal> {
    let guild = ctx.interaction.guild_id.map(|id| GuildId(id.get()));
    guild.ok_or_else(|| Refusal::new("Commands work in a server, not in direct messages."))
}

/// The channel or thread a command was given in.
fn channel(ctx: Context<'_>) -> ChannelId {
    ChannelId(ctx.interaction.channel_id.get())
}

/// Who gave a command, with the roles that Discord sent along.
fn person(ctx: Context<'_>) -> Person {
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

/// Where a command was given and whose channel that is.
struct Here {
    /// The channel, or a thread under an agent's channel.
    channel: ChannelId,
    /// The channel above, when it is a thread.
    parent: Option<ChannelId>,
    agent: AgentSummary,
}

/// The agent that a command is for, once it is clear that the person may talk to it.
fn agent_here(ctx: Context<'_>) -> Result<Here, Refusal> {
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
fn agent_named(ctx: Context<'_>, name: &str) -> Result<AgentSummary, Refusal> {
    let agents = visible_agents(ctx)?;
    if let Some(agent) = agents.iter().find(|agent| agent.name.as_str() == name) {
        return Ok(agent.clone());
    }
    let near = crate::text::near(name, agents.iter().map(|agent| agent.name.as_str()));
    Err(Refusal::from(ManagerError::NoSuchAgent {
        name: name.to_owned(),
        near: near.map(str::to_owned),
    }))
}

/// The agents of this server whose channels the person sees; those who manage channels see all.
fn visible_agents(ctx: Context<'_>) -> Result<Vec<AgentSummary>, Refusal> {
    let guild = guild(ctx)?;
    let Some(sight) = sight(ctx)? else {
        return Ok(Vec::new());
    };
    let mut agents = bot(ctx).manager.agents(guild);
    agents.retain(|agent| sight.covers(agent.channel));
    Ok(agents)
}

/// What the one who gave a command sees; none outside a server.
fn sight(ctx: Context<'_>) -> Result<Option<Sight<'_>>, Refusal> {
    let guild = guild(ctx)?;
    let member = ctx.interaction.member.as_deref();
    Ok(member.map(|member| Sight::new(bot(ctx), guild, member)))
}

/// What a member sees of a server's agents.
pub(super) struct Sight<'a> {
    bot: &'a Bot,
    guild: GuildId,
    member: &'a Member,
}

impl<'a> Sight<'a> {
    pub(super) const fn new(bot: &'a Bot, guild: GuildId, member: &'a Member) -> Self {
        Self { bot, guild, member }
    }

    /// Whether they see all there is: those who manage channels do.
    fn covers_all(&self) -> bool {
        let rights = self.member.permissions.unwrap_or_default();
        rights.administrator() || rights.manage_channels()
    }

    /// Whether they see the agent that lives, or lived, in this channel.
    fn covers(&self, channel: Option<ChannelId>) -> bool {
        let is_seen = |channel| self.bot.sees(self.guild, channel, self.member);
        self.covers_all() || channel.is_some_and(is_seen)
    }

    /// Whether they see the agent of this name.
    fn covers_named(&self, name: &str) -> bool {
        let agents = self.bot.manager.agents(self.guild);
        let found = agents.iter().find(|agent| agent.name.as_str() == name);
        found.is_some_and(|agent| self.covers(agent.channel))
    }
}

fn parent(ctx: Context<'_>) -> Option<ChannelId> {
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

/// The permissions a command needs: its own and those of the groups it is in.
fn needed(tree: &[&poise::Command<Bot, Refusal>]) -> Permissions {
    tree.iter().fold(Permissions::empty(), |sum, command| {
        sum | command.default_member_permissions
    })
}

/// Whether somebody with `rights` may use the command.
fn is_allowed(rights: Permissions, needed: Permissions) -> bool {
    rights.administrator() || rights.contains(needed)
}

fn check(ctx: poise::Context<'_, Bot, Refusal>) -> Result<bool, Refusal> {
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

/// Whatever goes wrong before a command's own code runs is told to the one who gave it.
async fn on_error(failure: FrameworkError<'_, Bot, Refusal>) {
    let Some(poise::Context::Application(ctx)) = failure.ctx() else {
        error!(%failure, "an interaction could not be served");
        return;
    };
    if ctx.interaction_type == poise::CommandInteractionType::Autocomplete {
        error!(%failure, "no suggestions for /{}", ctx.command().qualified_name);
        return;
    }
    let text = match &failure {
        FrameworkError::CommandCheckFailed { error: Some(refusal), .. }
        | FrameworkError::Command { error: refusal, .. } => refusal.0.clone(),
        FrameworkError::GuildOnly { .. } => "Commands work in a server, not in direct messages.".to_owned(),
        FrameworkError::ArgumentParse { input, error, .. } => match input {
            Some(input) => format!("`{input}` cannot be used here: {error}."),
            None => format!("An option cannot be used: {error}."),
        },
        FrameworkError::CommandStructureMismatch { .. } => {
            "This command has changed since your Discord learned it. Reload Discord (Ctrl+R) and try again.".to_owned()
        }
        other => {
            error!(failure = %other, "a command failed");
            "Something went wrong in here; it is in the log.".to_owned()
        }
    };
    let _ = responder(ctx).say(&Body::text(text), Eyes::One).await;
}
