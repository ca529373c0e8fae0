//! Measures a conversation and shortens it, cutting only where no tool call loses its result.

use serde_json::Value;

use crate::domain::{Item, UserText};
use crate::llm::tokens;

/// Replaces dropped exchanges.
const DROPPED: &str = "Earlier messages of this conversation were dropped to make room.";

/// Longest text, in characters, that is kept if the newest step by itself does not fit; the next value is tried if one
/// is not enough.
const CLIPPED: [usize; 3] = [2_000, 500, 100];

/// A provider's count: exact for everything up to that point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// How many items of the conversation the count includes, from the first.
    pub items: usize,
    /// Tokens of the whole request and its answer, including system prompt and tools.
    pub tokens: u64,
}

/// Returns the tokens of a request with `items`: the provider's last count, and an estimate for the items added since.
///
/// `fixed` is the estimate for system prompt and tools, used before the first count; `scale` is the measured number of
/// real tokens per estimated token. The context guard, compaction and budgets all use this number.
pub fn used_tokens(items: &[Item], fixed: u64, measured: Option<Measured>, scale: f64) -> u64 {
    let scaled = |estimate: u64| (estimate as f64 * scale).ceil() as u64;
    match measured {
        Some(count) if count.items <= items.len() => {
            count.tokens + scaled(tokens::of_items(&items[count.items..]))
        }
        _ => scaled(fixed + tokens::of_items(items)),
    }
}

/// Returns where to cut so that about `keep_recent` tokens stay: everything before the index is to be summarised.
///
/// Cuts between whole exchanges or, if one exchange by itself is longer, between its whole steps: never between a call
/// and its result. The newest exchange or step always stays. `None` if there is nothing to cut off. The kept part may
/// start with an answer: put the summary before it.
pub fn split_for_compaction(items: &[Item], keep_recent: u64) -> Option<usize> {
    cut(items, keep_recent, starts_exchange)
        .or_else(|| cut(items, keep_recent, starts_step))
        .or_else(|| (1..items.len()).rev().find(|at| starts_step(items, *at)))
}

/// A conversation without its oldest items.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropped {
    /// The rest, beginning with a note if something was dropped.
    pub items: Vec<Item>,
    pub count: usize,
}

/// Drops the oldest exchanges, then the oldest steps, until about `budget` tokens are left; the newest step always stays.
pub fn drop_oldest_exchanges(items: &[Item], budget: u64) -> Dropped {
    if tokens::of_items(items) <= budget {
        return Dropped {
            items: items.to_vec(),
            count: 0,
        };
    }
    let room = budget.saturating_sub(tokens::of_item(&Item::User(UserText::note(DROPPED))));
    let Some(at) = split_for_compaction(items, room) else {
        return Dropped {
            items: items.to_vec(),
            count: 0,
        };
    };
    let mut kept = vec![Item::User(UserText::note(DROPPED))];
    kept.extend_from_slice(&items[at..]);
    Dropped {
        items: kept,
        count: at,
    }
}

/// Shortens `items` to about `budget` tokens: first drops the oldest, then clips long texts in the rest.
pub fn fit(items: &[Item], budget: u64) -> Dropped {
    let mut dropped = drop_oldest_exchanges(items, budget);
    for max_chars in CLIPPED {
        if tokens::of_items(&dropped.items) <= budget {
            break;
        }
        clip(&mut dropped.items, max_chars);
    }
    dropped
}

/// Shortens every text longer than `max_chars` in its middle, and drops pictures and opaque blocks.
///
/// The last resort if the newest step by itself is too long for a window.
pub fn clip(items: &mut [Item], max_chars: usize) {
    for item in items {
        match item {
            Item::User(user) => {
                user.images.clear();
                clip_text(&mut user.text, max_chars);
            }
            Item::Assistant(answer) => {
                answer.opaque.clear();
                clip_text(&mut answer.text, max_chars);
                for call in &mut answer.tool_calls {
                    call.arguments
                        .values_mut()
                        .for_each(|value| clip_value(value, max_chars));
                }
            }
            Item::ToolResult(result) => {
                result.images.clear();
                clip_text(&mut result.content, max_chars);
            }
        }
    }
}

fn clip_text(text: &mut String, max_chars: usize) {
    let length = text.chars().count();
    if length <= max_chars {
        return;
    }
    let half = max_chars / 2;
    let head: String = text.chars().take(half).collect();
    let tail: String = text.chars().skip(length - half).collect();
    *text = format!(
        "{head}\n[{} characters left out]\n{tail}",
        length - 2 * half
    );
}

fn clip_value(value: &mut Value, max_chars: usize) {
    match value {
        Value::String(text) => clip_text(text, max_chars),
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| clip_value(value, max_chars)),
        Value::Object(map) => map
            .values_mut()
            .for_each(|value| clip_value(value, max_chars)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the first boundary from which the rest fits into `keep`.
fn cut(items: &[Item], keep: u64, is_boundary: fn(&[Item], usize) -> bool) -> Option<usize> {
    let mut rest = 0;
    let mut best = None;
    for at in (1..items.len()).rev() {
        rest += tokens::of_item(&items[at]);
        if !is_boundary(items, at) {
            continue;
        }
        if rest > keep {
            return best;
        }
        best = Some(at);
    }
    best
}

/// Returns whether the item at `at` is a person's message after a finished answer.
fn starts_exchange(items: &[Item], at: usize) -> bool {
    matches!(&items[at], Item::User(_))
        && matches!(&items[at - 1], Item::Assistant(before) if before.tool_calls.is_empty())
}

/// Returns whether the item at `at` is a message, or an answer to results: everything before it is complete, and no
/// question is separated from its answer.
fn starts_step(items: &[Item], at: usize) -> bool {
    match &items[at] {
        Item::User(_) => true,
        Item::Assistant(_) => !matches!(&items[at - 1], Item::User(_)),
        Item::ToolResult(_) => false,
    }
}
