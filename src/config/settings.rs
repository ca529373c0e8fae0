//! What a Discord server's administrators set with `/settings`: rows of a key and a JSON value.
//!
//! A row that makes no sense counts as not set, so that one bad row never stops an agent, except that nobody gets in by
//! that; writers get the value for a row from [`SettingKey::read`], which refuses such texts.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::domain::{RoleId, SandboxMode, read_ids};
use crate::permission::GrantTable;
use crate::text::json::refuse_double_keys;

/// A role that nobody has.
const NO_ROLE: RoleId = RoleId(0);

/// The keys of the `settings` table; each bears the name of the key in `config.json` it stands above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingKey {
    /// Model for agents that name none.
    DefaultModel,
    /// Permission profile for new agents.
    DefaultPermissions,
    /// Seconds of silence after which a context is saved and cleared.
    IdleTimeout,
    /// Seconds a question waits.
    ApprovalTimeout,
    /// JSON: `{"role id": ["profile", …]}`.
    PermissionGrants,
    /// JSON: `["role id", …]`.
    ApproverRoles,
    /// JSON: `["role id", …]`.
    AccessRoles,
    /// `required`, `auto` or `off`.
    Sandbox,
    /// `true` or `false`.
    Network,
}

impl SettingKey {
    /// All keys.
    pub const ALL: [Self; 9] = [
        Self::DefaultModel,
        Self::DefaultPermissions,
        Self::IdleTimeout,
        Self::ApprovalTimeout,
        Self::PermissionGrants,
        Self::ApproverRoles,
        Self::AccessRoles,
        Self::Sandbox,
        Self::Network,
    ];

    /// The word that the database holds.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::DefaultModel => "default_model",
            Self::DefaultPermissions => "default_permissions",
            Self::IdleTimeout => "idle_timeout",
            Self::ApprovalTimeout => "approval_timeout",
            Self::PermissionGrants => "permission_grants",
            Self::ApproverRoles => "approver_roles",
            Self::AccessRoles => "access_roles",
            Self::Sandbox => "sandbox",
            Self::Network => "network",
        }
    }

    /// The value that a person meant by `text`, for the row of this key.
    ///
    /// # Errors
    ///
    /// What to write instead.
    pub fn read(self, text: &str) -> Result<Value, String> {
        let value = self.value_of(text.trim());
        if Settings::default().take(self, &value) {
            return Ok(value);
        }
        let expected = match self {
            Self::DefaultModel | Self::DefaultPermissions => "write a name",
            Self::IdleTimeout => "write a duration such as 30m or 2h, or 0 for never",
            Self::ApprovalTimeout => "write a duration such as 120 or 5m",
            Self::PermissionGrants => r#"write JSON such as {"123456789": ["standard", "open"]}"#,
            Self::ApproverRoles | Self::AccessRoles => r#"write JSON such as ["123456789"]"#,
            Self::Sandbox => "write required, auto or off",
            Self::Network => "write true or false",
        };
        Err(format!("`{text}` cannot be {self}: {expected}"))
    }

    fn value_of(self, text: &str) -> Value {
        match self {
            Self::DefaultModel | Self::DefaultPermissions | Self::Sandbox => Value::from(text),
            Self::IdleTimeout | Self::ApprovalTimeout => match humantime::parse_duration(text) {
                Ok(length) => Value::from(length.as_secs()),
                Err(_) => text.parse::<u64>().map_or(Value::Null, Value::from),
            },
            Self::PermissionGrants | Self::ApproverRoles | Self::AccessRoles | Self::Network => {
                match refuse_double_keys(text) {
                    Ok(()) => serde_json::from_str(text).unwrap_or_default(),
                    Err(_) => Value::Null,
                }
            }
        }
    }
}

impl fmt::Display for SettingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for SettingKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|key| key.as_str() == text);
        found.ok_or_else(|| format!("there is no setting `{text}`"))
    }
}

/// One server's settings; what is not set is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// See [`SettingKey::DefaultModel`].
    pub default_model: Option<String>,
    /// See [`SettingKey::DefaultPermissions`].
    pub default_permissions: Option<String>,
    /// See [`SettingKey::IdleTimeout`]; zero is never.
    pub idle_timeout: Option<Duration>,
    /// See [`SettingKey::ApprovalTimeout`].
    pub approval_timeout: Option<Duration>,
    /// See [`SettingKey::PermissionGrants`].
    pub permission_grants: Option<GrantTable>,
    /// See [`SettingKey::ApproverRoles`].
    pub approver_roles: Option<Vec<RoleId>>,
    /// See [`SettingKey::AccessRoles`].
    pub access_roles: Option<Vec<RoleId>>,
    /// See [`SettingKey::Sandbox`].
    pub sandbox: Option<SandboxMode>,
    /// See [`SettingKey::Network`].
    pub network: Option<bool>,
}

impl Settings {
    /// Reads the rows of one server; unknown keys and values that make no sense are passed over.
    pub fn from_rows(rows: &BTreeMap<String, Value>) -> Self {
        let mut settings = Self::default();
        for (key, value) in rows {
            let Ok(key) = key.parse() else { continue };
            if !settings.take(key, value) {
                settings.doubt(key);
            }
        }
        settings
    }

    /// Holds a key closed whose value nobody knows: where none stands for everybody, administrators alone are left.
    fn doubt(&mut self, key: SettingKey) {
        match key {
            SettingKey::AccessRoles => self.access_roles = Some(vec![NO_ROLE]),
            SettingKey::ApproverRoles => self.approver_roles = Some(vec![NO_ROLE]),
            SettingKey::DefaultModel
            | SettingKey::DefaultPermissions
            | SettingKey::IdleTimeout
            | SettingKey::ApprovalTimeout
            | SettingKey::PermissionGrants
            | SettingKey::Sandbox
            | SettingKey::Network => {}
        }
    }

    /// Puts `value` under `key`; false when it makes no sense there.
    fn take(&mut self, key: SettingKey, value: &Value) -> bool {
        let seconds = || value.as_u64().map(Duration::from_secs);
        match key {
            SettingKey::DefaultModel => put(&mut self.default_model, name(value)),
            SettingKey::DefaultPermissions => put(&mut self.default_permissions, name(value)),
            SettingKey::IdleTimeout => put(&mut self.idle_timeout, seconds()),
            SettingKey::ApprovalTimeout => put(
                &mut self.approval_timeout,
                seconds().filter(|length| !length.is_zero()),
            ),
            SettingKey::PermissionGrants => put(&mut self.permission_grants, typed(value)),
            SettingKey::ApproverRoles => put(&mut self.approver_roles, roles(value)),
            SettingKey::AccessRoles => put(&mut self.access_roles, roles(value)),
            SettingKey::Sandbox => put(&mut self.sandbox, typed(value)),
            SettingKey::Network => put(&mut self.network, value.as_bool()),
        }
    }
}

fn put<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let is_sensible = value.is_some();
    *slot = value;
    is_sensible
}

fn name(value: &Value) -> Option<String> {
    let name = value.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

fn typed<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}

fn roles(value: &Value) -> Option<Vec<RoleId>> {
    read_ids::ids(value).ok()
}
