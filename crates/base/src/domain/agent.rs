//! An agent: its name and its configuration, as in `agent.json`.

use std::fmt;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ids::{AgentId, ChannelId, RoleId, UserId};
use super::read_ids::{optional_id, optional_ids};
use super::stages::{Handoff, Router, handoffs};

/// An agent's configuration: the keys of `agent.json` that Chorus knows.
///
/// Keys it does not know are not here; code that rewrites the file keeps them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentConfig {
    /// Key of all its rows in the database.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<AgentId>,
    /// Unique among agents that are not destroyed; empty only in the template.
    pub name: String,
    /// The channel it lives in; `None` while it is being created.
    #[serde(default, deserialize_with = "optional_id")]
    pub channel_id: Option<ChannelId>,
    /// Model to ask first; `None` means the server's default.
    #[serde(default)]
    pub model: Option<String>,
    /// Models to ask when the first cannot answer, in order.
    #[serde(default)]
    pub fallback_models: Vec<String>,
    /// The folder of the machine it works in; `None` means its own. Only binding makes it usable.
    #[serde(default)]
    pub workspace: Option<PathBuf>,
    /// The agent's own instructions, first in every request.
    pub system_prompt: String,
    pub permissions: ProfileRef,
    /// Action strings that are allowed in addition to the profile, compared exactly.
    #[serde(default)]
    pub always_allow: Vec<String>,
    /// The mode of its turns; `None` means [`Mode::Standard`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Whether its requests include the instructions of the repository in its workspace; `None` means yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repo_instructions: Option<bool>,
    /// Roles, and agents as `@name`, that it may call; `None` means those its charter names, or all if it names none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sub_agents: Option<Vec<String>>,
    /// Whether its requests go before those of other agents, and it is ready from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<bool>,
    /// Whether each of its sub-agents has a thread below its channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_threads: Option<bool>,
    /// Roles that read a message first and advise on it; `None` means those of its charter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advisors: Option<Vec<String>>,
    /// The roles its turns may hand over to; `None` means those of its charter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub router: Option<Router>,
    /// Roles that its answers pass, in order; `None` means those of its charter.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "handoffs"
    )]
    pub handoff: Option<Vec<Handoff>>,
    /// Whether the provider may search the web for it.
    #[serde(default)]
    pub web_search: bool,
    /// Whether its requests go only to models of this machine and its own network.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub local_only: bool,
    /// Seconds of silence after which its context is saved and cleared; 0 means never, `None` the server's value.
    #[serde(default)]
    pub idle_timeout: Option<u64>,
    /// Seconds of work one turn may take; time spent waiting for people does not count.
    #[serde(default)]
    pub turn_timeout: Option<u64>,
    /// Seconds of work after which a turn mentions its author when it ends; 0 means never, `None` two minutes.
    #[serde(default)]
    pub notify_after: Option<u64>,
    /// How its commands are confined; `None` means the server's value.
    #[serde(default)]
    pub sandbox: Option<SandboxMode>,
    /// Whether its commands reach the network; `None` means the server's value.
    #[serde(default)]
    pub network: Option<bool>,
    /// Roles whose members may talk to it; `None` means the server's value, empty everyone who sees the channel.
    #[serde(default, deserialize_with = "optional_ids")]
    pub access_roles: Option<Vec<RoleId>>,
    /// Most money one turn may cost, in US dollars.
    #[serde(default)]
    pub budget_turn: Option<f64>,
    /// Most money one day (UTC) may cost, in US dollars.
    #[serde(default)]
    pub budget_day: Option<f64>,
    /// Who created it; asked for approvals when no person started a turn.
    #[serde(default, deserialize_with = "optional_id")]
    pub owner_id: Option<UserId>,
    #[serde(default)]
    pub created_at: Option<DateTime<Utc>>,
    /// When it was recreated over the files of a destroyed agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_since: Option<DateTime<Utc>>,
    /// A copy of its running and latest tasks; the database is authoritative.
    #[serde(default)]
    pub running_tasks: Vec<Value>,
}

/// A permission profile as written: a name, or the profile itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "`permissions` must be the name of a profile, or an object with the lists `allow`, `ask` and `deny`"
)]
pub enum ProfileRef {
    /// A built-in profile or one named in `config.json`.
    Named(String),
    /// `{"allow": [...], "ask": [...], "deny": [...]}`.
    Custom(Map<String, Value>),
}

/// The profile that allows least.
impl Default for ProfileRef {
    fn default() -> Self {
        Self::Named("locked".to_owned())
    }
}

impl ProfileRef {
    /// Returns its name for people and in action strings, or `custom`.
    pub fn label(&self) -> &str {
        match self {
            Self::Named(name) => name,
            Self::Custom(_) => "custom",
        }
    }
}

/// How much work a turn may do. A mode only narrows what the agent may do.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// One answer: no tools, no notes.
    Direct,
    /// Read-only: `view`, `grep`, `glob`, no notes.
    Lightweight,
    #[default]
    Standard,
    /// As configured, with more time and earlier compaction, for long tasks.
    Full,
}

impl Mode {
    /// Returns the word that people write for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Lightweight => "lightweight",
            Self::Standard => "standard",
            Self::Full => "full",
        }
    }
}

/// How an agent's commands are confined.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    /// Without bubblewrap around it no command runs.
    Required,
    /// The strongest layers this machine offers, none if it offers none.
    #[default]
    Auto,
    /// No sandbox: an operator's explicit choice.
    Off,
}

impl SandboxMode {
    /// Returns the stricter of the two.
    #[must_use]
    pub const fn stricter(self, other: Self) -> Self {
        match (self, other) {
            (Self::Required, _) | (_, Self::Required) => Self::Required,
            (Self::Auto, _) | (_, Self::Auto) => Self::Auto,
            (Self::Off, Self::Off) => Self::Off,
        }
    }
}

/// The state of an agent's life: the words of the `agents.status` column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    /// Its creation has begun but not finished.
    Created,
    /// Registered, with or without a context.
    Active,
    /// Gone; its rows stay.
    Destroyed,
}

impl AgentStatus {
    /// Returns the word that the database holds.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Active => "active",
            Self::Destroyed => "destroyed",
        }
    }
}

/// A valid agent name: 2 to 32 of `a-z 0-9 _ -`, a letter or digit at both ends.
///
/// The name is a directory, a Discord channel and part of an e-mail address, so it must be valid as each of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct AgentName(String);

impl AgentName {
    /// Checks all of `name`: nothing is trimmed or changed.
    ///
    /// # Errors
    ///
    /// Fails if a character, an end or the length is not allowed.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        if is_name(name) {
            return Ok(Self(name.to_owned()));
        }
        let lower = name.to_lowercase();
        if is_name(&lower) {
            return Err(NameError::UpperCase { offered: lower });
        }
        Err(NameError::Malformed)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_name(text: &str) -> bool {
    let end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let inner = |byte: &u8| end(*byte) || *byte == b'_' || *byte == b'-';
    match text.as_bytes() {
        [first, middle @ .., last] => {
            middle.len() <= 30 && end(*first) && end(*last) && middle.iter().all(inner)
        }
        _ => false,
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for AgentName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Why a text is not an agent's name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Valid except for its case; Discord channels are lower case.
    #[error("names are lower case: use `{offered}`")]
    UpperCase {
        /// The same name in lower case.
        offered: String,
    },
    /// Not a name at all.
    #[error(
        "a name has 2 to 32 characters, only a-z, 0-9, `-` and `_`, and begins and ends with a letter or digit"
    )]
    Malformed,
}
