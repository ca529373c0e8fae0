//! Keeps the conversation inside the model's window: one number decides, compaction makes room, dropping is the last resort.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use tracing::{info, warn};

use crate::domain::{Inbound, Item, SessionMeta, Trigger, Usage, UserText};
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
use super::request::Tools;

/// Share of the room at which a summary is begun in the background.
const BEGIN: f64 = 0.80;
/// The same for [`Mode::Full`]: work of many steps fills the rest while the summary is being made.
const BEGIN_FULL: f64 = 0.70;
/// Share at which the next step waits for it.
const WAIT: f64 = 0.95;
/// Most tokens that an estimated one is taken to be: a script that is not Latin has one or two a character.
const MAX_SCALE: f64 = 8.0;
/// The same for system prompt and tools, which are in English for the most part.
const MAX_FIXED: f64 = 1.5;
/// Fewest estimated tokens that teach anything: of a few words the frame of the message is the larger part.
const SAMPLE: u64 = 100;
/// How much of what the densest text taught is left after each further count.
const FADES: f64 = 0.98;
/// How much more an estimate counts after a provider found the request too long for all that.
const REFUSED_SCALE: f64 = 1.25;

/// What is known of the window, and a compaction under way.
pub(super) struct State {
    running: Option<Running>,
    /// One that came to nothing: not tried again in this turn.
    failed: bool,
    /// Estimate of the conversation, and of how many items: each is counted once.
    estimated: (usize, u64),
    /// The room that the latest request was made for.
    room: u64,
    learned: Learned,
}

/// What is known of a conversation's size; it goes from turn to turn with it.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Learned {
    /// What the latest answer's provider counted.
    measured: Option<Measured>,
    /// How many tokens an estimated one has turned out to be, over a whole request; never less than one.
    scale: f64,
    /// The same of what came last: a file in a script of its own is not what a system prompt is.
    densest: f64,
    /// Estimate of system prompt and tools; 0 is none yet.
    fixed: u64,
}

impl Default for Learned {
    fn default() -> Self {
        Self {
            measured: None,
            scale: 1.0,
            densest: 1.0,
            fixed: 0,
        }
    }
}

impl Learned {
    /// What a provider would count of system prompt and tools.
    fn counted_fixed(self) -> u64 {
        (self.fixed as f64 * self.scale.min(MAX_FIXED)).ceil() as u64
    }
}

impl State {
    pub fn new(learned: Learned) -> Self {
        Self {
            running: None,
            failed: false,
            estimated: (0, 0),
            room: 0,
            learned,
        }
    }

    /// Forgets what was counted: the conversation is another one now.
    pub fn replaced(&mut self) {
        self.estimated = (0, 0);
        self.learned.measured = None;
    }

    /// Takes note of the estimate of system prompt and tools.
    pub fn set_fixed(&mut self, tokens: u64) {
        self.learned.fixed = tokens;
    }

    /// What the next turn of a conversation of `items` items can go by.
    pub fn learned_of(&self, items: usize) -> Learned {
        Learned {
            // A count with an answer that was not kept says nothing of what is there.
            measured: self.learned.measured.filter(|count| count.items <= items),
            ..self.learned
        }
    }
}

struct Running {
    /// Items the summary will stand for, from the first.
    cut: usize,
    summary: AbortOnDropHandle<Option<Summarised>>,
    stop: CancellationToken,
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
        if self.window.learned.fixed == 0 {
            self.prompt_and_tools(Tools::On);
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
        let items = self.estimated();
        let Learned {
            measured,
            densest,
            fixed,
            ..
        } = self.window.learned;
        match measured {
            None => self.window.learned.counted_fixed() + (items as f64 * densest).ceil() as u64,
            Some(_) => {
                history::used_tokens(&self.items, fixed, measured, densest).max((fixed + items) / 2)
            }
        }
    }

