//! The servers of all agents: what is written of them, what was approved, and their processes.
//!
//! ```text
//! look (the agent's files) ─▶ roster (with what was approved) ─▶ call
//!                               │ a server of config.json that was never read: read in the background, pinned
//!                               └ a new entry of an agent's file: one notice
//! ```
//!
//! It decides nothing that people decide: see [`approval`](super::approval).

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use chorus_mcp::Place;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::approval::McpError;
use super::pins::Kept;
use super::processes::{Key, ProcessView, Processes};
use super::roster::{Roster, RosterServer, Standing};
use super::servers::{self, Server};
use super::starting::Target;
use crate::config::{Config, Env, Paths};
use crate::domain::{AgentId, AgentName, ChannelId};
use crate::exec::Probing;
use crate::store::{McpScope, McpServerRow, McpState, NewPart, Store, StoreError};
use crate::text::redact::Redactor;
use crate::text::{self, escape};
use crate::workspace::{Version, Workspace};

/// Servers that are read in the background at the same time.
const READ_AT_ONCE: usize = 2;

/// How long a server that could not be read is left alone.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1_800);

/// Shortest time between two notices about one server.
pub(super) const BETWEEN_NOTICES: Duration = Duration::from_secs(600);

/// Servers of one agent that are used; further ones are refused.
const MOST_SERVERS: usize = 64;

/// What servers are served with.
pub struct HubParts {
    pub store: Store,
    pub config: Arc<ArcSwap<Config>>,
    pub env: Arc<Env>,
    pub paths: Paths,
    /// The sandbox of this machine.
    pub sandbox: Probing,
    pub redactor: Redactor,
    /// Called when something waits in a channel's outbox.
    pub posted: Box<dyn Fn(ChannelId) + Send + Sync>,
}

impl fmt::Debug for HubParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HubParts").finish_non_exhaustive()
    }
}

/// The servers of all agents. One for the daemon's life.
pub struct Hub {
    pub(super) parts: HubParts,
    pub(super) processes: Arc<Processes>,
    /// What is stored, by scope, as far as it was needed.
    scopes: Mutex<HashMap<McpScope, Arc<ScopeRows>>>,
    /// Held while rows change.
    pub(super) writing: tokio::sync::Mutex<()>,
    files: Mutex<HashMap<AgentId, ReadFile>>,
    rosters: Mutex<HashMap<AgentId, CachedRoster>>,
    /// Servers that were read lately, or are being read: the entry's hash, and when.
    pub(super) attempts: Mutex<HashMap<(McpScope, String), (String, Instant)>>,
    /// When people were last told about a server.
    pub(super) told: Mutex<HashMap<(McpScope, String), Told>>,
    pub(super) reading: Semaphore,
    keys: AtomicU64,
    pub(super) tasks: TaskTracker,
    pub(super) stop: CancellationToken,
}

impl fmt::Debug for Hub {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hub").finish_non_exhaustive()
    }
}

/// What people were told about a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    pub(super) at: Instant,
    /// Something came too soon after it, and is still to be told.
    pub(super) owes: bool,
}

/// An agent whose servers are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Who {
    pub agent: AgentId,
    pub name: AgentName,
    /// Where its people are told about servers.
    pub channel: ChannelId,
}

/// What is stored of the servers of a scope.
#[derive(Debug, Default)]
pub(super) struct ScopeRows {
    generation: u64,
    pub(super) servers: HashMap<String, Arc<Kept>>,
    /// Approved tools that a running server no longer has.
    missing: HashMap<String, BTreeSet<String>>,
}

impl ScopeRows {
    /// Whether a running server no longer has an approved tool.
    pub(super) fn is_missing(&self, server: &str, tool: &str) -> bool {
        let missing = self.missing.get(server);
        missing.is_some_and(|missing| missing.contains(tool))
    }
}

/// What the files say of the servers of an agent.
#[derive(Debug)]
pub struct Written {
    servers: Vec<Server>,
    /// Why the agent's own file is not used as it is now.
    pub fault: Option<String>,
}

/// An agent's own file as last read.
struct ReadFile {
    version: Option<Version>,
    config: Arc<Config>,
    written: Arc<Written>,
    /// Those of the last file that could be used.
    good: Vec<Server>,
    /// The fault that people were told.
    told: Option<String>,
}

struct CachedRoster {
    written: Arc<Written>,
    generations: [u64; 2],
    roster: Arc<Roster>,
}

