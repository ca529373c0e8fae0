//! Memory that a crowd of turns took and that nobody needs after it: caches of the ledger, and what the C library keeps.

use std::time::Duration;

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::manager::AgentManager;
use crate::store::Store;

/// Number of simultaneous turns after which it is worth searching the heap.
const CROWD: usize = 16;

/// Silence after which the search delays no turn.
const SILENCE: Duration = Duration::from_secs(5);

/// Gives memory back to the system after each crowd, until `stop`: free memory of the heap, and caches of the ledger.
pub(super) async fn give_back_after_crowds(
    manager: AgentManager,
    store: Store,
    stop: CancellationToken,
) {
    let mut turns = manager.turns_running();
    let crowds = async {
        while crowd_is_over(&mut turns, SILENCE).await {
            manager.release_conversations().await;
            if let Err(error) = store.release_caches().await {
                warn!("failed to give back the memory of the ledger's caches: {error}");
            }
            // It does not panic.
            let _ = spawn_blocking(chorus_heap::give_back).await;
            debug!("memory of a crowd of turns is given back");
        }
    };
    stop.run_until_cancelled(crowds).await;
}

/// Waits until at least 16 of the `turns` ran at once and none has for `silence`. False once the counter is gone.
pub async fn crowd_is_over(turns: &mut watch::Receiver<usize>, silence: Duration) -> bool {
    if turns.wait_for(|running| *running >= CROWD).await.is_err() {
        return false;
    }
    loop {
        if turns.wait_for(|running| *running == 0).await.is_err() {
            return false;
        }
        match timeout(silence, turns.changed()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return false,
            Err(_) => return true,
        }
    }
}
