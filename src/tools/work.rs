//! The work of a worker process for tools: on text that a model, a page or a command wrote, in libraries that cannot be
//! stopped.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::ToolError;
use crate::exec::{WorkError, WorkFailure, WorkLimits};

/// Most bytes of a file that is not the work itself: a temporary one of a few lines.
const SMALL_FILE: u64 = 1 << 20;

/// Limits of work on text: enough for 2 MiB of a large page or a pattern of 10 MiB, and little compared with the daemon
/// itself.
pub(super) const TEXT: WorkLimits = WorkLimits {
    memory: 64 << 20,
    seconds: 10,
    file_size: SMALL_FILE,
};

/// Limits of reading a repository: libgit2 keeps a whole object, which may have 256 MiB, in memory.
pub(super) const GIT: WorkLimits = WorkLimits {
    memory: 640 << 20,
    seconds: 30,
    file_size: SMALL_FILE,
};

/// Limits of writing to a repository: 200,000 new files take half of this time, and a file that `.gitattributes` has
/// converted is in memory twice.
pub(super) const GIT_WRITING: WorkLimits = WorkLimits {
    memory: 768 << 20,
    seconds: 60,
    file_size: 640 << 20,
};

/// Limits of checking a report: it and its schemas have a few hundred KiB, and the errors of every branch of a schema
/// for every item may take gigabytes.
pub(super) const REPORT: WorkLimits = WorkLimits {
    memory: 64 << 20,
    seconds: 4,
    file_size: 0,
};

/// One kind of work. The value has its arguments, which are sent to the worker as JSON.
pub(super) trait Work: Serialize + DeserializeOwned {
    const NAME: &'static str;
    /// Its resource limits.
    const LIMITS: WorkLimits;

    /// Does it, in the worker.
    fn run(self, bytes: &[u8]) -> Result<String, ToolError>;
}

/// Returns the name of `work`, and its arguments for the worker.
pub(super) fn order<W: Work>(work: &W) -> Result<(&'static str, String), WorkError> {
    let job = serde_json::to_string(work);
    let job = job.map_err(|error| WorkError::Failed(error.to_string()))?;
    Ok((W::NAME, job))
}

/// An entry of the list of all work: its name, and its function in the worker.
pub(super) type Line = (&'static str, fn(&str, &[u8]) -> Result<String, WorkFailure>);

pub(super) const fn line<W: Work>() -> Line {
    (W::NAME, run::<W>)
}

fn run<W: Work>(job: &str, bytes: &[u8]) -> Result<String, WorkFailure> {
    let work: W =
        serde_json::from_str(job).map_err(|error| WorkFailure::Failed(error.to_string()))?;
    work.run(bytes).map_err(|error| match error {
        ToolError::Rejected(why) => WorkFailure::Refused(why),
        ToolError::Failed(why) => WorkFailure::Failed(why.to_string()),
    })
}

impl From<WorkError> for ToolError {
    fn from(error: WorkError) -> Self {
        match error {
            WorkError::Refused(why) => Self::Rejected(why),
            WorkError::TooMuch(_) => Self::Rejected(format!("{error}; try something smaller")),
            WorkError::Failed(_) => Self::failed(error),
        }
    }
}
