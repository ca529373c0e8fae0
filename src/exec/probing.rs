//! Tries the sandbox of this machine in the background: the trial takes longer than the rest of a start.
//!
//! No command runs before the result is known: a command waits here, and begins the trial if it has not begun.

use std::fmt;
use std::future::{Future, ready};
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};

use super::command::{ExecError, Policy};
use super::error::NoShell;
use super::probe::SandboxSettings;
use super::sandbox::Sandbox;

/// A [`Sandbox`] that may still be unknown. Cheap to clone; all clones share one trial.
#[derive(Clone)]
pub struct Probing(Shared<BoxFuture<'static, Result<Sandbox, NoShell>>>);

impl Probing {
    /// Tries the sandbox when first asked.
    pub fn with(settings: std::io::Result<SandboxSettings>) -> Self {
        Self::of(async move {
            let settings = settings.map_err(|error| NoShell::OwnFile(Arc::new(error)))?;
            let probed = Sandbox::probe(&settings).await;
            probed.map_err(|error| NoShell::Trial(Arc::new(error)))
        })
    }

    /// Creates it for a known sandbox.
    pub fn known(sandbox: Sandbox) -> Self {
        Self::of(ready(Ok(sandbox)))
    }

    fn of(probe: impl Future<Output = Result<Sandbox, NoShell>> + Send + 'static) -> Self {
        Self(probe.boxed().shared())
    }

    /// Waits for the sandbox and returns it.
    ///
    /// # Errors
    ///
    /// Fails if no command can run on this machine at all.
    pub async fn sandbox(&self) -> Result<Sandbox, ExecError> {
        self.0.clone().await.map_err(ExecError::NoShell)
    }

    /// Returns the actual layers around a command under `policy`, for the log and `/status`, once they are known.
    pub async fn describe(&self, policy: Policy) -> String {
        match self.0.clone().await {
            Ok(sandbox) => sandbox.describe(policy),
            Err(why) => format!("none run: {why}"),
        }
    }
}

impl fmt::Debug for Probing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Probing").field(&self.0.peek()).finish()
    }
}
