//! What a channel's queue is told to do.

use crate::agent::event::{Feed, Question, TurnRef, TurnSummary};
use crate::domain::MessageId;
use crate::store::Part;

/// One thing for a channel's queue to do.
#[derive(Debug)]
pub(super) enum OutboundCommand {
    Deliver,
    /// This part is next; it is marked `sending`.
    Reply(Box<Part>),
    Start(TurnRef, Feed),
    End(TurnRef, TurnSummary),
    Ask(Box<Question>),
    /// Words that are in no ledger, for the ledger failed.
    Say(Option<MessageId>, String),
}
