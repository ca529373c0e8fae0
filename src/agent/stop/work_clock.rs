//! Measures a turn's working time: waiting for people and for places at providers does not count.
//!
//! A child turn that waits stops the clock of its parent too, unless something else of the parent works meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

/// Starts when it is made. Cheap to clone; all clones are the same clock.
#[derive(Clone, Debug)]
pub(in crate::agent) struct WorkClock(Arc<Clock>);

#[derive(Debug)]
struct Clock {
    started: Instant,
    state: Mutex<State>,
    /// That of the parent turn.
    above: Option<WorkClock>,
}

#[derive(Debug, Default)]
struct State {
    /// The total of past waits of everything together.
    waited: Duration,
    /// Since when everything waits.
    since: Option<Instant>,
    /// Calls that run at the same time; with none, the turn itself works or waits.
    calls: usize,
    waiting: usize,
}

impl State {
    fn all_wait(&self) -> bool {
        self.waiting > 0 && self.waiting >= self.calls
    }
}

impl WorkClock {
    /// Starts to count.
    pub(in crate::agent) fn start() -> Self {
        Self::with(None)
    }

    /// The clock of a child turn.
    pub(in crate::agent) fn below(&self) -> Self {
        Self::with(Some(self.clone()))
    }

    fn with(above: Option<Self>) -> Self {
        Self(Arc::new(Clock {
            started: Instant::now(),
            state: Mutex::default(),
            above,
        }))
    }

    /// Time since the start, waiting included.
    pub(in crate::agent) fn elapsed(&self) -> Duration {
        self.0.started.elapsed()
    }

    pub(in crate::agent) fn worked(&self) -> Duration {
        let state = self.0.state.lock();
        let waits = state.since.map(|since| since.elapsed()).unwrap_or_default();
        self.elapsed().saturating_sub(state.waited + waits)
    }

    /// Runs `waiting` off the clock.
    pub(in crate::agent) async fn off<T>(&self, waiting: impl Future<Output = T>) -> T {
        let _waits = self.waits();
        waiting.await
    }

    /// Counts as a wait until the returned guard is dropped.
    pub(in crate::agent) fn waits(&self) -> Waits {
        self.change(|state| state.waiting += 1);
        Waits(self.clone())
    }

    /// Counts as one of several calls that run at the same time, until the returned guard is dropped.
    pub(in crate::agent) fn call(&self) -> Call<'_> {
        self.change(|state| state.calls += 1);
        Call(self)
    }

    /// Stops or continues the clock where the change of its state requires that, and the clock above it.
    fn change(&self, change: impl FnOnce(&mut State)) {
        self.change_by(Box::new(change));
    }

    fn change_by(&self, change: Box<dyn FnOnce(&mut State) + '_>) {
        let mut state = self.0.state.lock();
        change(&mut state);
        let above = match (state.since, state.all_wait()) {
            (None, true) => {
                state.since = Some(Instant::now());
                Some(true)
            }
            (Some(since), false) => {
                state.waited += since.elapsed();
                state.since = None;
                Some(false)
            }
            (None, false) | (Some(_), true) => None,
        };
        drop(state);
        if let (Some(waits), Some(clock)) = (above, &self.0.above) {
            clock.change_by(Box::new(move |state| {
                state.waiting = if waits {
                    state.waiting + 1
                } else {
                    state.waiting.saturating_sub(1)
                };
            }));
        }
    }
}

/// How much longer a child turn may work, by the clocks of those above it: they may go on while its own stands.
#[derive(Clone, Debug)]
pub(in crate::agent) struct TimeAbove {
    /// That of its parent.
    clock: WorkClock,
    /// What that clock shows when the child must be done.
    until: Duration,
    above: Option<Arc<TimeAbove>>,
}

impl TimeAbove {
    /// Until `clock`, that of the parent, shows so much, and no longer than the parent itself may work.
    pub(in crate::agent) fn new(clock: &WorkClock, until: Duration, above: Option<&Self>) -> Self {
        Self {
            clock: clock.clone(),
            until,
            above: above.cloned().map(Arc::new),
        }
    }

    pub(in crate::agent) fn left(&self) -> Duration {
        let left = self.until.saturating_sub(self.clock.worked());
        let above = self.above.as_ref().map(|above| above.left());
        above.map_or(left, |above| left.min(above))
    }
}

/// A wait for people or for a place at a provider, until it is dropped.
pub(in crate::agent) struct Waits(WorkClock);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.change(|state| state.waiting -= 1);
    }
}

/// One of several calls that run side by side.
pub(in crate::agent) struct Call<'a>(&'a WorkClock);

impl Drop for Call<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.calls -= 1);
    }
}
