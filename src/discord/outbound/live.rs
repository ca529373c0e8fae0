//! What one running turn looks like: typing, a live status, a growing preview, a sign on messages taken in.
//!
//! Nothing here claims anything, so nothing of it is worth a wait: what Discord has no room for now is left out, and
//! the latest state is shown when there is room again. Only the last edit is made to arrive.

use std::time::Duration;

use tokio::time::Instant;

use super::Previews;
use super::live_request::{Done, LiveAction, LiveActionKind, LiveRequest};
use crate::agent::event::{Feed, Said, TurnRef, TurnSummary};
use crate::discord::render::status_text;
use crate::discord::rest::RestError;
use crate::domain::MessageId;
use crate::store::Store;

/// A turn shorter than this shows no typing.
const TYPING_AFTER: Duration = Duration::from_millis(200);

/// Discord shows typing for ten seconds.
const TYPING_EVERY: Duration = Duration::from_secs(8);

/// A turn shorter than this shows no preview: its answer is there at once.
const PREVIEW_AFTER: Duration = Duration::from_millis(500);

/// A turn shorter than this shows no status.
const STATUS_AFTER: Duration = Duration::from_millis(700);

/// Where nothing but the clock has changed, the status is edited only this often.
const CLOCK_EVERY: Duration = Duration::from_secs(5);

/// A running turn, as its channel sees it.
pub(super) struct Live {
    turn: TurnRef,
    feed: Feed,
    previews: Previews,
    began: Instant,
    next_typing: Instant,
    status: Shown,
    preview: Shown,
    said: String,
    doing: String,
    reacted: Vec<MessageId>,
    summary: Option<TurnSummary>,
    /// Something happened that nobody has looked at yet.
    is_news: bool,
    /// Something may have changed that an edit would show.
    is_stale: bool,
}

