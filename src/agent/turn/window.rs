//! Keeps the conversation inside the model's window: one number decides, compaction makes room, dropping is the last resort.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::domain::{Inbound, Item, SessionId, SessionMeta, Trigger};
use crate::llm::{Target, history};
use crate::store::{SavedAs, StoreError};
use crate::text::{self, escape};

use super::super::compact::{self, During, Summarised};
use super::super::end_reason::EndReason;
use super::super::event::Event;
use super::super::mailbox::Mode;
use super::super::session_manager::{Save, SessionError, Summary};
use super::request::Tools;
use super::state::{LeftOut, Turn, UnderWay};

/// Share of the room at which a summary is begun in the background.
const BEGIN: f64 = 0.80;
/// The same for [`Mode::Full`]: work of many steps fills the rest while the summary is being made.
const BEGIN_FULL: f64 = 0.70;
/// Share at which the next step waits for it.
const WAIT: f64 = 0.95;
impl Turn {
    /// Makes sure that the next request fits. Says so when it cannot be made to fit for another full step.
    ///
    /// A stop ends that at once, and nothing of the conversation is given up then.
    pub(super) async fn make_room(&mut self) -> Result<Option<EndReason>, StoreError> {
        if self
            .compaction
            .running
            .as_ref()
            .is_some_and(|running| running.summary.is_finished())
        {
            self.take_summary().await?;
        }
        if self.is_stopping() {
            return Ok(None);
        }
        if !self.context_meter.knows_fixed() {
            self.prompt_and_tools(Tools::On);
        }
        self.room_before = self.room();
        let share = self.share();
        if share >= WAIT {
            self.doing("Making room in the context");
            self.compact_now().await?;
            return match self.is_stopping() {
                true => Ok(None),
                false => Ok(self.drop_to_fit()),
            };
        }
        let begin = match self.mode {
            Mode::Lightweight | Mode::Standard => BEGIN,
            Mode::Full => BEGIN_FULL,
        };
        if share >= begin {
            self.begin_summary();
        }
        Ok(None)
    }

    /// Compacts before the next request, waiting for it.
    pub(super) async fn compact_now(&mut self) -> Result<(), StoreError> {
        self.begin_summary();
        self.take_summary().await
    }

    /// How full the room is: the one number that the guard goes by.
    fn share(&mut self) -> f64 {
        self.context_meter.used(&self.items) as f64 / self.room().max(1) as f64
    }

    /// The conversation as the next request tells it, and the tokens that this takes.
    ///
    /// After a stop no time is spent on making room: what does not fit is left out of the last request, and stays in
    /// the conversation.
    pub(super) fn told(&mut self) -> (Arc<Vec<Item>>, u64) {
        if !self.is_stopping() || self.share() <= 1.0 {
            return (
                Arc::clone(&self.items),
                self.context_meter.used(&self.items),
            );
        }
        let items = history::fit(&self.items, self.context_meter.budget(self.room())).items;
        let tokens = self.context_meter.used_by_others(&items);
        (Arc::new(items), tokens)
    }

    /// A provider found the request too long, whatever was counted: makes the conversation shorter. Says whether it is.
    pub(super) async fn make_shorter(&mut self) -> Result<bool, StoreError> {
        if self.room() < self.room_before {
            // The refusal named the window, and it is smaller than anybody knew: what fits it is another question.
            self.compaction.failed = false;
            return Ok(true);
        }
        let before = self.context_meter.estimated(&self.items);
        self.context_meter.refused(&self.items, self.room());
        self.compact_now().await?;
        if self.is_stopping() {
            // The last request tells less by what was just learned; the conversation stays as it is.
            return Ok(true);
        }
        if self.context_meter.estimated(&self.items) > before * 3 / 4 {
            self.drop_to(before / 2);
        }
        Ok(self.context_meter.estimated(&self.items) < before)
    }

    /// Tokens that the next request may take: by the window of the model that is asked next.
    fn room(&self) -> u64 {
        self.deps.room(&self.serving())
    }

    /// Tokens that a request may take when nothing made it shorter: by the largest window that the turn may ask.
    fn largest_room(&self) -> u64 {
        let rooms = self.serving();
        let rooms = rooms.iter().map(|target| self.deps.models.room(target));
        rooms.max().unwrap_or_else(|| self.room())
    }

    /// The turn's targets that can still serve; all of them where none can.
    fn serving(&self) -> Vec<Target> {
        let mut targets = self.targets().unwrap_or_default();
        if targets.iter().any(|target| self.health.serves(target)) {
            targets.retain(|target| self.health.serves(target));
        }
        targets
    }

    fn is_stopping(&self) -> bool {
        self.stop.asked().is_some()
    }

    fn begin_summary(&mut self) {
        if self.compaction.running.is_some() || self.compaction.failed || self.is_stopping() {
            return;
        }
        let keep = self.room() / 4;
        let Some(cut) = history::split_for_compaction(&self.items, keep) else {
            self.compaction.failed = true;
            return;
        };
        let (deps, agent, config) = (self.deps.clone(), self.agent.clone(), self.config.clone());
        let items = self.items.clone();
        let stop = self.stop.now().child_token();
        let during = During {
            turn: Some(self.turn_id()),
            stop: stop.clone(),
            dense: self.context_meter.density(),
        };
        let summary = tokio::spawn(async move {
            compact::summarise(&deps, &agent, &config, &items[..cut], Some(during)).await
        });
        self.compaction.running = Some(UnderWay {
            cut,
            summary: AbortOnDropHandle::new(summary),
            stop,
        });
    }

