//! Text for people: splitting it, removing secrets, showing invisible characters.
//!
//! Everything here takes text and returns text. Nothing is sent, nothing is stored.

mod amounts;
mod causes;
mod code;
mod dialect;
pub mod escape;
pub mod html;
pub mod json;
pub mod long;
mod long_code;
mod look_alike;
mod outline;
pub mod redact;
mod shapes;
mod short;
mod split;
mod visible;

pub use amounts::{dollars, seconds, thousands, tokens_and_cost, tokens_in_short};
pub use causes::with_causes;
pub use code::{
    clip_markdown, close_code, fenced, fenced_head, fenced_tail, holds_fence, span as code_span,
    tail_markdown,
};
pub use dialect::{for_discord, for_preview};
pub use long_code::{CodeFile, without_long_code};
pub use look_alike::look_alikes;
pub use short::{bytes, count, near, one_line, sentence, slug};
pub use split::{MAX_PARTS, PART_CHARS, Split, pieces, split};
pub use visible::{is_hidden, prose, visible, visible_json};
