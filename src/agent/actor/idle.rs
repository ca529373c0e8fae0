//! What an actor does when nobody writes: after the timeout its contexts are summarised, saved and closed.

use std::time::Duration;

use tokio::task::Id;
use tracing::{error, info};

use super::contexts::Context;
use super::{Actor, Done};
use crate::agent::conversation::Conversation;
use crate::agent::conversation::saving::{IdleSave, IdleSaving, SummaryStops};
use crate::agent::event::Event;
use crate::agent::idle_timer::IdleFired;
use crate::agent::sessions::{SUMMARY_TIMEOUT, Save, SessionError, Summary};
use crate::clock;
use crate::domain::{ChannelId, ConversationId, SaveTrigger, SessionId, SessionMeta};
use crate::store::{NewPart, PartButton, StoreError, TaskKind, TaskStatus};
use crate::text::{self, escape};

impl Actor {
    /// Somebody wrote in a channel or thread of this agent, and not to the agent.
    pub(super) fn activity_in(&mut self, channel: ChannelId) {
        for conversation in self.conversations.values_mut() {
            if conversation.channel == channel {
                conversation.last_activity = clock::now();
            }
        }
        self.silence_is_over();
        self.rest_if_empty();
    }

    /// Somebody wrote: the timeout begins again, and the idle save is given up.
    pub(super) fn silence_is_over(&mut self) {
        self.idle_saving = None;
        self.timer.reset();
    }

    /// Whether this task makes the summaries of an idle save.
    pub(super) fn saves_after_silence_in(&self, task: Id) -> bool {
        let saving = self.idle_saving.as_ref();
        saving.is_some_and(|saving| saving.task == task)
    }

    /// With no items in any context the agent is idle and no timer runs.
    pub(super) fn rest_if_empty(&mut self) {
        if self
            .conversations
            .values()
            .all(|conversation| conversation.len() == 0 || conversation.plan.is_some())
        {
            self.timer.stop();
        }
    }

    /// How long silence may last, as configured now; `None` means for ever.
    pub(super) async fn idle_timeout(&self) -> Option<Duration> {
        let config = self.deps.agent_config(&self.agent).await;
        self.deps.effective(&self.agent, &config).idle_timeout
    }

    /// Starts the timer again with the timeout that applies, where there is a context to watch.
    pub(super) async fn rearm(&mut self) {
        let timeout = self.idle_timeout().await;
        self.timer.set_timeout(timeout);
        self.silence_begins();
    }

    /// Starts the timer again, where there is a context to watch.
    pub(super) fn silence_begins(&mut self) {
        self.timer.reset();
        self.rest_if_empty();
    }

    /// Whether commands of a conversation still run that will report back into it.
    async fn work_goes_on(&self) -> bool {
        let Ok(shell) = &self.deps.services.shell else {
            return false;
        };
        if !shell.tasks.any_running(self.agent.id) {
            return false;
        }
        let views = shell.tasks.views(self.agent.id).await.unwrap_or_default();
        views
            .iter()
            .any(|task| task.status == TaskStatus::Running && task.kind == TaskKind::Concurrent)
    }

    /// The timeout has passed: summaries are requested, and a message that comes meanwhile ends this.
    pub(super) async fn idle_fired(&mut self, fired: IdleFired) {
        if self.is_going() || !self.timer.is_current(fired) {
            return;
        }
        let timeout = self.idle_timeout().await;
        if timeout != self.timer.timeout() {
            // The timeout was changed meanwhile: the silence is compared with the new one.
            self.timer.set_timeout(timeout);
            return;
        }
        if self.work_goes_on().await || self.deps.questions.is_open_for(self.agent.id) {
            self.timer.reset();
            return;
        }
        let (kept, new) = match self.idle_contexts().await {
            Ok(idle) => idle,
            Err(error) => return self.trouble(None, &error),
        };
        if kept.is_empty() && new.is_empty() {
            return;
        }
        let kept_ids = kept.iter().map(|(id, _)| *id);
        let stops = SummaryStops::of(kept_ids.chain(new.iter().map(|(id, _)| *id)));
        let summaries = self.summaries(&new, &stops, SUMMARY_TIMEOUT);
        let task = self.work.spawn(async move {
            let new = new.into_iter().map(|(id, _)| id);
            let summed = new.zip(summaries.await.into_iter().map(IdleSave::New));
            Done::IdleSave(fired, kept.into_iter().chain(summed).collect())
        });
        self.idle_saving = Some(IdleSaving {
            fired,
            task: task.id(),
            stops,
        });
    }

