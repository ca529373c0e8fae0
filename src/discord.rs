//! Discord: the only users of serenity and poise types.
//!
//! ```text
//! gateway ─▶ hub ─▶ ingress (one queue per channel) ─▶ inbound · access ─▶ AgentManager::receive
//!               └─▶ commands · approvals · buttons
//! agent::Event ─▶ outbound (one queue per channel) ─▶ rest ─▶ Discord
//! ```
//!
//! Pure parts decide (`inbound`, `access`, `limits`, `catch_up`, `body`, `render`), thin parts act.

pub mod access;
pub mod always_card;
pub mod approval_card;
mod approvals;
pub mod body;
mod bot;
mod buttons;
pub mod catch_up;
mod channel_making;
mod channels;
mod commands;
mod error;
pub mod explain;
pub mod gateway;
mod hub;
mod identity;
pub mod inbound;
mod ingress;
mod interaction;
mod leftovers;
pub mod limits;
mod members;
mod operator;
mod outbound;
pub mod people;
mod posting;
pub mod presence;
mod refusal;
mod registration;
pub mod render;
pub mod rest;
pub mod route;
mod run;
mod servers;
pub mod status_text;

pub use error::DiscordError;
pub use gateway::GatewayHealth;
pub use hub::Ends;
pub use registration::registered_commands;
pub use run::{DiscordConfig, run};
