//! The view of one running turn: typing, a live status, a growing preview, a reaction on accepted messages.
//!
//! None of it is promised, so none of it is worth waiting for: an edit without room in Discord's limits is skipped, and
//! the latest state is shown later. All of it is silent, and is removed when the answer comes: that is a separate
//! message, which notifies people and is the last of its turn.

use std::time::Duration;

use tokio::time::Instant;

use super::Previews;
use super::live_request::{Done, LiveAction, LiveActionKind, LiveRequest};
use crate::agent::event::{Feed, Said, TurnRef, TurnSummary};
use crate::discord::render::status_text;
use crate::discord::rest::RestError;
use crate::domain::MessageId;
use crate::store::{EndReason, Store};

/// A turn shorter than this shows no typing.
const TYPING_AFTER: Duration = Duration::from_millis(200);

/// Discord shows typing for ten seconds.
const TYPING_EVERY: Duration = Duration::from_secs(8);

/// A turn shorter than this shows no preview: its answer comes soon enough.
const PREVIEW_AFTER: Duration = Duration::from_millis(1_500);

/// Words that are complete within this time show no preview.
const SPEAKS_FOR: Duration = Duration::from_secs(1);

/// A turn shorter than this shows no status.
const STATUS_AFTER: Duration = Duration::from_secs(2);

/// If only the elapsed time has changed, the status is edited no more often than this.
const CLOCK_EVERY: Duration = Duration::from_secs(5);

/// How long the preview of an earlier step waits for the words that may replace it.
const GIVEN_AWAY_WITHIN: Duration = Duration::from_millis(300);

/// When to check again a turn that waits for its answer to be posted, or shows nothing.
const IDLE: Duration = Duration::from_secs(5);

/// A running turn, as its channel sees it.
pub(super) struct Live {
    turn: TurnRef,
    feed: Feed,
    previews: Previews,
    /// When it began to work without a question to people.
    working_since: Instant,
    /// A question is open: its own message is the status.
    is_asking: bool,
    next_typing: Instant,
    status: Shown,
    preview: Shown,
    /// The step with the words that the preview shows, or would show.
    preview_step: u32,
    /// When the words of this step began; `None` while there are none.
    speaks_since: Option<Instant>,
    /// When the preview became that of an earlier step.
    outdated_since: Option<Instant>,
    said: String,
    doing: String,
    reacted: Vec<MessageId>,
    summary: Option<TurnSummary>,
    /// Its outcome was posted, or will never be.
    has_spoken: bool,
    /// An event has not been processed yet.
    is_news: bool,
    /// An edit may show a change.
    is_stale: bool,
}

#[derive(Debug)]
struct Shown {
    message: Option<MessageId>,
    edited: Instant,
    /// It cannot be shown, or we can no longer edit it.
    given_up: bool,
    /// Its post was never answered: the message may exist.
    is_doubtful: bool,
}

impl Live {
    pub(super) fn new(turn: TurnRef, feed: Feed, previews: Previews) -> Self {
        let began = Instant::now();
        let unseen = || Shown {
            message: None,
            edited: began,
            given_up: false,
            is_doubtful: false,
        };
        Self {
            turn,
            feed,
            previews,
            working_since: began,
            is_asking: false,
            next_typing: began + TYPING_AFTER,
            status: unseen(),
            preview: unseen(),
            preview_step: 0,
            speaks_since: None,
            outdated_since: None,
            said: String::new(),
            doing: String::new(),
            reacted: Vec::new(),
            summary: None,
            has_spoken: false,
            is_news: false,
            is_stale: false,
        }
    }

    /// Waits until there is something new to show; forever once the turn has ended.
    pub(super) async fn changes(&mut self) {
        if self.summary.is_some() {
            return std::future::pending().await;
        }
        // A short turn shows nothing, so it need not wake anything.
        let shows_from = self.working_since + TYPING_AFTER;
        if Instant::now() < shows_from {
            tokio::time::sleep_until(shows_from).await;
        }
        let Feed { progress, speech } = &mut self.feed;
        tokio::select! {
            Ok(()) = progress.changed() => {}
            // Every word of the model changes it; one change is enough until the next edit.
            Ok(()) = speech.changed(), if !self.is_stale => {}
            else => std::future::pending().await,
        }
        (self.is_news, self.is_stale) = (true, true);
    }

