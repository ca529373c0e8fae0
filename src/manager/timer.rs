//! The timer of planned work: waits for a moment of the wall clock, and returns early when that clock is set.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::watch;
use tracing::warn;

use crate::clock::WallClock;

/// Without a timer of the kernel, the clock is looked at this often.
const LOOKS_AGAIN: Duration = Duration::from_secs(30);

pub(crate) struct Timer {
    clock: WallClock,
    wait: Wait,
}

enum Wait {
    /// The kernel's, which also ends when the clock is set.
    Kernel(AsyncFd<OwnedFd>),
    /// A clock of a test, which is moved.
    Moved(watch::Receiver<TimeDelta>),
    /// There is none.
    Missing,
}

impl Timer {
    pub(crate) fn new(clock: WallClock) -> Self {
        let wait = match clock.watched() {
            Some(moves) => Wait::Moved(moves),
            None => match kernel_timer() {
                Ok(timer) => Wait::Kernel(timer),
                Err(error) => {
                    warn!(
                        "schedules look at the clock every 30 s: the kernel gave no timer: {error}"
                    );
                    Wait::Missing
                }
            },
        };
        Self { clock, wait }
    }

    /// Waits until `at`; for ever without a moment. Returns early when the clock was set.
    pub(crate) async fn until(&mut self, at: Option<DateTime<Utc>>) {
        let Some(at) = at else {
            return std::future::pending().await;
        };
        let left = || (at - self.clock.now()).to_std().unwrap_or_default();
        match &mut self.wait {
            Wait::Kernel(timer) => {
                if let Err(error) = elapses(timer, at).await {
                    warn!("failed to wait for the next slot by the kernel's timer: {error}");
                    tokio::time::sleep(left().min(LOOKS_AGAIN)).await;
                }
            }
            Wait::Moved(moves) => {
                tokio::select! {
                    () = tokio::time::sleep(left()) => {}
                    // It ends when the test does.
                    _ = moves.changed() => {}
                }
            }
            Wait::Missing => tokio::time::sleep(left().min(LOOKS_AGAIN)).await,
        }
    }
}

#[expect(
    deprecated,
    reason = "its successor is unsafe; an owned descriptor stays the same"
)]
fn kernel_timer() -> io::Result<AsyncFd<OwnedFd>> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    let timer = timerfd_create(TimerfdClockId::Realtime, flags)?;
    AsyncFd::with_interest(timer, Interest::READABLE)
}

async fn elapses(timer: &AsyncFd<OwnedFd>, at: DateTime<Utc>) -> io::Result<()> {
    let value = Itimerspec {
        it_interval: Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        },
        it_value: Timespec {
            tv_sec: at.timestamp().max(1),
            tv_nsec: at.timestamp_subsec_nanos().into(),
        },
    };
    let flags = TimerfdTimerFlags::ABSTIME | TimerfdTimerFlags::CANCEL_ON_SET;
    // It may say that the clock was set since it was last armed; it is armed nevertheless.
    match timerfd_settime(timer, flags, &value) {
        Ok(_) | Err(rustix::io::Errno::CANCELED) => {}
        Err(error) => return Err(error.into()),
    }
    loop {
        let mut ready = timer.readable().await?;
        let mut count = [0; 8];
        let read = ready.try_io(|timer| Ok(rustix::io::read(timer, &mut count)?));
        match read {
            // Elapsed, or the clock was set, which reads as an error.
            Ok(Ok(_)) => return Ok(()),
            Ok(Err(error))
                if error.raw_os_error() == Some(rustix::io::Errno::CANCELED.raw_os_error()) =>
            {
                return Ok(());
            }
            Ok(Err(error)) => return Err(error),
            // Not readable after all.
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_kernels_timer_elapses() {
        let mut timer = Timer::new(WallClock::default());
        assert!(matches!(timer.wait, Wait::Kernel(_)));
        let at = crate::clock::now() + TimeDelta::milliseconds(20);
        timer.until(Some(at)).await;
        assert!(crate::clock::now() >= at);
        // What has passed is over at once.
        timer.until(Some(at)).await;
    }

    #[tokio::test]
    async fn a_moved_clock_ends_the_wait() {
        let clock = WallClock::movable();
        let mut timer = Timer::new(clock.clone());
        let at = clock.now() + TimeDelta::hours(2);
        tokio::join!(timer.until(Some(at)), async {
            clock.moves(TimeDelta::hours(2));
        });
        assert!(clock.now() >= at);
    }
}
