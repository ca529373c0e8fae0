//! What an actor does when nobody writes: after the timeout its contexts are summed up, saved and put away.

use std::time::Duration;

use futures_util::future::join_all;
use tracing::{error, info};

use crate::domain::{ConversationId, Trigger};
use crate::store::{TaskKind, TaskStatus};

use super::actor::{Actor, Done};
use super::compact;
use super::event::Event;
use super::idle_timer::IdleFired;
use super::session_manager::{SUMMARY_PATIENCE, SessionError, Summary};
use super::sessions::ToSave;

impl Actor {
    /// With nothing in any context the agent is idle and no timer runs.
    pub(super) fn rest_if_empty(&mut self) {
        if self
            .conversations
            .values()
            .all(|conversation| conversation.len() == 0)
        {
            self.timer.stop();
        }
    }

    /// How long silence may last, as configured now; none is for ever.
    pub(super) async fn idle_timeout(&self) -> Option<Duration> {
        let config = self.parts.agent_config(&self.agent).await;
        self.parts.effective(&self.agent, &config).idle_timeout
    }

    /// Starts the timer anew with the timeout in force, where there is a context to watch.
    pub(super) async fn rearm(&mut self) {
        let timeout = self.idle_timeout().await;
        self.timer.set_timeout(timeout);
        self.timer.reset();
        self.rest_if_empty();
    }

    /// Whether commands of a conversation still run that report back into it.
    async fn work_goes_on(&self) -> bool {
        let Ok(shell) = &self.parts.services.shell else {
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

    /// The silence has lasted: summaries are asked for, and a message that comes meanwhile ends it.
    pub(super) async fn idle_fired(&mut self, fired: IdleFired) {
        if !self.timer.is_current(fired) {
            return;
        }
        let timeout = self.idle_timeout().await;
        if timeout != self.timer.timeout() {
            // It was set to another one meanwhile: the silence is measured against that.
            self.timer.set_timeout(timeout);
            return;
        }
        if self.work_goes_on().await {
            self.timer.reset();
            return;
        }
        let mut asked = Vec::new();
        let full: Vec<ConversationId> = self
            .conversations
            .values()
            .filter(|conversation| conversation.len() > 0)
            .map(|conversation| conversation.id)
            .collect();
        for id in full {
            match self.finished_items(id).await {
                Ok(items) => asked.push((id, items)),
                Err(error) => return self.trouble(None, &error),
            }
        }
        if asked.is_empty() {
            return;
        }
        let (parts, agent) = (self.parts.clone(), self.agent.clone());
        self.work.spawn(async move {
            let config = parts.agent_config(&agent).await;
            let summaries = asked.iter().map(|(id, items)| {
                let (parts, agent, config) = (&parts, &agent, &config);
                async move {
                    (
                        *id,
                        compact::summary(parts, agent, config, items, SUMMARY_PATIENCE).await,
                    )
                }
            });
            Done::Farewell(fired, join_all(summaries).await)
        });
    }

    /// Saves and clears, unless somebody wrote while the summaries were made.
    pub(super) async fn farewell(
        &mut self,
        fired: IdleFired,
        summaries: Vec<(ConversationId, Summary)>,
    ) {
        if !self.timer.is_current(fired) {
            return;
        }
        for (id, summary) in summaries {
            if let Err(error) = self.put_away(id, summary).await {
                error!(agent.id = %self.agent.id, "an idle context could not be saved: {error}");
                self.parts.emit(Event::Say {
                    channel: self.agent.channel,
                    reply_to: None,
                    text: format!(
                        "The session could not be saved, so the context is kept: {error}"
                    ),
                });
                self.rearm().await;
                return;
            }
        }
        self.timer.stop();
    }

    async fn put_away(&mut self, id: ConversationId, summary: Summary) -> Result<(), SessionError> {
        let Some(conversation) = self.conversations.get(&id) else {
            return Ok(());
        };
        let channel = conversation.channel;
        let items = self.finished_items(id).await?;
        let save = ToSave {
            conversation: Some(id),
            items,
            description: None,
            summary,
            trigger: Trigger::IdleTimeout,
        };
        let meta = self.parts.save_session(&self.agent, save).await?;
        self.empty(id).await?;
        let silence = self.timer.timeout().map(in_words).unwrap_or_default();
        let text = format!(
            "Session saved: {} Context cleared after {silence} of inactivity. Use /context restore {} to resume.",
            sentence(&meta.summary),
            meta.id.short()
        );
        self.parts.store.notice(channel, &text).await?;
        self.parts.emit(Event::Outbox(channel));
        info!(agent.id = %self.agent.id, session.id = %meta.id, "agent {} fell idle and was saved", self.agent.name);
        Ok(())
    }
}

/// A timeout as the notice names it: minutes, or seconds where it is no whole number of minutes.
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

/// `text` with a full stop at its end.
fn sentence(text: &str) -> String {
    let text = text.trim();
    match text.ends_with(['.', '!', '?']) {
        true => text.to_owned(),
        false => format!("{text}."),
    }
}
