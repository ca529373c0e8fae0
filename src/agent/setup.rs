//! An agent as its files say now: its configuration, and the role that its charter describes.

mod charters;
mod configuration;
pub(super) mod core_agents;
mod file_news;
pub(super) mod modes;
pub(super) mod offer;
mod roles;
pub(super) mod stages;
pub(super) mod tool_specs;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::charter::{Compaction, ModelChoice, Role};
use crate::config::{Effective, Tiers};
use crate::domain::{AgentConfig, Mode, ProfileRef};
use crate::llm::local::Reach;
use crate::mcp::{self, Roster, RosterServer, RosterTool};
use crate::tools::WorkspaceState;

/// The tool that calls a role.
const SUB_AGENT: &str = "sub_agent";

/// The tool that records a decision of the server.
const RECORD_DECISION: &str = "record_decision";

/// The tool that plans work at a time.
pub(super) const SCHEDULE: &str = "schedule";

/// The tool that asks for other permissions.
pub(super) const PERMISSIONS: &str = "self_edit_permissions";

/// Tools that no child turn has: they outlive it, or change the agent itself.
const NOT_FOR_CHILDREN: [&str; 9] = [
    "add_process_hooks",
    RECORD_DECISION,
    "run_background",
    SCHEDULE,
    "self_edit_docs",
    "self_edit_model",
    PERMISSIONS,
    "self_edit_system_prompt",
    "self_edit_web_search",
];

pub use charters::{Charters, OwnRole};
pub use configuration::{Configuration, Configurations, Fault};
pub use file_news::FileNews;
pub(super) use file_news::News;
pub use roles::Roles;
pub(super) use stages::{Stage, advisor_fault, destination_fault, handoff_fault};

/// An agent as its files say now.
#[derive(Clone, Debug)]
pub struct Setup {
    /// `agent.json`, with values of the charter for the keys that it leaves unset.
    pub config: Arc<AgentConfig>,
    pub role: Option<Arc<Role>>,
    /// In a child turn: the agent's own role.
    own: Option<Arc<Role>>,
    /// In a child turn: the roles between the agent's own and this one.
    between: Vec<Arc<Role>>,
    is_child: bool,
    /// Whether its server keeps decisions, so that it may be told of the tool that records one.
    pub(super) keeps_decisions: bool,
    /// The state of its workspace.
    pub(super) workspace: Arc<WorkspaceState>,
    /// Its MCP servers.
    pub(super) mcp: Arc<Roster>,
    /// In a turn that works for another agent: that agent, whose rights bound this one's.
    pub(super) above: Option<Arc<Self>>,
    /// The profile that decides besides: that of the webhook whose deliveries began the run.
    pub(super) outer: Option<OuterProfile>,
}

/// A profile that decides besides those of an agent and its roles.
#[derive(Clone, Debug, PartialEq)]
pub struct OuterProfile {
    /// Its source, as reasons name it.
    pub source: String,
    pub profile: ProfileRef,
}

impl Setup {
    pub(super) fn without_role(config: Arc<AgentConfig>) -> Self {
        Self {
            config,
            role: None,
            own: None,
            between: Vec::new(),
            is_child: false,
            keeps_decisions: false,
            workspace: Arc::default(),
            mcp: Arc::default(),
            above: None,
            outer: None,
        }
    }

    pub(super) fn with_role(config: &AgentConfig, role: Arc<Role>, tiers: &Tiers) -> Self {
        Self {
            role: Some(role.clone()),
            ..Self::without_role(Arc::new(over(&role, config.clone(), tiers)))
        }
    }

    /// The agent at work for another one: limited to what both may do.
    pub(super) fn working_for(self, above: Self, sandboxes: [&Effective; 2]) -> Self {
        let [own, asker] = sandboxes;
        let config = AgentConfig {
            sandbox: Some(own.sandbox.stricter(asker.sandbox)),
            network: Some(own.network && asker.network),
            web_search: self.config.web_search && above.config.web_search,
            local_only: self.config.local_only || above.config.local_only,
            ..AgentConfig::clone(&self.config)
        };
        Self {
            config: Arc::new(config),
            is_child: true,
            mcp: Arc::new(self.mcp.shared_with(&above.mcp)),
            above: Some(Arc::new(above)),
            ..self
        }
    }

