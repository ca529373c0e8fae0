//! One turn: from the words that start it to its one outcome.
//!
//! ```text
//! begin (D2) ─▶ ┌ steered messages ▸ limits ▸ window ▸ ask the model (D3) ▸ tool calls (D4 to D7) ┐ ─▶ finish (D8)
//!               └────────────────────────────────── again, until it answers ─────────────────────┘
//! ```
//!
//! Nothing is shown before it is stored. Whatever happens, a turn that began ends with exactly one exit reason,
//! and the people in the channel are told the outcome.

mod attachments;
mod begin;
mod books;
mod calls;
mod finish;
mod gauge;
mod question;
mod request;
mod state;
mod steps;
mod window;

use std::sync::Arc;

use super::identity::Identity;
use super::parts::Parts;

pub(super) use self::finish::close_broken;
pub(super) use self::gauge::Learned;
pub(super) use self::state::{Seed, TurnEnd};

/// Runs a turn to its end.
pub(super) async fn run(
    parts: Arc<Parts>,
    agent: Arc<Identity>,
    others: Vec<String>,
    seed: Seed,
) -> TurnEnd {
    match begin::begin(parts, agent, others, seed).await {
        begin::Begun::Turn(mut turn) => {
            let ended = match turn.work().await {
                Ok(outcome) => turn.finish(outcome).await,
                Err(error) => Err(error),
            };
            let settled = match ended {
                Ok(()) => turn.settle().await,
                Err(error) => Err(error),
            };
            turn.into_end(settled)
        }
        begin::Begun::Not(end) => end,
    }
}
