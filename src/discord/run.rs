//! The room's life: who we are is asked, what was left is tidied, then gateway, agents and people are served until
//! the end, which comes in two steps: first nothing more is taken in, then what is still to be said is said.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use serde_json::Value;
use serenity::all::{Context, Event as GatewayEvent, FullEvent, Guild, Interaction};
use tokio::sync::mpsc::{self, UnboundedReceiver};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{Instrument as _, warn};

use super::access_roles::AccessRoles;
use super::approvals::Approvals;
use super::bot::{Bot, Parts};
use super::catch_up::Place;
use super::gateway::{Gateway, GatewayHealth, Signal};
use super::ingress::{Arrival, Ingress, Shared};
use super::operator::{self, Operator};
use super::outbound::{Outbound, Outward, Previews};
use super::presence::{self, Busy};
use super::rest::{DISCORD, Rest, RestError, snowflake};
use super::{DiscordError, buttons, commands, leftovers, registration, route};
use crate::agent::event::Event;
use crate::config::{Config, Secret};
use crate::domain::{ChannelId, GuildId, MessageId, UserId};
use crate::exec::Probing;
use crate::llm::discovery::Models;
use crate::manager::AgentManager;
use crate::permission::Profiles;
use crate::store::Store;
use crate::text::redact::Redactor;

/// Between two tries to reach Discord at the start.
const START_PAUSE: Duration = Duration::from_secs(5);

/// Tries to reach Discord at the start before it is said that it cannot be reached.
const START_TRIES: u32 = 12;

/// What this room is given.
pub struct DiscordConfig {
    /// The bot's token.
    pub token: Secret,
    /// Another address than Discord's own (`CHORUS_DISCORD_API_URL`).
    pub base: Option<String>,
    /// The one server that commands are registered in (`DEV_GUILD_ID`).
    pub dev_guild: Option<GuildId>,
    /// What the operator decided; changes with a reload.
    pub config: Arc<ArcSwap<Config>>,
    /// Profiles that can be named; change with a reload.
    pub profiles: Arc<ArcSwap<Profiles>>,
    /// Models there are.
    pub models: Arc<Models>,
    /// Takes secrets out of whatever is sent.
    pub redactor: Redactor,
    /// How commands are confined, for `/status`.
    pub sandbox: Probing,
    /// Told how alive the connection is.
    pub health: GatewayHealth,
    /// The end, in two steps.
    pub ends: Ends,
}

/// The end of the room, in two steps.
#[derive(Clone, Debug, Default)]
pub struct Ends {
    /// From here on no message, command or press is taken.
    pub intake: CancellationToken,
    /// From here on nothing more happens: what is said already is sent, and the connection closed.
    pub all: CancellationToken,
}

