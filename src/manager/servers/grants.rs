//! Who may give an agent which profile, and set keys that widen as much as a profile.

use std::sync::Arc;

use serde_json::Value;

use crate::agent::AgentDeps;
use crate::config::{Key, Right, ValueKind, effective};
use crate::domain::{AgentConfig, GuildId, Person, ProfileRef, SandboxMode};
use crate::manager::directory::folder;
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::permission::{GrantTable, may_always_allow, may_grant};

/// The rules about which profile and which keys somebody may give an agent.
pub(crate) struct GrantRules {
    pub(crate) deps: Arc<AgentDeps>,
}

impl GrantRules {
    /// Refuses people who may not set a key of an agent, whatever the value.
    pub(crate) async fn may_set(
        &self,
        agent: &AgentSummary,
        key: &Key,
        by: &Person,
    ) -> Result<(), ManagerError> {
        let profile = match key.agent {
            None | Some(Right::Command | Right::ForValue) => return Ok(()),
            Some(Right::GrantOpen) => ProfileRef::Named("open".to_owned()),
            Some(Right::GrantOwnProfile) => {
                let path = self.deps.paths.agent(agent.name.as_str());
                let own = folder::load(path).await?.config.permissions;
                if self.needs_no_grant(agent.guild, &own) {
                    return Ok(());
                }
                own
            }
        };
        let table = self.grant_table(agent.guild);
        may_grant(&table, by, &profile).map_err(|reason| {
            ManagerError::Refused(format!(
                "`{key}` may be set by members who may grant the profile `{}`: {reason}.",
                profile.label()
            ))
        })
    }

    /// Refuses people who may not grant `open`, to lift a limit by a value of `key`.
    pub(crate) fn may_grant_open(
        &self,
        guild: GuildId,
        key: &Key,
        by: &Person,
    ) -> Result<(), ManagerError> {
        let open = ProfileRef::Named("open".to_owned());
        may_grant(&self.grant_table(guild), by, &open).map_err(|reason| {
            ManagerError::Refused(format!(
                "`{key}` may be turned off by members who may grant the profile `open`: {reason}."
            ))
        })
    }

    /// Refuses people who may not give an agent what the files that it is made from contain besides its profile. `whose`
    /// says whose files these are, and what somebody who may is to do.
    pub(crate) fn may_revive(
        &self,
        guild: GuildId,
        kept: &AgentConfig,
        by: &Person,
        (whose, way_out): (&str, &str),
    ) -> Result<(), ManagerError> {
        let without = AgentConfig::default();
        let others = effective::agent(
            &without,
            &self.deps.settings_of(guild),
            &self.deps.config.load(),
        );
        let lifts = |own: Option<f64>, whole: Option<f64>| match (own, whole) {
            (Some(own), Some(whole)) => own > whole,
            (None, _) | (_, None) => false,
        };
        let unwalls = match kept.sandbox {
            Some(SandboxMode::Off) => true,
            Some(SandboxMode::Auto) => others.sandbox == SandboxMode::Required,
            Some(SandboxMode::Required) | None => false,
        };
        let widened: Vec<&str> = [
            ("always_allow", !kept.always_allow.is_empty()),
            ("sandbox", unwalls),
            ("network", kept.network == Some(true)),
            ("core", kept.core == Some(true)),
            ("budget_turn", lifts(kept.budget_turn, others.budget_turn)),
            (
                "budget_day",
                others.budget_day.is_lifted_by(kept.budget_day),
            ),
        ]
        .into_iter()
        .filter_map(|(key, is_wider)| is_wider.then_some(key))
        .collect();
        if widened.is_empty() {
            return Ok(());
        }
        may_always_allow(&self.grant_table(guild), by).map_err(|reason| {
            ManagerError::Refused(format!(
                "{whose} set `{}` for this agent, which only members who may grant the profile `open` may do: {reason}. Ask one of them to {way_out}.",
                widened.join("`, `")
            ))
        })
    }

    /// A profile that `by` may give an agent.
    pub(crate) fn grantable(
        &self,
        guild: GuildId,
        text: &str,
        by: &Person,
    ) -> Result<ProfileRef, ManagerError> {
        let profile = match ValueKind::Profile.read(text)? {
            Value::Object(lists) => ProfileRef::Custom(lists),
            Value::String(name) => ProfileRef::Named(name),
            other => ProfileRef::Named(other.to_string()),
        };
        self.deps
            .profiles
            .load()
            .resolve(&profile)
            .map_err(|error| ManagerError::refused(error.to_string()))?;
        if !self.needs_no_grant(guild, &profile) {
            may_grant(&self.grant_table(guild), by, &profile)?;
        }
        Ok(profile)
    }

    /// The server's default profile and `locked` may be given by everybody who may make agents.
    pub(crate) fn needs_no_grant(&self, guild: GuildId, profile: &ProfileRef) -> bool {
        let server = effective::server(&self.deps.settings_of(guild), &self.deps.config.load());
        match profile {
            ProfileRef::Named(name) => *name == server.default_permissions || name == "locked",
            ProfileRef::Custom(_) => false,
        }
    }

    /// Who may grant which profile in a server.
    pub(crate) fn grant_table(&self, guild: GuildId) -> GrantTable {
        effective::server(&self.deps.settings_of(guild), &self.deps.config.load()).permission_grants
    }
}
