//! Folders of agents that the database does not know: after the database was lost, they are what is left.
//!
//! `agent.json` says in which channel an agent lives, and Discord to which server that belongs. So each agent is registered
//! again once the server with its channel is known; a folder whose channel does not exist stays as kept files.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use tracing::{error, info};

use crate::agent::event::Event;
use crate::clock;
use crate::domain::{AgentConfig, AgentId, AgentName, AgentStatus, ChannelId, GuildId, MessageId};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::directory::{Directory, folder};
use crate::manager::recovery::Recovery;
use crate::manager::servers::records::SeenServer;
use crate::store::{AgentRow, Registered, ServerState, StoreError};
use crate::text::{self, escape};

/// The notice in the channel of a rebuilt agent.
const REBUILT: &str = "The database of Chorus was lost, so I was rebuilt from my folder. My prompt, notes, workspace and saved sessions are here (`/context history`). The open conversation is lost, and I have not read recent messages here. Set the server settings again (`/settings`), including who may talk to me.";

/// Agents named in one message.
const NAMED: usize = 20;

/// Folders of agents without a row, by what their file says.
#[derive(Default)]
pub(crate) struct UnknownFolders {
    found: Mutex<Vec<(AgentName, AgentConfig)>>,
    /// There was no row at all at the start, so the database was lost.
    is_lost: AtomicBool,
}

impl UnknownFolders {
    fn put(&self, found: Vec<(AgentName, AgentConfig)>, is_lost: bool) {
        *self.found.lock() = found;
        self.is_lost.store(is_lost, Ordering::Relaxed);
    }

    /// Whether an agent of a lost database lives in one of these channels.
    fn lost_one(&self, channels: &[ChannelId]) -> bool {
        let found = self.found.lock();
        let lives_here = |one: &(AgentName, AgentConfig)| {
            one.1
                .channel_id
                .is_some_and(|channel| channels.contains(&channel))
        };
        self.is_lost.load(Ordering::Relaxed) && found.iter().any(lives_here)
    }

    /// Takes those that live in one of these channels.
    fn take(&self, is_here: impl Fn(ChannelId) -> bool) -> Vec<(AgentName, AgentConfig)> {
        let mut all = self.found.lock();
        let lives_here =
            |found: &mut (AgentName, AgentConfig)| found.1.channel_id.is_some_and(&is_here);
        all.extract_if(.., lives_here).collect()
    }
}

impl Recovery {
    /// Looks for folders of agents without a row. If there is no row at all the database was lost, and the operator is
    /// told.
    pub(crate) async fn look_for_unknown(&self, rows: &[AgentRow]) {
        let known: HashSet<String> = rows.iter().map(|row| row.name.clone()).collect();
        let agents = self.deps.paths.agents();
        let looked = tokio::task::spawn_blocking(move || look(&agents, &known)).await;
        let (found, broken) = looked.unwrap_or_default();
        let is_lost = rows.is_empty() && !(found.is_empty() && broken.is_empty());
        if is_lost {
            self.deps.emit(Event::Operator {
                cause: "database-lost".to_owned(),
                text: lost(&found, &broken),
            });
        }
        self.unknown.put(found, is_lost);
    }

    /// Accepts a server again in which agents of a lost database live: the operator must have accepted it. Where the
    /// configuration lists servers, that list alone decides.
    ///
    /// # Errors
    ///
    /// When the ledger fails; the server is not served then.
    pub(crate) async fn accept_again(
        &self,
        server: &SeenServer,
        channels: &[ChannelId],
    ) -> Result<(), StoreError> {
        let (guild, operators) = (server.guild, self.servers.operators());
        let is_listed = !self.deps.config.load().servers.is_empty();
        let is_own = operators.is_empty() || operators.contains(&server.owner);
        if is_listed || is_own || !self.unknown.lost_one(channels) {
            return Ok(());
        }
        let accepted = self.servers.records.change(guild, |row| {
            // A decision since then outranks the folders.
            if row.state == ServerState::Seen {
                row.state = ServerState::Accepted;
                row.decided_at = Some(clock::now());
            }
            Ok::<_, StoreError>(())
        });
        if accepted.await?.state == ServerState::Accepted {
            let text = format!(
                "The server {} (`{guild}`) counts as accepted again, because agents of the lost database live in it. `/servers remove` undoes that.",
                escape::name(&server.name)
            );
            self.deps.emit(Event::Operator {
                cause: format!("accepted-again:{guild}"),
                text,
            });
        }
        Ok(())
    }

