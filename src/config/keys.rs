//! The keys of `config.json`, each with its meaning, unit, range and default.
//!
//! The schema that `chorus schema` prints is derived from here, doc comments included.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent_servers::{AgentServer, TeamConfig};
use super::day_budget::DEFAULT_UNATTENDED_DAY;
use super::units::{Bytes, Count, Seconds, Usd};
use super::values::{host_names, loopback};
use super::webhooks::WebhooksConfig;
use crate::domain::read_ids::{ids, optional_id};
use crate::domain::{ChannelId, GuildId, Mode, RoleId, SandboxMode};
use crate::permission::GrantTable;

const YEAR: u64 = 365 * 86_400;
const HOUR: u64 = 3_600;
const DAY: u64 = 86_400;
const WEEK: u64 = 7 * DAY;
const KIB: u64 = 1 << 10;
const TIB: u64 = 1 << 40;

/// What the operator decides for the whole daemon. A Discord server's `/settings` and an agent's own
/// configuration stand above it.
///
/// Keys with `x-at-start` are read once, when the daemon starts: a change of these waits for the next start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where editors find the schema of this file. Chorus does not read it.
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,

    /// Default model.
    pub default_model: Option<String>,
    /// Models for the modes `lightweight` and `full`; what is not named is the agent's own.
    pub tiers: Tiers,
    /// Permission profile for new agents: `open`, `standard`, `guarded`, `locked`, or one of `profiles`.
    pub default_permissions: String,
    /// Silence after which an agent's context is saved and cleared. 0 turns it off.
    pub idle_timeout: Seconds<0, YEAR>,
    /// Steps a turn may take before the model must answer.
    #[serde(alias = "max_steps")]
    pub max_tool_loop_iterations: Count<1, 1000>,
    /// Longest time one command of the `bash` tool may run.
    pub max_bash_timeout: Seconds<1, DAY>,

    /// Tool calls that run in one step; further ones are refused.
    pub max_calls_per_step: Count<1, 100>,
    /// Attempts to get a step's answer, over all models of the turn, the first counted.
    #[schemars(extend("x-at-start" = true))]
    pub max_retries: Count<1, 50>,
    /// Time without content after which a model request is given up.
    #[schemars(extend("x-at-start" = true))]
    pub llm_timeout: Seconds<1, 3600>,
    /// Time of work one turn may take; waiting for people and for places at providers does not count.
    pub turn_timeout: Seconds<1, DAY>,
    /// Hops of hooks and of agents asking agents that one message may cause.
    #[schemars(extend("x-at-start" = true))]
    pub max_hook_recursion_depth: Count<0, 10>,
    /// Turns that no person began, such as those of hooks, which run at once in the daemon; further ones wait in order.
    pub unattended_parallel: Count<1, 64>,
    /// How far turns may have sub-agents work for them.
    pub orchestration: Orchestration,
    /// A key of the original that had no effect. Read, so that its configuration loads, and not used.
    pub default_output_delay: f64,

    /// Requests that models answer at once, all providers together; further ones wait. 0 is no limit.
    pub max_requests: Count<0, 10_000>,
    /// Providers besides `anthropic`, `openai` and `gemini`, and changes to those three, by name.
    pub providers: BTreeMap<String, ProviderConfig>,
    /// Windows, limits, prices and abilities of models, where the built-in table lacks or mistakes them.
    #[schemars(extend("x-at-start" = true))]
    pub models: BTreeMap<String, ModelOverride>,

    /// Permission profiles by name: `{"allow": [...], "ask": [...], "deny": [...]}`, patterns of whole actions.
    #[schemars(with = "BTreeMap<String, ProfileSchema>")]
    pub profiles: BTreeMap<String, Value>,
    /// Which profiles the members of a role may grant, by role id. Without it only Administrators may.
    #[schemars(with = "BTreeMap<String, Vec<String>>")]
    pub permission_grants: GrantTable,
    /// Roles whose members may answer questions, by id, besides those with Manage Server.
    #[serde(deserialize_with = "ids")]
    #[schemars(with = "Vec<String>")]
    pub approver_roles: Vec<RoleId>,
    /// Roles whose members may talk to agents, by id. Empty: everyone who sees the channel.
    #[serde(deserialize_with = "ids")]
    #[schemars(with = "Vec<String>")]
    pub access_roles: Vec<RoleId>,
    /// Time a question waits for an answer; then it is denied. 30 seconds to 24 hours.
    pub approval_timeout: Seconds<30, DAY>,
    /// How long a question of `ask_person` stays open. 30 seconds to 24 hours.
    pub question_timeout: Seconds<30, DAY>,
    /// How long an approval or a question stays open where no person began the turn. 30 seconds to 24 hours.
    pub unattended_timeout: Seconds<30, DAY>,
    /// Time zone of schedules and reminders that name none, such as `Europe/Berlin`. Default: the machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timezone: Option<String>,

    /// How commands are confined: `required`, `auto` (the strongest layers there are) or `off`.
    pub sandbox: SandboxMode,
    /// Whether commands reach the network.
    pub network: bool,
    /// Further folders that confined commands may read. Empty: the toolchains in the daemon's `PATH`.
    #[schemars(extend("x-at-start" = true))]
    pub sandbox_read: Vec<PathBuf>,
    /// Folders of this machine that agents may be bound to, themselves or what lies below them. Absolute paths.
    pub folders: Vec<PathBuf>,
    /// What one command and its children may use.
    pub limits: Limits,
    /// Servers of the Model Context Protocol by name, in the format of other clients.
    #[serde(rename = "mcpServers")]
    #[schemars(with = "BTreeMap<String, serde_json::Map<String, Value>>")]
    pub mcp_servers: BTreeMap<String, Value>,
    /// How these servers are started.
    pub mcp: McpConfig,
    /// Programs that speak the Agent Client Protocol, by id, in the form of other clients' settings.
    pub agent_servers: BTreeMap<String, AgentServer>,
    /// How members of teams run these programs.
    pub team: TeamConfig,
    /// What one program that Chorus talks to, such as an MCP server, may use.
    pub program_limits: ProgramLimits,
    /// Hosts of your own network that `web_fetch` may read, as `host:port`. Public ones need no entry.
    #[schemars(extend("x-at-start" = true))]
    pub web_fetch_private: Vec<String>,

    /// Servers that are served, by id, besides those accepted with `/servers`. Empty: the operator's own.
    #[serde(deserialize_with = "ids")]
    #[schemars(with = "Vec<String>")]
    pub servers: Vec<GuildId>,

    /// Show the answer while the model speaks.
    #[schemars(extend("x-at-start" = true))]
    pub stream_replies: bool,
    /// Answer messages of other bots and of webhooks.
    pub allow_bots: bool,
    /// Channel for what the operator must know, by id. None: a direct message to the application's owner.
    #[serde(deserialize_with = "optional_id")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("x-at-start" = true))]
    pub operator_channel: Option<ChannelId>,
    /// How far back messages are fetched that came while the daemon was away.
    pub catch_up: CatchUp,
    /// How turns go on that a restart interrupted.
    pub resume: ResumeConfig,

    /// Most money that may be spent; no value is no limit.
    pub budgets: Budgets,
    /// Which git hosts agents may push to, and with what.
    #[schemars(extend("x-at-start" = true))]
    pub git: GitConfig,
    /// Forges for merge requests, by host, besides github.com and gitlab.com.
    #[schemars(extend("x-at-start" = true))]
    pub forges: BTreeMap<String, Forge>,

    /// Loopback address such as `127.0.0.1:9464` that serves `/metrics` and `/healthz`. None: not served.
    #[serde(deserialize_with = "loopback")]
    #[schemars(with = "Option<String>")]
    #[schemars(extend("x-at-start" = true))]
    pub metrics_listen: Option<SocketAddr>,
    /// Names that `/metrics` and `/healthz` answer to besides `localhost` and loopback addresses, for a proxy that passes on
    /// the name it was asked for. Without a port.
    #[serde(deserialize_with = "host_names")]
    #[schemars(with = "Vec<String>")]
    #[schemars(extend("x-at-start" = true))]
    pub metrics_hosts: Vec<String>,
    /// Where webhooks are received.
    #[schemars(extend("x-at-start" = true))]
    pub webhooks: WebhooksConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            schema: None,
            default_model: None,
            tiers: Tiers::default(),
            default_permissions: "standard".to_owned(),
            idle_timeout: Seconds::new(1800),
            max_tool_loop_iterations: Count::new(40),
            max_bash_timeout: Seconds::new(120),
            max_calls_per_step: Count::new(10),
            max_retries: Count::new(3),
            llm_timeout: Seconds::new(120),
            turn_timeout: Seconds::new(1800),
            max_hook_recursion_depth: Count::new(3),
            unattended_parallel: Count::new(4),
            orchestration: Orchestration::default(),
            default_output_delay: 2.0,
            max_requests: Count::new(0),
            providers: BTreeMap::new(),
            models: BTreeMap::new(),
            profiles: BTreeMap::new(),
            permission_grants: GrantTable::default(),
            approver_roles: Vec::new(),
            access_roles: Vec::new(),
            approval_timeout: Seconds::new(900),
            question_timeout: Seconds::new(600),
            unattended_timeout: Seconds::new(HOUR),
            timezone: None,
            sandbox: SandboxMode::Auto,
            network: true,
            sandbox_read: Vec::new(),
            folders: Vec::new(),
            limits: Limits::default(),
            mcp_servers: BTreeMap::new(),
            mcp: McpConfig::default(),
            agent_servers: BTreeMap::new(),
            team: TeamConfig::default(),
            program_limits: ProgramLimits::default(),
            web_fetch_private: Vec::new(),
            servers: Vec::new(),
            stream_replies: true,
            allow_bots: false,
            operator_channel: None,
            catch_up: CatchUp::default(),
            resume: ResumeConfig::default(),
            budgets: Budgets::default(),
            git: GitConfig::default(),
            forges: BTreeMap::new(),
            metrics_listen: None,
            metrics_hosts: Vec::new(),
            webhooks: WebhooksConfig::default(),
        }
    }
}

