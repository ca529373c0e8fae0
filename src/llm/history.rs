//! Keeps a conversation in the one shape that every provider accepts, even after a crash or an edited file.
//!
//! Valid means: it starts with a person or a note. Each tool call has exactly one result, directly after the answer
//! that made the calls and in their order. There is no result without a call. Ids are unique and, like names, consist
//! of characters that all providers accept. No item is empty.

mod exchanges;
mod repair;

pub use exchanges::{
    Dropped, Measured, clip, drop_oldest_exchanges, fit, split_for_compaction, used_tokens,
};
pub use repair::{BEGINNING_MISSING, INTERRUPTED, Repaired, is_valid, repair};
pub(in crate::llm) use repair::{is_sound_id, make_ids_unique};
