//! Where deliveries go: which conversation, which thread.

use chrono::TimeDelta;

use super::Webhooks;
use crate::agent::{NewBranch, Place};
use crate::domain::ChannelId;
use crate::store::{PlanOf, SchedulePlace, StoreError, WebhookRow};
use crate::text;

/// Threads that one webhook opens in a day: whoever sends chooses the values.
const MOST_THREADS: u32 = 50;
/// Characters of a thread's name.
const LONGEST_NAME: usize = 90;

/// Why deliveries have no place: words that end "failed: …".
#[derive(Debug, thiserror::Error)]
pub(super) enum NoPlace {
    #[error("it has opened {MOST_THREADS} threads within a day, which is the limit")]
    TooManyThreads,
    #[error("no thread can be opened before Discord is connected")]
    NotConnected,
    #[error("{0}")]
    NotOpened(String),
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl Webhooks {
    /// Returns where deliveries go. A value of `thread_by` gets its thread with its first delivery.
    pub(super) async fn place(
        &self,
        row: &WebhookRow,
        value: Option<&str>,
        channel: ChannelId,
    ) -> Result<Place, NoPlace> {
        let options = &row.webhook.options;
        match (options.place, value) {
            (SchedulePlace::Main, _) => Ok(Place::Channel(channel)),
            (SchedulePlace::Thread, None) => Ok(Place::Channel(options.thread.unwrap_or(channel))),
            (SchedulePlace::Thread, Some(value)) => {
                Ok(Place::Channel(self.thread(row, value, channel).await?))
            }
            (SchedulePlace::Fresh, value) => Ok(Place::NewBranch(NewBranch {
                plan: Some(PlanOf::Webhook {
                    id: row.webhook.id.clone(),
                    thread: value.map(str::to_owned),
                }),
                ..NewBranch::default()
            })),
        }
    }

    async fn thread(
        &self,
        row: &WebhookRow,
        value: &str,
        below: ChannelId,
    ) -> Result<ChannelId, NoPlace> {
        let (store, id) = (&self.deps.store, row.webhook.id.as_str());
        if let Some(known) = store.webhook_thread(id, value).await? {
            return Ok(known);
        }
        let now = self.deps.clock.now();
        let opened = store.webhook_threads_since(id, now - TimeDelta::days(1));
        if opened.await? >= MOST_THREADS {
            return Err(NoPlace::TooManyThreads);
        }
        let threads = self.threads.get().ok_or(NoPlace::NotConnected)?;
        let name = format!("{} {}", row.webhook.name, text::visible(value).0);
        let name = text::one_line(&name, LONGEST_NAME);
        let thread = threads.open_thread(below, &name).await;
        let thread = thread.map_err(|error| {
            NoPlace::NotOpened(error.to_string().trim_end_matches('.').to_owned())
        })?;
        store.keep_webhook_thread(id, value, (thread, now)).await?;
        Ok(thread)
    }
}
