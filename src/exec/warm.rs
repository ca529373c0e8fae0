//! The supervisor for the next command, started before there is one.
//!
//! Starting a process and moving it into a control group takes as long as many a command: for the move the kernel waits
//! until every processor has been elsewhere. So after one command, a supervisor for the next does both, and then waits for
//! its job.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::unix::pipe;
use tokio_util::task::TaskTracker;

use super::cgroup::Group;
use super::command::Limits;
use super::running::Running;

/// How long a supervisor that is not needed may take to end: its group can only be removed after it.
const LAST_MOMENT: Duration = Duration::from_millis(100);

/// A supervisor without a job, and the output of its command.
pub(super) struct IdleSupervisor {
    pub(super) running: Running,
    pub(super) output: pipe::Receiver,
    limits: Limits,
}

/// Holds at most one [`IdleSupervisor`].
#[derive(Default)]
pub(super) struct WarmSupervisor {
    waiting: Mutex<Option<IdleSupervisor>>,
    /// The threads that start one; closed when none is to be started any more.
    starting: TaskTracker,
}

impl IdleSupervisor {
    /// Starts one in `group`, with the limits of the command for which it is meant.
    pub(super) fn start(helper: &Path, group: Option<Group>, limits: &Limits) -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        let output = pipe::Receiver::from_owned_fd(OwnedFd::from(reader))?;
        let errors = writer.try_clone()?;
        let running = Running::start(helper, writer.into(), errors.into(), group)?;
        Ok(Self {
            running,
            output,
            limits: *limits,
        })
    }

    /// Sets the limits of the command that it gets.
    pub(super) fn limit(&mut self, limits: &Limits) -> io::Result<()> {
        if self.limits == *limits {
            return Ok(());
        }
        self.limits = *limits;
        self.running.limit(limits)
    }

    /// Ends it, because it is not needed any more.
    fn leave(mut self) {
        let _ = self.running.child.start_kill();
        self.running.process.wait_end(LAST_MOMENT);
        let _ = self.running.child.try_wait();
    }
}

impl WarmSupervisor {
    /// Starts one by `start` on a thread of its own, because the kernel takes its time; unless one is waiting already.
    ///
    /// If it fails, the command that needs one reports that.
    pub(super) fn start_ahead(
        self: &Arc<Self>,
        start: impl FnOnce() -> io::Result<IdleSupervisor> + Send + 'static,
    ) {
        if self.starting.is_closed() {
            return;
        }
        let this = Arc::clone(self);
        self.starting.spawn_blocking(move || {
            if this.waiting.lock().is_none()
                && let Ok(waiting) = start()
            {
                this.put(waiting);
            }
        });
    }

    /// Ends the waiting or starting one; none follows.
    pub(super) async fn close(self: &Arc<Self>) {
        self.starting.close();
        self.starting.wait().await;
        let this = Arc::clone(self);
        let left = self.starting.spawn_blocking(move || this.leave());
        // It does not panic.
        let _ = left.await;
    }

    fn leave(&self) {
        if let Some(waiting) = self.take() {
            waiting.leave();
        }
    }

    fn take(&self) -> Option<IdleSupervisor> {
        self.waiting.lock().take()
    }

    /// The waiting supervisor, if it is alive.
    pub(super) fn take_alive(&self) -> Option<IdleSupervisor> {
        let mut waiting = self.take()?;
        waiting.running.is_alive().then_some(waiting)
    }

    /// Of two that were started at the same time, one is kept.
    fn put(&self, waiting: IdleSupervisor) {
        let second = self.waiting.lock().replace(waiting);
        if let Some(second) = second {
            second.leave();
        }
    }
}

impl Drop for WarmSupervisor {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for WarmSupervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarmSupervisor").finish_non_exhaustive()
    }
}
