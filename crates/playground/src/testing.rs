//! Operations of a test beyond those of a person at the page: act as any user, read everything, and make things fail.

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
