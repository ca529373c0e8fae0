//! Configuration: `config.json`, the environment, secrets, and the merge of their values.
//!
//! Four sources are read in order: `agent.json`, the Discord server's row in SQLite, `config.json`, built-in.
//! [`effective`] merges them. It is pure, so a caller with the four values can use it at any time.

mod agent_servers;
mod check;
mod day_budget;
pub mod effective;
mod env;
pub mod folders;
pub mod in_words;
mod keys;
mod load;
mod mcp_servers;
mod mounts;
mod paths;
mod problem;
mod secret;
pub mod units;
mod value_kind;
mod values;
mod webhooks;

pub use agent_servers::{
    AgentProgram, AgentServer, AsksBy, ProgramNetwork, RELAY_ADDRESS, RELAY_TOKEN, SettingsFile,
    TeamConfig,
};
pub use day_budget::{DEFAULT_DAY_TOKENS, DEFAULT_DAY_USD, DayBudget, DaySet, UnattendedDay};
pub use effective::{Effective, Key, Right, Settings, Unset, agent_keys};
pub use env::{
    ADDRESSES, Env, EnvError, Fault, Origin, ProviderEnv, SECRETS, Source, UnreadDotenv,
};
pub use keys::{
    Budgets, CatchUp, Config, Effort, Forge, ForgeKind, GitConfig, GitHost, Limits, McpConfig,
    ModelOverride, Orchestration, ProgramLimits, ProgramMemory, ProviderConfig, Tiers, WireFormat,
};
pub use load::{ConfigError, keys_at_start, reason, schema};
pub use mcp_servers::memory_of;
pub use paths::Paths;
pub use problem::Problem;
pub use secret::Secret;
pub use value_kind::{BadValue, PROMPT_MAX, ValueKind, is_default};
pub use webhooks::{WEBHOOK_KEY, WebhookAddress, WebhooksConfig, check_webhook_key};
