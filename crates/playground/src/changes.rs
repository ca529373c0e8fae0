//! Changes to the world: each is reported to the gateway and to the page (`told`).

mod files;
mod interactions;
mod messages;
mod pings;
mod places;
mod reactions;
mod told;
