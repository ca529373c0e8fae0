//! The next command's supervisor, started before there is a command for it.
//!
//! Starting a process and moving it into a control group takes as long as many a command: for the move the kernel waits until
//! every processor has been elsewhere. So after one command, a supervisor for the next does both, and then waits for its job.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::net::unix::pipe;

use super::cgroup::Group;
use super::command::Limits;
use super::running::Running;

/// How long a supervisor that is not needed is given to vanish: its group can only go after it.
const LAST_MOMENT: Duration = Duration::from_millis(100);

/// A supervisor without a job, and what its command will print.
pub(super) struct IdleSupervisor {
    pub(super) running: Running,
    pub(super) output: pipe::Receiver,
    limits: Limits,
}

/// The place for one [`IdleSupervisor`].
#[derive(Default)]
pub(super) struct WarmSupervisor(Mutex<Option<IdleSupervisor>>);

impl IdleSupervisor {
    /// Starts one, in `group`, with the limits of the command it is meant for.
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

    /// Puts it under the limits of the command that it gets.
    pub(super) fn limit(&mut self, limits: &Limits) -> io::Result<()> {
        if self.limits == *limits {
            return Ok(());
        }
        self.limits = *limits;
        self.running.limit(limits)
    }

    /// Ends it, for nothing will be asked of it any more.
    fn leave(mut self) {
        let _ = self.running.child.start_kill();
        self.running.process.wait_end(LAST_MOMENT);
        let _ = self.running.child.try_wait();
    }
}

impl WarmSupervisor {
    /// Whether none waits.
    pub(super) fn is_free(&self) -> bool {
        self.0.lock().is_none()
    }

    fn take(&self) -> Option<IdleSupervisor> {
        self.0.lock().take()
    }

    /// The supervisor that waits, if it lives.
    pub(super) fn take_alive(&self) -> Option<IdleSupervisor> {
        let mut waiting = self.take()?;
        waiting.running.is_alive().then_some(waiting)
    }

    /// Of two that were started at once, one stays.
    pub(super) fn put(&self, waiting: IdleSupervisor) {
        let mut place = self.0.lock();
        let second = place.replace(waiting);
        drop(place);
        if let Some(second) = second {
            second.leave();
        }
    }
}

impl Drop for WarmSupervisor {
    fn drop(&mut self) {
        if let Some(waiting) = self.take() {
            waiting.leave();
        }
    }
}

impl fmt::Debug for WarmSupervisor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WarmSupervisor").finish_non_exhaustive()
    }
}
