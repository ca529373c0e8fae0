//! Notices a turn that goes in circles.
//!
//! Only the very same call with the very same result counts: a script that polls and sees something new is no loop.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::{ToolCall, ToolResult};

/// Errors in a row that end the use of tools.
const ERRORS_IN_A_ROW: u32 = 5;
/// Times the same call may give the same result in a row.
const SAME_IN_A_ROW: usize = 4;
/// Calls looked back at for two that alternate: three rounds of each.
const PING_PONG: usize = 6;

/// What a turn has been doing lately.
#[derive(Debug, Default)]
pub struct Watch {
    errors: u32,
    recent: VecDeque<u64>,
}

/// How a turn is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stuck {
    /// Too many errors in a row.
    Errors,
    /// The same call gives the same result over and over.
    Repeating,
    /// Two calls alternate and nothing changes.
    PingPong,
}

impl Watch {
    /// Takes note of one finished call; says so when the turn is stuck.
    pub fn saw(&mut self, call: &ToolCall, result: &ToolResult) -> Option<Stuck> {
        self.errors = if result.is_error { self.errors + 1 } else { 0 };
        self.recent.push_back(fingerprint(call, result));
        if self.recent.len() > PING_PONG {
            self.recent.pop_front();
        }
        if self.errors >= ERRORS_IN_A_ROW {
            return Some(Stuck::Errors);
        }
        if self.repeats() {
            return Some(Stuck::Repeating);
        }
        self.alternates().then_some(Stuck::PingPong)
    }

    fn repeats(&self) -> bool {
        let Some(last) = self.recent.back() else {
            return false;
        };
        let run = self.recent.iter().rev().take_while(|seen| *seen == last);
        run.count() >= SAME_IN_A_ROW
    }

    fn alternates(&self) -> bool {
        let seen: Vec<u64> = self.recent.iter().copied().collect();
        match seen.as_slice() {
            [a, b, rest @ ..] if seen.len() == PING_PONG && a != b => {
                rest.chunks(2).all(|pair| pair == [*a, *b])
            }
            _ => false,
        }
    }
}

fn fingerprint(call: &ToolCall, result: &ToolResult) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    serde_json::Value::Object(call.arguments.clone())
        .to_string()
        .hash(&mut hasher);
    result.content.hash(&mut hasher);
    result.is_error.hash(&mut hasher);
    hasher.finish()
}