    /// Where its requests may go.
    pub(super) fn reach(&self) -> Reach {
        reach(&self.config)
    }

    /// The agent that the turn is answered for: it pays, and standing permissions were given to it.
    pub(super) fn payer(&self) -> &Self {
        self.above.as_deref().unwrap_or(self)
    }

    /// The agent in a child turn with these roles, one below the other. Each narrows what is above it; the prompt is that
    /// of the last one.
    pub(super) fn for_child(self, roles: &[Arc<Role>], tiers: &Tiers) -> Self {
        let Some((role, between)) = roles.split_last() else {
            return self;
        };
        let mut config = AgentConfig::clone(&self.config);
        config.system_prompt.clear();
        for role in roles {
            if let Some(model) = own_model(role, tiers) {
                config.model = Some(model.clone());
                config.fallback_models.clone_from(&role.fallback_models);
            }
        }
        Self {
            config: Arc::new(config),
            own: self.role,
            between: between.to_vec(),
            role: Some(role.clone()),
            is_child: true,
            keeps_decisions: self.keeps_decisions,
            workspace: self.workspace,
            mcp: self.mcp,
            above: self.above,
            outer: self.outer,
        }
    }

    /// The agent, with one more profile that decides.
    pub(super) fn within(self, outer: Option<OuterProfile>) -> Self {
        Self { outer, ..self }
    }

    /// Every role that narrows what it may do.
    pub(super) fn roles(&self) -> impl Iterator<Item = &Arc<Role>> {
        self.own.iter().chain(&self.between).chain(&self.role)
    }

    /// The agent's own role, in a child turn too.
    pub(super) fn of_agent(&self) -> Option<&Arc<Role>> {
        if self.is_child {
            self.own.as_ref()
        } else {
            self.role.as_ref()
        }
    }

    /// A key that tells its roles from those of other setups.
    pub(super) fn roles_key(&self) -> String {
        let above = self.above.iter().flat_map(|above| above.roles());
        let all = above.chain(self.roles());
        let hashes: Vec<&str> = all.map(|role| role.sha256.as_str()).collect();
        hashes.join(" ")
    }

    /// The roles that it may call by name; `None` where it may call all.
    pub(super) fn sub_agents(&self) -> Option<&[String]> {
        let of_agent = self.config.sub_agents.as_deref();
        let of_role = self.role.as_ref();
        let of_role = of_role.and_then(|role| role.sub_agents.as_deref());
        match of_agent.filter(|_| !self.is_child).or(of_role) {
            None if self.is_child => Some(&[]),
            named => named,
        }
    }

    /// The mode of a turn: what its role says, what `agent.json` says, what was asked for this turn.
    pub(super) fn mode(&self, asked: Option<Mode>) -> Mode {
        let of_role = self.role.as_ref().map(|role| role.mode);
        // The mode in `agent.json` is meant for the agent itself, not for a role that is called.
        let of_agent = self.config.mode.filter(|_| self.speaks_as_agent());
        modes::in_force(&[of_role, of_agent, asked])
    }

    /// The mode of the agent itself, whatever role a branch of it works as.
    pub(super) fn mode_of_agent(&self, asked: Option<Mode>) -> Mode {
        let own = self.of_agent().map(|role| role.mode);
        modes::in_force(&[own, self.config.mode, asked])
    }