/// Serves Discord until [`Ends::all`].
///
/// # Errors
///
/// When Discord does not accept us; see [`DiscordError`].
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
    let (operator, notices) = mpsc::unbounded_channel();
    let operator_task = tokio::spawn(
        Operator {
            rest: rest.clone(),
            owners: identity.owners,
            channel: config.config.load().operator_channel,
            notices,
        }
        .run(),
    );
    let approvals = Approvals::new(rest.clone(), config.ends.all.clone());
    let (outbox, outbox_inbox) = mpsc::unbounded_channel();
    let ingress = Arc::<Shared>::default();
    let bot = Bot::new(Parts {
        manager: manager.clone(),
        store,
        rest: rest.clone(),
        approvals: approvals.clone(),
        config: Arc::clone(&config.config),
        profiles: config.profiles,
        models: config.models,
        sandbox: config.sandbox,
        cache: ArcSwapOption::empty(),
        shards: ArcSwapOption::empty(),
        own: identity.user,
        application: identity.application,
        dev_guild: config.dev_guild,
        operator,
        outbox,
        access: AccessRoles::default(),
        commands: commands::options(),
    });
    manager.connect(Arc::new(bot.clone()));
    let previews = match config.config.load().stream_replies {
        true => Previews::Shown,
        false => Previews::Hidden,
    };
    let outbound = Outbound::new(Outward {
        bot: bot.clone(),
        previews,
        stop: config.ends.all.clone(),
    });
    let (signals, signal_inbox) = mpsc::unbounded_channel();
    let gateway = Gateway {
        token: config.token.expose().to_owned(),
        base: config.base,
        rest,
        health: config.health,
        signals,
        identified: tokio::sync::Mutex::default(),
    };
    let gateway = tokio::spawn(gateway.run(config.ends.all.clone()));
    let (busy, busy_inbox) = watch::channel(Busy::default());
    let (shard, shard_inbox) = watch::channel(None);
    let presence = tokio::spawn(presence::run(
        busy_inbox,
        shard_inbox,
        config.ends.all.clone(),
    ));
    let room = Room {
        signals: signal_inbox,
        events,
        outbox: outbox_inbox,
        ingress: Ingress::new(bot.clone(), ingress, config.ends.intake.clone()),
        outbound,
        bot,
        busy,
        shard,
        ends: config.ends,
        serving: TaskTracker::new(),
    };
    let outcome = room.run(gateway).await;
    approvals.finish().await;
    // Both end with what they wait for; a panic in them was reported by itself.
    let _ = presence.await;
    operator_task.abort();
    outcome
}

/// How long everything waits, at the start, for what a crash left in the channels to be put right. It is a request to each
/// channel; a Discord that is slower than this must not hold up the answers.
const TIDY_PATIENCE: Duration = Duration::from_secs(5);

struct Room {
    signals: UnboundedReceiver<Signal>,
    events: UnboundedReceiver<Event>,
    outbox: UnboundedReceiver<ChannelId>,
    ingress: Ingress,
    outbound: Outbound,
    bot: Bot,
    busy: watch::Sender<Busy>,
    shard: watch::Sender<Option<serenity::all::ShardMessenger>>,
    ends: Ends,
    /// Commands and presses being served.
    serving: TaskTracker,
}

impl Room {
    async fn run(
        mut self,
        mut gateway: JoinHandle<Result<(), DiscordError>>,
    ) -> Result<(), DiscordError> {
        let ends = self.ends.clone();
        let registering = registration::register_all(self.bot.clone(), ends.intake.clone());
        self.serving.spawn(registering);
        let tidied = self.serving.spawn(leftovers::tidy(self.bot.clone()));
        tokio::select! {
            () = ends.all.cancelled() => {}
            _ = tokio::time::timeout(TIDY_PATIENCE, tidied) => {}
        }
        let outcome = loop {
            tokio::select! {
                biased;
                () = ends.all.cancelled() => break Ok(()),
                ended = &mut gateway => break ended.unwrap_or_else(|error| Err(DiscordError::Start(error.to_string()))),
                Some(event) = self.events.recv() => self.show(event),
                Some(channel) = self.outbox.recv() => self.outbound.deliver(channel),
                Some(signal) = self.signals.recv() => self.take(signal).await,
            }
        };
        ends.intake.cancel();
        ends.all.cancel();
        while let Ok(event) = self.events.try_recv() {
            self.show(event);
        }
        // Reading the past may take long; it is read again at the next start.
        let _ = tokio::time::timeout(Duration::from_secs(3), self.ingress.finish()).await;
        self.serving.close();
        // A command that hangs must not hold the end.
        let _ = tokio::time::timeout(Duration::from_secs(3), self.serving.wait()).await;
        self.outbound.finish().await;
        if !gateway.is_finished() {
            let _ = tokio::time::timeout(Duration::from_secs(8), gateway).await;
        }
        outcome
    }

    fn show(&mut self, event: Event) {
        match event {
            Event::Presence { tasks, agents } => {
                self.busy.send_replace(Busy { tasks, agents });
            }
            Event::Operator { cause, text } => self.bot.tell_operator(cause, text),
            Event::Bound(guild, channel) => self.ingress.arrive(channel, Arrival::Place(guild)),
            other => self.outbound.show(other),
        }
    }

