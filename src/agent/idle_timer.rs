//! Notices that an agent has been left alone for its timeout.
//!
//! ```text
//! actor, turns ──reset · hold · stop──▶ state ──deadline──▶ IdleTask ──IdleFired──▶ the actor's event loop
//! ```
//!
//! The actor owns the task and waits for its end. Every reset makes a new generation, so that a firing which is still on
//! its way is known to be stale when a message came meanwhile ([`IdleTimer::is_current`]).

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// The least time that a context gets after a stop or a crash, however little of its timeout was left.
const MIN_AFTER_START: Duration = Duration::from_secs(60);

/// The timer ran out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleFired(u64);

/// A handle on an agent's timer.
#[derive(Clone, Debug)]
pub struct IdleTimer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// None: never.
    timeout: Option<Duration>,
    generation: u64,
    /// Whether there is a context whose silence is measured.
    running: bool,
    /// When it fires, unless it is held; `None` once it has fired.
    deadline: Option<Instant>,
    last_reset: Instant,
    holds: usize,
}

/// Keeps the timer from firing while work is under way; dropping the last one starts it again.
#[derive(Debug)]
#[must_use = "dropping it lets the timer run again"]
pub struct Hold(IdleTimer);

impl Drop for Hold {
    fn drop(&mut self) {
        let mut state = self.0.0.state.lock();
        state.holds -= 1;
        if state.holds == 0 && state.running {
            state.restart();
            drop(state);
            self.0.0.changed.notify_one();
        }
    }
}

impl IdleTimer {
    /// A timer that is not running yet.
    pub fn new(timeout: Option<Duration>) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(State {
                timeout: timeout.filter(|timeout| !timeout.is_zero()),
                generation: 0,
                running: false,
                deadline: None,
                last_reset: Instant::now(),
                holds: 0,
            }),
            changed: Notify::new(),
        }))
    }

    /// Waits until it fires, which happens once for each reset. There is one waiter at a time; nothing is lost when the
    /// wait is given up.
    pub async fn fires(&self) -> IdleFired {
        loop {
            let changed = self.0.changed.notified();
            match self.next() {
                Next::Wait => changed.await,
                Next::SleepUntil(deadline) => {
                    let _ = tokio::time::timeout_at(deadline, changed).await;
                }
                Next::Fire(fired) => return fired,
            }
        }
    }

    fn next(&self) -> Next {
        let mut state = self.0.state.lock();
        match state.deadline {
            Some(_) if state.holds > 0 => Next::Wait,
            None => Next::Wait,
            Some(deadline) if deadline > Instant::now() => Next::SleepUntil(deadline),
            Some(_) => {
                state.deadline = None;
                Next::Fire(IdleFired(state.generation))
            }
        }
    }

    /// Something happened: the whole timeout begins again.
    pub fn reset(&self) {
        self.set(|state| state.restart());
    }

    /// Starts with what is left of the timeout of a context that was kept over a stop or a crash.
    pub fn resume(&self, last_active: DateTime<Utc>, now: DateTime<Utc>) {
        self.set(|state| {
            state.restart();
            if let Some(timeout) = state.timeout {
                state.deadline = Some(Instant::now() + remaining(timeout, last_active, now));
            }
            let passed = (now - last_active).to_std().unwrap_or_default();
            if let Some(since) = state.last_reset.checked_sub(passed) {
                state.last_reset = since;
            }
        });
    }

    /// How long nothing has happened.
    pub fn silence(&self) -> Duration {
        self.0.state.lock().last_reset.elapsed()
    }

    /// There is no context any more: stops measuring.
    pub fn stop(&self) {
        self.set(|state| {
            state.generation += 1;
            state.running = false;
            state.deadline = None;
        });
    }

    /// Sets another timeout, which applies at once to a timer that runs; zero or `None` means never.
    pub fn set_timeout(&self, timeout: Option<Duration>) {
        self.set(|state| {
            let timeout = timeout.filter(|timeout| !timeout.is_zero());
            if state.timeout == timeout {
                return;
            }
            state.timeout = timeout;
            if state.running {
                state.generation += 1;
                state.deadline = timeout.map(|timeout| state.last_reset + timeout);
            }
        });
    }

    /// Keeps the timer from firing until the hold is dropped. Holds are counted.
    pub fn hold(&self) -> Hold {
        self.set(|state| state.holds += 1);
        Hold(self.clone())
    }

    /// Whether `fired` still counts: nothing has happened since, and nothing is under way.
    pub fn is_current(&self, fired: IdleFired) -> bool {
        let state = self.0.state.lock();
        state.generation == fired.0 && state.holds == 0
    }

    pub fn timeout(&self) -> Option<Duration> {
        self.0.state.lock().timeout
    }

    fn set(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.state.lock());
        self.0.changed.notify_one();
    }
}

/// What is left of `timeout` for a context that was last active at `last_active`.
pub fn remaining(timeout: Duration, last_active: DateTime<Utc>, now: DateTime<Utc>) -> Duration {
    let passed = (now - last_active).to_std().unwrap_or_default();
    timeout.saturating_sub(passed).max(MIN_AFTER_START)
}

impl State {
    fn restart(&mut self) {
        self.generation += 1;
        self.running = true;
        self.last_reset = Instant::now();
        self.deadline = self.timeout.map(|timeout| self.last_reset + timeout);
    }
}

/// The task that waits for a timer. Its owner ends it with [`IdleTask::end`]; dropped, it ends as well.
#[derive(Debug)]
pub(super) struct IdleTask {
    fired: mpsc::Receiver<IdleFired>,
    task: JoinHandle<()>,
}

impl IdleTask {
    /// Starts to wait for `timer`.
    pub(super) fn start(timer: IdleTimer) -> Self {
        // One firing waits at most: the timer fires once for each reset, and an older firing is stale.
        let (sender, fired) = mpsc::channel(1);
        let waits = async move { while sender.send(timer.fires().await).await.is_ok() {} };
        Self {
            fired,
            task: tokio::task::spawn(waits),
        }
    }

    /// Receives the next firing. Nothing is lost when the wait is given up.
    pub(super) async fn next(&mut self) -> Option<IdleFired> {
        self.fired.recv().await
    }

    /// Ends the task and waits for its end.
    pub(super) async fn end(mut self) {
        self.task.abort();
        // It was cancelled, which is no failure.
        let _ = (&mut self.task).await;
    }
}

impl Drop for IdleTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What is waited for next.
enum Next {
    Wait,
    SleepUntil(Instant),
    Fire(IdleFired),
}
