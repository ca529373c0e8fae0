//! The end, in order and within 20 seconds, even if something hangs.
//!
//! Work that was not sent or saved in time is in the ledger, where the next start finds it.

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

use super::app::App;
use crate::discord::{DiscordError, Ends};
use crate::text;

/// Ending turns and saving contexts: summaries get 5 s of it, the disk the rest.
const TURNS: Duration = Duration::from_secs(9);

/// Ending tasks: SIGTERM, 2 s, SIGKILL.
const TASKS: Duration = Duration::from_secs(4);

/// Sending the remaining messages, and closing the gateway.
const LAST_WORDS: Duration = Duration::from_secs(4);

/// Tasks that only watch.
const HELPERS: Duration = Duration::from_secs(1);

/// Writing the log back into the database.
const DATABASE: Duration = Duration::from_secs(1);

/// Stops in order: no new messages → turns and contexts → tasks → last messages and gateway → database.
pub(super) async fn in_order(
    app: &App,
    ends: &Ends,
    discord: JoinHandle<Result<(), DiscordError>>,
    helpers: TaskTracker,
) {
    ends.intake.cancel();
    // A call of a server must not keep a turn from ending: the next start finds out whether it was done.
    let turns = async { tokio::join!(app.manager.routing.shut_down(), app.mcp.shut_down()).0 };
    if let Some(saved) = within(TURNS, "turns", turns).await
        && !saved.is_empty()
    {
        let contexts = text::count(saved.len(), "context was", "contexts were");
        info!("{contexts} saved");
    }
    if let Some(ended) = within(TASKS, "tasks", app.tasks.shutdown()).await {
        app.tell_channels(ended).await;
    }
    ends.all.cancel();
    // It may have ended before, which is why the daemon stops.
    if !discord.is_finished() {
        within(LAST_WORDS, "Discord", discord).await;
    }
    within(HELPERS, "helpers", helpers.wait()).await;
    within(DATABASE, "the database", app.store.close()).await;
}

async fn within<T>(limit: Duration, what: &str, step: impl Future<Output = T>) -> Option<T> {
    let done = timeout(limit, step).await.ok();
    if done.is_none() {
        warn!(
            "failed to end {what} within {} s: no longer waiting",
            limit.as_secs()
        );
    }
    done
}