    /// The text of the role, which comes first in the system prompt; empty without a role.
    pub(super) fn prompt(&self, mode: Mode) -> Cow<'_, str> {
        self.role
            .as_ref()
            .map_or(Cow::Borrowed(""), |role| role.prompt(mode))
    }

    /// Whether the system prompt holds the agent's notes.
    pub(super) fn has_docs(&self) -> bool {
        self.role
            .as_ref()
            .and_then(|role| role.docs)
            .unwrap_or_else(|| self.speaks_as_agent())
    }

    /// Whether the agent's own prompt and notes apply, and not those of a role that is called.
    fn speaks_as_agent(&self) -> bool {
        !self.is_child || (self.above.is_some() && self.own.is_none() && self.between.is_empty())
    }

    /// Whether a role that the agent has taken speaks, and not the agent itself.
    pub(super) const fn is_child(&self) -> bool {
        self.is_child
    }

    /// Skills of the repository whose full texts are in the system prompt.
    pub(super) fn skills(&self) -> &[String] {
        self.role.as_ref().map_or(&[], |role| &role.skills)
    }

    /// Shares of the window at which its role has the conversation summarised.
    pub(super) fn compaction(&self) -> Option<Compaction> {
        self.role.as_ref().and_then(|role| role.compaction)
    }

    /// Whether the role leaves the tool `name` to the agent.
    ///
    /// # Errors
    ///
    /// The refusal, for the model.
    pub(super) fn has_tool(&self, name: &str) -> Result<(), NotOfTheRole> {
        // Those of MCP servers are left out of what the turn is offered (`tool_specs`).
        if name.starts_with(mcp::PREFIX) {
            return Ok(());
        }
        if let Some(above) = &self.above {
            above.has_tool(name)?;
        }
        let lacks = self.roles().find(|role| !role.has_tool(name));
        let calls_nobody = name == SUB_AGENT && self.sub_agents().is_some_and(<[_]>::is_empty);
        let is_withheld = self.is_child && (NOT_FOR_CHILDREN.contains(&name) || calls_nobody);
        let role = match (lacks, &self.role) {
            (Some(lacks), _) => lacks.name.clone(),
            (None, Some(role)) if is_withheld => role.name.clone(),
            (None, None) if is_withheld => format!("@{}", self.config.name),
            (None, _) => return Ok(()),
        };
        Err(NotOfTheRole {
            role,
            tool: name.to_owned(),
        })
    }

    /// Whether its roles leave it a tool of an MCP server.
    pub(super) fn has_tool_of(&self, server: &RosterServer, tool: &RosterTool) -> bool {
        let above = self.above.iter().flat_map(|above| above.roles());
        let mut all = above.chain(self.roles());
        all.all(|role| role.has_tool_of(&server.name, &tool.name, &tool.called))
    }

    /// Whether the role and the server let a model know about the tool `name`.
    pub(super) fn is_told(&self, name: &str) -> bool {
        self.has_tool(name).is_ok() && (name != RECORD_DECISION || self.keeps_decisions)
    }

    /// What the role tells the model instead of an error of the tool `name`, if anything.
    pub(super) fn error_for(&self, name: &str) -> Option<&str> {
        let role = self.role.as_ref()?;
        role.tool_errors.get(name).map(String::as_str)
    }
}

/// Where the requests of an agent may go.
pub(super) const fn reach(config: &AgentConfig) -> Reach {
    if config.local_only {
        Reach::Local
    } else {
        Reach::Anywhere
    }
}

/// The role leaves a tool out; the text is for the model.
#[derive(Debug, thiserror::Error)]
#[error("not permitted: the role `{role}` has no tool `{tool}`")]
pub(super) struct NotOfTheRole {
    role: String,
    tool: String,
}

/// The model that a role names, directly or as a tier that somebody chose a model for.
pub(super) fn own_model<'a>(role: &'a Role, tiers: &'a Tiers) -> Option<&'a String> {
    match &role.model {
        ModelChoice::Inherit => None,
        ModelChoice::Named(model) => Some(model),
        ModelChoice::Tier(tier) => match tier.as_str() {
            "full" => tiers.full.as_ref(),
            _ => tiers.lightweight.as_ref(),
        },
    }
}

/// `config` with the values of `role` for the keys that it leaves unset. A file grants nothing: where a key lifts a limit,
/// the lower value applies.
fn over(role: &Role, mut config: AgentConfig, tiers: &Tiers) -> AgentConfig {
    if config.model.is_none() {
        config.model = own_model(role, tiers).cloned();
    }
    if config.fallback_models.is_empty() {
        config.fallback_models.clone_from(&role.fallback_models);
    }
    let timeout = role.limits.timeout.as_ref().map(Duration::as_secs);
    config.turn_timeout = config.turn_timeout.or(timeout);
    config
}