    /// The conversations that hold items: first those that a session of the last stop holds unchanged, then all others.
    async fn idle_contexts(
        &self,
    ) -> Result<(Vec<(ConversationId, IdleSave)>, Vec<Context>), StoreError> {
        let (mut kept, mut new) = (Vec::new(), Vec::new());
        for context in self.contexts(is_saved).await? {
            match self
                .deps
                .kept_at_the_stop(&self.sessions, context.0)
                .await?
            {
                Some(meta) => kept.push((context.0, IdleSave::Kept(Box::new(meta)))),
                None => new.push(context),
            }
        }
        Ok((kept, new))
    }

    /// Saves and clears, unless somebody wrote while the summaries were made. A conversation whose save somebody stopped
    /// stays as it was, until the next silence.
    pub(super) async fn save_idle_contexts(
        &mut self,
        fired: IdleFired,
        saves: Vec<(ConversationId, IdleSave)>,
    ) {
        let saving = self.idle_saving.take_if(|saving| saving.fired == fired);
        let Some(saving) = saving else { return };
        if self.is_going() || !self.timer.is_current(fired) {
            return;
        }
        let (stopped, saves): (Vec<_>, Vec<_>) = saves
            .into_iter()
            .partition(|(id, _)| saving.stops.is_stopped(*id));
        for (id, save) in saves {
            if let Err(error) = self.put_away(id, save).await {
                error!(agent.id = %self.agent.id, "failed to save an idle context: {error}");
                self.deps.emit(Event::Say {
                    channel: self.agent.channel,
                    reply_to: None,
                    text: escape::sentence(&format!(
                        "The session could not be saved, so the conversation is kept: {error}"
                    )),
                });
                self.rearm().await;
                return;
            }
        }
        if stopped.is_empty() {
            self.timer.stop();
        } else {
            self.rearm().await;
        }
    }

    async fn put_away(&mut self, id: ConversationId, save: IdleSave) -> Result<(), SessionError> {
        let Some(conversation) = self.conversations.get(&id) else {
            return Ok(());
        };
        let channel = conversation.channel;
        let whose = match conversation.branch {
            Some(number) => format!("Branch #{number}: "),
            None => String::new(),
        };
        let meta = match save {
            IdleSave::Kept(meta) => *meta,
            IdleSave::New(summary) => self.save_idle(id, summary).await?,
        };
        self.empty(id).await?;
        let silence = self.timer.timeout().map(in_words).unwrap_or_default();
        let text = format!(
            "{whose}Session saved: {} Context cleared after {silence} of inactivity. Use /context restore {} to resume.",
            escape::text(&text::sentence(&meta.summary)),
            meta.id.short()
        );
        let mut notice = NewPart::notice(text);
        let id = format!("restore:{}", meta.id);
        notice.body.button = Some(PartButton::new(id, "Resume"));
        self.deps.store.post(channel, None, notice).await?;
        self.deps.emit(Event::Outbox(channel));
        info!(agent.id = %self.agent.id, session.id = %meta.id, "agent {} fell idle and was saved", self.agent.name);
        Ok(())
    }

    async fn save_idle(
        &self,
        id: ConversationId,
        summary: Summary,
    ) -> Result<SessionMeta, SessionError> {
        let save = Save {
            id: SessionId::random(),
            conversation: Some(id),
            items: self.finished_items(id).await?,
            description: None,
            summary,
            trigger: SaveTrigger::IdleTimeout,
            hides_words: false,
        };
        self.deps
            .save_session_in(&self.sessions, &self.agent, id, save)
            .await
    }
}

/// Says whether an idle save is about a conversation: those of schedules and webhooks end by themselves.
fn is_saved(conversation: &Conversation) -> bool {
    conversation.len() > 0 && conversation.plan.is_none()
}

/// A timeout as the notice names it: in minutes, or in seconds where it is not a whole number of minutes.
fn in_words(length: Duration) -> String {
    let (count, unit) = match length.as_secs() {
        seconds if seconds % 60 == 0 => (seconds / 60, "minute"),
        seconds => (seconds, "second"),
    };
    match count {
        1 => format!("1 {unit}"),
        _ => format!("{count} {unit}s"),
    }
}
