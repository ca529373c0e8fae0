//! Who may give an agent which profile, and set what is as wide as one.

use crate::config::effective;
use crate::domain::{AgentConfig, GuildId, Person, ProfileRef, SandboxMode};
use crate::permission::{GrantTable, may_always_allow, may_grant};
use crate::text::json::refuse_double_keys;

use super::config_keys::{Need, need};
use super::error::ManagerError;
use super::folder;
use super::handle::AgentManager;
use super::registry::AgentSummary;

impl AgentManager {
    /// Refuses who may not set a key of an agent, whatever the value.
    pub(super) fn may_set(
        &self,
        agent: &AgentSummary,
        key: &str,
        by: &Person,
    ) -> Result<(), ManagerError> {
        let table = self.grant_table(agent.guild);
        let profile = match need(key) {
            Need::Nothing => return Ok(()),
            Need::Open => ProfileRef::Named("open".to_owned()),
            Need::OwnProfile => {
                let path = self.inner.deps.paths.agent(agent.name.as_str());
                folder::read(&path)?.config.permissions
            }
        };
        if need(key) == Need::OwnProfile && self.needs_no_grant(agent.guild, &profile) {
            return Ok(());
        }
        may_grant(&table, by, &profile).map_err(|reason| {
            ManagerError::Refused(format!(
                "`{key}` may be set by members who may grant the profile `{}`: {reason}.",
                profile.label()
            ))
        })
    }

    /// Refuses who may not give an agent what its kept files give it besides its profile.
    pub(super) fn may_revive(
        &self,
        guild: GuildId,
        kept: &AgentConfig,
        by: &Person,
    ) -> Result<(), ManagerError> {
        let widened: Vec<&str> = [
            ("always_allow", !kept.always_allow.is_empty()),
            ("sandbox", kept.sandbox == Some(SandboxMode::Off)),
            ("network", kept.network == Some(true)),
        ]
        .into_iter()
        .filter_map(|(key, is_wider)| is_wider.then_some(key))
        .collect();
        if widened.is_empty() {
            return Ok(());
        }
        may_always_allow(&self.grant_table(guild), by).map_err(|reason| {
            ManagerError::Refused(format!(
                "The kept files set `{}` for this agent, which only members who may grant the profile `open` may do: {reason}. Ask one of them to bring it back, or choose another name.",
                widened.join("`, `")
            ))
        })
    }

    /// A profile that `by` may give an agent.
    pub(super) fn grantable(
        &self,
        guild: GuildId,
        text: &str,
        by: &Person,
    ) -> Result<ProfileRef, ManagerError> {
        let profile: ProfileRef = if text.trim_start().starts_with('{') {
            refuse_double_keys(text)
                .and_then(|()| serde_json::from_str(text))
                .map(ProfileRef::Custom)
                .map_err(|error| {
                    ManagerError::refused(format!("The profile is not valid JSON: {error}."))
                })?
        } else {
            ProfileRef::Named(text.trim().to_owned())
        };
        self.inner
            .deps
            .profiles
            .load()
            .resolve(&profile)
            .map_err(|error| ManagerError::refused(error.to_string()))?;
        if !self.needs_no_grant(guild, &profile) {
            may_grant(&self.grant_table(guild), by, &profile)?;
        }
        Ok(profile)
    }

    /// The server's default profile and `locked` may be given by whoever may make agents.
    pub(super) fn needs_no_grant(&self, guild: GuildId, profile: &ProfileRef) -> bool {
        let server = effective::server(
            &self.inner.deps.settings_of(guild),
            &self.inner.deps.config.load(),
        );
        match profile {
            ProfileRef::Named(name) => *name == server.default_permissions || name == "locked",
            ProfileRef::Custom(_) => false,
        }
    }

    /// Who may grant which profile in a server.
    pub fn grant_table(&self, guild: GuildId) -> GrantTable {
        effective::server(
            &self.inner.deps.settings_of(guild),
            &self.inner.deps.config.load(),
        )
        .permission_grants
    }
}