    pub(super) fn turn(&self) -> &TurnRef {
        &self.turn
    }

    /// Ends the view of the turn: from here on its messages are only cleaned up.
    pub(super) fn end(&mut self, summary: TurnSummary) {
        self.summary = Some(summary);
    }

    /// Records that a part of its outcome was posted, or never will be.
    pub(super) const fn has_spoken(&mut self) {
        self.has_spoken = true;
    }

    /// Returns the message with the growing words of this step.
    pub(super) fn preview_of(&self, step: u32) -> Option<MessageId> {
        self.preview.message.filter(|_| self.preview_step == step)
    }

    /// Records that the preview was replaced with the final words: it must no longer be edited or deleted.
    pub(super) fn gives_preview_away(&mut self) {
        self.preview.message = None;
        self.outdated_since = None;
        self.said.clear();
    }

    /// Returns whether it has ended, and nothing is left to clean up.
    pub(super) fn is_over(&self) -> bool {
        let is_gone = |shown: &Shown| shown.message.is_none() && !shown.is_doubtful;
        self.summary.is_some() && is_gone(&self.status) && is_gone(&self.preview)
    }

    /// Returns when to check again, if nothing changes before.
    pub(super) fn due(&self, now: Instant, next_edit: Instant) -> Instant {
        if self.awaits_its_answer() {
            return now + IDLE;
        }
        if self.summary.is_some() || self.is_news {
            return now;
        }
        let status = match self.status.message {
            None => self.working_since + STATUS_AFTER,
            Some(_) => self.status.edited + CLOCK_EVERY,
        };
        let shows_status = (!self.is_asking && !self.status.given_up).then_some(status);
        let shows_change = self.is_stale.then(|| self.preview_due());
        let edit = [shows_status, shows_change].into_iter().flatten().min();
        let edit = edit.map(|edit| edit.max(next_edit));
        let types = (!self.is_asking).then_some(self.next_typing);
        let outdated = self
            .outdated_since
            .map(|since| (since + GIVEN_AWAY_WITHIN).max(next_edit));
        let due = [edit, types, outdated].into_iter().flatten().min();
        due.unwrap_or(now + IDLE)
    }

    fn preview_due(&self) -> Instant {
        let spoken = self.speaks_since.map(|since| since + SPEAKS_FOR);
        spoken
            .unwrap_or(self.working_since)
            .max(self.working_since + PREVIEW_AFTER)
    }

    /// Returns the next thing to do. Edits only if `may_edit`.
    pub(super) fn next_request(&mut self, now: Instant, may_edit: bool) -> Option<LiveRequest> {
        let act = match self.summary.clone() {
            Some(summary) => self.tidy(&summary),
            None => {
                self.look(now);
                self.react()
                    .or_else(|| self.make_way(now, may_edit))
                    .or_else(|| self.type_on(now))
                    .or_else(|| may_edit.then(|| self.show(now)).flatten())
            }
        };
        // After an operation there may be another one; without one, every event was processed.
        self.is_news = act.is_some();
        act.map(|act| self.request(act))
    }

    /// Reads the turn's state: whether it asks people, and which step speaks.
    fn look(&mut self, now: Instant) {
        let is_asking = self.feed.progress.borrow().is_asking;
        if self.is_asking && !is_asking {
            self.working_since = now;
            self.next_typing = now + TYPING_AFTER;
        }
        self.is_asking = is_asking;
        let speech = self.feed.speech.borrow();
        if speech.step != self.preview_step {
            let is_shown = self.preview.message.is_some() || self.preview.is_doubtful;
            match (is_shown, self.outdated_since) {
                (true, None) => self.outdated_since = Some(now),
                (true, Some(_)) => {}
                (false, _) => {
                    self.preview_step = speech.step;
                    self.outdated_since = None;
                    self.speaks_since = None;
                    self.said.clear();
                }
            }
        }
        if self.speaks_since.is_none() && !speech.text.is_empty() {
            self.speaks_since = Some(now);
        }
    }

