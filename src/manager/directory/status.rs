//! The state of an agent: for `/status`, `/agent list` and for those who must know whether it is at work.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::sync::Semaphore;

use crate::agent::event::ChildProgress;
use crate::agent::{AgentDeps, Caps, Configuration, ConversationState, OwnRole, Spent};
use crate::clock;
use crate::config::{DaySet, effective};
use crate::domain::{
    AgentConfig, AgentName, AgentStatus, ChannelId, GuildId, Mode, Person, SessionMeta,
};
use crate::exec::Policy;
use crate::llm::discovery::Choice;
use crate::manager::directory::Directory;
use crate::manager::directory::folder::{is_there, off_thread};
use crate::manager::directory::registry::{AgentListing, AgentSummary};
use crate::manager::error::ManagerError;
use crate::manager::servers::access_control::AccessControl;
use crate::manager::servers::settings::ServerSettings;
use crate::store::AgentRow;
use crate::workspace::size::{self, Size};
use crate::workspace::{FileError, Jail, Workspace};

/// Longest time for counting the files of a workspace.
const COUNTS: Duration = Duration::from_secs(2);

/// An agent as `/status` shows it.
#[derive(Clone, Debug)]
pub struct Status {
    pub name: String,
    pub model: Choice,
    /// The name of its permission profile.
    pub profile: String,
    /// What that permits, in words.
    pub allowed: String,
    /// How its commands are confined.
    pub policy: Policy,
    pub status: AgentStatus,
    /// The context of the conversation asked about; `None` when it is empty.
    pub session: Option<SessionState>,
    /// How full that context is, where that is known.
    pub context: Option<ContextFill>,
    /// Messages and prompts that wait in the conversation asked about.
    pub waiting: usize,
    pub money: Money,
    /// Branches at work.
    pub branches_running: usize,
    /// Whether it is one of the agents that go first; `None` where it was not asked to be.
    pub core: Option<CoreState>,
    /// Why `agent.json` cannot be used now, if so; everything else is from the last good one.
    pub fault: Option<String>,
    /// The folder of the machine that it works in; `None` for its own.
    pub folder: Option<BoundFolder>,
    /// The session saved last.
    pub last_session: Option<SessionMeta>,
    /// The mode of its turns.
    pub mode: Mode,
    /// Its own role; `None` where it has no charter.
    pub charter: Option<OwnCharter>,
    /// The size of its workspace; `None` where that cannot be counted.
    pub workspace: Option<Size>,
    /// The size of the home of its commands; `None` where there is none yet, or it cannot be counted.
    pub home: Option<Size>,
}

/// The folder of the machine that an agent works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundFolder {
    pub path: PathBuf,
    /// Why it cannot be used as it should be, if so.
    pub fault: Option<String>,
}

/// An agent with `core: true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreState {
    /// Its files are read, and its requests go first.
    Ready,
    /// There were enough such agents before it.
    Ordinary,
}

/// The state of an agent's own charter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OwnCharter {
    /// The name of the role.
    Role(String),
    Faulty,
}

/// How much of a model's window a context takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextFill {
    pub tokens: u64,
    pub window: u64,
}

/// What an agent spent, as far as prices are known, and what is left of its budgets. In US dollars; days and months in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Money {
    pub today: f64,
    /// None without a budget.
    pub left_today: Option<f64>,
    /// Who set that budget.
    pub day_set: DaySet,
    /// Tokens left today for models without a known price; `None` without such a limit, and where none was used.
    pub unpriced_left: Option<u64>,
    /// Of the whole server.
    pub left_this_month: Option<f64>,
}

impl Money {
    fn of(spent: Spent, caps: Caps) -> Self {
        Self {
            today: spent.today,
            left_today: caps
                .agent_day
                .usd
                .map(|cap| cap + spent.extra_today - spent.today),
            day_set: caps.agent_day.set,
            unpriced_left: caps
                .agent_day
                .unpriced
                .filter(|_| spent.unpriced_today > 0)
                .map(|cap| cap.saturating_sub(spent.unpriced_today)),
            left_this_month: caps
                .month
                .map(|cap| cap + spent.extra_this_month - spent.this_month),
        }
    }
}

