//! Discord: the only users of serenity and poise types.
//!
//! ```text
//! gateway ─▶ events ─▶ inbound · access ─▶ AgentManager::receive
//!                  └─▶ commands · approvals · buttons
//! agent::Event ─▶ outbound (one queue per channel) ─▶ rest ─▶ Discord
//! ```
//!
//! Pure parts decide (`inbound`, `access`, `limits`, `catch_up`, `body`, `render`), thin parts act.

pub mod access;
pub mod approval_card;
pub mod body;
pub mod catch_up;
pub mod escape;
pub mod explain;
pub mod inbound;
pub mod limits;
pub mod people;
pub mod rest;
pub mod route;
pub mod status_text;
