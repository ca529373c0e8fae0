//! Notices a turn that goes in circles.
//!
//! Only the very same call with the very same result counts: a script that polls and sees something new is no loop.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::{ToolCall, ToolResult};

/// Steps in a row whose calls all failed that end the use of tools.
const ERRORS_IN_A_ROW: u32 = 5;
/// Steps in a row in which the same call may give the same result.
const SAME_IN_A_ROW: usize = 4;
/// Calls looked back at for two that alternate: three rounds of each.
const PING_PONG: usize = 6;

/// What a turn has been doing lately.
#[derive(Debug, Default)]
pub(super) struct LoopDetector {
    errors: u32,
    recent: VecDeque<u64>,
}

/// How a turn is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    /// Too many steps in a row brought nothing but errors.
    Errors,
    /// The same call gives the same result over and over.
    Repeating,
    /// Two calls alternate and nothing changes.
    PingPong,
}

impl LoopDetector {
    /// Takes note of the finished calls of one step; says so when the turn is stuck.
    ///
    /// What a model asks for at once it could not learn from: ten calls of one step that fail are one failure.
    pub(super) fn record_step(&mut self, step: &[(ToolCall, ToolResult)]) -> Option<Stuck> {
        self.errors = if step.iter().all(|(_, result)| result.is_error) {
            self.errors + 1
        } else {
            0
        };
        let mut seen = HashSet::new();
        let prints = step
            .iter()
            .map(|(call, result)| fingerprint(call, result))
            .filter(|print| seen.insert(*print));
        let mut circling = None;
        for print in prints {
            self.recent.push_back(print);
            if self.recent.len() > PING_PONG {
                self.recent.pop_front();
            }
            circling = self.circling().or(circling);
        }
        if self.errors >= ERRORS_IN_A_ROW {
            Some(Stuck::Errors)
        } else {
            circling
        }
    }

    fn circling(&self) -> Option<Stuck> {
        match (self.repeats(), self.alternates()) {
            (true, _) => Some(Stuck::Repeating),
            (false, true) => Some(Stuck::PingPong),
            (false, false) => None,
        }
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