#[derive(Debug)]
struct Shown {
    message: Option<MessageId>,
    edited: Instant,
    /// It cannot be shown, or is not ours to edit any more.
    given_up: bool,
    /// It was posted, and the answer to that never came: it may be there.
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
            began,
            next_typing: began + TYPING_AFTER,
            status: unseen(),
            preview: unseen(),
            said: String::new(),
            doing: String::new(),
            reacted: Vec::new(),
            summary: None,
            is_news: false,
            is_stale: true,
        }
    }

    /// Waits until the turn has something new to show; for ever, once it has ended.
    pub(super) async fn changes(&mut self) {
        if self.summary.is_some() {
            return std::future::pending().await;
        }
        // A short turn shows nothing, so nobody need be woken by it.
        let shows_from = self.began + TYPING_AFTER;
        if Instant::now() < shows_from {
            tokio::time::sleep_until(shows_from).await;
        }
        let Feed { progress, preview } = &mut self.feed;
        tokio::select! {
            Ok(()) = progress.changed() => {}
            // Every word of the model changes it; one of them is enough until the next edit.
            Ok(()) = preview.changed(), if !self.is_stale => {}
            else => std::future::pending().await,
        }
        (self.is_news, self.is_stale) = (true, true);
    }

    pub(super) fn turn(&self) -> &TurnRef {
        &self.turn
    }

    /// The turn ended: from here on there is only tidying up.
    pub(super) fn end(&mut self, summary: TurnSummary) {
        self.summary = Some(summary);
    }

    /// The preview became part of the answer.
    pub(super) fn forget_preview(&mut self, message: MessageId) {
        if self.preview.message == Some(message) {
            self.preview.message = None;
            self.preview.given_up = true;
        }
    }

    /// Ended, with nothing left to tidy up.
    pub(super) fn is_over(&self) -> bool {
        let is_gone = |shown: &Shown| shown.message.is_none() && !shown.is_doubtful;
        self.summary.is_some() && is_gone(&self.status) && is_gone(&self.preview)
    }

    /// When it should be looked at again, if nothing changes before.
    pub(super) fn due(&self, now: Instant, next_edit: Instant) -> Instant {
        if self.summary.is_some() || self.is_news {
            return now;
        }
        let status = match self.status.message {
            None => self.began + STATUS_AFTER,
            Some(_) => self.status.edited + CLOCK_EVERY,
        };
        let shows_status = (!self.status.given_up).then_some(status);
        let shows_change = self.is_stale.then_some(self.began + PREVIEW_AFTER);
        let edit = [shows_status, shows_change].into_iter().flatten().min();
        match edit {
            Some(edit) => self.next_typing.min(edit.max(next_edit)),
            None => self.next_typing,
        }
    }

    /// The next thing to do. Edits only when `may_edit`.
    pub(super) fn next_request(&mut self, now: Instant, may_edit: bool) -> Option<LiveRequest> {
        let act = match self.summary.clone() {
            Some(summary) => self.tidy(&summary),
            None => self
                .react()
                .or_else(|| self.type_on(now))
                .or_else(|| may_edit.then(|| self.show(now)).flatten()),
        };
        // With an operation done there may be another one; without, all that happened was looked at.
        self.is_news = act.is_some();
        act.map(|act| self.request(act))
    }

    /// What an edit would show, the preview first.
    fn show(&mut self, now: Instant) -> Option<LiveAction> {
        let act = self.show_preview(now).or_else(|| self.show_status(now));
        let is_early = now < self.began + PREVIEW_AFTER;
        self.is_stale = act.is_some() || is_early;
        act
    }

    /// What is still to be tidied up when the hub ends, one request after the other.
    pub(super) fn last_request(&mut self) -> Option<LiveRequest> {
        let act = match self.summary.clone() {
            Some(summary) => self.tidy(&summary)?,
            None => LiveAction::Finish(self.status.message?, status_text::interrupted()),
        };
        Some(self.request(act))
    }

    /// Keeps what came of an operation.
    pub(super) async fn note(&mut self, done: Done, store: &Store) {
        let turn = self.turn.turn;
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
            // While the turn runs it is looked for again; at its end, the next start does so.
            (LiveActionKind::LookForStatus, Err(_)) => {
                self.status.is_doubtful = self.summary.is_none()
            }
            (LiveActionKind::LookForPreview, Err(_)) => {
                self.preview.is_doubtful = self.summary.is_none()
            }
            (LiveActionKind::FinishStatus, _) => self.status.message = None,
            (LiveActionKind::FinishPreview, _) => self.preview.message = None,
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
        if now < self.next_typing {
            return None;
        }
        self.next_typing = now + TYPING_EVERY;
        Some(LiveAction::Type)
    }

    fn show_preview(&mut self, now: Instant) -> Option<LiveAction> {
        if self.previews == Previews::Hidden
            || self.preview.given_up
            || now < self.began + PREVIEW_AFTER
        {
            return None;
        }
        if self.preview.is_doubtful {
            return Some(LiveAction::LookForPreview);
        }
        let said = self.feed.preview.borrow().clone();
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
        if self.status.given_up || now < self.began + STATUS_AFTER {
            return None;
        }
        if self.status.is_doubtful {
            return Some(LiveAction::LookForStatus);
        }
        let progress = self.feed.progress.borrow().clone();
        let doing = format!(
            "{}{}{:?}{:?}",
            progress.step, progress.doing, progress.usage, progress.recent
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

    /// A preview beside the answer goes, and one without an answer says what became of it; then the status becomes a footer.
    fn tidy(&mut self, summary: &TurnSummary) -> Option<LiveAction> {
        if self.preview.is_doubtful {
            return Some(LiveAction::LookForPreview);
        }
        if let Some(preview) = self.preview.message {
            return Some(match summary.said {
                Said::Answer => LiveAction::DeletePreview(preview),
                Said::Report => {
                    let why = status_text::unfinished(&summary.exit);
                    LiveAction::FinishPreview(preview, status_text::preview_ended(&self.said, &why))
                }
            });
        }
        if self.status.is_doubtful {
            return Some(LiveAction::LookForStatus);
        }
        let status = self.status.message?;
        Some(LiveAction::Finish(status, status_text::footer(summary)))
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

    /// A post that was not answered may have been made all the same.
    fn lose_post(&mut self, error: &RestError) {
        self.is_doubtful = matches!(error, RestError::Unreachable(_));
        self.lose(error);
    }

    /// What cannot be shown is not tried again; what there was no room for is.
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
