//! Facts that a conversation sees only once.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

use crate::domain::ConversationId;

/// Most conversations that are remembered; beyond that all are forgotten, and see the facts again.
const CONVERSATIONS: usize = 10_000;

/// Facts that are remembered for one conversation.
const THINGS: usize = 100;

/// The facts that each conversation has seen since the start.
#[derive(Debug, Default)]
pub struct ToldOnce(Mutex<HashMap<ConversationId, HashSet<String>>>);

impl ToldOnce {
    /// Returns whether `thing` is new to the conversation; from now on it is not.
    pub(super) fn is_news(&self, conversation: ConversationId, thing: &str) -> bool {
        let mut told = self.0.lock();
        if told.len() >= CONVERSATIONS {
            told.clear();
        }
        let told = told.entry(conversation).or_default();
        told.len() < THINGS && told.insert(thing.to_owned())
    }
}
