//! What people do with the MCP servers of an agent: who may, written to the audit log, then done.

use std::sync::Arc;

use chorus_mcp::{Mark, Place};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::audit::Audit;
use super::directory::registry::AgentSummary;
use super::directory::{Directory, folder};
use super::error::ManagerError;
use super::servers::grants::GrantRules;
use crate::agent::AgentDeps;
use crate::domain::{GuildId, Person, ProfileRef};
use crate::exec::Policy;
use crate::mcp::{
    Approval, Asked, Decided, Hub, McpError, Press, ProcessView, Restart, Roster, RosterServer, Who,
};
use crate::permission::may_grant;
use crate::store::AuditRow;

/// The MCP servers of agents, as people manage them.
pub(crate) struct McpServers {
    pub(crate) deps: Arc<AgentDeps>,
    pub(crate) directory: Arc<Directory>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) grants: Arc<GrantRules>,
}

/// Who does something about a server.
#[derive(Clone, Copy, Debug)]
pub struct Manages<'a> {
    pub person: &'a Person,
    pub is_operator: bool,
}

/// A server as people see it.
#[derive(Clone, Debug)]
pub struct ServerView {
    pub server: Arc<RosterServer>,
    pub process: ProcessView,
}

/// A server in full.
#[derive(Clone, Debug)]
pub struct ServerInFull {
    pub view: ServerView,
    /// Foreign text.
    pub instructions: String,
    pub resolved_version: Option<String>,
    /// Bytes of its home.
    pub home: u64,
    /// How it is confined, in words.
    pub sandbox: String,
}

impl From<McpError> for ManagerError {
    fn from(error: McpError) -> Self {
        match error {
            McpError::Store(error) => Self::Store(error),
            McpError::Unwritten(error) => Self::Failed(error.to_string()),
            error => Self::Refused(error.to_string()),
        }
    }
}

impl McpServers {
    fn hub(&self) -> Result<&Arc<Hub>, ManagerError> {
        let hub = self.deps.services.mcp.as_ref();
        hub.ok_or_else(|| ManagerError::refused("MCP servers are not available here."))
    }

    fn who(agent: &AgentSummary) -> Result<Who, ManagerError> {
        Ok(Who {
            agent: agent.id,
            name: agent.name.clone(),
            channel: agent.channel.ok_or(ManagerError::NoAgentHere)?,
        })
    }

    /// Reads what is written now.
    async fn look(&self, who: &Who) -> Result<Arc<Roster>, ManagerError> {
        let hub = self.hub()?;
        let (reading, agent, name) = (hub.clone(), who.agent, who.name.clone());
        let folder = self.deps.paths.agent(name.as_str());
        let written = spawn_blocking(move || reading.look(agent, name.as_str(), &folder)).await;
        let written = written.map_err(|error| ManagerError::Failed(error.to_string()))?;
        Ok(hub.roster(who, written.as_ref()).await)
    }

    /// The servers of an agent.
    pub(crate) async fn of(&self, agent: &AgentSummary) -> Result<Vec<ServerView>, ManagerError> {
        let who = Self::who(agent)?;
        let roster = self.look(&who).await?;
        let hub = self.hub()?;
        let view = |server: &Arc<RosterServer>| ServerView {
            server: server.clone(),
            process: hub.process(who.agent, &server.name),
        };
        Ok(roster.servers.iter().map(view).collect())
    }

    /// Whether a file `.mcp.json` lies in the workspace, which is never loaded.
    pub(crate) async fn has_workspace_file(&self, agent: &AgentSummary) -> bool {
        let folder = self.deps.paths.agent(agent.name.as_str());
        let looked = spawn_blocking(move || {
            let files = crate::workspace::Workspace::open(&folder).ok()?;
            let files = files.files_folder().ok()?;
            Some(files.join(crate::mcp::AGENT_FILE).is_file())
        });
        looked.await.ok().flatten().unwrap_or(false)
    }

