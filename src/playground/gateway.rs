//! The gateway: sessions, their events, and the ways in which a connection can fail.
//!
//! `socket` is one connection, `ready` what a bot is told on it first, `sessions` what outlives it.

mod intents;
pub(crate) mod ready;
pub(crate) mod sessions;
pub(crate) mod socket;