    /// Waits for the summary and puts it in the place of what it stands for. A failed one leaves all as it is, and so
    /// does one that a stop ended.
    async fn take_summary(&mut self) -> Result<(), StoreError> {
        match self.compaction.running.take() {
            Some(UnderWay { cut, summary, .. }) => self.use_summary(cut, summary.await.ok()).await,
            None => Ok(()),
        }
    }

    /// After the answer: lets a summary under way come to its end, so that it is not paid for nothing. Whoever wants
    /// something comes first: a message that came is given back, and the summary ended.
    pub(super) async fn settle(&mut self) -> Result<Option<Inbound>, StoreError> {
        let Some(mut running) = self.compaction.running.take() else {
            return Ok(None);
        };
        let summary = tokio::select! {
            biased;
            late = self.steered.recv() => Err(late),
            () = self.wanted.cancelled() => Err(None),
            () = self.stop.now().cancelled() => Err(None),
            summary = &mut running.summary => Ok(summary.ok()),
        };
        match summary {
            Ok(summary) => self.use_summary(running.cut, summary).await.map(|()| None),
            Err(late) => {
                running.stop.cancel();
                let _ = running.summary.await;
                Ok(late)
            }
        }
    }

    async fn use_summary(
        &mut self,
        cut: usize,
        summary: Option<Option<Summarised>>,
    ) -> Result<(), StoreError> {
        let Some(summary) = summary.flatten() else {
            if self.is_stopping() {
                return Ok(());
            }
            warn!(agent.id = %self.agent.id, "failed to summarise a conversation; it stays as long as it is");
            self.compaction.failed = true;
            return Ok(());
        };
        self.tally.add(summary.usage, summary.cost);
        let Some(items) = compact::shorter(&self.items, cut, &summary.text) else {
            self.compaction.failed = true;
            return Ok(());
        };
        let raw = match &self.left_out {
            Some(left_out) => Arc::clone(&left_out.whole),
            None => Arc::clone(&self.items),
        };
        let saved = self.save_raw(raw, Summary::of(&summary.text)).await;
        let session = match saved {
            Ok(meta) => meta,
            Err(error) => {
                // Without the raw conversation in a file nothing is given up.
                warn!(agent.id = %self.agent.id, "failed to save a conversation, so it is not compacted: {error}");
                self.compaction.failed = true;
                return Ok(());
            }
        };
        let text = compact::done(cut, session.id);
        self.put_in_place(items, &text).await?;
        self.left_out = None;
        info!(agent.id = %self.agent.id, items.cut = cut, "agent {} compacted its context", self.agent.name);
        Ok(())
    }

    /// Puts `items` in the place of the conversation, which is saved, and says so in the channel.
    async fn put_in_place(&mut self, items: Vec<Item>, notice: &str) -> Result<(), StoreError> {
        let (store, channel) = (&self.deps.store, self.reference.channel);
        store
            .replace_items(self.conversation, items.clone(), SavedAs::Others)
            .await?;
        store.notice(channel, notice).await?;
        self.deps.emit(Event::Outbox(channel));
        self.saved = Some(items.len());
        self.replace(items);
        Ok(())
    }

    /// Saves the whole conversation before anything of it is given up.
    async fn save_raw(
        &self,
        items: Arc<Vec<Item>>,
        summary: Summary,
    ) -> Result<SessionMeta, SessionError> {
        let save = Save {
            id: SessionId::random(),
            conversation: None,
            items,
            description: None,
            summary,
            trigger: Trigger::Compaction,
        };
        self.deps.save_session(&self.agent, save).await
    }

    /// What compaction could not do: a fall-back with room is asked, else the oldest exchanges go, then long texts
    /// are cut, until the request fits.
    fn drop_to_fit(&mut self) -> Option<EndReason> {
        if self.context_meter.used(&self.items) <= self.largest_room() {
            return None;
        }
        let budget = self.context_meter.budget(self.room());
        self.drop_to(budget);
        let fits = self.context_meter.estimated(&self.items) <= budget;
        (!fits).then_some(EndReason::Window)
    }

    /// Shortens what the next request tells to about `budget` estimated tokens, without asking anybody.
    ///
    /// The ledger keeps the whole conversation until a model has answered the shorter one.
    fn drop_to(&mut self, budget: u64) {
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

    /// A model has answered the shortened conversation: it is the conversation from now on, and the channel is told.
    pub(super) async fn keep_shortened(&mut self) -> Result<(), StoreError> {
        let Some(LeftOut { whole, count }) = self.left_out.take() else {
            return Ok(());
        };
        let saved = self.save_raw(whole, Summary::Failed).await;
        let kept = match &saved {
            Ok(meta) => format!("The whole conversation is saved as `{}`.", meta.id.short()),
            Err(error) => escape::sentence(&format!("It could not be saved before: {error}.")),
        };
        let what = match count {
            0 => "long messages were shortened".to_owned(),
            1 => "the oldest message was left out".to_owned(),
            count => format!("the oldest {count} messages were left out"),
        };
        let text = format!("The context was full: {what}. {kept}");
        let items = Vec::clone(&self.items);
        self.put_in_place(items, &text::one_line(&text, 1_900))
            .await
    }

    /// No model answered, however short the conversation was made: it is what it was.
    pub(super) fn give_back_left_out(&mut self) {
        if let Some(LeftOut { whole, .. }) = self.left_out.take() {
            self.replace(Arc::unwrap_or_clone(whole));
        }
    }
}
