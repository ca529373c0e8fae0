//! What a conversation is told only once.

use std::collections::{HashMap, HashSet};

use parking_lot::Mutex;

use crate::domain::ConversationId;

/// Conversations that are remembered; beyond that all are forgotten, and told again.
const CONVERSATIONS: usize = 10_000;

/// Things that are remembered for one conversation.
const THINGS: usize = 100;

/// What each conversation was told since the start.
#[derive(Debug, Default)]
pub struct ToldOnce(Mutex<HashMap<ConversationId, HashSet<String>>>);

impl ToldOnce {
    /// Whether `thing` is new to the conversation; from now on it is not.
    pub(super) fn is_news(&self, conversation: ConversationId, thing: &str) -> bool {
        let mut told = self.0.lock();
        if told.len() >= CONVERSATIONS {
            told.clear();
        }
        let told = told.entry(conversation).or_default();
        told.len() < THINGS && told.insert(thing.to_owned())
    }
}
