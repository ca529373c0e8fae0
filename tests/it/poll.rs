//! Waiting for what nobody announces: a file that a command makes, a process that ends, a row in the ledger.
//!
//! What announces itself (a message at Discord, a request to the model) is waited for by its event instead.

use std::time::Duration;

/// Between two looks. Looking without a pause would take a core from the daemon that is waited for.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

/// Waits for a state of the machine; the test's own time limit is what bounds it.
pub(crate) async fn until(reached: impl Fn() -> bool) {
    while !reached() {
        pause().await;
    }
}

/// For loops whose look is asynchronous.
pub(crate) async fn pause() {
    tokio::time::sleep(PAUSE).await;
}
