//! Text for people, from the crates below: short forms, Discord's Markdown, secrets removed.

pub use chorus_base::{long, redact};
pub use chorus_text::{
    as_a_terminal_shows, bytes, count, dollars, html, is_hidden, json, look_alikes, near, one_line,
    prose, seconds, sentence, slug, thousands, tokens_and_cost, tokens_in_short, visible,
    visible_json, with_causes,
};
pub use discord_markdown::{
    CodeFile, MAX_PARTS, PART_CHARS, Split, clip_markdown, close_code, code_span, escape, fenced,
    fenced_head, fenced_tail, for_discord, for_preview, holds_fence, pieces, split, tail_markdown,
    without_long_code,
};
