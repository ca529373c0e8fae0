//! A local Discord, for trying Chorus without an account and for the tests.
//!
//! [`Discord`] speaks REST v10 and gateway v10 over loopback, as far as a bot uses them, and is a Rust value at the
//! same time: [`Person`]s write, click and run commands by plain method calls, and what they would see is read back.
//!
//! ```text
//! person (test or page) ─▶ people ─┐              ┌─▶ gateway ─▶ the bot
//!                                  ├─▶ world ─────┤
//! the bot ───────────────▶ rest ───┘              └─▶ page, and whoever waits on it
//! ```

mod allowed;
mod changes;
mod desk;
mod discord;
mod gateway;
mod guild;
mod interaction;
mod loopback;
pub mod model;
mod page;
mod people;
mod rest;
mod rights;
mod run;
mod saved;
mod server;
mod snowflake;
mod socket;
mod view;
mod wire;
mod world;

pub use desk::limits::{Limits, Scope};
pub use desk::{Effect, Fault, Request};
pub use discord::Discord;
pub use gateway::{Break, GatewayEvent};
pub use guild::{Attachment, Button, ChannelKind, Message, Reaction};
pub use interaction::{Answer, Choice};
pub use people::{OptionValue, Person, Refusal};
pub use rights::Rights;
pub use run::{ModelSource, Playground, PlaygroundError};
pub use server::Options;