/// A context that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionState {
    pub messages: usize,
    /// How long nobody wrote.
    pub idle: Duration,
    pub busy: bool,
}

/// Reports on agents and their runs.
pub(crate) struct StatusReports {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) settings: Arc<ServerSettings>,
    pub(crate) access: Arc<AccessControl>,
    pub(crate) drawing: Semaphore,
}

impl StatusReports {
    /// The state of an agent, seen from `thread`, if it is given.
    ///
    /// # Errors
    ///
    /// When its file or the ledger cannot be read.
    pub(crate) async fn of(
        &self,
        agent: &AgentSummary,
        thread: Option<ChannelId>,
    ) -> Result<Status, ManagerError> {
        let deps = &self.deps;
        let (config, fault) = self.usable_configuration(agent).await?;
        let effective =
            effective::agent(&config, &deps.settings_of(agent.guild), &deps.config.load());
        let states = self.directory.states(agent).await;
        let seen_here = states.iter().find(|state| match thread {
            Some(thread) => state.channel == thread,
            None => state.branch.is_none(),
        });
        let context = match seen_here {
            Some(state) => self.fill(state, &effective.models).await,
            None => None,
        };
        let branches = states.iter().filter(|state| state.branch.is_some());
        let allowed = deps.profiles.load().in_words(&config.permissions);
        let spent = deps.spent(agent.id, agent.guild, clock::now()).await?;
        let latest = deps.store.sessions(agent.id, 0, 1).await?;
        let [workspace, home] = self.sizes(agent).await;
        Ok(Status {
            name: agent.name.to_string(),
            model: self
                .settings
                .choice(agent.guild, effective.models.first().map(String::as_str)),
            profile: config.permissions.label().to_owned(),
            allowed,
            policy: Policy::of_agent(&effective),
            status: agent.status,
            session: seen_here.and_then(session_of),
            context,
            waiting: seen_here.map_or(0, |state| state.waiting),
            money: Money::of(spent, deps.caps(&effective)),
            branches_running: branches.filter(|state| state.turn.is_some()).count(),
            core: self.core_state(agent, &config),
            fault,
            folder: self.bound_folder(agent).await,
            last_session: latest.sessions.into_iter().next(),
            mode: config.mode.unwrap_or_default(),
            charter: self.own_charter(agent).await,
            workspace,
            home,
        })
    }

    async fn bound_folder(&self, agent: &AgentSummary) -> Option<BoundFolder> {
        let path = self.directory.bound_folder(agent).await?;
        let state = self
            .deps
            .workspace_state(self.deps.paths.agent(agent.name.as_str()));
        let fault = state.await.fault();
        Some(BoundFolder { path, fault })
    }

    async fn own_charter(&self, agent: &AgentSummary) -> Option<OwnCharter> {
        match self.directory.roles(agent).await.ok()?.own {
            OwnRole::None => None,
            OwnRole::Good(role) => Some(OwnCharter::Role(role.name.clone())),
            OwnRole::Faulty { .. } => Some(OwnCharter::Faulty),
        }
    }

    fn core_state(&self, agent: &AgentSummary, config: &AgentConfig) -> Option<CoreState> {
        config.core.unwrap_or_default().then(|| {
            if self.deps.configurations.core.has(agent.id) {
                CoreState::Ready
            } else {
                CoreState::Ordinary
            }
        })
    }

    /// The agent's configuration; where its file cannot be used, the last good one, and the fault. Before the first good one since
    /// the start, it has what the database knows of it.
    async fn usable_configuration(
        &self,
        agent: &AgentSummary,
    ) -> Result<(Arc<AgentConfig>, Option<String>), ManagerError> {
        let deps = &self.deps;
        let folder = deps.paths.agent(agent.name.as_str());
        match deps.configuration(agent.id, folder).await {
            Configuration::Good(config) => Ok((config, None)),
            Configuration::Faulty { fault, last, .. } => match last {
                Some(last) => Ok((last, Some(fault.text))),
                None => {
                    let row = deps.store.agent(agent.id).await?;
                    let row = row.ok_or(ManagerError::NoAgentHere)?;
                    let known = AgentConfig {
                        id: Some(row.id),
                        name: row.name,
                        channel_id: row.channel_id,
                        model: row.model,
                        permissions: row.permissions,
                        ..AgentConfig::default()
                    };
                    Ok((Arc::new(known), Some(fault.text)))
                }
            },
        }
    }