impl Hub {
    /// Makes it; nothing starts.
    pub fn new(parts: HubParts) -> Self {
        Self {
            parts,
            processes: Arc::default(),
            scopes: Mutex::default(),
            writing: tokio::sync::Mutex::default(),
            files: Mutex::default(),
            rosters: Mutex::default(),
            attempts: Mutex::default(),
            told: Mutex::default(),
            reading: Semaphore::new(READ_AT_ONCE),
            keys: AtomicU64::new(1),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Reads what the files say of the servers of the agent in `folder`; `None` where there are none. Blocks.
    pub fn look(&self, agent: AgentId, name: &str, folder: &Path) -> Option<Arc<Written>> {
        let config = self.parts.config.load_full();
        let version = Workspace::open(folder)
            .ok()
            .and_then(|workspace| Version::of(workspace.agent(), servers::AGENT_FILE).ok());
        let mut files = self.files.lock();
        let known = files.get(&agent);
        if known.is_none() && version.is_none() && config.mcp_servers.is_empty() {
            return None;
        }
        if let Some(known) = known
            && known.version == version
            && Arc::ptr_eq(&known.config, &config)
        {
            return Some(known.written.clone());
        }
        let of_config = || {
            let all = servers::of_config(&config).into_iter();
            all.filter(|server| servers::is_for(server, name))
        };
        let (mut found, fault) = match servers::of_agent(&config, name, folder) {
            Ok(found) => (found, None),
            Err(fault) => {
                let good = known.map(|known| known.good.clone()).unwrap_or_default();
                let own = good
                    .into_iter()
                    .filter(|server| server.place == Place::Agent);
                (of_config().chain(own).collect(), Some(fault.to_string()))
            }
        };
        found.truncate(MOST_SERVERS);
        let written = Arc::new(Written {
            servers: found.clone(),
            fault,
        });
        let told = known.and_then(|known| known.told.clone());
        let read = ReadFile {
            version,
            config,
            written: written.clone(),
            good: found,
            told,
        };
        files.insert(agent, read);
        Some(written)
    }

    /// The servers of an agent with what was approved of them. Nothing is started.
    pub async fn roster(
        self: &Arc<Self>,
        who: &Who,
        written: Option<&Arc<Written>>,
    ) -> Arc<Roster> {
        let Some(written) = written else {
            return Arc::default();
        };
        let scopes = [McpScope::All, McpScope::Agent(who.agent)];
        let mut rows = Vec::with_capacity(scopes.len());
        for scope in scopes {
            match self.rows(scope).await {
                Ok(found) => rows.push(found),
                Err(error) => {
                    warn!(agent.id = %who.agent, "failed to read what was approved of MCP servers: {error}");
                    return Arc::default();
                }
            }
        }
        let generations = [rows[0].generation, rows[1].generation];
        let cached = {
            let rosters = self.rosters.lock();
            let cached = rosters.get(&who.agent);
            let cached = cached.filter(|cached| {
                Arc::ptr_eq(&cached.written, written) && cached.generations == generations
            });
            cached.map(|cached| cached.roster.clone())
        };
        let roster = match cached {
            Some(roster) => roster,
            None => {
                let of = |server: &Server| {
                    let (scope, rows) = match server.place {
                        Place::Operator => (scopes[0], &rows[0]),
                        Place::Agent => (scopes[1], &rows[1]),
                    };
                    let kept = rows.servers.get(&server.name);
                    let missing = rows.missing.get(&server.name);
                    RosterServer::of(server, scope, kept.map(|kept| &**kept), missing)
                };
                let key = self.keys.fetch_add(1, Ordering::Relaxed);
                let servers = written.servers.iter().map(of).collect();
                let roster = Arc::new(Roster::new(key, who.clone(), servers));
                let cached = CachedRoster {
                    written: written.clone(),
                    generations,
                    roster: roster.clone(),
                };
                self.rosters.lock().insert(who.agent, cached);
                roster
            }
        };
        self.tell_of_file(who, written).await;
        roster
    }

    /// A turn has these servers: what is new among them is read, or told to people. Nothing waits for that.
    pub fn meets(self: &Arc<Self>, roster: &Roster) {
        let Some(who) = &roster.who else {
            return;
        };
        for server in &roster.servers {
            match (&server.standing, server.place) {
                (Standing::Unread, Place::Operator) => self.read_soon(who, server),
                (Standing::NeedsApproval, Place::Agent) if self.is_new(server) => {
                    let (hub, who, server) = (self.clone(), who.clone(), server.clone());
                    self.tasks
                        .spawn(async move { hub.tell_of_entry(&who, &server).await });
                }
                (Standing::Approved, _) if self.owes(server) => {
                    let (hub, who, server) = (self.clone(), who.clone(), server.clone());
                    self.tasks
                        .spawn(async move { hub.post_owed(&who, &server).await });
                }
                _ => {}
            }
        }
    }

    /// Whether people are to be told of something that came too soon after a card.
    fn owes(&self, server: &RosterServer) -> bool {
        let told = self.told.lock();
        let told = told.get(&(server.scope, server.name.clone()));
        told.is_some_and(|told| told.owes && told.at.elapsed() >= BETWEEN_NOTICES)
    }

    /// Whether nobody was told of the entry as it is now.
    fn is_new(&self, server: &RosterServer) -> bool {
        let scopes = self.scopes.lock();
        let kept = scopes
            .get(&server.scope)
            .and_then(|rows| rows.servers.get(&server.name));
        let entry = server.entry.as_ref();
        entry.is_some_and(|entry| kept.is_none_or(|kept| !kept.is_of(entry)))
    }

    /// Forgets which tools a server no longer had: it is started again.
    pub(super) fn forget_missing(&self, scope: McpScope, name: &str) {
        self.change(scope, |rows| {
            rows.missing.remove(name);
        });
    }

    /// What is stored of a scope; read once.
    pub(super) async fn rows(&self, scope: McpScope) -> Result<Arc<ScopeRows>, StoreError> {
        if let Some(rows) = self.scopes.lock().get(&scope) {
            return Ok(rows.clone());
        }
        let store = &self.parts.store;
        let mut pins = HashMap::<String, Vec<_>>::new();
        for pin in store.mcp_pins(scope).await? {
            pins.entry(pin.server.clone()).or_default().push(pin);
        }
        let servers = store.mcp_servers(scope).await?.into_iter().map(|row| {
            let pins = pins.remove(&row.name).unwrap_or_default();
            (row.name.clone(), Arc::new(Kept { row, pins }))
        });
        let read = Arc::new(ScopeRows {
            generation: self.keys.fetch_add(1, Ordering::Relaxed),
            servers: servers.collect(),
            missing: HashMap::new(),
        });
        // Whoever was quicker may have changed it since.
        let mut scopes = self.scopes.lock();
        Ok(scopes.entry(scope).or_insert(read).clone())
    }

    /// What is stored of a server.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub async fn stored(&self, server: &RosterServer) -> Result<Option<Arc<Kept>>, McpError> {
        Ok(self.kept(server.scope, &server.name).await?)
    }

    /// The same by its name.
    pub(super) async fn kept(
        &self,
        scope: McpScope,
        name: &str,
    ) -> Result<Option<Arc<Kept>>, StoreError> {
        let rows = self.rows(scope).await?;
        Ok(rows.servers.get(name).cloned())
    }

    /// Stores a server, and what a channel is told about it. `missing` are the tools that a running server no longer has, where its
    /// list was read. [`Hub::writing`] is held.
    pub(super) async fn put(
        &self,
        scope: McpScope,
        kept: Kept,
        missing: Option<BTreeSet<String>>,
        told: Option<(ChannelId, NewPart)>,
    ) -> Result<(), StoreError> {
        let channel = told.as_ref().map(|(channel, _)| *channel);
        let before = self.rows(scope).await?;
        let is_same = before
            .servers
            .get(&kept.row.name)
            .is_some_and(|before| **before == kept);
        if !is_same || told.is_some() {
            let store = &self.parts.store;
            store
                .put_mcp_server(scope, &kept.row, &kept.pins, told)
                .await?;
        }
        self.change(scope, |rows| {
            let name = kept.row.name.clone();
            if let Some(missing) = &missing {
                rows.missing.insert(name.clone(), missing.clone());
            }
            rows.servers.insert(name, Arc::new(kept.clone()));
        });
        if let Some(channel) = channel {
            (self.parts.posted)(channel);
        }
        Ok(())
    }

    /// Forgets a server.
    pub(super) async fn forget(&self, scope: McpScope, name: &str) -> Result<(), StoreError> {
        self.parts.store.forget_mcp_server(scope, name).await?;
        self.change(scope, |rows| {
            rows.servers.remove(name);
            rows.missing.remove(name);
        });
        self.attempts.lock().remove(&(scope, name.to_owned()));
        Ok(())
    }

    fn change(&self, scope: McpScope, change: impl Fn(&mut ScopeRows)) {
        let mut scopes = self.scopes.lock();
        let Some(rows) = scopes.get_mut(&scope) else {
            return;
        };
        let mut new = ScopeRows {
            generation: self.keys.fetch_add(1, Ordering::Relaxed),
            servers: rows.servers.clone(),
            missing: rows.missing.clone(),
        };
        change(&mut new);
        *rows = Arc::new(new);
    }

    /// Tells people once that a new or changed entry waits for them. Nothing of the server is started.
    async fn tell_of_entry(&self, who: &Who, server: &RosterServer) {
        let Some(entry) = &server.entry else {
            return;
        };
        let _alone = self.writing.lock().await;
        let Ok(kept) = self.kept(server.scope, &server.name).await else {
            return;
        };
        if kept.as_ref().is_some_and(|kept| kept.is_of(entry)) {
            return;
        }
        let (row, pins) = match kept {
            Some(kept) => (kept.row.clone(), kept.pins.clone()),
            None => (unread(&server.name), Vec::new()),
        };
        let row = McpServerRow {
            sha256: entry.sha256(&row.instructions),
            state: McpState::Waiting,
            ..row
        };
        let name = &server.name;
        let words = format!("MCP server `{name}` waits for approval: `/mcp approve server:{name}`");
        let told = (who.channel, NewPart::notice(words));
        let put = self.put(server.scope, Kept { row, pins }, None, Some(told));
        if let Err(error) = put.await {
            warn!(agent.id = %who.agent, "failed to note that the MCP server {name} is new: {error}");
        }
    }

    /// Tells people once what is wrong with the agent's own file.
    async fn tell_of_file(&self, who: &Who, written: &Written) {
        {
            let mut files = self.files.lock();
            let Some(file) = files.get_mut(&who.agent) else {
                return;
            };
            if file.told == written.fault {
                return;
            }
            file.told.clone_from(&written.fault);
        }
        let Some(fault) = &written.fault else {
            return;
        };
        let fault = self.parts.redactor.redact(fault);
        let fault = escape::text(&text::one_line(&text::visible(&fault).0, 500));
        let words =
            format!("The last valid file stays in force, because this one cannot be used: {fault}");
        match self.parts.store.notice(who.channel, &words).await {
            Ok(_) => (self.parts.posted)(who.channel),
            Err(error) => {
                warn!(agent.id = %who.agent, "failed to tell of a faulty .mcp.json: {error}")
            }
        }
    }

    /// The folder of an agent.
    pub(super) fn folder(&self, who: &Who) -> PathBuf {
        self.parts.paths.agent(who.name.as_str())
    }

    /// What is known of the process of an agent's server.
    pub fn process(&self, agent: AgentId, server: &str) -> ProcessView {
        let key = Key {
            agent,
            server: server.to_owned(),
        };
        let mut view = self.processes.view(&key);
        let redact = |line: &String| self.parts.redactor.redact(line).into_owned();
        view.last_words = view.last_words.iter().map(redact).collect();
        view
    }

    /// Ends all processes of an agent, whose folder is about to move or to go.
    pub async fn end_agent(&self, agent: AgentId) {
        self.processes.end(|key| key.agent == agent).await;
        self.files.lock().remove(&agent);
        self.rosters.lock().remove(&agent);
    }

    /// Forgets what is known of an agent that is destroyed; the store has forgotten it.
    pub async fn forget_agent(&self, agent: AgentId) {
        self.end_agent(agent).await;
        let scope = McpScope::Agent(agent);
        self.scopes.lock().remove(&scope);
        self.attempts.lock().retain(|(of, _), _| *of != scope);
        self.told.lock().retain(|(of, _), _| *of != scope);
    }

    /// Ends everything; nothing starts any more.
    pub async fn shut_down(&self) {
        self.stop.cancel();
        self.tasks.close();
        tokio::join!(self.processes.shut_down(), self.tasks.wait());
    }

    /// The names of all servers that an agent's files name.
    pub(super) fn names_of(&self, who: &Who) -> Vec<String> {
        let files = self.files.lock();
        let servers = files.get(&who.agent).map(|file| &file.written.servers);
        let servers = servers.into_iter().flatten();
        servers.map(|server| server.name.clone()).collect()
    }

    /// The names of the tools of all other servers of an agent.
    pub(super) fn tools_of_others(&self, target: Target<'_>) -> BTreeSet<String> {
        let names = self.names_of(target.who);
        let scopes = self.scopes.lock();
        let all = [McpScope::All, McpScope::Agent(target.who.agent)];
        let rows = all.iter().filter_map(|scope| scopes.get(scope));
        let servers = rows.flat_map(|rows| &rows.servers);
        let others = servers.filter(|(name, _)| *name != target.name && names.contains(name));
        let tools = others.flat_map(|(_, kept)| &kept.pins);
        tools.map(|pin| pin.tool.clone()).collect()
    }

    /// What is written of one server.
    pub(super) fn written(&self, who: &Who, name: &str) -> Option<Server> {
        let files = self.files.lock();
        let file = files.get(&who.agent)?;
        let mut all = file.written.servers.iter();
        all.find(|server| server.name == name).cloned()
    }
}

/// A server of which nothing is known yet.
pub(super) fn unread(name: &str) -> McpServerRow {
    McpServerRow {
        name: name.to_owned(),
        sha256: String::new(),
        revision: String::new(),
        state: McpState::Waiting,
        resolved_version: None,
        instructions: String::new(),
        decided_by: None,
        decided_at: None,
    }
}
