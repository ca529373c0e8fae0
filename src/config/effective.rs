//! Which value is in force: `agent.json`, else the server's settings, else `config.json`, else built-in.
//!
//! Pure: the callers hold the sources and ask at each step, so a change takes effect at the next one.

use std::time::Duration;

use super::keys::Config;
use super::settings::Settings;
use crate::domain::{AgentConfig, RoleId, SandboxMode};
use crate::permission::GrantTable;

/// What holds for one agent now.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// Models to ask, in order, each once: its own (the server's where it names none), then its fall-backs. Empty: none is configured.
    pub models: Vec<String>,
    /// Silence after which its context is saved and cleared; none is never.
    pub idle_timeout: Option<Duration>,
    /// Work one turn may take.
    pub turn_timeout: Duration,
    /// Most money one turn may cost, in US dollars.
    pub budget_turn: Option<f64>,
    /// Most money one day (UTC) may cost, in US dollars.
    pub budget_day: Option<f64>,
    /// How its commands are confined.
    pub sandbox: SandboxMode,
    /// Whether its commands reach the network.
    pub network: bool,
    /// Roles whose members may talk to it; empty is everyone who sees the channel.
    pub access_roles: Vec<RoleId>,
    /// What holds for the whole server.
    pub server: Server,
}

/// What holds for one Discord server now.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Model for agents that name none.
    pub default_model: Option<String>,
    /// Permission profile for new agents.
    pub default_permissions: String,
    /// Silence after which a context is saved and cleared, where the agent says nothing; none is never.
    pub idle_timeout: Option<Duration>,
    /// How long a question waits.
    pub approval_timeout: Duration,
    /// Which profiles the members of a role may grant.
    pub permission_grants: GrantTable,
    /// Roles whose members may answer questions.
    pub approver_roles: Vec<RoleId>,
    /// Roles whose members may talk to agents.
    pub access_roles: Vec<RoleId>,
}

/// Merges what is said about `agent`.
pub fn agent(agent: &AgentConfig, settings: &Settings, config: &Config) -> Effective {
    let server = server(settings, config);
    let idle_timeout = match agent.idle_timeout {
        Some(seconds) => unless_zero(Duration::from_secs(seconds)),
        None => server.idle_timeout,
    };
    let access_roles = agent.access_roles.as_ref().unwrap_or(&server.access_roles);
    let budget = |own: Option<f64>, whole: Option<super::units::Usd>| {
        own.or(whole.map(super::units::Usd::get))
    };
    Effective {
        models: targets(agent, server.default_model.as_ref()),
        idle_timeout,
        turn_timeout: agent
            .turn_timeout
            .map_or(config.turn_timeout.get(), Duration::from_secs),
        budget_turn: budget(agent.budget_turn, config.budgets.turn),
        budget_day: budget(agent.budget_day, config.budgets.agent_day),
        sandbox: agent.sandbox.or(settings.sandbox).unwrap_or(config.sandbox),
        network: agent.network.or(settings.network).unwrap_or(config.network),
        access_roles: access_roles.clone(),
        server,
    }
}

/// Merges what is said about a server.
pub fn server(settings: &Settings, config: &Config) -> Server {
    let or =
        |set: &Option<Vec<RoleId>>, config: &Vec<RoleId>| set.as_ref().unwrap_or(config).clone();
    Server {
        default_model: settings
            .default_model
            .clone()
            .or_else(|| config.default_model.clone()),
        default_permissions: settings
            .default_permissions
            .clone()
            .unwrap_or_else(|| config.default_permissions.clone()),
        idle_timeout: unless_zero(settings.idle_timeout.unwrap_or(config.idle_timeout.get())),
        approval_timeout: settings
            .approval_timeout
            .unwrap_or(config.approval_timeout.get()),
        permission_grants: settings
            .permission_grants
            .clone()
            .unwrap_or_else(|| config.permission_grants.clone()),
        approver_roles: or(&settings.approver_roles, &config.approver_roles),
        access_roles: or(&settings.access_roles, &config.access_roles),
    }
}

fn targets(agent: &AgentConfig, default: Option<&String>) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    for model in agent
        .model
        .iter()
        .chain(default.filter(|_| agent.model.is_none()))
        .chain(&agent.fallback_models)
    {
        if !models.contains(model) {
            models.push(model.clone());
        }
    }
    models
}

fn unless_zero(length: Duration) -> Option<Duration> {
    (!length.is_zero()).then_some(length)
}