    async fn take(&mut self, signal: Signal) {
        if self.ends.intake.is_cancelled() {
            return;
        }
        match signal {
            Signal::Client(shards) => self.bot.shards.store(Some(shards)),
            Signal::Anew => self.ingress.connected_anew(),
            Signal::Ready(context) => self.ready(&context).await,
            Signal::Resumed => self.ingress.resumed(),
            Signal::Guild(guild) => self.guild(&guild).await,
            Signal::Ordered(event) => self.ordered(*event),
            Signal::Message(message) => self.message(message),
            Signal::Interaction(context, interaction) => self.interaction(context, *interaction),
        }
    }

    async fn ready(&mut self, context: &Context) {
        self.bot.cache.store(Some(Arc::clone(&context.cache)));
        self.shard.send_replace(Some(context.shard.clone()));
        match self.bot.store.waiting_channels().await {
            Ok(channels) => channels
                .into_iter()
                .for_each(|channel| self.outbound.deliver(channel)),
            Err(error) => warn!(%error, "what was left to send is not known"),
        }
    }

    /// A server with its channels: what was missed in those of agents is read.
    async fn guild(&mut self, guild: &Guild) {
        let id = GuildId(guild.id.get());
        self.ingress.server_described();
        if let Err(error) = self.bot.manager.reload_settings(id).await {
            warn!(%error, "a server's settings could not be read");
        }
        let places = guild.channels.values().chain(&guild.threads);
        for channel in places {
            let here = ChannelId(channel.id.get());
            let parent = channel.parent_id.map(|parent| ChannelId(parent.get()));
            if self.bot.manager.agent_for(here, parent).is_none() {
                continue;
            }
            let cursor = self.bot.store.cursor(here).await.unwrap_or_default();
            let last_message = channel.last_message_id.map(|last| MessageId(last.get()));
            let place = Place {
                channel: here,
                last_message,
                cursor,
            };
            self.ingress.place(id, place);
        }
    }

    /// Only what is written under an agent makes a queue; our own words come back to us and are passed over.
    fn message(&mut self, message: Box<serenity::all::Message>) {
        if message.author.id.get() == self.bot.own.0 {
            return;
        }
        let Some(guild) = message.guild_id.map(|guild| GuildId(guild.get())) else {
            return;
        };
        let channel = ChannelId(message.channel_id.get());
        let parent = self.bot.parent_of(guild, channel);
        let arrival = Arrival::Message(message);
        match self.bot.manager.agent_for(channel, parent) {
            Some(_) => self.ingress.arrive(channel, arrival),
            // A thread whose server is not described yet; once it is, its past is read.
            None if !self.bot.knows(guild) => self.ingress.arrive_if_known(channel, arrival),
            // A thread that was archived, or out of our sight, when its server was described: Discord knows its place.
            None if !self.bot.has_place(guild, channel) => self.ingress.arrive(channel, arrival),
            None => {}
        }
    }

    fn ordered(&mut self, event: GatewayEvent) {
        match event {
            GatewayEvent::MessageCreate(event) => self.message(Box::new(event.message)),
            GatewayEvent::MessageUpdate(event) => {
                let is_own = event
                    .author
                    .is_some_and(|author| author.id.get() == self.bot.own.0);
                if let Some(content) = event.content.filter(|_| !is_own) {
                    let arrival =
                        Arrival::Edited(MessageId(event.id.get()), content, event.attachments);
                    self.changed(ChannelId(event.channel_id.get()), arrival);
                }
            }
            GatewayEvent::MessageDelete(event) => {
                let arrival = Arrival::Deleted(MessageId(event.message_id.get()));
                self.changed(ChannelId(event.channel_id.get()), arrival);
            }
            GatewayEvent::MessageDeleteBulk(event) => {
                for id in event.ids {
                    let arrival = Arrival::Deleted(MessageId(id.get()));
                    self.changed(ChannelId(event.channel_id.get()), arrival);
                }
            }
            GatewayEvent::ChannelDelete(event) => {
                self.channel_deleted(ChannelId(event.channel.id.get()))
            }
            GatewayEvent::ThreadDelete(event) => {
                self.thread_deleted(ChannelId(event.thread.id.get()))
            }
            _ => {}
        }
    }

