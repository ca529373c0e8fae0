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
mod context;
mod context_meter;
mod finish;
mod live;
mod question;
mod request;
mod state;
mod steps;
mod transcript;
mod window;

use std::sync::Arc;

use super::deps::AgentDeps;
use super::identity::Identity;

pub(super) use self::context_meter::Calibration;
pub(super) use self::finish::{BROKEN, close_broken};
pub(super) use self::state::{TurnEnd, TurnParams};

/// Runs a turn to its end.
pub(super) async fn run(
    deps: Arc<AgentDeps>,
    agent: Arc<Identity>,
    others: Vec<String>,
    params: TurnParams,
) -> TurnEnd {
    match begin::begin(deps, agent, others, params).await {
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