/// Which model answers in a mode. Which one is better or cheaper is somebody's decision by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tiers {
    /// For turns in mode `lightweight`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lightweight: Option<String>,
    /// For turns in mode `full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<String>,
}

impl Tiers {
    /// Returns the model for a mode; `None` means the agent's own.
    pub fn of(&self, mode: Mode) -> Option<&String> {
        match mode {
            Mode::Lightweight => self.lightweight.as_ref(),
            Mode::Full => self.full.as_ref(),
            Mode::Direct | Mode::Standard => None,
        }
    }
}

/// A provider of models.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderConfig {
    /// Base URL, as the provider's own clients take it: with `/v1` for OpenAI's formats, without for Anthropic's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// Environment variable that holds the key. None: no key is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_key_env: Option<String>,
    /// Wire format it speaks.
    pub format: WireFormat,
    /// Models it has, for providers that cannot list them; they pass without discovery.
    pub models: Vec<String>,
    /// Time without content after which a request is given up. None: `llm_timeout`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub llm_timeout: Option<Seconds<1, 3600>>,
    /// Requests that it answers at once; further ones wait. 0 or none is no limit; `max_requests` of the daemon holds besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_requests: Option<Count<0, 10_000>>,
}

/// How a provider is spoken to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WireFormat {
    /// OpenAI Chat Completions, which most servers speak.
    #[default]
    Openai,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini.
    Gemini,
}

