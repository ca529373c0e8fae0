//! Keeps the conversation inside the model's window: one number decides, compaction makes room, dropping is the last resort.

use std::sync::Arc;

use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::domain::{Item, SessionMeta, Trigger, Usage, UserText};
use crate::llm::history::{self, Measured};
use crate::llm::tokens;
use crate::store::{SavedAs, StoreError};
use crate::text;

use super::super::compact::{self, During, Summarised};
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
/// Most tokens that an estimated one is taken to be: a script that is not Latin has one or two a character.
const MAX_SCALE: f64 = 8.0;
/// How much more an estimate counts after a provider found the request too long for all that.
const REFUSED_SCALE: f64 = 1.25;

/// What is known of the window, and a compaction under way.
pub(super) struct State {
    running: Option<Running>,
    /// One that came to nothing: not tried again in this turn.
    failed: bool,
    /// Estimate of the conversation, and of how many items: each is counted once.
    estimated: (usize, u64),
    /// How many tokens an estimated one has turned out to be; never less than one.
    scale: f64,
    /// The room that the latest request was made for.
    room: u64,
}

impl Default for State {
    fn default() -> Self {
        Self {
            running: None,
            failed: false,
            estimated: (0, 0),
            scale: 1.0,
            room: 0,
        }
    }
}

impl State {
    /// Forgets the estimate: the conversation is another one now.
    pub fn replaced(&mut self) {
        self.estimated = (0, 0);
    }
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
        self.window.room = self.room();
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
    fn share(&mut self) -> f64 {
        self.used() as f64 / self.room().max(1) as f64
    }

    /// Tokens that the next request takes.
    ///
    /// A count of less than half the estimate is not believed: some servers leave out what they had in their cache.
    pub(super) fn used(&mut self) -> u64 {
        let fixed = self.request.fixed();
        let whole = fixed + self.estimated();
        match self.measured {
            None => (whole as f64 * self.window.scale).ceil() as u64,
            Some(_) => history::used_tokens(&self.items, fixed, self.measured, self.window.scale)
                .max(whole / 2),
        }
    }

    /// The conversation by estimate.
    fn estimated(&mut self) -> u64 {
        let (counted, tokens) = self.window.estimated;
        let tokens = tokens + tokens::of_items(&self.items[counted..]);
        self.window.estimated = (self.items.len(), tokens);
        tokens
    }

    /// Takes note of what a provider counted for the request that it just answered.
    pub(super) fn counted(&mut self, usage: Usage) {
        let estimate = (self.request.fixed() + self.estimated()).max(1);
        let scale = usage.input_total() as f64 / estimate as f64;
        self.window.scale = scale.clamp(1.0, MAX_SCALE);
        self.measured = Some(Measured {
            items: self.items.len() + 1,
            tokens: usage.input_total().saturating_add(usage.output),
        });
    }

    /// A provider found the request too long, whatever was counted: makes the conversation shorter. Says whether it is.
    pub(super) async fn make_shorter(&mut self) -> Result<bool, StoreError> {
        if self.room() < self.window.room {
            // The refusal named the window, and it is smaller than anybody knew: what fits it is another question.
            self.window.failed = false;
            return Ok(true);
        }
        let before = self.estimated();
        let full = self.room() as f64 / self.used().max(1) as f64;
        let scale = self.window.scale * full.max(REFUSED_SCALE);
        self.window.scale = scale.min(MAX_SCALE);
        self.measured = None;
        self.compact_now().await?;
        if self.estimated() > before * 3 / 4 {
            self.drop_to(before / 2).await?;
        }
        Ok(self.estimated() < before)
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
        let items = self.items.clone();
        let during = During {
            turn: self.turn_id(),
            spent: self.tally.cost,
        };
        let summary = tokio::spawn(async move {
            compact::summarise(&parts, &agent, &config, &items[..cut], Some(during)).await
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
        self.tally.add(summary.usage, summary.cost);
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

    /// What compaction could not do: oldest exchanges go, then long texts are cut, until the request fits.
    async fn drop_to_fit(&mut self) -> Result<Option<Exit>, StoreError> {
        if self.share() <= 1.0 {
            return Ok(None);
        }
        let room = (self.room() as f64 / self.window.scale) as u64;
        let budget = room.saturating_sub(self.request.fixed()) * 9 / 10;
        self.drop_to(budget).await?;
        let fits = self.estimated() <= budget;
        Ok((!fits).then_some(Exit::Window))
    }

    /// Shortens the conversation to about `budget` estimated tokens without asking anybody; says so in the channel.
    async fn drop_to(&mut self, budget: u64) -> Result<(), StoreError> {
        let history::Dropped { items, count } = history::fit(&self.items, budget);
        if items == *self.items {
            self.measured = None;
            return Ok(());
        }
        let saved = self.save_raw(Arc::clone(&self.items), None).await;
        let kept = match &saved {
            Ok(meta) => format!("The whole conversation is saved as `{}`.", meta.id.short()),
            Err(error) => format!("It could not be saved before: {error}."),
        };
        let what = match count {
            0 => "long messages were shortened".to_owned(),
            1 => "the oldest message was left out".to_owned(),
            count => format!("the oldest {count} messages were left out"),
        };
        let text = format!("The context was full: {what}. {kept}");
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
        Ok(())
    }
}

/// A note that stands for what was compacted.
pub(in super::super) fn summary_item(summary: &str) -> Item {
    Item::User(UserText {
        at: Some(crate::clock::now()),
        ..UserText::note(format!("Summary of the conversation so far:\n{summary}"))
    })
}
