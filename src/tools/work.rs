//! What a worker process does for tools: work on text that a model, a page or a command wrote, in libraries that cannot be
//! stopped.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::error::ToolError;
use crate::exec::{WorkError, WorkFailure, WorkLimits};

/// Limits of work on text: enough for 2 MiB of a large page or a pattern of 10 MiB, and little compared with the daemon
/// itself.
pub(super) const TEXT: WorkLimits = WorkLimits {
    memory: 64 << 20,
    seconds: 10,
};

/// Limits of reading a repository: libgit2 holds an object whole, which may have 256 MiB.
pub(super) const GIT: WorkLimits = WorkLimits {
    memory: 640 << 20,
    seconds: 30,
};

/// One kind of work. The value holds its arguments, which are sent to the worker as JSON.
pub(super) trait Work: Serialize + DeserializeOwned {
    const NAME: &'static str;
    /// What it may take.
    const LIMITS: WorkLimits;

    /// Does it, in the worker.
    fn run(self, bytes: &[u8]) -> Result<String, ToolError>;
}

/// An entry of the list of all work: its name, and what does it in the worker.
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
