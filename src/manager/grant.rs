//! Who may give which profile to an agent.

use crate::config::effective;
use crate::domain::{GuildId, Person, ProfileRef};
use crate::permission::{GrantTable, may_grant};

use super::error::ManagerError;
use super::handle::AgentManager;

impl AgentManager {
    /// A profile that `by` may give an agent.
    pub(super) fn grantable(
        &self,
        guild: GuildId,
        text: &str,
        by: &Person,
    ) -> Result<ProfileRef, ManagerError> {
        let profile: ProfileRef = match text.trim_start().starts_with('{') {
            true => serde_json::from_str(text)
                .map(ProfileRef::Custom)
                .map_err(|error| {
                    ManagerError::refused(format!("The profile is not valid JSON: {error}."))
                })?,
            false => ProfileRef::Named(text.trim().to_owned()),
        };
        self.inner
            .parts
            .profiles
            .load()
            .resolve(&profile)
            .map_err(|error| ManagerError::refused(error.to_string()))?;
        if !self.needs_no_grant(guild, &profile) {
            may_grant(&self.grant_table(guild), by, &profile).map_err(ManagerError::Refused)?;
        }
        Ok(profile)
    }

    /// The server's default profile and `locked` may be given by whoever may make agents.
    pub(super) fn needs_no_grant(&self, guild: GuildId, profile: &ProfileRef) -> bool {
        let server = effective::server(
            &self.inner.parts.settings_of(guild),
            &self.inner.parts.config.load(),
        );
        match profile {
            ProfileRef::Named(name) => *name == server.default_permissions || name == "locked",
            ProfileRef::Custom(_) => false,
        }
    }

    /// Who may grant which profile in a server.
    pub fn grant_table(&self, guild: GuildId) -> GrantTable {
        effective::server(
            &self.inner.parts.settings_of(guild),
            &self.inner.parts.config.load(),
        )
        .permission_grants
    }
}