    /// The conversation by estimate.
    fn estimated(&mut self) -> u64 {
        let (counted, tokens) = self.window.estimated;
        let tokens = tokens + tokens::of_items(&self.items[counted..]);
        self.window.estimated = (self.items.len(), tokens);
        tokens
    }

    /// Takes note of what the provider of a model with `window` tokens counted for the request that it just answered.
    pub(super) fn counted(&mut self, usage: Usage, window: u64) {
        if usage.input_total() > window {
            // Searches of the provider's own count, too, and some servers count nonsense: neither lies in the window.
            self.window.learned.measured = None;
            return;
        }
        let input = usage.input_total();
        let whole = self.window.learned.fixed + self.estimated();
        let scale = times(input, whole);
        let newest = self.newest(input).unwrap_or(scale);
        let faded = self.window.learned.densest * FADES;
        self.window.learned.scale = scale;
        self.window.learned.densest = scale.max(newest).max(faded);
        self.window.learned.measured = Some(Measured {
            items: self.items.len() + 1,
            tokens: input.saturating_add(usage.output),
        });
    }

    /// How many tokens an estimated one was, of what came since the count before; `input` is the count now.
    fn newest(&self, input: u64) -> Option<f64> {
        let before = self.window.learned.measured?;
        let estimate = tokens::of_items(self.items.get(before.items..)?);
        let counted = input.checked_sub(before.tokens)?;
        (estimate >= SAMPLE).then(|| times(counted, estimate))
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
        let scale = self.window.learned.scale * full.max(REFUSED_SCALE);
        self.window.learned.scale = scale.min(MAX_SCALE);
        // What came since the last count took at least what was left of the room.
        let newest = self.newest(self.room()).unwrap_or(1.0);
        let learned = &mut self.window.learned;
        learned.densest = learned.densest.max(learned.scale).max(newest);
        self.window.learned.measured = None;
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
        let stop = self.stop.hard().child_token();
        let during = During {
            turn: Some(self.turn_id()),
            stop: stop.clone(),
            dense: self.window.learned.densest,
        };
        let summary = tokio::spawn(async move {
            compact::summarise(&parts, &agent, &config, &items[..cut], Some(during)).await
        });
        self.window.running = Some(Running {
            cut,
            summary: AbortOnDropHandle::new(summary),
            stop,
        });
    }

    /// Waits for the summary and puts it in the place of what it stands for. A failed one leaves all as it is.
    async fn take_summary(&mut self) -> Result<(), StoreError> {
        match self.window.running.take() {
            Some(Running { cut, summary, .. }) => self.use_summary(cut, summary.await.ok()).await,
            None => Ok(()),
        }
    }

    /// After the answer: lets a summary under way come to its end, so that it is not paid for nothing. Whoever wants
    /// something comes first: a message that came is given back, and the summary ended.
    pub(super) async fn settle(&mut self) -> Result<Option<Inbound>, StoreError> {
        let Some(mut running) = self.window.running.take() else {
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
        let learned = self.window.learned;
        let room = self.room().saturating_sub(learned.counted_fixed());
        let budget = (room as f64 / learned.densest * 0.9) as u64;
        self.drop_to(budget).await?;
        let fits = self.estimated() <= budget;
        Ok((!fits).then_some(Exit::Window))
    }

    /// Shortens the conversation to about `budget` estimated tokens without asking anybody; says so in the channel.
    async fn drop_to(&mut self, budget: u64) -> Result<(), StoreError> {
        let history::Dropped { items, count } = history::fit(&self.items, budget);
        if items == *self.items {
            self.window.learned.measured = None;
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

/// How many times `estimate` was counted, within what is believed.
fn times(counted: u64, estimate: u64) -> f64 {
    (counted as f64 / estimate.max(1) as f64).clamp(1.0, MAX_SCALE)
}

/// A note that stands for what was compacted.
pub(in super::super) fn summary_item(summary: &str) -> Item {
    Item::User(UserText {
        at: Some(crate::clock::now()),
        ..UserText::note(format!("Summary of the conversation so far:\n{summary}"))
    })
}
