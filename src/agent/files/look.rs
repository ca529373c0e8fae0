//! One reading of an agent's files: `agent.json`, its charter, the roles that it can take, and whatever else the caller
//! asks for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinError;

use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::setup::stages::with_gates;
use crate::agent::setup::{Configuration, OwnRole, Setup};
use crate::charter::{Catalog, Known};
use crate::domain::{AgentConfig, AgentId, ProfileRef};
use crate::mcp::{Who, Written};
use crate::tools::WorkspaceState;

/// An agent as one reading of its files finds it.
#[derive(Debug)]
pub(in crate::agent) struct Look<T> {
    /// Its `agent.json`.
    pub(in crate::agent) configuration: Configuration,
    pub(in crate::agent) setup: Setup,
    /// The roles that it can take, where they were asked for.
    pub(in crate::agent) roles: Arc<Catalog>,
    /// What else was read in its folder; `None` where reading failed.
    pub(in crate::agent) also: Option<T>,
    pub(in crate::agent) charter_is_faulty: bool,
}

impl<T> Look<T> {
    /// What is wrong with the files, in words that go into a sentence.
    pub(in crate::agent) fn fault(&self) -> Option<&'static str> {
        match &self.configuration {
            Configuration::Faulty { .. } => Some("the agent's agent.json has errors"),
            Configuration::Good(_) if self.charter_is_faulty => {
                Some("the agent's charter has errors")
            }
            Configuration::Good(_) => None,
        }
    }
}

/// What one reading of an agent's files gives.
struct Read<T> {
    configuration: Configuration,
    role: OwnRole,
    /// The roles that it can take, where they were asked for.
    roles: Arc<Catalog>,
    keeps_decisions: bool,
    workspace: WorkspaceState,
    /// What is written of its MCP servers.
    servers: Option<Arc<Written>>,
    also: Option<T>,
}

/// What to read of an agent's files besides its own setup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum Wanted {
    Itself,
    /// The roles that it can take too.
    Roles,
}

impl AgentDeps {
    /// The agent as its files say now. A broken file is reported once; the last good one stays in use.
    pub async fn setup(&self, agent: &Identity) -> Setup {
        self.look_at(agent, Wanted::Itself, |_| ()).await.setup
    }

    /// Reads the agent's files, and with `also` more of its folder: one trip to another thread for all of it.
    pub(in crate::agent) async fn look_at<T: Send + 'static>(
        &self,
        agent: &Identity,
        wanted: Wanted,
        also: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Look<T> {
        let read = self.read_setup(agent, wanted, also).await;
        self.tell_of_file(agent.id, &agent.name, agent.channel, &read.configuration)
            .await;
        // Without its folder there is no charter to speak of.
        if !read.configuration.is_folder_missing() {
            self.tell_of_charter(agent, &read.role).await;
        }
        self.tell_of_workspace(agent.id, &agent.name, agent.channel, &read.workspace)
            .await;
        let charter_is_faulty = matches!(read.role, OwnRole::Faulty { .. });
        let config = match &read.configuration {
            Configuration::Good(config) => Some(Arc::clone(config)),
            Configuration::Faulty { last, .. } => last.clone(),
        };
        let config = config.unwrap_or_else(|| Arc::new(unread(agent)));
        let mut setup = match read.role {
            OwnRole::None => Setup::without_role(config),
            OwnRole::Good(role)
            | OwnRole::Faulty {
                last: Some(role), ..
            } => {
                let tiers = self.effective(agent, &config).server.tiers;
                Setup::with_role(&config, role, &tiers)
            }
            OwnRole::Faulty {
                last: None, gates, ..
            } => Setup::without_role(Arc::new(with_gates(only_looks(&config), gates.as_deref()))),
        };
        setup.keeps_decisions = read.keeps_decisions;
        setup.workspace = Arc::new(read.workspace);
        if let Some(hub) = &self.services.mcp {
            setup.mcp = hub.roster(&who(agent), read.servers.as_ref()).await;
        }
        Look {
            configuration: read.configuration,
            setup,
            roles: read.roles,
            also: read.also,
            charter_is_faulty,
        }
    }

    async fn read_setup<T: Send + 'static>(
        &self,
        agent: &Identity,
        wanted: Wanted,
        also: impl FnOnce(&Path) -> T + Send + 'static,
    ) -> Read<T> {
        let (id, folder, home) = (agent.id, self.folder(agent), self.paths.home.clone());
        let configurations = self.configurations.clone();
        let (charters, roles) = (self.charters.clone(), self.roles.clone());
        let (decisions, guild) = (self.decisions.clone(), agent.guild);
        let config = self.config.load_full();
        let (hub, name) = (self.services.mcp.clone(), agent.name.clone());
        let looked = self.with_known(move |known| {
            let configuration = configurations.look(id, &folder, known.profiles);
            let heard = configuration.repo_instructions();
            let catalog = || roles.look(id, (&home, &folder), heard, known);
            Read {
                role: charters.look(id, &folder, known, catalog),
                roles: match wanted {
                    Wanted::Itself => Arc::default(),
                    Wanted::Roles => catalog(),
                },
                keeps_decisions: decisions.are_kept(guild),
                workspace: WorkspaceState::look(&folder, &config.folders),
                servers: hub.and_then(|hub| hub.look(id, name.as_str(), &folder)),
                configuration,
                also: Some(also(&folder)),
            }
        });
        looked.await.unwrap_or_else(|error| {
            let fault = format!("charter.md: {error}");
            Read {
                configuration: self.configurations.unread(id, &error),
                role: OwnRole::Faulty {
                    fault,
                    last: None,
                    gates: None,
                },
                roles: Arc::default(),
                keeps_decisions: false,
                workspace: WorkspaceState::default(),
                servers: None,
                also: None,
            }
        })
    }

    /// The roles that an agent can take, as their files are now.
    ///
    /// # Errors
    ///
    /// When reading them panicked.
    pub async fn roles_of(&self, id: AgentId, folder: PathBuf) -> Result<Arc<Catalog>, JoinError> {
        let (roles, home) = (self.roles.clone(), self.paths.home.clone());
        let configurations = self.configurations.clone();
        let looked = self.with_known(move |known| {
            let read = configurations.look(id, &folder, known.profiles);
            roles.look(id, (&home, &folder), read.repo_instructions(), known)
        });
        looked.await
    }

    /// Works with files off the async threads, given the tools, models and profiles that charters may name.
    pub(crate) async fn with_known<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Known<'_>) -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        let (tools, models) = (self.tools.clone(), self.models.clone());
        let profiles = self.profiles.load_full();
        let done = tokio::task::spawn_blocking(move || {
            let tools: Vec<&str> = tools.infos().map(|info| info.name).collect();
            work(&Known {
                tools: &tools,
                profiles: &profiles,
                models: Some(&|name| models.is_there(name)),
            })
        });
        done.await
    }
}

/// An agent as its MCP servers know it.
fn who(agent: &Identity) -> Who {
    Who {
        agent: agent.id,
        name: agent.name.clone(),
        channel: agent.channel,
    }
}

/// An agent whose `agent.json` was never readable: it can only read files.
fn unread(agent: &Identity) -> AgentConfig {
    only_looks(&AgentConfig {
        id: Some(agent.id),
        name: agent.name.to_string(),
        channel_id: Some(agent.channel),
        ..AgentConfig::default()
    })
}

fn only_looks(config: &AgentConfig) -> AgentConfig {
    AgentConfig {
        permissions: ProfileRef::Named("locked".to_owned()),
        always_allow: Vec::new(),
        web_search: false,
        ..config.clone()
    }
}