    /// Removes messages that must no longer be shown: the status below a question, the preview of an earlier step.
    fn make_way(&mut self, now: Instant, may_edit: bool) -> Option<LiveAction> {
        if self.is_asking
            && let Some(status) = self.status.message
        {
            return Some(LiveAction::DeleteStatus(status));
        }
        if !may_edit {
            return None;
        }
        if self.is_asking && self.status.is_doubtful {
            return Some(LiveAction::LookForStatus);
        }
        let since = self.outdated_since?;
        if now < since + GIVEN_AWAY_WITHIN {
            return None;
        }
        match self.preview.message {
            Some(preview) => Some(LiveAction::DeletePreview(preview)),
            None => Some(LiveAction::LookForPreview),
        }
    }

    /// Returns the next edit, the preview first.
    fn show(&mut self, now: Instant) -> Option<LiveAction> {
        let act = self.show_preview(now).or_else(|| self.show_status(now));
        let is_early = now < self.preview_due();
        self.is_stale = act.is_some() || is_early;
        act
    }

    /// Returns the next cleanup when the hub ends, one request after the other.
    pub(super) fn last_request(&mut self) -> Option<LiveRequest> {
        let act = match self.summary.clone() {
            Some(summary) => self.tidy(&summary)?,
            None => LiveAction::FinishStatus(self.status.message?, status_text::interrupted()),
        };
        Some(self.request(act))
    }

    /// Records the result of an operation.
    pub(super) async fn note(&mut self, done: Done, store: &Store) {
        let turn = self.turn.turn;
        self.is_news = true;
        match (done.act, done.outcome) {
            (LiveActionKind::PostStatus | LiveActionKind::LookForStatus, Ok(Some(message))) => {
                self.status.found(message);
                keep(store.set_status_post(turn, message).await);
            }
            (LiveActionKind::PostPreview | LiveActionKind::LookForPreview, Ok(Some(message))) => {
                self.preview.found(message);
                keep(store.set_preview(turn, message).await);
            }
            (LiveActionKind::PostStatus, Err(error)) => {
                self.doing.clear();
                self.status.lose_post(&error);
            }
            (LiveActionKind::PostPreview, Err(error)) => {
                self.said.clear();
                self.preview.lose_post(&error);
            }
            (LiveActionKind::EditStatus, Err(error)) => {
                self.doing.clear();
                self.status.lose(&error);
            }
            (LiveActionKind::EditPreview, Err(error)) => {
                self.said.clear();
                self.preview.lose(&error);
            }
            (LiveActionKind::LookForStatus, Ok(None)) => self.status.is_doubtful = false,
            (LiveActionKind::LookForPreview, Ok(None)) => self.preview.is_doubtful = false,
            // While the turn runs it is searched for again; after its end, the next start does that.
            (LiveActionKind::LookForStatus, Err(_)) => {
                self.status.is_doubtful = self.summary.is_none()
            }
            (LiveActionKind::LookForPreview, Err(_)) => {
                self.preview.is_doubtful = self.summary.is_none()
            }
            (LiveActionKind::FinishStatus, _) => self.status.gone(),
            (LiveActionKind::FinishPreview, _) => self.preview.gone(),
            (LiveActionKind::Sign, _)
            | (
                LiveActionKind::PostStatus
                | LiveActionKind::PostPreview
                | LiveActionKind::EditStatus
                | LiveActionKind::EditPreview,
                Ok(_),
            ) => {}
        }
    }

    fn react(&mut self) -> Option<LiveAction> {
        let progress = self.feed.progress.borrow();
        let next = progress
            .steered
            .iter()
            .find(|message| !self.reacted.contains(message))
            .copied()?;
        drop(progress);
        self.reacted.push(next);
        Some(LiveAction::React(next))
    }

    fn type_on(&mut self, now: Instant) -> Option<LiveAction> {
        if self.is_asking || now < self.next_typing {
            return None;
        }
        self.next_typing = now + TYPING_EVERY;
        Some(LiveAction::Type)
    }

    fn show_preview(&mut self, now: Instant) -> Option<LiveAction> {
        if self.previews == Previews::Hidden
            || self.preview.given_up
            || self.outdated_since.is_some()
            || self.speaks_since.is_none()
            || now < self.preview_due()
        {
            return None;
        }
        if self.preview.is_doubtful {
            return Some(LiveAction::LookForPreview);
        }
        let said = self.feed.speech.borrow().text.clone();
        if said.trim().is_empty() || said == self.said {
            return None;
        }
        let body = status_text::preview(&said);
        self.said = said;
        self.preview.edited = now;
        Some(match self.preview.message {
            Some(message) => LiveAction::EditPreview(message, body),
            None => LiveAction::PostPreview(body),
        })
    }

