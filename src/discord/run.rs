//! Puts the parts of `discord` together, and serves Discord with them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use arc_swap::ArcSwap;
use tokio::sync::mpsc::{self, Sender, UnboundedReceiver};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::bot::approvals::Approvals;
use super::bot::channel_making::ChannelMaking;
use super::bot::command_ids::KnownIds;
use super::bot::first_contact::Hints;
use super::bot::once::Once;
use super::bot::pending::Pending;
use super::bot::under_way::UnderWay;
use super::bot::{Bot, BotInner};
use super::error::DiscordError;
use super::gateway::presence::Busy;
use super::gateway::{Gateway, GatewayConfig, GatewayHealth, SerenityContext};
use super::hub::{Ends, Hub};
use super::inbound::{Ingress, Shared};
use super::interactions;
use super::outbound::{Outbound, OutboundContext, Previews};
use super::people::identity::identify;
use super::people::operator::{self, Notice, Operator};
use super::rest::{DISCORD, Rest};
use crate::agent::event::Event;
use crate::config::{Config, Secret};
use crate::domain::GuildId;
use crate::exec::Probing;
use crate::llm::discovery::Models;
use crate::manager::AgentManager;
use crate::permission::Profiles;
use crate::store::Store;
use crate::text::redact::Redactor;

/// The log's warning about a bot that anyone may invite.
const PUBLIC: &str = "anyone can invite this bot: to prevent that, open https://discord.com/developers/applications, choose the application, set Installation → Install Link to None, and turn off Bot → Public Bot. It is inactive in servers that you do not accept";

/// The inputs for serving Discord.
pub struct DiscordConfig {
    pub token: Secret,
    /// An address other than Discord's own (`CHORUS_DISCORD_API_URL`).
    pub base: Option<String>,
    /// The only server that commands are registered in (`DEV_GUILD_ID`).
    pub dev_guild: Option<GuildId>,
    /// The operator's settings; they change with a reload.
    pub config: Arc<ArcSwap<Config>>,
    /// Profiles that can be named; change with a reload.
    pub profiles: Arc<ArcSwap<Profiles>>,
    pub models: Arc<Models>,
    /// Removes secrets from all sent text.
    pub redactor: Redactor,
    /// How commands are confined, for `/status`.
    pub sandbox: Probing,
    /// Reports the state of the connection.
    pub health: GatewayHealth,
    /// The end, in two steps.
    pub ends: Ends,
}

impl std::fmt::Debug for DiscordConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiscordConfig").finish_non_exhaustive()
    }
}

/// Serves Discord until [`Ends::all`].
///
/// # Errors
///
/// Fails if Discord does not accept the bot; see [`DiscordError`].
pub async fn run(
    config: DiscordConfig,
    manager: AgentManager,
    store: Store,
    events: UnboundedReceiver<Event>,
) -> Result<(), DiscordError> {
    let base = config.base.as_deref().unwrap_or(DISCORD);
    let rest = Rest::new(base, config.token.expose(), config.redactor.clone())
        .map_err(|error| DiscordError::Start(error.to_string()))?;
    let Some(identity) = identify(&rest, &config.ends.all).await? else {
        return Ok(());
    };
    if let Err(error) = manager
        .servers
        .learn_operators(identity.user, identity.owners)
        .await
    {
        warn!(%error, "failed to store who the bot's operator is");
    }
    if identity.is_public {
        warn!("{PUBLIC}");
    }
    let (operator, operator_task) = start_operator(&rest, &manager, &config.config.load());
    let serenity = SerenityContext::new(config.token.expose(), config.base.as_deref())
        .await
        .map_err(|error| DiscordError::Start(format!("failed to set serenity up: {error}")))?;
    let cache = Arc::clone(&serenity.context.cache);
    let approvals = Approvals::new(rest.clone(), manager.clone(), config.ends.all.clone());
    let (outbox, outbox_inbox) = mpsc::unbounded_channel();
    let ingress = Arc::<Shared>::default();
    let bot = Bot::new(BotInner {
        started: crate::clock::now(),
        manager: manager.clone(),
        store,
        rest: rest.clone(),
        approvals: approvals.clone(),
        config: Arc::clone(&config.config),
        profiles: config.profiles,
        models: Arc::clone(&config.models),
        sandbox: config.sandbox,
        serenity,
        own: identity.user,
        application: identity.application,
        dev_guild: config.dev_guild,
        operator,
        outbox,
        making: ChannelMaking::default(),
        posting: UnderWay::posts(),
        opening: UnderWay::threads(),
        hints: Hints::default(),
        once: Once::default(),
        retries: tokio::sync::Notify::new(),
        pending: Pending::default(),
        drafts: Pending::default(),
        known_ids: KnownIds::default(),
        rival_answers: AtomicU32::default(),
        commands: ArcSwap::from_pointee(interactions::options(Some(&config.models))),
        registering: tokio::sync::Mutex::default(),
    });
    manager.connect(Arc::new(bot.clone()));
    manager.webhooks.connect(Arc::new(bot.clone()));
    let outbound = Outbound::new(OutboundContext {
        bot: bot.clone(),
        previews: previews(&config.config.load()),
        stop: config.ends.all.clone(),
    });
    let (events_to_hub, inbound) = mpsc::unbounded_channel();
    let (busy, shown) = watch::channel(Busy::default());
    let gateway = Gateway::new(GatewayConfig {
        token: config.token.expose().to_owned(),
        base: config.base,
        rest,
        cache,
        health: config.health,
        busy: shown,
        events: events_to_hub,
    })?;
    let gateway = tokio::spawn(gateway.run(config.ends.all.clone()));
    let hub = Hub {
        inbound,
        events,
        outbox: outbox_inbox,
        ingress: Ingress::new(bot.clone(), ingress, config.ends.intake.clone()),
        outbound,
        bot,
        busy,
        ends: config.ends,
        serving: TaskTracker::new(),
        served: HashSet::new(),
    };
    let outcome = hub.run(gateway).await;
    approvals.finish().await;
    operator_task.abort();
    outcome
}

/// Starts the task that writes to the operator; it sends the notices in the queue.
fn start_operator(
    rest: &Rest,
    manager: &AgentManager,
    config: &Config,
) -> (Sender<Notice>, JoinHandle<()>) {
    let (operator, notices) = mpsc::channel(operator::MOST_WAITING);
    let task = Operator {
        rest: rest.clone(),
        manager: manager.clone(),
        channel: config.operator_channel,
        notices,
    };
    (operator, tokio::spawn(task.run()))
}

/// Returns whether people see an answer grow.
fn previews(config: &Config) -> Previews {
    if config.stream_replies {
        Previews::Shown
    } else {
        Previews::Hidden
    }
}
