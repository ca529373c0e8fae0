//! Keeps the conversation inside the model's window: one number decides, compaction makes room, dropping is the last resort.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, info, warn};

use super::Turn;
use super::end::EndReason;
use super::host::Extras;
use super::last_words::LastWords;
use super::policy::{self, Fullness};
use super::reading::asker;
use super::request::Tools;
use super::transcript::{LeftOut, UnderWay};
use crate::agent::auxiliary::summaries::{self, During};
use crate::agent::event::Event;
use crate::agent::sessions::Summary;
use crate::agent::setup::modes;
use crate::domain::{Inbound, Item};
use crate::llm::{Target, history};
use crate::store::{SavedAs, StoreError};
use crate::text::{self, escape};
use crate::tools::ResultRoom;
use crate::tools::ports::NextRequest;

/// Share of the room at which the next step waits for the summary.
const WAIT: f64 = 0.95;

/// Tokens that the results of one step may take even where little is left: making room is the task of compaction.
const LEAST_FOR_RESULTS: u64 = 4_000;

impl Turn {
    /// Makes sure that the next request fits; returns whether it can be made to fit for another full step.
    ///
    /// A stop ends that at once, and nothing of the conversation is dropped then.
    pub(in crate::agent) async fn make_room(
        &mut self,
        extras: &Extras,
    ) -> Result<Option<EndReason>, StoreError> {
        if self
            .transcript
            .compaction
            .running
            .as_ref()
            .is_some_and(|running| running.summary.is_finished())
        {
            self.take_summary().await?;
        }
        if self.context.is_stopping() {
            return Ok(None);
        }
        if !self.transcript.context_meter.knows_fixed() {
            self.prompt_and_tools(Tools::On, extras).await;
        }
        self.transcript.room_before = self.room();
        let Some((begin, wait)) = self.thresholds() else {
            return Ok(None);
        };
        let share = self.transcript.share(self.transcript.room_before);
        match policy::fullness(share, begin, wait) {
            Fullness::Fits => {}
            Fullness::BeginsSummary => self.begin_summary(),
            Fullness::WaitsForSummary => {
                self.doing("Compacting the conversation");
                self.compact_now().await?;
                if !self.context.is_stopping() {
                    let (room, largest) = (self.room(), self.largest_room());
                    let fits = self.transcript.drop_to_fit(room, largest);
                    return Ok((!fits).then_some(EndReason::Window));
                }
            }
        }
        Ok(None)
    }

    /// Shares of the room at which a summary is begun, and at which the next step waits for it; `None` where what does not
    /// fit is left out of the request instead.
    fn thresholds(&self) -> Option<(f64, f64)> {
        let begin = modes::summary_at(self.mode())?;
        Some(match self.setup.compaction() {
            Some(own) => (own.begin, own.wait),
            None => (begin, WAIT),
        })
    }

    /// Whether what does not fit is left out of the request, rather than summarised before it.
    pub(in crate::agent) fn leaves_out(&self) -> bool {
        self.context.is_stopping() || self.thresholds().is_none()
    }

    /// Compacts before the next request, and waits for it.
    pub(in crate::agent) async fn compact_now(&mut self) -> Result<(), StoreError> {
        self.begin_summary();
        self.take_summary().await
    }

    /// A provider found the request too long, whatever was counted: makes the conversation shorter. Returns whether it is
    /// shorter.
    pub(in crate::agent) async fn make_shorter(&mut self) -> Result<bool, StoreError> {
        if self.room() < self.transcript.room_before {
            // The refusal named the window, which is smaller than was known: what fits has to be worked out again.
            self.transcript.compaction.failed = false;
            return Ok(true);
        }
        let before = self
            .transcript
            .context_meter
            .estimated(&self.transcript.items);
        self.transcript
            .context_meter
            .refused(&self.transcript.items, self.room());
        if !self.leaves_out() {
            self.compact_now().await?;
        }
        if self.leaves_out() {
            // The last request is made shorter by what was just learned; the conversation stays as it is.
            return Ok(true);
        }
        if self
            .transcript
            .context_meter
            .estimated(&self.transcript.items)
            > before * 3 / 4
        {
            self.transcript.drop_to(before / 2);
        }
        Ok(self
            .transcript
            .context_meter
            .estimated(&self.transcript.items)
            < before)
    }

