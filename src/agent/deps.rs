//! The parts of the daemon that agents use.

pub(super) mod budgets;
mod causes;
pub(super) mod deliveries;
pub(super) mod identity;
pub(super) mod interruptions;
pub(super) mod planned;
pub(super) mod questions;
mod turned_away;
pub(super) mod unattended;
pub(super) mod unstored;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use async_trait::async_trait;
use parking_lot::{Mutex, RwLock};
use tokio::sync::mpsc;
use tracing::error;

use self::deliveries::Deliveries;
use self::identity::Identity;
use self::interruptions::Interruptions;
use self::planned::PlannedRuns;
use self::questions::Questions;
use self::turned_away::TurnedAway;
use self::unattended::UnattendedPlaces;
use self::unstored::{Beside, Unclosed, Unstored};
use crate::agent::event::Event;
use crate::agent::models::budget::{Caps, Reservations};
use crate::agent::models::{ModelError, Models};
use crate::agent::setup::tool_specs::ToolSpecs;
use crate::agent::setup::{self, Charters, Configurations, FileNews, Roles};
use crate::agent::stop::at_work::AtWorkElsewhere;
use crate::clock::WallClock;
use crate::config::{Config, Effective, Paths, Settings, effective};
use crate::domain::{
    AgentConfig, AgentId, ChannelId, GuildId, MessageId, Mode, Participant, Person, UserId,
};
use crate::llm::Target;
use crate::llm::local::Reach;
use crate::llm::places::Lane;
use crate::permission::Profiles;
use crate::store::{Store, StoreError};
use crate::text::escape;
use crate::tools::{Registry, Services};
use crate::workspace::decisions::Decisions;
use crate::workspace::docs::DocsCache;
use crate::workspace::instructions::InstructionsCache;

/// Tokens that a request may take where no model can be asked: compaction waits until one can.
const ROOM_OF_NOBODY: u64 = 100_000;

/// Longest that a turn waits to find out about models before it asks.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(10);

/// Looks up members as they are now. `discord` implements it.
#[async_trait]
pub trait Members: Send + Sync {
    /// The member with their current roles; `None` when they have left.
    async fn person(&self, guild: GuildId, user: UserId) -> Option<Person>;

    /// Whether Discord says that the user is no member of the server. A failure to ask says nothing.
    async fn has_left(&self, guild: GuildId, user: UserId) -> bool;

    /// Whether Discord has described the server: members of another one cannot be looked up.
    fn knows(&self, guild: GuildId) -> bool;

    /// Checks whether the server has the channel. Returns `None` until Discord has described the server.
    fn has_channel(&self, guild: GuildId, channel: ChannelId) -> Option<bool>;

    /// Whether the member, with the roles given, sees a text channel; nobody sees an unknown one.
    fn sees(&self, guild: GuildId, person: &Person, channel: ChannelId) -> bool;

    /// Whether everyone who sees the text channel `from` sees `to`; where that is not plain, they do not.
    fn all_see(&self, guild: GuildId, from: ChannelId, to: ChannelId) -> bool;

    /// Whether the user may do what needs the permission Manage Channels in a text channel: a member, no program, who holds it
    /// there now and is not timed out. Where that cannot be looked up, they may not.
    async fn manages_channels(&self, guild: GuildId, user: UserId, channel: ChannelId) -> bool;
}

