//! Limits what one message may cause: how many hops of tasks, hooks and agents may follow it, and how many turns may
//! begin for it without a person. Pure.
//!
//! [`Cause::may_begin`] is the only answer to "may this begin a turn". The ledger (`store::causes`) decides what counts
//! as begun.

use std::time::Duration;

/// Most turns that one message of a person may cause within [`PERIOD`], in all agents and branches combined.
pub const MOST_TURNS_CAUSED: u32 = 20;

/// The time within which [`MOST_TURNS_CAUSED`] counts, up to now.
pub const PERIOD: Duration = Duration::from_secs(60 * 60);

/// What led to something that would begin a turn without a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Hops of tasks, hooks and agents since a person spoke, this one included.
    pub hops: u32,
    /// Turns that the person's message caused within [`PERIOD`]; `None` if that message is not known.
    pub begun: Option<u32>,
}

/// Why no turn begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("one message may lead to {most} {} in a row, and this would be one more", hops_in_words(*most))]
    TooManyHops { most: u32 },
    #[error(
        "one message may cause {MOST_TURNS_CAUSED} turns in an hour without a person, and this one has"
    )]
    TooManyTurns,
    #[error("the message that led to it is not known")]
    UnknownMessage,
}

impl Cause {
    /// Checks whether a turn may begin for it.
    ///
    /// # Errors
    ///
    /// Fails with the reason if it may not.
    pub const fn may_begin(self, most_hops: u32) -> Result<(), Refusal> {
        if self.hops > most_hops {
            return Err(Refusal::TooManyHops { most: most_hops });
        }
        match self.begun {
            None => Err(Refusal::UnknownMessage),
            Some(begun) if begun >= MOST_TURNS_CAUSED => Err(Refusal::TooManyTurns),
            Some(_) => Ok(()),
        }
    }
}

impl Refusal {
    /// Returns what people can do about it.
    pub const fn next_step(self) -> &'static str {
        match self {
            Self::TooManyHops { .. } => {
                "Write to the agent to let it continue; for longer chains the operator raises `max_hook_recursion_depth`."
            }
            Self::TooManyTurns | Self::UnknownMessage => "Write to the agent to let it continue.",
        }
    }
}

const fn hops_in_words(most: u32) -> &'static str {
    match most {
        1 => "hop",
        _ => "hops",
    }
}
