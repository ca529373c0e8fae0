//! Text for people: one line of a longer text, sizes and amounts, invisible and look-alike characters.
//!
//! Every function takes text or numbers and returns text. Nothing is sent, nothing is stored. Discord's Markdown is in
//! `discord-markdown`, and the removal of secrets is in `chorus_base::redact`.

// A test that cannot continue fails.
#![cfg_attr(test, allow(clippy::expect_used, clippy::panic, clippy::unwrap_used))]
#![warn(missing_docs)]

mod amounts;
mod causes;
pub mod html;
pub mod json;
mod look_alike;
mod short;
mod terminal;
mod visible;

pub use amounts::{dollars, seconds, thousands, tokens_and_cost, tokens_in_short};
pub use causes::with_causes;
pub use look_alike::look_alikes;
pub use short::{bytes, count, near, one_line, sentence, slug};
pub use terminal::as_a_terminal_shows;
pub use visible::{is_hidden, prose, visible, visible_json, written_out};
