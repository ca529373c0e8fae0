//! Work on long texts that does not block the thread which serves everyone.
//!
//! Text from a model or a page may be megabytes long, and each pass over a megabyte (parsing JSON, patterns, secrets)
//! takes milliseconds. On the runtime's only worker (`docs/decisions/0813-one-worker-for-async-work.md`) every agent
//! waits for these.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Bytes from which another thread takes over the worker; for less, that costs more than it saves.
const LONG: usize = 64 << 10;

/// Does `work` on this many bytes; if they are many, another thread serves everything else meanwhile.
pub fn work_on<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes > LONG && has_other_threads() {
        block_in_place(work)
    } else {
        work()
    }
}

/// Returns whether another thread can take over: not in a single-threaded runtime.
fn has_other_threads() -> bool {
    Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