    fn show_status(&mut self, now: Instant) -> Option<LiveAction> {
        if self.is_asking || self.status.given_up || now < self.working_since + STATUS_AFTER {
            return None;
        }
        if self.status.is_doubtful {
            return Some(LiveAction::LookForStatus);
        }
        let progress = self.feed.progress.borrow().clone();
        let doing = format!(
            "{}{}{:?}{:?}{:?}",
            progress.step, progress.doing, progress.usage, progress.recent, progress.children
        );
        let only_the_clock = doing == self.doing && self.status.message.is_some();
        if only_the_clock && now < self.status.edited + CLOCK_EVERY {
            return None;
        }
        let body = status_text::live(&progress, progress.started.elapsed(), self.turn.turn);
        self.doing = doing;
        self.status.edited = now;
        Some(match self.status.message {
            Some(message) => LiveAction::EditStatus(message, body),
            None => LiveAction::PostStatus(body),
        })
    }

    /// Returns whether the channel possibly does not contain the answer yet: until it does, messages with a part of it
    /// stay.
    fn awaits_its_answer(&self) -> bool {
        let is_answered = self
            .summary
            .as_ref()
            .is_some_and(|summary| summary.said == Said::Answer);
        is_answered && !self.has_spoken
    }

    /// Cleans up at the end: next to the answer nothing is left. Without one, the preview is changed to show why.
    fn tidy(&mut self, summary: &TurnSummary) -> Option<LiveAction> {
        if self.awaits_its_answer() {
            return None;
        }
        if self.preview.is_doubtful {
            return Some(LiveAction::LookForPreview);
        }
        if let Some(preview) = self.preview.message {
            // An abort leaves one notice, which names the running work.
            let cut_words = self
                .cut_words()
                .filter(|_| summary.exit != EndReason::Aborted);
            return Some(match (summary.said, cut_words) {
                (Said::Report, Some(said)) => {
                    let why = status_text::unfinished(summary.exit);
                    LiveAction::FinishPreview(preview, status_text::preview_ended(&said, &why))
                }
                (Said::Report, None) | (Said::Answer, _) => LiveAction::DeletePreview(preview),
            });
        }
        if self.status.is_doubtful {
            return Some(LiveAction::LookForStatus);
        }
        Some(LiveAction::DeleteStatus(self.status.message?))
    }

    /// Returns the last words of the model before the turn ended, if the preview shows them.
    fn cut_words(&self) -> Option<String> {
        let speech = self.feed.speech.borrow();
        if speech.step != self.preview_step {
            return None;
        }
        let said = [&speech.text, &self.said];
        said.into_iter()
            .find(|said| !said.trim().is_empty())
            .cloned()
    }

    fn request(&self, act: LiveAction) -> LiveRequest {
        LiveRequest {
            turn: self.turn.turn,
            channel: self.turn.channel,
            reply_to: self.turn.reply_to,
            act,
        }
    }
}

impl Shown {
    fn found(&mut self, message: MessageId) {
        self.message = Some(message);
        self.is_doubtful = false;
    }

    fn gone(&mut self) {
        self.message = None;
    }

    /// Records an unanswered post, which may have been made anyway.
    fn lose_post(&mut self, error: &RestError) {
        self.is_doubtful = matches!(error, RestError::Unreachable(_));
        self.lose(error);
    }

    /// Records a failed request: one that Discord refused is not tried again, one that had to wait is.
    fn lose(&mut self, error: &RestError) {
        match error {
            RestError::Busy | RestError::Unreachable(_) => {}
            RestError::Refused { .. } | RestError::Unauthorized => {
                self.given_up = true;
                self.message = None;
            }
        }
    }
}

fn keep<T>(stored: Result<T, crate::store::StoreError>) {
    if let Err(error) = stored {
        tracing::warn!(%error, "failed to store the id of a message; a crash would leave it as it is");
    }
}
