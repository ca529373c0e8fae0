//! The log: for people on a terminal, one JSON object a line elsewhere.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

/// What is logged when `CHORUS_LOG` says nothing: our own steps, and others' trouble.
const DEFAULT_FILTER: &str = "warn,chorus=info";

/// Starts the log of this process on standard error. Later calls have no effect.
///
/// `filter` is a list such as `info,chorus::llm=debug`.
///
/// # Errors
///
/// When `filter` is no such list.
pub fn start(filter: Option<&str>) -> Result<(), String> {
    let filter = EnvFilter::try_new(filter.unwrap_or(DEFAULT_FILTER)).map_err(|error| {
        format!("CHORUS_LOG is no filter: {error}; write one such as info,chorus::llm=debug")
    })?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    // Somebody else's log (a test's) stays.
    let _ = if is_for_people() {
        log.compact().try_init()
    } else {
        log.json().flatten_event(true).try_init()
    };
    Ok(())
}

/// Standard error is a terminal, and not systemd's journal.
fn is_for_people() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("JOURNAL_STREAM").is_none()
}