    /// Why so little fits where the conversation is not the reason: system prompt and tools take most of the room.
    pub(in crate::agent) fn crowded(&self) -> String {
        let fixed = self.transcript.context_meter.fixed();
        let Some(target) = self.serving().into_iter().next() else {
            return String::new();
        };
        if fixed <= self.room() / 2 {
            return String::new();
        }
        let window = self.context.deps.models.window(&target);
        format!(
            "{} has a window of {} tokens, but the system prompt and the tools need {}: load it with a larger window on its server, or choose another model",
            text::code_span(&target.to_string()),
            text::thousands(window),
            text::thousands(fixed)
        )
    }

    /// Tokens that the next request may take, by the window of the model that is asked next.
    pub(in crate::agent) fn room(&self) -> u64 {
        self.context.deps.room(&self.serving())
    }

    /// What the results of one step's calls may take together: half of what is left for the next request, and no more than
    /// its last words can be paid with. A call by itself may take all of the window.
    pub(in crate::agent) fn room_of_results(
        &mut self,
        calls: usize,
        last_words: Option<Arc<LastWords>>,
    ) -> Option<ResultRoom> {
        if calls == 1 {
            return last_words.map(LastWords::room);
        }
        let transcript = &mut self.transcript;
        let used = transcript.context_meter.used(&transcript.items);
        let dense = transcript.context_meter.density();
        let half = self.room().saturating_sub(used) as f64 / 2.0;
        let half = ((half / dense) as u64).max(LEAST_FOR_RESULTS);
        let next = last_words.map(|words| -> Arc<dyn NextRequest> { words });
        Some(ResultRoom::of(half, next))
    }

    /// Tokens that a request may take where nothing could make it shorter, by the largest window of the targets.
    fn largest_room(&self) -> u64 {
        let rooms = self.serving();
        let rooms = rooms
            .iter()
            .map(|target| self.context.deps.models.room(target));
        rooms.max().unwrap_or_else(|| self.room())
    }

    /// The turn's targets that can still serve; all of them where none can.
    pub(in crate::agent) fn serving(&self) -> Vec<Target> {
        let mut targets = self.context.targets(&self.setup).unwrap_or_default();
        let health = self.context.run.health();
        if targets.iter().any(|target| health.serves(target)) {
            targets.retain(|target| health.serves(target));
        }
        targets
    }

    fn begin_summary(&mut self) {
        if self.transcript.compaction.running.is_some()
            || self.transcript.compaction.failed
            || self.context.is_stopping()
        {
            return;
        }
        let room = self.room();
        let keep = room / 4;
        let Some(cut) = history::split_for_compaction(&self.transcript.items, keep) else {
            self.transcript.compaction.failed = true;
            return;
        };
        let (deps, agent, config) = (
            self.context.deps.clone(),
            self.context.agent.clone(),
            self.setup.config.clone(),
        );
        let items = self.transcript.items.clone();
        let stop = self.context.stop.now().child_token();
        let during = During {
            asker: Some(asker(self)),
            stop: stop.clone(),
            dense: self.transcript.context_meter.density(),
        };
        let used = self.transcript.context_meter.used(&self.transcript.items);
        self.context.log_context(used, room);
        let work = async move {
            summaries::summarise(&deps, &agent, &config, &items[..cut], Some(during)).await
        };
        let summary = tokio::spawn(work.in_current_span());
        self.transcript.compaction.running = Some(UnderWay {
            cut,
            summary: AbortOnDropHandle::new(summary),
            stop,
        });
    }

    /// Waits for the summary and replaces the items that it covers. Where it failed, or a stop ended it, everything stays
    /// as it is.
    async fn take_summary(&mut self) -> Result<(), StoreError> {
        match self.transcript.compaction.running.take() {
            Some(UnderWay { cut, summary, .. }) => self.use_summary(cut, summary.await.ok()).await,
            None => Ok(()),
        }
    }

