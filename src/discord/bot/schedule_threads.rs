//! Threads of schedules and webhooks: opened below the agent's channel.

use async_trait::async_trait;
use serde_json::json;

use super::{Bot, Refusal};
use crate::discord::rest::explain::Operation;
use crate::discord::rest::{Request, Urgency, route, snowflake};
use crate::domain::ChannelId;
use crate::manager::{ChannelError, Threads};

/// A thread that everyone who sees the channel can see.
const PUBLIC: u64 = 11;

/// Minutes without messages after which Discord archives a thread: a week.
const ARCHIVED_AFTER: u64 = 10_080;

impl Bot {
    /// Opens the thread of a schedule or a webhook.
    pub(in crate::discord) async fn open_schedule_thread(
        &self,
        below: ChannelId,
        name: &str,
    ) -> Result<ChannelId, Refusal> {
        let wanted = json!({
            "name": name,
            "type": PUBLIC,
            "auto_archive_duration": ARCHIVED_AFTER,
        });
        let request = Request::new(route::create_thread(below), Urgency::Durable)
            .json(wanted)
            .once();
        let _opening = self.opening.begin(below);
        let made = self.rest.send(request).await;
        let made =
            made.map_err(|error| Refusal(self.refusal(Operation::OpenThread, below, &error)))?;
        match snowflake(&made["id"]) {
            Some(id) => Ok(ChannelId(id)),
            None => Err(Refusal::new(
                "Discord opened a thread but did not say which one. Try again.",
            )),
        }
    }
}

#[async_trait]
impl Threads for Bot {
    async fn open_thread(&self, below: ChannelId, name: &str) -> Result<ChannelId, ChannelError> {
        let opened = self.open_schedule_thread(below, name).await;
        opened.map_err(|refusal| ChannelError(refusal.0))
    }
}
