//! What people see beside our name: idle, or how much is going on.

use std::time::Duration;

use serenity::all::{ActivityData, OnlineStatus, ShardMessenger};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Between two changes: Discord takes five in twenty seconds.
const EVERY: Duration = Duration::from_secs(5);

/// How busy we are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Turns running.
    pub tasks: usize,
    /// Agents with a running turn.
    pub agents: usize,
}

/// The line beside our name.
pub fn line(busy: Busy) -> String {
    let Busy { tasks, agents } = busy;
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    match tasks {
        0 => "Idle".to_owned(),
        _ => format!(
            "{tasks} task{} in {agents} agent{}",
            plural(tasks),
            plural(agents)
        ),
    }
}

/// Shows the latest of `busy` on the latest connection, until `stop`.
pub(super) async fn run(
    mut busy: watch::Receiver<Busy>,
    mut shard: watch::Receiver<Option<ShardMessenger>>,
    stop: CancellationToken,
) {
    loop {
        let now = *busy.borrow_and_update();
        if let Some(shard) = &*shard.borrow_and_update() {
            let status = if now.tasks == 0 {
                OnlineStatus::Idle
            } else {
                OnlineStatus::Online
            };
            shard.set_presence(Some(ActivityData::custom(line(now))), status);
        }
        let changed = async {
            tokio::time::sleep(EVERY).await;
            tokio::select! {
                changed = busy.changed() => changed.is_ok(),
                changed = shard.changed() => changed.is_ok(),
            }
        };
        tokio::select! {
            () = stop.cancelled() => return,
            goes_on = changed => if !goes_on { return },
        }
    }
}
