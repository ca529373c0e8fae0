//! The connection to Discord's gateway, and what comes by it.
//!
//! ```text
//! Discord ◀─▶ upstream ◀─▶ relay ◀─▶ local ◀─▶ serenity ─▶ Handler ─▶ Signal ─▶ the room
//! ```
//!
//! serenity makes values of events and keeps a picture of our servers (`client`). The line itself is ours: `session` decides,
//! `upstream` is one connection, `relay` goes from one to the next, `local` is what serenity sees: a gateway that
//! never breaks. A reconnect touches nothing but the connection.

mod client;
mod connect;
mod health;
mod line;
mod local;
mod relay;
pub mod session;
mod signal;
mod upstream;

pub use self::health::GatewayHealth;
pub(super) use self::line::Gateway;
pub(super) use self::signal::Signal;
