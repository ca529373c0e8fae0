//! The settings of agents and Discord servers, one entry per key, and the merge of their values: `agent.json`, then the
//! server's settings, then `config.json`, then built-in.
//!
//! Pure: the callers have the sources and merge them at each step, so a change takes effect at the next one.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::day_budget::DayBudget;
use super::keys::{Config, Tiers};
use super::units::{Seconds, Usd};
use super::value_kind::ValueKind;
use crate::domain::read_ids::optional_ids;
use crate::domain::{AgentConfig, MOST_ADVISORS, MOST_HANDOFFS, Mode, RoleId, SandboxMode};
use crate::permission::GrantTable;

/// A key that an agent or a Discord server may set for itself.
///
/// Commands, completion, checks, the audit log and the documentation are generated from it.
#[derive(Debug)]
pub struct Key {
    /// Its name in `agent.json`, in the server's settings and, if the whole daemon has it too, in `config.json`.
    pub name: &'static str,
    /// Its meaning: the comment above its entry, a row of `docs/commands.md`.
    pub help: &'static str,
    /// The kind of its value.
    pub kind: ValueKind,
    /// The right needed to set it for an agent, in addition to the command itself; `None`: agents have no such key.
    pub agent: Option<Right>,
    /// The value that `default` writes for an agent.
    pub unset: Unset,
    /// The right needed to set it for a server, in addition to the command itself; `None`: servers have no such key.
    pub server: Option<Right>,
    /// Its label in `/settings show`, and its value there; `None`: it is not shown there.
    pub shown: Option<(&'static str, Show)>,
}

/// Selects a key's value from the settings of a server.
pub type Show = fn(&Server) -> Shown<'_>;

/// The value of a key in `/settings show`.
#[derive(Clone, Copy, Debug)]
pub enum Shown<'a> {
    /// The model of agents that name none, with its facts.
    Model,
    Profile(&'a str),
    /// The model of a mode; `None` means the agent's own.
    Tier(Option<&'a str>),
    /// `None` means never.
    Duration(Option<Duration>),
    Roles {
        roles: &'a [RoleId],
        /// The words for an empty list.
        none: &'static str,
    },
    Grants(&'a GrantTable),
    /// A time zone by its name; `None` means the machine's.
    Zone(Option<&'a str>),
}

/// The right a person needs to set a key, in addition to the right to use the command
/// (`docs/decisions/0106-keys-that-widen.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    Command,
    /// The right that the value itself requires.
    ForValue,
    /// The right to grant `open`: the key removes a sandbox layer or a limit, as that profile would.
    GrantOpen,
    /// The right to grant the agent's own profile: the key decides who uses it.
    GrantOwnProfile,
}

/// The value that the word `default` writes for an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unset {
    /// No value: the key needs one, and the word has no special meaning.
    Refused,
    /// Null: the next source decides.
    Inherited,
    Empty,
    /// `false`.
    Off,
    /// The profile of new agents.
    DefaultProfile,
}

impl Key {
    const fn new(name: &'static str, kind: ValueKind) -> Self {
        Self {
            name,
            help: "",
            kind,
            agent: None,
            unset: Unset::Refused,
            server: None,
            shown: None,
        }
    }

    const fn for_agents(self, right: Right, unset: Unset) -> Self {
        Self {
            agent: Some(right),
            unset,
            ..self
        }
    }

    const fn for_servers(self, right: Right) -> Self {
        Self {
            server: Some(right),
            ..self
        }
    }

    const fn shown_as(self, title: &'static str, value: Show) -> Self {
        Self {
            shown: Some((title, value)),
            ..self
        }
    }

    const fn with_help(self, help: &'static str) -> Self {
        Self { help, ..self }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// Creates a static for each entry and the list of them all; the comment above an entry is its help.
macro_rules! keys {
    ($($(#[doc = $help:literal])+ $name:ident = $key:expr;)+) => {
        $($(#[doc = $help])+ pub static $name: Key = $key.with_help(concat!($($help),+));)+

        /// All keys, in the order in which they are offered.
        pub static KEYS: &[&Key] = &[$(&$name),+];
    };
}

keys! {
    /// The model of agents that name none.
    DEFAULT_MODEL = Key::new("default_model", ValueKind::Model)
        .for_servers(Right::Command)
        .shown_as("Default model", |_| Shown::Model);
    /// The model of turns in mode `lightweight`. Default: `tiers` of `config.json`, else the agent's own.
    TIER_LIGHTWEIGHT = Key::new("tier_lightweight", ValueKind::Model)
        .for_servers(Right::Command)
        .shown_as("Tier lightweight", |server| Shown::Tier(server.tiers.lightweight.as_deref()));
    /// The model of turns in mode `full`. Default: `tiers` of `config.json`, else the agent's own.
    TIER_FULL = Key::new("tier_full", ValueKind::Model)
        .for_servers(Right::Command)
        .shown_as("Tier full", |server| Shown::Tier(server.tiers.full.as_deref()));
    /// The permission profile of new agents.
    DEFAULT_PERMISSIONS = Key::new("default_permissions", ValueKind::Profile)
        .for_servers(Right::Command)
        .shown_as("Default permissions", |server| Shown::Profile(&server.default_permissions));
    /// The agent's own instructions, first in every request.
    SYSTEM_PROMPT = Key::new("system_prompt", ValueKind::Prompt)
        .for_agents(Right::Command, Unset::Refused);
    /// The model to ask first. Default: the server's `default_model`.
    MODEL = Key::new("model", ValueKind::Model)
        .for_agents(Right::Command, Unset::Inherited);
    /// The folder of the machine that the agent works in: one of `folders` of `config.json`, or one below. The folder itself is
    /// never deleted. Default: a folder of its own.
    WORKSPACE = Key::new("workspace", ValueKind::Folder)
        .for_agents(Right::Command, Unset::Inherited);
    /// The permission profile, by name or as JSON. Default: the server's `default_permissions`.
    PERMISSIONS = Key::new("permissions", ValueKind::Profile)
        .for_agents(Right::ForValue, Unset::DefaultProfile);
    /// The agent's name, which its folder and channel bear too.
    NAME = Key::new("name", ValueKind::Name)
        .for_agents(Right::Command, Unset::Refused);
    /// The silence after which a conversation is saved and cleared: seconds, or a number with a unit such as `30m`;
    /// `0` is never. Default: the server's.
    IDLE_TIMEOUT = Key::new("idle_timeout", ValueKind::Duration { least: 0, most: YEAR, offered: &["0", "300", "900", "1800", "3600"] })
        .for_agents(Right::Command, Unset::Inherited)
        .for_servers(Right::Command)
        .shown_as("Idle timeout", |server| Shown::Duration(server.idle_timeout));
    /// How long a question waits before it is denied: 30 seconds to 24 hours. Default: 15 minutes.
    APPROVAL_TIMEOUT = Key::new("approval_timeout", ValueKind::Duration { least: 30, most: DAY, offered: &["300", "900", "3600", "86400"] })
        .for_servers(Right::Command)
        .shown_as("Approval timeout", |server| Shown::Duration(Some(server.approval_timeout)));
    /// The time zone of schedules and reminders that name none, such as `Europe/Berlin`. Default: `timezone` of `config.json`, else the machine's.
    TIMEZONE = Key::new("timezone", ValueKind::Zone)
        .for_servers(Right::Command)
        .shown_as("Time zone", |server| Shown::Zone(server.timezone.as_deref()));
    /// Roles whose members may answer questions, besides those with Manage Server.
    APPROVER_ROLES = Key::new("approver_roles", ValueKind::Roles)
        .for_servers(Right::Command)
        .shown_as("Approvers", |server| Shown::Roles {
            roles: &server.approver_roles,
            none: "Manage Server, and whoever started the turn",
        });
    /// Whether the provider may search the web for the agent. Default: `false`.
    WEB_SEARCH = Key::new("web_search", ValueKind::Switch)
        .for_agents(Right::Command, Unset::Off);
    /// Whether its requests go only to models of this machine and its own network, fall-backs, sub-agents and summaries
    /// included; `false` needs the right to grant `open`. Default: `false`.
    LOCAL_ONLY = Key::new("local_only", ValueKind::Switch)
        .for_agents(Right::ForValue, Unset::Off);
    /// Whether `AGENTS.md`, `CLAUDE.md` and the skills of the repository in the workspace stand in requests. Default: `true`.
    REPO_INSTRUCTIONS = Key::new("repo_instructions", ValueKind::Switch)
        .for_agents(Right::Command, Unset::Inherited);
    /// Roles that it may call as sub-agents, and other agents as `@name`, with commas between; `none`: nobody. Default: what
    /// its charter says, else all.
    SUB_AGENTS = Key::new("sub_agents", ValueKind::RoleNames)
        .for_agents(Right::Command, Unset::Inherited);
    /// Whether its requests go first where not all have a place, and it is ready before anybody writes: at most 50 agents.
    /// Default: `false`.
    CORE = Key::new("core", ValueKind::Switch)
        .for_agents(Right::GrantOpen, Unset::Off);
    /// Whether each of its sub-agents has a thread below the channel, where people can write to it. Default: `false`.
    CHILD_THREADS = Key::new("child_threads", ValueKind::Switch)
        .for_agents(Right::Command, Unset::Off);
    /// Up to five roles that read each message first and advise the agent, with commas between; `none`: nobody. Default: what
    /// its charter says.
    ADVISORS = Key::new("advisors", ValueKind::Advisors { most: MOST_ADVISORS })
        .for_agents(Right::GrantOwnProfile, Unset::Inherited);
    /// Roles that it may have answer in its place, with commas between, or JSON such as
    /// `{"destinations": ["billing"], "required": true}`; `none`: nobody. Default: what its charter says.
    ROUTER = Key::new("router", ValueKind::Router)
        .for_agents(Right::GrantOwnProfile, Unset::Inherited);
    /// Up to three roles that its answers pass in order, with commas between, or JSON such as
    /// `{"role": "redactor", "on_failure": "withhold"}`; `none`: nobody. Default: what its charter says.
    HANDOFF = Key::new("handoff", ValueKind::Handoff { most: MOST_HANDOFFS })
        .for_agents(Right::GrantOwnProfile, Unset::Inherited);
    /// Models to ask when the first cannot answer, in order, with commas between. Default: none.
    FALLBACK_MODELS = Key::new("fallback_models", ValueKind::Models)
        .for_agents(Right::Command, Unset::Empty);
    /// How much a turn brings to bear: `direct` (one answer, no tools), `lightweight` (looks only), `standard` or `full`
    /// (four times the work). Default: `standard`.
    MODE = Key::new("mode", ValueKind::Word(&["direct", "lightweight", "standard", "full"]))
        .for_agents(Right::Command, Unset::Inherited);
    /// The agent's own role, out of a charter: the name of a role, or a text file. `none` takes it away. Default: none.
    CHARTER = Key::new("charter", ValueKind::Charter)
        .for_agents(Right::GrantOwnProfile, Unset::Refused);
    /// Actions that are allowed besides the profile, as a JSON list. Without a value: the list in words, with *Take
    /// back*; `remove <number>` takes one entry back. Default: none.
    ALWAYS_ALLOW = Key::new("always_allow", ValueKind::Actions)
        .for_agents(Right::ForValue, Unset::Empty);
    /// The time of work one turn may take; waiting for people does not count. Default: `turn_timeout` of
    /// `config.json`.
    TURN_TIMEOUT = Key::new("turn_timeout", ValueKind::Duration { least: 1, most: DAY, offered: &[] })
        .for_agents(Right::Command, Unset::Inherited);
    /// The work after which a turn mentions its author when it ends; `0` is never. Default: `30s`.
    NOTIFY_AFTER = Key::new("notify_after", ValueKind::Duration { least: 0, most: YEAR, offered: &["0", "30", "60", "300", "900"] })
        .for_agents(Right::Command, Unset::Inherited);
    /// How commands are confined: `required`, `auto` or `off`. Default: `sandbox` of `config.json`.
    SANDBOX = Key::new("sandbox", ValueKind::Word(&["required", "auto", "off"]))
        .for_agents(Right::GrantOpen, Unset::Inherited)
        .for_servers(Right::GrantOpen);
    /// Whether commands reach the network. Default: `network` of `config.json`.
    NETWORK = Key::new("network", ValueKind::Switch)
        .for_agents(Right::GrantOpen, Unset::Inherited)
        .for_servers(Right::GrantOpen);
    /// Roles whose members may talk to the agent, by mention or id with commas between; `everyone`: all who see the
    /// channel. Default: the server's.
    ACCESS_ROLES = Key::new("access_roles", ValueKind::Roles)
        .for_agents(Right::GrantOwnProfile, Unset::Inherited)
        .for_servers(Right::Command)
        .shown_as("Access", |server| Shown::Roles {
            roles: &server.access_roles,
            none: "everyone who sees the channel",
        });
    /// Which profiles the members of a role may grant.
    PERMISSION_GRANTS = Key::new("permission_grants", ValueKind::Grants)
        .for_servers(Right::GrantOpen)
        .shown_as("Grants", |server| Shown::Grants(&server.permission_grants));
    /// The most money one turn may cost, in US dollars. Default: `budgets.turn` of `config.json`.
    BUDGET_TURN = Key::new("budget_turn", ValueKind::Money)
        .for_agents(Right::GrantOpen, Unset::Inherited);
    /// The most money one day (UTC) may cost, in US dollars; 0: no limit. Default: `budgets.agent_day` of `config.json`.
    BUDGET_DAY = Key::new("budget_day", ValueKind::Money)
        .for_agents(Right::GrantOpen, Unset::Inherited);
}

/// Returns the keys of `/agent config`, with the right to set each.
pub fn agent_keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().copied().filter(|key| key.agent.is_some())
}

/// Shortest time that a question waits; a shorter one may have been set before this limit existed.
const SHORTEST_QUESTION: Duration = Duration::from_secs(30);

/// Seconds of a day.
const DAY: u64 = 86_400;

/// Seconds of a year, which is also the longest time in `config.json`.
const YEAR: u64 = 365 * DAY;

/// Longest time that a question waits.
const LONGEST_QUESTION: Duration = Duration::from_secs(DAY);

/// A person who waits longer than this has turned to something else.
const DEFAULT_NOTIFY_AFTER: Duration = Duration::from_secs(30);

/// A role that no member has.
const NO_ROLE: RoleId = RoleId(0);

/// The `/settings` of one Discord server; `None` for keys that are not set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Settings {
    #[serde(deserialize_with = "name")]
    pub default_model: Option<String>,
    #[serde(deserialize_with = "name")]
    pub tier_lightweight: Option<String>,
    #[serde(deserialize_with = "name")]
    pub tier_full: Option<String>,
    #[serde(deserialize_with = "name")]
    pub default_permissions: Option<String>,
    pub idle_timeout: Option<Seconds<0, { u64::MAX }>>,
    pub approval_timeout: Option<Seconds<1, { u64::MAX }>>,
    #[serde(deserialize_with = "name")]
    pub timezone: Option<String>,
    pub permission_grants: Option<GrantTable>,
    #[serde(deserialize_with = "optional_ids")]
    pub approver_roles: Option<Vec<RoleId>>,
    #[serde(deserialize_with = "optional_ids")]
    pub access_roles: Option<Vec<RoleId>>,
    pub sandbox: Option<SandboxMode>,
    pub network: Option<bool>,
}

impl Settings {
    /// Reads the rows of one server: a key and a JSON value each. An invalid row counts as not set, so that one bad row
    /// never stops an agent. But if an empty list would mean everyone, only administrators are allowed.
    pub fn from_rows(rows: &BTreeMap<String, Value>) -> Self {
        let mut sensible = Map::new();
        for (name, value) in rows {
            let is_of_roles = KEYS
                .iter()
                .any(|key| key.name == name && key.kind == ValueKind::Roles);
            if Self::takes(name, value) {
                sensible.insert(name.clone(), value.clone());
            } else if is_of_roles {
                sensible.insert(name.clone(), json!([NO_ROLE.to_string()]));
            }
        }
        Self::deserialize(Value::Object(sensible)).unwrap_or_default()
    }

    /// Returns whether `value` is valid in the row `name`.
    fn takes(name: &str, value: &Value) -> bool {
        let row = Map::from_iter([(name.to_owned(), value.clone())]);
        !value.is_null() && Self::deserialize(Value::Object(row)).is_ok()
    }
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let name = String::deserialize(deserializer)?;
    Ok((!name.is_empty()).then_some(name))
}

/// The values that apply to one agent now.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// Models to ask, in order, each once: its own (the server's if it names none), then its fallbacks. Empty if none
    /// is configured.
    pub models: Vec<String>,
    /// Silence after which its context is saved and cleared; `None` means never.
    pub idle_timeout: Option<Duration>,
    /// Work that one turn may take.
    pub turn_timeout: Duration,
    /// Work after which a turn mentions its author when it ends; `None` means never.
    pub notify_after: Option<Duration>,
    /// Most money one turn may cost, in US dollars.
    pub budget_turn: Option<f64>,
    /// The limit for one day (UTC).
    pub budget_day: DayBudget,
    /// How its commands are confined.
    pub sandbox: SandboxMode,
    /// Whether its commands can reach the network.
    pub network: bool,
    /// Roles whose members may talk to it; empty means everyone who sees the channel.
    pub access_roles: Vec<RoleId>,
    /// The values that apply to the whole server.
    pub server: Server,
}

/// The values that apply to one Discord server now.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Default model.
    pub default_model: Option<String>,
    /// Models of modes.
    pub tiers: Tiers,
    /// Permission profile for new agents.
    pub default_permissions: String,
    /// Silence after which a context is saved and cleared, if the agent sets no time; `None` means never.
    pub idle_timeout: Option<Duration>,
    /// How long a question waits.
    pub approval_timeout: Duration,
    /// The zone of schedules that name none; `None` means the machine's.
    pub timezone: Option<String>,
    /// Which profiles the members of a role may grant.
    pub permission_grants: GrantTable,
    /// Roles whose members may answer questions.
    pub approver_roles: Vec<RoleId>,
    /// Roles whose members may talk to agents.
    pub access_roles: Vec<RoleId>,
}

/// Merges the values of the sources for `agent`.
pub fn agent(agent: &AgentConfig, settings: &Settings, config: &Config) -> Effective {
    let server = server(settings, config);
    let idle_timeout = match agent.idle_timeout {
        Some(seconds) => unless_zero(Duration::from_secs(seconds)),
        None => server.idle_timeout,
    };
    let access_roles = agent.access_roles.as_ref().unwrap_or(&server.access_roles);
    let budget = |own: Option<f64>, whole: Option<Usd>| own.or(whole.map(Usd::get));
    Effective {
        models: targets(agent, server.default_model.as_ref(), None),
        idle_timeout,
        turn_timeout: agent
            .turn_timeout
            .map_or(config.turn_timeout.get(), Duration::from_secs),
        notify_after: unless_zero(
            agent
                .notify_after
                .map_or(DEFAULT_NOTIFY_AFTER, Duration::from_secs),
        ),
        budget_turn: budget(agent.budget_turn, config.budgets.turn),
        budget_day: DayBudget::of(agent.budget_day, &config.budgets),
        sandbox: agent.sandbox.or(settings.sandbox).unwrap_or(config.sandbox),
        network: agent.network.or(settings.network).unwrap_or(config.network),
        access_roles: access_roles.clone(),
        server,
    }
}

/// Merges the values of the sources for a server.
pub fn server(settings: &Settings, config: &Config) -> Server {
    let or =
        |set: &Option<Vec<RoleId>>, config: &Vec<RoleId>| set.as_ref().unwrap_or(config).clone();
    Server {
        default_model: settings
            .default_model
            .clone()
            .or_else(|| config.default_model.clone())
            .filter(|model| is_chosen(model)),
        tiers: Tiers {
            lightweight: tier(&settings.tier_lightweight, &config.tiers.lightweight),
            full: tier(&settings.tier_full, &config.tiers.full),
        },
        default_permissions: settings
            .default_permissions
            .clone()
            .unwrap_or_else(|| config.default_permissions.clone()),
        idle_timeout: unless_zero(
            settings
                .idle_timeout
                .map_or(config.idle_timeout.get(), Seconds::get),
        ),
        approval_timeout: settings
            .approval_timeout
            .map_or(config.approval_timeout.get(), Seconds::get)
            .clamp(SHORTEST_QUESTION, LONGEST_QUESTION),
        timezone: settings
            .timezone
            .clone()
            .or_else(|| config.timezone.clone()),
        permission_grants: settings
            .permission_grants
            .clone()
            .unwrap_or_else(|| config.permission_grants.clone()),
        approver_roles: or(&settings.approver_roles, &config.approver_roles),
        access_roles: or(&settings.access_roles, &config.access_roles),
    }
}

/// Returns the models that an agent asks in a mode, in order: the mode's own model replaces the agent's first.
pub fn models(agent: &AgentConfig, server: &Server, mode: Mode) -> Vec<String> {
    targets(agent, server.default_model.as_ref(), server.tiers.of(mode))
}

fn tier(set: &Option<String>, config: &Option<String>) -> Option<String> {
    let named = set.as_ref().or(config.as_ref());
    named.filter(|model| is_chosen(model)).cloned()
}

fn targets(agent: &AgentConfig, default: Option<&String>, tier: Option<&String>) -> Vec<String> {
    let mut models: Vec<String> = Vec::new();
    let own = agent.model.as_ref().filter(|model| is_chosen(model));
    for model in tier.or(own).or(default).into_iter().chain(
        agent
            .fallback_models
            .iter()
            .filter(|model| is_chosen(model)),
    ) {
        if !models.contains(model) {
            models.push(model.clone());
        }
    }
    models
}

/// Returns whether this model was chosen. The demo model is used if none was; earlier versions of the playground wrote
/// its name into configurations.
pub fn is_chosen(model: &str) -> bool {
    !["demo", "demo/demo", "anthropic/demo"].contains(&model)
}

fn unless_zero(length: Duration) -> Option<Duration> {
    (!length.is_zero()).then_some(length)
}
