//! Text for people: splitting, redaction, what is hidden made visible.
//!
//! Everything here takes text and returns text. Nothing is sent, nothing is stored.

pub mod json;
mod outline;
pub mod redact;
mod shapes;
mod short;
mod split;
mod visible;

pub use short::{bytes, count, near, one_line, sentence, slug};
pub use split::{MAX_PARTS, PART_CHARS, Split, split};
pub use visible::{fenced, is_hidden, visible};