/// What is known about a model; whatever is left out keeps its built-in value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelOverride {
    /// Tokens that its window holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// Most tokens it answers with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// US dollars for a million input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_price: Option<Usd>,
    /// US dollars for a million output tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_price: Option<Usd>,
    /// US dollars for a million input tokens read from the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_read_price: Option<Usd>,
    /// US dollars for a million input tokens written to the cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_price: Option<Usd>,
    /// Whether it sees pictures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// Whether it calls tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// How long it thinks before it answers: `low`, `medium` or `high`. None: as its provider does by itself.
    // The operator sets it per model, because some models cannot think and others always do, and it changes the cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Effort>,
}

/// How long a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// A little.
    Low,
    /// For most work.
    Medium,
    /// As long as it takes.
    High,
}

impl Effort {
    /// Returns the word that providers also use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What one command and its children may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Memory.
    pub memory: Bytes<{ 16 << 20 }, TIB>,
    /// Processes and threads.
    pub processes: Count<8, 65_536>,
    /// Size of one file it writes.
    pub file_size: Bytes<{ 64 * KIB }, TIB>,
    /// Files one process of it has open.
    pub open_files: Count<64, 1_048_576>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: Bytes::new(4 << 30),
            processes: Count::new(1024),
            file_size: Bytes::new(8 << 30),
            open_files: Count::new(8192),
        }
    }
}

/// How MCP servers are started.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct McpConfig {
    /// Time a server has to answer when it is started.
    pub startup_timeout: Seconds<1, 600>,
    /// The same for its first start, which may download it.
    pub first_startup_timeout: Seconds<1, 600>,
    /// Time after which a process that nobody calls is ended.
    pub idle_timeout: Seconds<60, 86_400>,
    /// Processes at the same time. Above it, the one that has been idle longest ends first.
    pub max_processes: Count<1, 256>,
}

impl Default for McpConfig {
    fn default() -> Self {
        Self {
            startup_timeout: Seconds::new(60),
            first_startup_timeout: Seconds::new(120),
            idle_timeout: Seconds::new(600),
            max_processes: Count::new(16),
        }
    }
}

/// Memory limit of one program.
pub type ProgramMemory = Bytes<{ 16 << 20 }, TIB>;

/// What one program that Chorus talks to may use.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProgramLimits {
    /// Memory of each of its processes; of all together where a control group can be made.
    pub memory: ProgramMemory,
    /// Processes and threads.
    pub processes: Count<8, 65_536>,
    /// Size of its home, and of one file that it writes.
    pub disk: Bytes<{ 64 * KIB }, TIB>,
}