    /// Registers the agents without a row whose channels are in this server. `channels` are all its channels, each with its
    /// newest message.
    pub(crate) async fn rebuild(
        &self,
        guild: GuildId,
        channels: &[(ChannelId, Option<MessageId>)],
    ) {
        let newest = |wanted: ChannelId| channels.iter().find(|(channel, _)| *channel == wanted);
        for (name, config) in self.unknown.take(|channel| newest(channel).is_some()) {
            let seen = config
                .channel_id
                .and_then(newest)
                .and_then(|(_, seen)| *seen);
            match self.rebuild_one(guild, &name, &config, seen).await {
                Ok(Registered::Done) => info!("agent {name} was rebuilt from its folder"),
                Ok(taken) => error!("failed to rebuild agent {name} from its folder: {taken:?}"),
                Err(error) => error!("failed to rebuild agent {name} from its folder: {error}"),
            }
        }
    }

    async fn rebuild_one(
        &self,
        guild: GuildId,
        name: &AgentName,
        config: &AgentConfig,
        seen: Option<MessageId>,
    ) -> Result<Registered, StoreError> {
        let store = &self.deps.store;
        let id = config.id.unwrap_or_else(AgentId::random);
        if store.agent(id).await?.is_some() {
            // A copy of another agent's folder.
            return Ok(Registered::NameTaken);
        }
        let agent = AgentSummary {
            id,
            name: name.clone(),
            guild,
            channel: config.channel_id,
            status: AgentStatus::Active,
        };
        if config.id.is_none() {
            let folder = self.deps.paths.agent(name.as_str());
            let written = folder::change(folder, move |keys| {
                keys.insert("id".to_owned(), serde_json::json!(id));
            });
            if let Err(error) = written.await {
                error!(agent.id = %id, "failed to write the id of {name} into its file: {error}");
            }
        }
        let row = AgentRow {
            created_at: config.created_at.unwrap_or_else(clock::now),
            ..Directory::row_of(&agent, config)
        };
        let registered = store.rebuild_agent(row, seen, REBUILT).await?;
        if registered == Registered::Done {
            self.directory.registry.put(agent.clone());
            if let Some(channel) = agent.channel {
                self.deps.emit(Event::Outbox(channel));
            }
            // Listing sessions makes their rows.
            if let Err(error) = self.directory.sessions_of(&agent).list_sessions(0, 1).await {
                error!(agent.id = %id, "failed to index the sessions of {name}: {error}");
            }
        }
        Ok(registered)
    }
}

/// Folders with a usable `agent.json` that names a channel, and what is wrong with the others; blocking.
fn look(agents: &PathBuf, known: &HashSet<String>) -> (Vec<(AgentName, AgentConfig)>, Vec<String>) {
    let (mut found, mut broken) = (Vec::new(), Vec::new());
    for entry in std::fs::read_dir(agents).into_iter().flatten().flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let Ok(name) = AgentName::parse(&name) else {
            continue;
        };
        if known.contains(name.as_str()) || !entry.path().join("agent.json").exists() {
            continue;
        }
        match folder::read(&entry.path()) {
            Ok(file) if file.config.channel_id.is_some() => found.push((name, file.config)),
            // Kept files of a destroyed agent.
            Ok(_) => {}
            Err(error) => broken.push(format!("`{name}`: {error}")),
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    broken.sort();
    (found, broken)
}

/// What the operator is told about a lost database.
fn lost(found: &[(AgentName, AgentConfig)], broken: &[String]) -> String {
    let mut told = "The database was missing, so a new one was created. Server settings (`/settings`), open conversations, usage and audit are lost; `chorus restore --replace <backup>` brings them back.".to_owned();
    if !found.is_empty() {
        let mut names: Vec<String> = found
            .iter()
            .take(NAMED)
            .map(|(name, _)| format!("`{name}`"))
            .collect();
        if found.len() > NAMED {
            names.push(format!("{} more", found.len() - NAMED));
        }
        told.push_str(&format!(
            " {} found by {} and will be rebuilt where the channel is still there, which each says in its channel: {}.",
            text::count(found.len(), "agent was", "agents were"),
            if found.len() == 1 { "its folder" } else { "their folders" },
            names.join(", ")
        ));
    }
    for one in broken.iter().take(NAMED) {
        told.push_str(&format!("\n{}", text::escape::sentence(one)));
    }
    told
}