    /// One server in full.
    pub(crate) async fn shown(
        &self,
        agent: &AgentSummary,
        name: &str,
    ) -> Result<ServerInFull, ManagerError> {
        let who = Self::who(agent)?;
        let roster = self.look(&who).await?;
        let hub = self.hub()?.clone();
        hub.find(&who, name)?;
        let server = roster.server(name).cloned();
        let server = server.ok_or_else(|| ManagerError::refused("This server is not used."))?;
        let view = ServerView {
            process: hub.process(who.agent, name),
            server,
        };
        let kept = hub.stored(&view.server).await?;
        let mode = self.deps.config.load().sandbox;
        let network = view
            .server
            .entry
            .as_ref()
            .is_none_or(|entry| entry.chorus.network);
        let policy = Policy {
            mode,
            network: network.into(),
        };
        let sandbox = match &self.deps.services.shell {
            Ok(shell) => shell.sandbox.describe(policy).await,
            Err(why) => why.to_string(),
        };
        let (sizing, named) = (hub.clone(), name.to_owned());
        let home = spawn_blocking(move || sizing.home_size(&who, &named)).await;
        Ok(ServerInFull {
            instructions: kept
                .as_ref()
                .map_or_else(String::new, |kept| kept.row.instructions.clone()),
            resolved_version: kept.and_then(|kept| kept.row.resolved_version.clone()),
            home: home.unwrap_or_default(),
            sandbox,
            view,
        })
    }

    /// Refuses people who may not grant `open`.
    pub(crate) fn may_manage(&self, guild: GuildId, by: &Person) -> Result<(), ManagerError> {
        let open = ProfileRef::Named("open".to_owned());
        may_grant(&self.grants.grant_table(guild), by, &open).map_err(|reason| {
            ManagerError::Refused(format!(
                "MCP servers are managed by members who may grant the profile `open`: {reason}."
            ))
        })
    }

    /// Refuses people who may not decide about a server: the operator decides about those of `config.json`.
    fn may_decide(
        &self,
        agent: &AgentSummary,
        name: &str,
        place: Place,
        by: Manages<'_>,
    ) -> Result<(), ManagerError> {
        match place {
            Place::Operator if by.is_operator => Ok(()),
            Place::Operator => Err(ManagerError::Refused(format!(
                "`{name}` is in `config.json`: only the bot's operator approves its changes and sets its marks."
            ))),
            Place::Agent => self.may_manage(agent.guild, by.person),
        }
    }

    fn row(
        &self,
        what: &str,
        agent: &AgentSummary,
        by: Manages<'_>,
        (old, new): (Value, Value),
    ) -> AuditRow {
        let detail = json!({ "old": old, "new": new }).to_string();
        let redactor = &self.deps.services.redactor;
        AuditRow {
            detail: Some(redactor.redact(&detail).into_owned()),
            ..self.audit.agent_row(what, agent, by.person)
        }
    }

    /// Adds an entry to the agent's own file, and asks for its approval.
    pub(crate) async fn add(
        &self,
        agent: &AgentSummary,
        name: &str,
        entry: Value,
        by: Manages<'_>,
    ) -> Result<Asked, ManagerError> {
        self.may_manage(agent.guild, by.person)?;
        if !by.is_operator && entry.to_string().contains("${") {
            return Err(ManagerError::refused(
                "Only the bot's operator may name variables (`${…}`) in an entry.",
            ));
        }
        let who = Self::who(agent)?;
        self.look(&who).await?;
        let row = self.row(
            &format!("mcp_add:{name}"),
            agent,
            by,
            (Value::Null, without_values(&entry)),
        );
        let hub = self.hub()?;
        let added = async { Ok(hub.add(&who, name, entry).await?) };
        self.audit.audited(row, added).await?;
        self.look(&who).await?;
        Ok(hub.ask_for_approval(&who, name).await?)
    }

    /// Removes an entry from the agent's own file.
    pub(crate) async fn remove(
        &self,
        agent: &AgentSummary,
        name: &str,
        by: Manages<'_>,
    ) -> Result<(), ManagerError> {
        self.may_manage(agent.guild, by.person)?;
        let who = Self::who(agent)?;
        self.look(&who).await?;
        let hub = self.hub()?;
        hub.find(&who, name)?;
        let row = self.row(
            &format!("mcp_remove:{name}"),
            agent,
            by,
            (json!(name), Value::Null),
        );
        let removed = async {
            self.end_always(agent, name, |_| true).await?;
            Ok(hub.remove(&who, name).await?)
        };
        self.audit.audited(row, removed).await
    }

    /// Ends the permanent approvals of an agent for those tools of a server: they were given for what the tools were then.
    async fn end_always(
        &self,
        agent: &AgentSummary,
        server: &str,
        ends: impl Fn(&str) -> bool + Send + Sync + 'static,
    ) -> Result<(), ManagerError> {
        let path = self.deps.paths.agent(agent.name.as_str());
        let beginnings = ["read", "write"].map(|mark| format!("tool:mcp:{mark} {server} "));
        let is_its = move |entry: &str| {
            let mut calls = beginnings.iter().filter_map(|one| entry.strip_prefix(one));
            calls.any(|call| ends(call.split(' ').next().unwrap_or(call)))
        };
        let old = folder::load(path.clone()).await?.config.always_allow;
        if !old.iter().any(|entry| is_its(entry)) {
            return Ok(());
        }
        let changed = folder::change(path, move |keys| {
            if let Some(Value::Array(list)) = keys.get_mut("always_allow") {
                list.retain(|one| !one.as_str().is_some_and(&is_its));
            }
        });
        changed.await.map(drop)
    }

