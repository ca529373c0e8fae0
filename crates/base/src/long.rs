//! Work on long texts that does not hold up the thread which serves everybody.
//!
//! What a model or a page wrote may be megabytes long, and each pass over a megabyte (reading JSON, patterns, secrets)
//! takes milliseconds. On the one worker of the runtime (`docs/decisions/0813-one-worker-for-async-work.md`) every agent
//! waits for these.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Bytes from which another thread takes over the worker: below it, that costs more than it helps.
const LONG: usize = 64 << 10;

/// Does `work` on so many bytes; if they are many, another thread serves everything else meanwhile.
pub fn work_on<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes > LONG && has_other_threads() {
        block_in_place(work)
    } else {
        work()
    }
}

/// Whether another thread can take over: not in a runtime of one thread.
fn has_other_threads() -> bool {
    Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
