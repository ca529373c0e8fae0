//! Discord's dialect of Markdown.
//!
//! ```text
//! CommonMark ─▶ for_discord ─▶ Discord's dialect ─▶ split ─▶ messages of at most 2,000 characters
//! foreign name, path, output ─▶ escape, code_span, fenced ─▶ text that formats nothing and mentions nobody
//! ```
//!
//! Discord renders a part of CommonMark and has rules of its own: three backticks open a block anywhere in a line, tables
//! and images do not exist, and a fence does not reach into the next message.
//!
//! Every function takes text and returns text. The crate sends nothing and does not know Discord's API.

// A test that cannot continue fails.
#![cfg_attr(test, allow(clippy::expect_used, clippy::panic, clippy::unwrap_used))]
#![warn(missing_docs)]

mod code;
mod dialect;
pub mod escape;
mod long_code;
mod outline;
mod split;

pub use code::{
    clip_markdown, close_code, fenced, fenced_head, fenced_tail, holds_fence, span as code_span,
    tail_markdown,
};
pub use dialect::{for_discord, for_preview};
pub use long_code::{CodeFile, without_long_code};
pub use split::{MAX_PARTS, PART_CHARS, Split, pieces, split};