pub struct AgentDeps {
    pub store: Store,
    pub paths: Paths,
    /// What the operator decided; changes with a reload.
    pub config: Arc<ArcSwap<Config>>,
    /// The profiles that can be named; change with a reload.
    pub profiles: Arc<ArcSwap<Profiles>>,
    /// Models and how to ask them.
    pub models: Arc<Models>,
    pub tools: Arc<Registry>,
    pub services: Arc<Services>,
    pub http: reqwest::Client,
    /// The clock by which planned work begins.
    pub clock: WallClock,
    /// What people shall see.
    pub events: mpsc::UnboundedSender<Event>,
    /// Set once Discord is connected.
    pub members: OnceLock<Arc<dyn Members>>,
    /// What servers' administrators have set.
    pub settings: RwLock<HashMap<GuildId, Arc<Settings>>>,
    /// Agents' `agent.json` as last read.
    pub configurations: Arc<Configurations>,
    /// Agents' `charter.md` as last read.
    pub charters: Arc<Charters>,
    /// The roles that each agent can take, as last read.
    pub roles: Arc<Roles>,
    /// What channels were told about the stages around their agents' turns.
    pub stage_news: FileNews,
    /// What channels were told about the folders that their agents are bound to.
    pub workspace_news: FileNews,
    /// What the people of each server have decided.
    pub decisions: Arc<Decisions>,
    pub docs: DocsCache,
    /// The instructions in agents' repositories.
    pub instructions: InstructionsCache,
    /// The tool descriptions for models.
    pub told: ToolSpecs,
    /// Money reserved for requests under way.
    pub reservations: Reservations,
    /// Places for turns that no person began.
    pub unattended: UnattendedPlaces,
    /// Runs of schedules that are with their agents.
    pub planned: PlannedRuns,
    /// Deliveries of webhooks that are with their agents.
    pub deliveries: Deliveries,
    /// Requests of turns that panicked before these were stored.
    pub unstored: Unstored,
    /// Turns that stopped but could not be ended in the ledger yet.
    pub unclosed: Unclosed,
    /// What was asked beside the steps of turns.
    pub beside: Beside,
    /// Child turns that work as another agent than that of their run.
    pub at_work: AtWorkElsewhere,
    /// Who was told lately that a message was not taken.
    pub turned_away: TurnedAway,
    /// Pairs of agents whose channel was told why the second works for the first without a thread.
    pub without_thread: Mutex<HashSet<(AgentId, AgentId)>>,
    /// Models of unknown price that the log has named.
    pub unpriced: Mutex<HashSet<String>>,
    /// Conversations with interrupted turns.
    pub interruptions: Interruptions,
    /// Questions to people that are open.
    pub questions: Questions,
    /// Running turns, for the presence.
    pub busy: Busy,
    /// Longest time for the last words of a child turn, for which its parent waits.
    pub childs_last_words: Duration,
}

impl std::fmt::Debug for AgentDeps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentDeps").finish_non_exhaustive()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Steps.
    pub steps: u32,
    /// Calls in one step.
    pub calls: usize,
    /// Working time.
    pub work: Duration,
    /// How long a question waits.
    pub approval: Duration,
    /// Tokens of all its requests together.
    pub tokens: Option<u64>,
}

