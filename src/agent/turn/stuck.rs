//! Notices a turn that goes in circles.
//!
//! Only the same call with the same result counts: a script that polls and sees something new is not in a loop.

use std::collections::{HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::domain::{ToolCall, ToolResult};

/// Steps in a row whose calls all failed that end the use of tools.
const ERRORS_IN_A_ROW: u32 = 5;
/// Steps in a row with the same call and the same result that count as repeating.
const SAME_IN_A_ROW: usize = 4;
/// Latest calls that are looked at for two that alternate: three rounds of each.
const PING_PONG: usize = 6;

/// What a turn has been doing lately.
#[derive(Debug, Default)]
pub(in crate::agent) struct LoopDetector {
    errors: u32,
    recent: VecDeque<u64>,
}

/// How a turn is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum Stuck {
    /// Too many steps in a row gave nothing but errors.
    Errors,
    /// The same call gives the same result over and over.
    Repeating,
    /// Two calls alternate and nothing changes.
    PingPong,
}

impl LoopDetector {
    /// Records the finished calls of one step; returns how the turn is stuck, if it is.
    ///
    /// Calls of one step count once, since the model could not learn from one for the next: ten that fail are one failure.
    pub(in crate::agent) fn record_step(
        &mut self,
        step: &[(ToolCall, ToolResult)],
    ) -> Option<Stuck> {
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
