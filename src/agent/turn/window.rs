//! Keeps the conversation inside the model's window: one number decides, compaction makes room, dropping is the last resort.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::domain::{Item, SessionMeta, Trigger, UserText};
use crate::llm::{history, tokens};
use crate::store::{SavedAs, StoreError};
use crate::text;

use super::super::compact::{self, Summarised};
use super::super::event::Event;
use super::super::exit::Exit;
use super::super::mailbox::Mode;
use super::super::session_manager::SessionError;
use super::super::sessions::ToSave;
use super::Turn;

/// Share of the room at which a summary is begun in the background.
const BEGIN: f64 = 0.80;
/// The same for [`Mode::Full`]: work of many steps fills the rest while the summary is being made.
const BEGIN_FULL: f64 = 0.70;
/// Share at which the next step waits for it.
const WAIT: f64 = 0.95;
/// Longest tool result kept when the newest step alone does not fit.
const CLIPPED: usize = 2_000;

/// A compaction under way.
#[derive(Default)]
pub(super) struct State {
    running: Option<Running>,
    /// One that came to nothing: not tried again in this turn.
    failed: bool,
}

struct Running {
    /// Items the summary will stand for, from the first.
    cut: usize,
    summary: AbortOnDropHandle<Option<Summarised>>,
}

impl Turn {
    /// Makes sure that the next request fits. Says so when it cannot be made to fit for another full step.
    pub(super) async fn make_room(&mut self) -> Result<Option<Exit>, StoreError> {
        if self
            .window
            .running
            .as_ref()
            .is_some_and(|running| running.summary.is_finished())
        {
            self.take_summary().await?;
        }
        let share = self.share();
        if share >= WAIT {
            self.doing("Making room in the context");
            self.compact_now().await?;
            return self.drop_to_fit().await;
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
    fn share(&self) -> f64 {
        let room = self.room();
        let used = history::used_tokens(&self.items, self.request.fixed(), self.measured);
        used as f64 / room.max(1) as f64
    }

    /// Tokens that a request may take.
    fn room(&self) -> u64 {
        self.parts
            .room(self.model.as_deref(), &self.agent, &self.config)
    }

    fn begin_summary(&mut self) {
        if self.window.running.is_some() || self.window.failed {
            return;
        }
        let keep = self.room() / 4;
        let Some(cut) = history::split_for_compaction(&self.items, keep) else {
            self.window.failed = true;
            return;
        };
        let (parts, agent, config) = (self.parts.clone(), self.agent.clone(), self.config.clone());
        let (items, turn) = (self.items.clone(), self.turn_id());
        let summary = tokio::spawn(async move {
            compact::summarise(&parts, &agent, &config, &items[..cut], Some(turn)).await
        });
        self.window.running = Some(Running {
            cut,
            summary: AbortOnDropHandle::new(summary),
        });
    }

    /// Waits for the summary and puts it in the place of what it stands for. A failed one leaves all as it is.
    async fn take_summary(&mut self) -> Result<(), StoreError> {
        let Some(Running { cut, summary }) = self.window.running.take() else {
            return Ok(());
        };
        let Ok(Some(summary)) = summary.await else {
            warn!(agent.id = %self.agent.id, "no summary could be had; the conversation stays as long as it is");
            self.window.failed = true;
            return Ok(());
        };
        let Some(items) = compact::shorter(&self.items, cut, &summary.text) else {
            self.window.failed = true;
            return Ok(());
        };
        let raw = Arc::clone(&self.items);
        let saved = self.save_raw(raw, Some(summary.text)).await;
        let session = match saved {
            Ok(meta) => meta,
            Err(error) => {
                // Without the raw conversation in a file nothing is given up.
                warn!(agent.id = %self.agent.id, "the conversation was not saved, so it is not compacted: {error}");
                self.window.failed = true;
                return Ok(());
            }
        };
        let text = format!(
            "Compacted: {cut} older messages are now a summary. The whole conversation is saved as `{}`.",
            session.id.short()
        );
        self.parts
            .store
            .replace_items(self.conversation, items.clone(), SavedAs::Session)
            .await?;
        self.parts
            .store
            .notice(self.reference.channel, &text)
            .await?;
        self.parts.emit(Event::Outbox(self.reference.channel));
        info!(agent.id = %self.agent.id, items.cut = cut, "agent {} compacted its context", self.agent.name);
        self.saved = Some(items.len());
        self.replace(items);
        Ok(())
    }

    /// Saves the whole conversation before anything of it is given up.
    async fn save_raw(
        &self,
        items: Arc<Vec<Item>>,
        summary: Option<String>,
    ) -> Result<SessionMeta, SessionError> {
        let save = ToSave {
            conversation: None,
            items,
            description: None,
            summary,
            trigger: Trigger::Compaction,
        };
        self.parts.save_session(&self.agent, save).await
    }

    /// What compaction could not do: oldest exchanges go, then long results are cut, until the request fits.
    async fn drop_to_fit(&mut self) -> Result<Option<Exit>, StoreError> {
        if self.share() <= 1.0 {
            return Ok(None);
        }
        let budget = self.room().saturating_sub(self.request.fixed()) * 9 / 10;
        let mut items = history::drop_oldest_exchanges(&self.items, budget).items;
        if tokens::of_items(&items) > budget {
            history::clip_results(&mut items, CLIPPED);
        }
        let fits = tokens::of_items(&items) <= budget;
        let went = self.items.len().saturating_sub(items.len());
        let raw = Arc::clone(&self.items);
        let saved = self.save_raw(raw, None).await;
        let kept = match &saved {
            Ok(meta) => format!("The whole conversation is saved as `{}`.", meta.id.short()),
            Err(error) => format!("It could not be saved before: {error}."),
        };
        let text =
            format!("The context was full: the oldest {went} messages were left out. {kept}");
        self.parts
            .store
            .replace_items(self.conversation, items.clone(), SavedAs::Session)
            .await?;
        self.parts
            .store
            .notice(self.reference.channel, &text::one_line(&text, 1_900))
            .await?;
        self.parts.emit(Event::Outbox(self.reference.channel));
        self.saved = Some(items.len());
        self.replace(items);
        Ok((!fits).then_some(Exit::Window))
    }
}

/// A note that stands for what was compacted.
pub(in super::super) fn summary_item(summary: &str) -> Item {
    Item::User(UserText {
        at: Some(crate::clock::now()),
        ..UserText::note(format!("Summary of the conversation so far:\n{summary}"))
    })
}
