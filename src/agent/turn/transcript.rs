//! The conversation that a turn works on, and how much of the model's window it takes.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::context_meter::{Calibration, ContextMeter};
use crate::domain::{CallId, Item, ToolCall, ToolResult};
use crate::llm::{self, history};

/// The conversation that a turn works on.
pub(in crate::agent) struct Transcript {
    pub(in crate::agent) items: Arc<Vec<Item>>,
    /// Their number, for the actor.
    pub(in crate::agent) len: Arc<AtomicUsize>,
    pub(in crate::agent) context_meter: ContextMeter,
    /// The room that the latest request had, in tokens.
    pub(in crate::agent) room_before: u64,
    pub(in crate::agent) compaction: Compaction,
    /// What was left out of the requests of this step, but is still in the ledger.
    pub(in crate::agent) left_out: Option<LeftOut>,
    /// How many items the latest save holds, where the turn changed that.
    pub(in crate::agent) saved: Option<usize>,
    /// The calls of this turn, including those that a summary has replaced.
    called: HashSet<CallId>,
}

/// Summaries of the older part of the conversation.
#[derive(Default)]
pub(in crate::agent) struct Compaction {
    pub(in crate::agent) running: Option<UnderWay>,
    /// One has failed: none is tried again in this turn.
    pub(in crate::agent) failed: bool,
}

/// A conversation that was shortened for a request which no model has answered yet.
pub(in crate::agent) struct LeftOut {
    /// The whole conversation, as the ledger has it.
    pub(in crate::agent) whole: Arc<Vec<Item>>,
    /// How many of its messages the request leaves out.
    pub(in crate::agent) count: usize,
}

/// A summary that is being made.
pub(in crate::agent) struct UnderWay {
    /// How many items the summary will replace, from the first.
    pub(in crate::agent) cut: usize,
    pub(in crate::agent) summary: AbortOnDropHandle<Option<String>>,
    pub(in crate::agent) stop: CancellationToken,
}

impl UnderWay {
    /// Ends it, and waits until its cost is in the ledger.
    pub(in crate::agent) async fn end(self) {
        self.stop.cancel();
        let _ = self.summary.await;
    }
}

impl Transcript {
    /// A conversation of which nothing is saved in this turn.
    pub(in crate::agent) fn new(
        items: Arc<Vec<Item>>,
        len: Arc<AtomicUsize>,
        calibration: Calibration,
    ) -> Self {
        Self {
            items,
            len,
            context_meter: ContextMeter::new(calibration),
            room_before: 0,
            compaction: Compaction::default(),
            left_out: None,
            saved: None,
            called: HashSet::new(),
        }
    }

    /// Gives new ids to calls whose ids the turn or the conversation has already: some servers use the same ones in each
    /// answer.
    pub(in crate::agent) fn tell_apart(&mut self, calls: &mut [ToolCall]) {
        for call in calls {
            if self.called.contains(&call.id) || self.holds(&call.id) {
                call.id = CallId(llm::random_id());
            }
            self.called.insert(call.id.clone());
        }
    }

    fn holds(&self, id: &CallId) -> bool {
        self.items.iter().any(|item| match item {
            Item::Assistant(answer) => answer.tool_calls.iter().any(|call| call.id == *id),
            Item::User(_) | Item::ToolResult(_) => false,
        })
    }

    /// Adds an item that is in the ledger already.
    pub(in crate::agent) fn push(&mut self, item: Item) {
        if let Some(left_out) = &mut self.left_out {
            Arc::make_mut(&mut left_out.whole).push(item.clone());
        }
        let items = Arc::make_mut(&mut self.items);
        items.push(item);
        self.len.store(items.len(), Ordering::Relaxed);
    }

    /// Adds results that are in the ledger already.
    pub(in crate::agent) fn push_results(&mut self, results: impl IntoIterator<Item = ToolResult>) {
        for result in results {
            self.push(Item::ToolResult(result));
        }
    }

    /// Counts the pictures that came with this turn's messages and results.
    pub(in crate::agent) fn pictures_of_turn(&self) -> usize {
        let is_answer =
            |item: &Item| matches!(item, Item::Assistant(answer) if answer.tool_calls.is_empty());
        let items = self.items.iter().rev();
        items
            .take_while(|item| !is_answer(item))
            .map(|item| match item {
                Item::User(user) => user.images.len(),
                Item::ToolResult(result) => result.images.len(),
                Item::Assistant(_) => 0,
            })
            .sum()
    }

    /// Replaces all items, as the ledger has done already.
    pub(in crate::agent) fn replace(&mut self, items: Vec<Item>) {
        self.len.store(items.len(), Ordering::Relaxed);
        self.items = Arc::new(items);
        self.context_meter.replaced();
    }

    /// How full the room is: the number that all decisions about it use.
    pub(in crate::agent) fn share(&mut self, room: u64) -> f64 {
        self.context_meter.used(&self.items) as f64 / room.max(1) as f64
    }

    /// The conversation as the next request holds it, and the tokens that this takes.
    ///
    /// After a stop, and in modes without summaries, no time is spent on making room: what does not fit is left out of the
    /// request, but stays in the conversation.
    pub(in crate::agent) fn told(&mut self, room: u64, leaves_out: bool) -> (Arc<Vec<Item>>, u64) {
        if !leaves_out || self.share(room) <= 1.0 {
            return (
                Arc::clone(&self.items),
                self.context_meter.used(&self.items),
            );
        }
        let items = history::fit(&self.items, self.context_meter.budget(room)).items;
        let tokens = self.context_meter.used_by_others(&items);
        (Arc::new(items), tokens)
    }

    /// Where compaction was not enough: a fall-back with a larger window is asked, else the oldest exchanges are dropped,
    /// then long texts are cut, until the request fits. Returns whether it does.
    pub(in crate::agent) fn drop_to_fit(&mut self, room: u64, largest_room: u64) -> bool {
        if self.context_meter.used(&self.items) <= largest_room {
            return true;
        }
        let budget = self.context_meter.budget(room);
        self.drop_to(budget);
        self.context_meter.estimated(&self.items) <= budget
    }

    /// Shortens the next request to about `budget` estimated tokens, without asking a model.
    ///
    /// The ledger keeps the whole conversation until a model has answered the shorter one.
    pub(in crate::agent) fn drop_to(&mut self, budget: u64) {
        let history::Dropped { items, count } = history::fit(&self.items, budget);
        if items == *self.items {
            self.context_meter.forget_count();
            return;
        }
        let left_out = self.left_out.get_or_insert_with(|| LeftOut {
            whole: Arc::clone(&self.items),
            count: 0,
        });
        left_out.count += count;
        self.replace(items);
    }

    /// No model answered, however short the conversation was made: it is restored.
    pub(in crate::agent) fn give_back_left_out(&mut self) {
        if let Some(LeftOut { whole, .. }) = self.left_out.take() {
            self.replace(Arc::unwrap_or_clone(whole));
        }
    }
}