    /// A message was changed or deleted; of interest where messages are taken.
    fn changed(&mut self, channel: ChannelId, arrival: Arrival) {
        match self.bot.manager.agent_for(channel, None) {
            Some(_) => self.ingress.arrive(channel, arrival),
            None => self.ingress.arrive_if_known(channel, arrival),
        }
    }

    fn channel_deleted(&self, channel: ChannelId) {
        if let Some(agent) = self.bot.manager.agent_for(channel, None) {
            self.bot.tell_operator(
                format!("channel-deleted:{channel}"),
                format!("The channel of agent `{0}` was deleted. `/agent repair {0}` makes a new one; `/agent destroy {0}` ends the agent.", agent.name),
            );
        }
    }

    fn thread_deleted(&self, thread: ChannelId) {
        let manager = self.bot.manager.clone();
        self.serving.spawn(async move {
            if let Err(error) = manager.thread_deleted(thread).await {
                warn!(%error, channel.id = %thread, "the branch of a deleted thread was not closed");
            }
        });
    }

    fn interaction(&self, context: Context, interaction: Interaction) {
        let bot = self.bot.clone();
        let span = tracing::info_span!("interaction", interaction.id = %interaction.id());
        self.serving.spawn(
            async move {
                match interaction {
                    Interaction::Command(_) | Interaction::Autocomplete(_) => {
                        commands::dispatch(
                            &bot,
                            &context,
                            FullEvent::InteractionCreate { interaction },
                        )
                        .await;
                    }
                    Interaction::Component(press) => buttons::pressed(&bot, &press).await,
                    Interaction::Modal(form) => buttons::submitted(&bot, &form).await,
                    _ => {}
                }
            }
            .instrument(span),
        );
    }
}

/// Who we are to Discord.
struct Identity {
    user: UserId,
    application: u64,
    owners: Vec<UserId>,
}

/// Asks Discord who we are; none when the end comes first.
async fn identify(rest: &Rest, stop: &CancellationToken) -> Result<Option<Identity>, DiscordError> {
    let asking = rest.get(route::current_application());
    let (user, application) = tokio::join!(current_user(rest, stop), asking);
    let Some(user) = user? else {
        return Ok(None);
    };
    let user = snowflake(&user["id"])
        .ok_or_else(|| DiscordError::Start("it did not say who we are".into()))?;
    // Without it only the operator's direct messages are missing, and most applications bear their bot's id.
    let application = match application {
        Ok(application) => application,
        Err(_) => rest
            .get(route::current_application())
            .await
            .unwrap_or(Value::Null),
    };
    Ok(Some(Identity {
        user: UserId(user),
        application: snowflake(&application["id"]).unwrap_or(user),
        owners: operator::owners(&application),
    }))
}

/// Our own user, asked for until Discord answers; none when we are to stop before it does.
async fn current_user(
    rest: &Rest,
    stop: &CancellationToken,
) -> Result<Option<Value>, DiscordError> {
    let mut tries = 0;
    loop {
        let asking = rest.get(route::current_user());
        let Some(answer) = stop.run_until_cancelled(asking).await else {
            return Ok(None);
        };
        match answer {
            Ok(user) => return Ok(Some(user)),
            Err(RestError::Unauthorized) => return Err(DiscordError::Token),
            Err(error) => {
                tries += 1;
                if tries == START_TRIES || matches!(error, RestError::Refused { .. }) {
                    return Err(DiscordError::Start(error.to_string()));
                }
                warn!(%error, "Discord cannot be reached; trying again");
            }
        }
        // A pause between tries, so that an outage is not pressed harder.
        tokio::select! {
            () = stop.cancelled() => return Ok(None),
            () = tokio::time::sleep(START_PAUSE) => {}
        }
    }
}