impl AgentDeps {
    /// Sends `event` to whoever shows it; while the daemon stops nobody does, and it is dropped.
    pub fn emit(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// What applies to an agent now.
    pub fn effective(&self, agent: &Identity, config: &AgentConfig) -> Effective {
        effective::agent(config, &self.settings_of(agent.guild), &self.config.load())
    }

    /// What a server's administrators have set.
    pub fn settings_of(&self, guild: GuildId) -> Arc<Settings> {
        let settings = self.settings.read();
        settings.get(&guild).cloned().unwrap_or_default()
    }

    /// How far a turn of this agent may go.
    pub fn limits(&self, agent: &Identity, config: &AgentConfig) -> Limits {
        let whole = self.config.load();
        let effective = self.effective(agent, config);
        Limits {
            steps: whole.max_tool_loop_iterations.get(),
            calls: whole.max_calls_per_step.get() as usize,
            work: effective.turn_timeout,
            approval: effective.server.approval_timeout,
            tokens: whole
                .budgets
                .turn_tokens
                .map(|count| u64::from(count.get())),
        }
    }

    /// What an agent may spend.
    pub fn caps(&self, effective: &Effective) -> Caps {
        Caps {
            turn: effective.budget_turn,
            turn_tokens: self.most_tokens(),
            agent_day: effective.budget_day,
            ..Caps::of_server(&self.config.load().budgets)
        }
    }

    /// Tokens that a run may take.
    pub(super) fn most_tokens(&self) -> Option<u64> {
        let most = self.config.load().budgets.turn_tokens;
        most.map(|count| u64::from(count.get()))
    }

    /// Whose requests a turn or child turn is served with, where requests wait for a place.
    pub(super) fn lane(&self, payer: &Identity, is_child: bool) -> Lane {
        match (self.lane_of(payer.id), is_child) {
            (Lane::Root, true) => Lane::Child,
            (lane, _) => lane,
        }
    }

    /// The same for requests beside turns.
    pub(super) fn lane_of(&self, agent: AgentId) -> Lane {
        if self.configurations.core.has(agent) {
            Lane::Core
        } else {
            Lane::Root
        }
    }

    /// The targets that the agent asks, in order.
    ///
    /// # Errors
    ///
    /// When there is no target.
    pub fn targets(
        &self,
        agent: &Identity,
        config: &AgentConfig,
    ) -> Result<Vec<Target>, ModelError> {
        let targets = self.models.targets(&self.effective(agent, config).models)?;
        let who = || format!("Agent `{}`", agent.name);
        self.models.within(setup::reach(config), targets, who)
    }

    /// The models that a turn asks, in order: those it was given, else the agent's for its mode.
    pub(super) fn models_of_turn(
        &self,
        agent: &Identity,
        config: &AgentConfig,
        asked: Option<&String>,
        mode: Mode,
    ) -> Vec<String> {
        match asked {
            Some(model) => vec![model.clone()],
            None => effective::models(config, &self.effective(agent, config).server, mode),
        }
    }

    /// Looks up models that no list has, before a turn asks them, and for requests that stay nearby which servers are.
    pub(super) async fn prepare_models(&self, names: &[String], reach: Reach) {
        if reach == Reach::Local {
            self.models.known().providers().look_nearby().await;
        }
        let preparing = self.models.known().prepare(names);
        // Where a server does not even refuse, the turn itself asks it and knows when to give up.
        let _ = tokio::time::timeout(PREPARE_TIMEOUT, preparing).await;
    }

    /// Tokens that a request to the first of `targets` may take.
    pub fn room(&self, targets: &[Target]) -> u64 {
        targets
            .first()
            .map_or(ROOM_OF_NOBODY, |target| self.models.room(target))
    }

    /// Somebody as they are now in a server.
    pub async fn participant(&self, guild: GuildId, user: UserId) -> Participant {
        let person = match self.members.get() {
            Some(members) => members.person(guild, user).await,
            None => None,
        };
        person.map_or(Participant::Unknown(user), Participant::Member)
    }

    /// Whether a user is known to be no member of the server: Discord says so, and has described the server.
    pub async fn has_left(&self, guild: GuildId, user: UserId) -> bool {
        match self.members.get() {
            Some(members) => members.knows(guild) && members.has_left(guild, user).await,
            None => false,
        }
    }

    /// Whether the member sees a text channel.
    pub fn sees(&self, guild: GuildId, person: &Person, channel: ChannelId) -> bool {
        let members = self.members.get();
        members.is_some_and(|members| members.sees(guild, person, channel))
    }

    /// Whether the user may do what needs the permission Manage Channels in a text channel.
    pub async fn manages_channels(&self, guild: GuildId, user: UserId, channel: ChannelId) -> bool {
        match self.members.get() {
            Some(members) => members.manages_channels(guild, user, channel).await,
            None => false,
        }
    }

    /// Whether everyone who sees the text channel `from` sees `to`.
    pub fn all_see(&self, guild: GuildId, from: ChannelId, to: ChannelId) -> bool {
        let members = self.members.get();
        members.is_some_and(|members| members.all_see(guild, from, to))
    }

    /// Whether members of the server can be looked up now.
    pub fn knows(&self, guild: GuildId) -> bool {
        self.members
            .get()
            .is_some_and(|members| members.knows(guild))
    }

    /// The folder of an agent.
    pub fn folder(&self, agent: &Identity) -> PathBuf {
        self.paths.agent(agent.name.as_str())
    }

    /// Tells people that the ledger itself failed: without it nothing else can be promised.
    pub fn ledger_failed(
        &self,
        channel: ChannelId,
        reply_to: Option<MessageId>,
        error: &StoreError,
    ) {
        error!("failed to use the ledger: {error}");
        self.emit(Event::Say {
            channel,
            reply_to,
            text: escape::sentence(&format!(
                "I could not store that: {error}. Nothing was run. Please send it again once the problem is fixed."
            )),
        });
    }

    /// Notes that a turn began (`1`) or ended (`-1`), and shows the new presence.
    pub fn count_turn(&self, agent: AgentId, by: isize) {
        let (tasks, agents) = self.busy.changed(agent, by);
        self.emit(Event::Presence { tasks, agents });
    }

    /// Somebody wrote or a tool ran: the silence is over.
    pub fn activity(&self, agent: &Identity) {
        agent.timer.reset();
    }
}

/// Counts turns and the agents that run them.
#[derive(Debug, Default)]
pub struct Busy {
    running: Mutex<HashMap<AgentId, usize>>,
}

impl Busy {
    /// Notes that a turn began (`1`) or ended (`-1`); returns the turns and agents now at work.
    pub fn changed(&self, agent: AgentId, by: isize) -> (usize, usize) {
        let mut running = self.running.lock();
        let count = running.entry(agent).or_default();
        *count = count.saturating_add_signed(by);
        if *count == 0 {
            running.remove(&agent);
        }
        let turns = running.values().sum();
        (turns, running.len())
    }
}