impl Default for ProgramLimits {
    fn default() -> Self {
        Self {
            memory: Bytes::new(2 << 30),
            processes: Count::new(256),
            disk: Bytes::new(2 << 30),
        }
    }
}

/// How far turns may have sub-agents work for them. A run is a turn with all sub-agents below it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Orchestration {
    /// Levels of sub-agents below a turn. 0 turns them off.
    pub max_depth: Count<0, 5>,
    /// Sub-agents of one run.
    pub max_children: Count<1, 100>,
    /// Sub-agents of one run that work at once; further ones wait, and the oldest goes first.
    pub max_children_at_once: Count<1, 16>,
    /// Steps of a sub-agent whose charter says nothing of them.
    pub child_steps: Count<1, 1000>,
    /// Time of work of a sub-agent whose charter says nothing of it.
    pub child_timeout: Seconds<1, DAY>,
}

impl Default for Orchestration {
    fn default() -> Self {
        Self {
            max_depth: Count::new(2),
            max_children: Count::new(16),
            max_children_at_once: Count::new(4),
            child_steps: Count::new(20),
            child_timeout: Seconds::new(300),
        }
    }
}

/// How far back messages are fetched that came while the daemon was away.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CatchUp {
    /// Older messages are skipped, and the channel is told so.
    pub max_age: Seconds<0, YEAR>,
    /// Most messages of one channel.
    pub max_messages: Count<0, 10_000>,
}

impl Default for CatchUp {
    fn default() -> Self {
        Self {
            max_age: Seconds::new(DAY),
            max_messages: Count::new(500),
        }
    }
}

/// How turns go on that a restart interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ResumeConfig {
    /// A turn that was interrupted longer ago does not go on by itself. 0: none does. At most 7 days.
    pub max_age: Seconds<0, WEEK>,
}

impl Default for ResumeConfig {
    fn default() -> Self {
        Self {
            max_age: Seconds::new(HOUR),
        }
    }
}

/// Most money that may be spent, in US dollars, and most tokens.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    /// By one turn.
    pub turn: Option<Usd>,
    /// By one agent in one day (UTC). Default: 20, and 20 million tokens of models whose price is not known. `0`: no limit.
    pub agent_day: Option<Usd>,
    /// By one Discord server in one month (UTC).
    pub month: Option<Usd>,
    /// Tokens that one turn may use, for models without a price.
    pub turn_tokens: Option<Count<1, 1_000_000_000>>,
    /// By one person in one Discord server in one day (UTC), more than 0. Members with Manage Server are exempt.
    pub user_day: Option<Usd>,
    /// By the turns of one agent that no person began, in one day (UTC). `0`: no such turns.
    pub unattended_day: Usd,
    /// Tokens that these may use in that day of models whose price is not known.
    pub unattended_day_tokens: Count<0, 4_000_000_000>,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            turn: None,
            agent_day: None,
            month: None,
            turn_tokens: None,
            user_day: None,
            unattended_day: DEFAULT_UNATTENDED_DAY,
            unattended_day_tokens: Count::new(2_000_000),
        }
    }
}

/// Which git hosts agents may push to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct GitConfig {
    /// Credentials by host, such as `github.com`. Other hosts are refused.
    pub hosts: BTreeMap<String, GitHost>,
}

/// Credentials for one git host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GitHost {
    /// User name to send; the usual one of the forges that take tokens by default.
    #[serde(default = "token_user")]
    pub username: String,
    /// Environment variable that holds the token. None: only SSH is used, with the operator's agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
}

fn token_user() -> String {
    "x-access-token".to_owned()
}

/// A forge that takes merge requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Forge {
    /// Whose API it speaks.
    pub kind: ForgeKind,
    /// Base URL of its API, such as `https://git.example.org/api/v4`.
    pub base_url: String,
    /// Environment variable that holds the token. None: the git host's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_env: Option<String>,
}

/// Whose API a forge speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ForgeKind {
    /// GitHub's.
    Github,
    /// GitLab's.
    Gitlab,
}

/// A permission profile as the schema shows it; `permission` reads it.
#[derive(JsonSchema)]
#[allow(dead_code)]
#[schemars(deny_unknown_fields, rename = "Profile")]
struct ProfileSchema {
    /// Actions that run without a question.
    #[schemars(default)]
    allow: Vec<String>,
    /// Actions that a person is asked about.
    #[schemars(default)]
    ask: Vec<String>,
    /// Actions that never run; looked at first.
    #[schemars(default)]
    deny: Vec<String>,
}
