//! Errors around a command: in the helper that confines it, and while the machine's sandbox layers are tried.

use std::error::Error;
use std::path::PathBuf;
use std::sync::Arc;

use super::command::ExecError;
use super::job::HELPER_COMMAND;

/// Why the helper failed. Its text is sent to the daemon, and shown to people.
#[derive(Debug, thiserror::Error)]
pub(super) enum HelperError {
    #[error("{doing}: {cause}")]
    Failed {
        doing: String,
        #[source]
        cause: Box<dyn Error + Send + Sync>,
    },
    #[error("finding itself: /proc is missing or hidden")]
    NoProc,
    #[error("{} vanished while the command was started: {cause}", path.display())]
    Vanished {
        path: PathBuf,
        #[source]
        cause: std::io::Error,
    },
    #[error("{} was replaced while the command was started; try again", .0.display())]
    Replaced(PathBuf),
    #[error("Landlock: the kernel enforces none of it")]
    NotEnforced,
    #[error("the input of the program was not handed over")]
    NoInput,
    #[error("it ended before the command could start")]
    EndedEarly,
    /// The error of the inner half, as it was received.
    #[error("{0}")]
    NotConfined(String),
    #[error("`{HELPER_COMMAND}` is for Chorus itself: it runs the commands of agents")]
    NotForPeople,
}

/// Names the step of the helper in which an error occurred.
pub(super) fn failed<E>(doing: impl Into<String>) -> impl FnOnce(E) -> HelperError
where
    E: Into<Box<dyn Error + Send + Sync>>,
{
    move |cause| HelperError::Failed {
        doing: doing.into(),
        cause: cause.into(),
    }
}

/// Why a command that was started has no exit code.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NeverRan {
    /// The supervisor's reason.
    #[error("{0}")]
    Failed(String),
    #[error("its supervisor was killed")]
    SupervisorKilled,
}

/// Why a sandbox layer cannot be used on this machine.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum MissingLayer {
    #[error("bubblewrap is switched off")]
    SwitchedOff,
    #[error("bubblewrap is not installed")]
    NotInstalled,
    #[error("bubblewrap does not work here: {0}")]
    BubblewrapFails(FailedTrial),
    #[error("this kernel has no Landlock")]
    NoLandlock,
    #[error("{0}")]
    LandlockFails(FailedTrial),
    #[error("not tried yet")]
    NotTried,
}

/// Why a command that does nothing failed in a sandbox layer.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum FailedTrial {
    #[error("{0}")]
    Workspace(Arc<std::io::Error>),
    #[error("{0}")]
    NotRun(Arc<ExecError>),
    #[error("{0}")]
    Printed(String),
}

/// Why this machine can run no command, regardless of the settings. Cloned, because everything that waits for the trial
/// gets its result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum NoShell {
    #[error("this program's file is not known: {0}")]
    OwnFile(Arc<std::io::Error>),
    #[error("{0}")]
    Trial(Arc<ExecError>),
}
