//! The composition root: opens, wires, runs, stops in order.

mod log;
mod metrics;
mod options;
mod pulse;
mod web;

use tokio_util::sync::CancellationToken;

pub use log::start as start_log;
pub use options::{DaemonError, DaemonOptions, Phase};

/// Runs the daemon until `stop` is cancelled or Discord ends it for good.
///
/// # Errors
///
/// When it cannot start, or must not go on; see [`DaemonError`] for who can act.
pub async fn run(options: DaemonOptions, stop: CancellationToken) -> Result<(), DaemonError> {
    let _ = (options, stop);
    Err(DaemonError::Failed(anyhow::anyhow!(
        "the daemon's rooms are not joined yet"
    )))
}
