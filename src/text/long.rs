//! Work on long texts, done so that the thread which serves everybody goes on meanwhile.
//!
//! What a model or a page wrote may be megabytes long, and each look at a megabyte (reading JSON, patterns, secrets) takes
//! milliseconds. On the one worker of the runtime (`docs/decisions/0813-one-worker-for-async-work.md`) these are milliseconds of
//! every agent.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Bytes from which another thread takes over the worker: below it, that costs more than it gives.
const LONG: usize = 64 << 10;

/// Does `work` on so many bytes. Of many it is done while another thread serves what else there is.
pub fn work_on<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    if bytes > LONG && has_other_threads() {
        block_in_place(work)
    } else {
        work()
    }
}

/// A runtime of one thread has nobody to take over.
fn has_other_threads() -> bool {
    Handle::try_current()
        .is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
}
