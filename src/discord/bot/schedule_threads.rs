//! Threads of schedules: opened below the agent's channel as a schedule is confirmed.

use serde_json::json;

use super::{Bot, Refusal};
use crate::discord::rest::explain::Operation;
use crate::discord::rest::{Request, Urgency, route, snowflake};
use crate::domain::ChannelId;

/// A thread that everyone who sees the channel can see.
const PUBLIC: u64 = 11;

/// Minutes without messages after which Discord archives a thread: a week.
const ARCHIVED_AFTER: u64 = 10_080;

impl Bot {
    /// Opens the thread of a schedule.
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