    /// How full a context is: by the count of its latest answer's provider, which is in the ledger after a restart.
    async fn fill(&self, state: &ConversationState, models: &[String]) -> Option<ContextFill> {
        let deps = &self.deps;
        let targets = deps.models.targets(models).ok()?;
        let window = deps.models.known().catalog().facts(targets.first()?).window;
        let tokens = match state.tokens {
            Some(tokens) => tokens,
            None if state.messages > 0 => deps.store.latest_size(state.id).await.ok()??,
            None => return None,
        };
        Some(ContextFill { tokens, window })
    }

    /// The sizes of an agent's workspace and of the home of its commands, counted only as long as somebody waits.
    async fn sizes(&self, agent: &AgentSummary) -> [Option<Size>; 2] {
        let folder = self.deps.paths.agent(agent.name.as_str());
        let counted = off_thread(move || {
            let Ok(whole) = Workspace::open(&folder) else {
                return Ok([None, None]);
            };
            let counted = |jail: Result<Jail, FileError>| {
                let jail = jail.ok()?;
                Some(size::of(jail.dir(), Instant::now() + COUNTS))
            };
            Ok([whole.files(), whole.home()].map(counted))
        });
        counted.await.unwrap_or_default()
    }

    /// `/agent list`: every agent of a server, destroyed ones last.
    pub(crate) async fn list(&self, guild: GuildId) -> Result<Vec<AgentListing>, ManagerError> {
        let mut rows = self.deps.store.agents().await?;
        rows.retain(|row| row.guild_id == guild);
        rows.sort_by_key(|row| {
            (
                row.status == AgentStatus::Destroyed,
                row.name.clone(),
                row.created_at,
            )
        });
        Ok(join_all(rows.into_iter().map(|row| self.listing(row))).await)
    }

    async fn listing(&self, row: AgentRow) -> AgentListing {
        let states = match self.directory.registry.get(row.id) {
            Some(agent) => self.directory.states(&agent).await,
            None => Vec::new(),
        };
        let messages: usize = states.iter().map(|state| state.messages).sum();
        let latest = states.iter().map(|state| state.last_activity).max();
        AgentListing {
            context: latest
                .filter(|_| messages > 0)
                .map(|latest| (messages, latest)),
            busy: states.iter().any(|state| state.turn.is_some()),
            has_files: self.has_own_files(&row).await,
            has_channel: row.channel_id.is_some(),
            model: self.settings.choice(row.guild_id, row.model.as_deref()),
            allowed: self.deps.profiles.load().in_words(&row.permissions),
            row,
        }
    }

    /// Whether the folder of that name belongs to this agent and not to a namesake.
    async fn has_own_files(&self, row: &AgentRow) -> bool {
        let Ok(name) = AgentName::parse(&row.name) else {
            return false;
        };
        let folder = self.deps.paths.agent(name.as_str());
        let is_there = is_there(&folder).await;
        if row.status != AgentStatus::Destroyed || !is_there {
            return is_there;
        }
        // One that cannot be read belongs to no other agent either.
        let owner = crate::manager::directory::folder::load(folder)
            .await
            .ok()
            .and_then(|file| file.config.id);
        owner.is_none_or(|owner| owner == row.id)
            && self.directory.registry.named(name.as_str()).is_none()
    }

    /// The sub-agents of an agent that are at work, as far as `person` may join them.
    pub(crate) async fn children_at_work(
        &self,
        agent: &AgentSummary,
        person: &Person,
    ) -> Vec<ChildProgress> {
        let states = self.directory.states(agent).await.into_iter();
        let turns = states.filter_map(|state| state.turn);
        let mut children = Vec::new();
        for child in turns.flat_map(|turn| turn.progress.children) {
            if self.access.may_join(person, &child.agents).await.is_ok() {
                children.push(child);
            }
        }
        children
    }
}

fn session_of(state: &ConversationState) -> Option<SessionState> {
    (state.messages > 0).then(|| SessionState {
        messages: state.messages,
        idle: (clock::now() - state.last_activity)
            .to_std()
            .unwrap_or_default(),
        busy: state.turn.is_some(),
    })
}
