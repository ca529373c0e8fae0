//! The actions of a person in Discord: write, edit, react, press, run commands.
//!
//! A person can do only what Discord would let them do: a command must be registered and its options must fit, a button
//! must exist. Anything else is an error with the reason.

mod belongs;
mod command;
mod interacts;
mod person;
mod writes;

pub use self::command::OptionValue;
#[cfg(feature = "testing")]
pub(crate) use self::interacts::visible;
pub use self::person::{Person, Refusal};
