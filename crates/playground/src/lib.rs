//! A Discord on this machine, to try and test bots: no account, no application, no network.
//!
//! [`Discord`] speaks REST v10 and gateway v10 over loopback, as far as a text bot uses them. [`Playground`] adds a web
//! page, where you can act as any user. With the feature `testing` it is also a Rust value. [`Person`]s write, click
//! and run commands by plain method calls, and tests read back what they would see. Requests and connections can be
//! made to fail.
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
mod socket;
#[cfg(feature = "testing")]
mod testing;
mod wire;
mod world;

pub use chorus_base::discord_ids as ids;
pub use desk::limits::{Limits, Scope};
pub use discord::Discord;
pub use gateway::GatewayEvent;
pub use guild::{Attachment, ChannelKind, Message, Reaction};
pub use interaction::{Answer, Choice};
pub use page::{ModelChoice, ModelDesk, ModelServer, ModelState, Vendor};
pub use people::{OptionValue, Person, Refusal};
pub use rights::Rights;
pub use run::Playground;
pub use server::Options;
#[cfg(feature = "testing")]
pub use testing::{Break, Button, Effect, Fault, Request};