    /// Reads a server and posts a card about what waits.
    pub(crate) async fn ask(
        &self,
        agent: &AgentSummary,
        name: &str,
        by: Manages<'_>,
    ) -> Result<Asked, ManagerError> {
        let who = Self::who(agent)?;
        self.look(&who).await?;
        let hub = self.hub()?;
        let server = hub.find(&who, name)?;
        self.may_decide(agent, name, server.place, by)?;
        Ok(hub.ask_for_approval(&who, name).await?)
    }

    /// A press on a card.
    pub(crate) async fn press(
        &self,
        agent: &AgentSummary,
        (name, shown): (&str, &str),
        press: Press,
        by: Manages<'_>,
    ) -> Result<Decided, ManagerError> {
        let who = Self::who(agent)?;
        self.look(&who).await?;
        let hub = self.hub()?;
        let server = hub.find(&who, name)?;
        self.may_decide(agent, name, server.place, by)?;
        let what = match press {
            Press::Approve(_) => "mcp_approve",
            Press::Deny => "mcp_deny",
        };
        let row = self.row(
            &format!("{what}:{name}"),
            agent,
            by,
            (Value::Null, json!(shown)),
        );
        let decided = async {
            if let Press::Approve(how) = press {
                let changed = hub.changed_tools(&who, name, shown).await?;
                // A server of config.json is one server for all agents.
                let agents = match server.place {
                    Place::Operator => self.directory.registry.all(),
                    Place::Agent => vec![agent.clone()],
                };
                for agent in agents {
                    let changed = changed.clone();
                    let ends = move |tool: &str| {
                        how == Approval::AskEachTime || changed.iter().any(|one| one == tool)
                    };
                    self.end_always(&agent, name, ends).await?;
                }
            }
            Ok(hub.decide(&who, name, shown, press, by.person.id).await?)
        };
        self.audit.audited(row, decided).await
    }

    /// Sets the mark of a tool.
    pub(crate) async fn mark(
        &self,
        agent: &AgentSummary,
        (name, tool): (&str, &str),
        mark: Mark,
        by: Manages<'_>,
    ) -> Result<Mark, ManagerError> {
        let who = Self::who(agent)?;
        let roster = self.look(&who).await?;
        let hub = self.hub()?;
        let server = hub.find(&who, name)?;
        self.may_decide(agent, name, server.place, by)?;
        let before = roster.server(name).and_then(|server| {
            let found = server.tools.iter().find(|one| one.name == tool);
            found.map(|found| found.mark.as_str())
        });
        let row = self.row(
            &format!("mcp_tool:{name} {tool}"),
            agent,
            by,
            (json!(before), json!(mark.as_str())),
        );
        let marked = async { Ok(hub.mark(&who, name, tool, mark, by.person.id).await?) };
        self.audit.audited(row, marked).await?;
        let now = self.look(&who).await?;
        let now = now.server(name).and_then(|server| {
            let found = server.tools.iter().find(|one| one.name == tool);
            found.map(|found| found.mark)
        });
        Ok(now.unwrap_or(mark))
    }

    /// Ends the process of a server; the next call starts it.
    pub(crate) async fn restart(
        &self,
        agent: &AgentSummary,
        name: &str,
        how: Restart,
        by: Manages<'_>,
    ) -> Result<(), ManagerError> {
        self.may_manage(agent.guild, by.person)?;
        let who = Self::who(agent)?;
        self.look(&who).await?;
        let hub = self.hub()?;
        hub.find(&who, name)?;
        let clean = how == Restart::Clean;
        let row = self.row(
            &format!("mcp_restart:{name}"),
            agent,
            by,
            (Value::Null, json!({ "clean": clean })),
        );
        let restarted = async { Ok(hub.restart(&who, name, how).await?) };
        self.audit.audited(row, restarted).await
    }
}

/// An entry for the audit log: the names of its variables and headers, not their values.
fn without_values(entry: &Value) -> Value {
    let mut shown = entry.clone();
    for key in ["env", "headers"] {
        if let Some(Value::Object(members)) = shown.get_mut(key) {
            for value in members.values_mut() {
                *value = json!("…");
            }
        }
    }
    shown
}
