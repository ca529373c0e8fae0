//! Deliveries of webhooks: who signed them, whether they are wanted, and what they say in a few lines.
//!
//! ```text
//! header and raw body ─▶ Kind::verify (constant time) ─▶ id of the delivery
//!                    └─▶ Filter::wants (events, match) ─▶ thread_value (JSON pointer)
//!                                                     └─▶ render (title, actor, link; or JSON)
//! ```
//!
//! The crate has no listener and stores nothing. A rendering is foreign text: whoever shows it disarms its mentions.

// A test that cannot go on fails.
#![cfg_attr(test, allow(clippy::expect_used, clippy::panic, clippy::unwrap_used))]
#![warn(missing_docs)]

mod filter;
mod kind;
mod render;
mod secret;

#[cfg(test)]
mod tests;

pub use filter::{BadFilter, Filter, Pointer};
pub use kind::{Delivery, Kind};
pub use render::{Payload, sample};
pub use secret::{BadKey, Key, Secret};
