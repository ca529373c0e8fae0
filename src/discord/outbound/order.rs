//! What a channel's queue is told to do.

use crate::agent::event::{Feed, Question, TurnRef, TurnSummary};
use crate::domain::MessageId;

/// One thing for a channel's queue to do.
#[derive(Debug)]
pub(super) enum Order {
    Deliver,
    Start(TurnRef, Feed),
    End(TurnRef, TurnSummary),
    Ask(Box<Question>),
    /// Words that are in no ledger, for the ledger failed.
    Say(Option<MessageId>, String),
}
