//! What a test can do beyond a person at the page: it acts as anybody, reads everything, and makes things fail.

mod acts;
mod faults;
pub(crate) mod gateway;
mod parts;
mod places;
pub(crate) mod requests;
mod seen;
mod view;

pub use self::gateway::Break;
pub use self::parts::Button;
pub use self::requests::{Effect, Fault, Request};
