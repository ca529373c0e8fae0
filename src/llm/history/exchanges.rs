//! Measures a conversation and shortens it, cutting only where no tool call loses its result.

use crate::domain::{Item, UserText};
use crate::llm::tokens;

/// What stands where exchanges were dropped.
const DROPPED: &str = "Earlier messages of this conversation were dropped to make room.";

/// What a provider counted: the truth for everything up to there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Measured {
    /// How many items of the conversation the count covers, from the first.
    pub items: usize,
    /// Tokens of the whole request and its answer, system prompt and tools included.
    pub tokens: u64,
}

/// Tokens that a request with `items` takes: the provider's last count, and an estimate of what came since.
///
/// `fixed` is the estimate of system prompt and tools, for when nothing was measured yet. This is the one number that
/// the context guard, compaction and budgets go by.
pub fn used_tokens(items: &[Item], fixed: u64, measured: Option<Measured>) -> u64 {
    match measured {
        Some(count) if count.items <= items.len() => {
            count.tokens + tokens::of_items(&items[count.items..])
        }
        _ => fixed + tokens::of_items(items),
    }
}

/// Where to cut so that about `keep_recent` tokens stay: everything before the index is for the summary.
///
/// Cuts between whole exchanges, and where one exchange alone is longer, between whole steps of it: never between a call
/// and its result. The newest exchange or step always stays. `None` when there is nothing to cut off. What is kept may
/// start with an answer: put the summary before it.
pub fn split_for_compaction(items: &[Item], keep_recent: u64) -> Option<usize> {
    cut(items, keep_recent, starts_exchange)
        .or_else(|| cut(items, keep_recent, starts_step))
        .or_else(|| (1..items.len()).rev().find(|at| starts_step(items, *at)))
}

/// A conversation after the oldest went.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropped {
    /// What is left, a note first where something went.
    pub items: Vec<Item>,
    /// How many items went.
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

/// Shortens every tool result longer than `max_chars` in its middle and drops its pictures; says how many were.
///
/// The last resort when the newest step alone is too long for a window.
pub fn clip_results(items: &mut [Item], max_chars: usize) -> usize {
    let mut clipped = 0;
    for item in items {
        let Item::ToolResult(result) = item else {
            continue;
        };
        let length = result.content.chars().count();
        if length <= max_chars && result.images.is_empty() {
            continue;
        }
        result.images.clear();
        if length > max_chars {
            let half = max_chars / 2;
            let head: String = result.content.chars().take(half).collect();
            let tail: String = result.content.chars().skip(length - half).collect();
            result.content = format!(
                "{head}\n[{} characters left out]\n{tail}",
                length - 2 * half
            );
        }
        clipped += 1;
    }
    clipped
}

/// The first boundary from which the rest fits into `keep`.
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

/// A person's message after a finished answer.
fn starts_exchange(items: &[Item], at: usize) -> bool {
    matches!(&items[at], Item::User(_))
        && matches!(&items[at - 1], Item::Assistant(before) if before.tool_calls.is_empty())
}

/// A message, or an answer to results: what comes before it is complete, and no question is parted from its answer.
fn starts_step(items: &[Item], at: usize) -> bool {
    match &items[at] {
        Item::User(_) => true,
        Item::Assistant(_) => !matches!(&items[at - 1], Item::User(_)),
        Item::ToolResult(_) => false,
    }
}
