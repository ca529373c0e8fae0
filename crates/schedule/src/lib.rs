//! Reads times as people write them and computes when something is due.
//!
//! ```text
//! "every weekday at 7:00" ─▶ parse (every word is used, or the text is refused) ─▶ Rule ─▶ next_after(instant, zone)
//!                                                                                   │
//!                                                                                   └▶ one line of text, to be stored
//! ```
//!
//! Wall clocks and instants are kept apart: a [`Rule`] knows wall-clock times, a [`Zone`] turns each into one instant. So every form obeys
//! the same two sentences about daylight saving: a time that does not exist is the first minute after the gap, and a time that occurs
//! twice is the first of the two.
//!
//! The crate waits for nothing and stores nothing. [`missed`] decides what happens to slots that passed while the
//! daemon was not running, and [`start_delay`] how long after its minute a recurring schedule begins.

// A test that cannot continue fails.
#![cfg_attr(test, allow(clippy::expect_used, clippy::panic, clippy::unwrap_used))]
#![warn(missing_docs)]

mod cron;
mod day;
mod delay;
pub mod missed;
mod parse;
mod refusal;
mod rule;
mod words;
mod zone;

#[cfg(test)]
mod tests;

pub use delay::start_delay;
pub use parse::parse;
pub use refusal::Refusal;
pub use rule::{BadRule, Rule};
pub use zone::{UnknownZone, Zone};
