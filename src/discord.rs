//! Discord: the only users of serenity and poise types.
//!
//! ```text
//! gateway ─▶ hub ─▶ inbound (one queue per channel) ─▶ AgentManager::receive
//!               └─▶ interactions (commands, buttons, forms) ─▶ AgentManager
//! agent::Event ─▶ hub ─▶ outbound (one queue per channel) ─▶ rest ─▶ Discord
//! ```
//!
//! From the bottom up: `rest` makes requests and knows messages in Discord's format. `render`, `people` and `gateway`
//! know the output, the identity of people, and the incoming events. `bot` holds the state for serving each event.
//! `inbound`, `interactions` and `outbound` serve events and do not know each other. `hub` passes each event to its
//! part, and `run` puts all of it together. Pure parts decide (`inbound::message`, `people::access`, `rest::limits`,
//! `render`), thin parts act.

mod bot;
mod error;
pub mod gateway;
mod hub;
pub mod inbound;
mod interactions;
mod outbound;
pub mod people;
pub mod render;
pub mod rest;
mod run;

pub use error::DiscordError;
pub use gateway::GatewayHealth;
pub use hub::Ends;
pub use interactions::registration::registered_commands;
pub use run::{DiscordConfig, run};
