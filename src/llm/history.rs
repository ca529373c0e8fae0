//! Keeps a conversation in the one shape that every provider accepts, whatever a crash, a cut or a file left of it.
//!
//! Valid means: it starts with a person or a note; each tool call has exactly one result, right after
//! the answer that made the calls and in their order; no result without a call; ids are unique and, as names, made of characters
//! that all providers take; nothing is empty.

mod exchanges;
mod repair;

pub use exchanges::{
    Dropped, Measured, clip, drop_oldest_exchanges, fit, split_for_compaction, used_tokens,
};
pub use repair::{Repaired, is_valid, repair};
pub(in crate::llm) use repair::{is_sound_id, make_ids_unique};

/// What a call without a result is closed with, so that the model knows that nothing is known of its effects.
pub const INTERRUPTED: &str = "No result: the call was interrupted before it finished. It may have had effects; check before repeating it.";

/// What stands first when the beginning of a conversation is gone.
pub const BEGINNING_MISSING: &str = "The beginning of this conversation is not available.";