    /// After the answer: lets a summary under way finish, so that it is not paid for in vain. Messages have priority: one
    /// that comes is returned, and the summary ended.
    pub(in crate::agent) async fn settle(&mut self) -> Result<Option<Box<Inbound>>, StoreError> {
        let Some(mut running) = self.transcript.compaction.running.take() else {
            return Ok(None);
        };
        let summary = tokio::select! {
            biased;
            late = self.inbox.steered.recv() => Err(late),
            () = self.inbox.wanted.cancelled() => Err(None),
            () = self.context.stop.now().cancelled() => Err(None),
            summary = &mut running.summary => Ok(summary.ok()),
        };
        match summary {
            Ok(summary) => self.use_summary(running.cut, summary).await.map(|()| None),
            Err(late) => {
                running.end().await;
                Ok(late)
            }
        }
    }

    /// Ends a summary that is no longer needed.
    pub(in crate::agent) async fn end_summary(&mut self) {
        if let Some(running) = self.transcript.compaction.running.take() {
            running.end().await;
        }
    }

    async fn use_summary(
        &mut self,
        cut: usize,
        summary: Option<Option<String>>,
    ) -> Result<(), StoreError> {
        self.accounting.count_beside();
        let Some(summary) = summary.flatten() else {
            if self.context.is_stopping() {
                return Ok(());
            }
            warn!(agent.id = %self.context.agent.id, "failed to summarise a conversation; it stays as long as it is");
            self.transcript.compaction.failed = true;
            return Ok(());
        };
        let Some(items) = summaries::shorter(&self.transcript.items, cut, &summary) else {
            self.transcript.compaction.failed = true;
            return Ok(());
        };
        if self.context.child.is_some() {
            return self.drop_in_child(items).await;
        }
        let raw = match &self.transcript.left_out {
            Some(left_out) => Arc::clone(&left_out.whole),
            None => Arc::clone(&self.transcript.items),
        };
        let saved = self.context.save_raw(raw, Summary::of(&summary)).await;
        let session = match saved {
            Ok(meta) => meta,
            Err(error) => {
                // Nothing is dropped unless the whole conversation is in a file.
                warn!(agent.id = %self.context.agent.id, "failed to save a conversation, so it is not compacted: {error}");
                self.transcript.compaction.failed = true;
                return Ok(());
            }
        };
        let text = summaries::done(cut, session.id);
        self.put_in_place(items, &text).await?;
        self.transcript.left_out = None;
        info!(agent.id = %self.context.agent.id, items.cut = cut, "agent {} compacted its context", self.context.agent.name);
        Ok(())
    }

    /// Replaces the items of a child's conversation, which the ledger keeps: no session holds it.
    async fn drop_in_child(&mut self, items: Vec<Item>) -> Result<(), StoreError> {
        let store = &self.context.deps.store;
        store.drop_items(self.context.conversation, &items).await?;
        self.transcript.replace(items);
        self.transcript.left_out = None;
        Ok(())
    }

    /// Replaces the items of the conversation, which is saved, and says so in the channel.
    async fn put_in_place(&mut self, items: Vec<Item>, notice: &str) -> Result<(), StoreError> {
        let (store, channel) = (&self.context.deps.store, self.context.reference.channel);
        store
            .replace_items(self.context.conversation, items.clone(), SavedAs::Others)
            .await?;
        store.notice(channel, notice).await?;
        self.context.deps.emit(Event::Outbox(channel));
        self.transcript.saved = Some(items.len());
        self.transcript.replace(items);
        Ok(())
    }

    /// A model has answered the shortened conversation: it replaces the whole one from now on, and the channel is told.
    pub(in crate::agent) async fn keep_shortened(&mut self) -> Result<(), StoreError> {
        let Some(LeftOut { whole, count }) = self.transcript.left_out.take() else {
            return Ok(());
        };
        if self.context.child.is_some() {
            let items = Vec::clone(&self.transcript.items);
            return self.drop_in_child(items).await;
        }
        let saved = self.context.save_raw(whole, Summary::Failed).await;
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
        let items = Vec::clone(&self.transcript.items);
        self.put_in_place(items, &text::one_line(&text, 1_900))
            .await
    }
}
