//! Places for turns that no person began: only so many of them run at once in the daemon.
//!
//! ```text
//! unattended turn ─▶ UnattendedPlaces::place ─▶ UnattendedPlace, until it is dropped
//! ```
//!
//! Those that wait are served in the order in which they came. A turn that holds a place never waits for another one
//! that needs a place: its sub-agents run in its own.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// The daemon's places. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct UnattendedPlaces(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Most turns that run at once, as it was said last.
    most: usize,
    running: usize,
    waiting: VecDeque<oneshot::Sender<UnattendedPlace>>,
}

/// The place of one running turn. Dropping it calls the next one that waits.
#[derive(Debug)]
pub struct UnattendedPlace {
    places: UnattendedPlaces,
    /// Nobody took it, so it does not count any more.
    is_void: bool,
}

impl UnattendedPlaces {
    /// Waits for one of `most` places; first come, first served. Dropping the future gives the position up.
    pub async fn place(&self, most: usize) -> UnattendedPlace {
        let called = {
            let mut state = self.0.lock();
            state.most = most;
            let (call, called) = oneshot::channel();
            state.waiting.push_back(call);
            called
        };
        self.call_next();
        match called.await {
            Ok(place) => place,
            // The queue is never dropped while somebody waits: this value holds it.
            Err(_) => std::future::pending().await,
        }
    }

    /// Gives free places to those who wait longest.
    fn call_next(&self) {
        loop {
            let call = {
                let mut state = self.0.lock();
                if state.running >= state.most {
                    return;
                }
                let Some(call) = state.waiting.pop_front() else {
                    return;
                };
                state.running += 1;
                call
            };
            let place = UnattendedPlace {
                places: self.clone(),
                is_void: false,
            };
            // Whoever gave up has no more use for it.
            if let Err(mut unused) = call.send(place) {
                unused.is_void = true;
                self.0.lock().running -= 1;
            }
        }
    }
}

impl Drop for UnattendedPlace {
    fn drop(&mut self) {
        if !self.is_void {
            self.places.0.lock().running -= 1;
            self.places.call_next();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use futures_util::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn the_first_who_waits_is_the_first_who_is_called() {
        let places = UnattendedPlaces::default();
        let first = places.place(1).now_or_never().unwrap();
        let mut second = Box::pin(places.place(1));
        let mut third = Box::pin(places.place(1));
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        drop(first);
        assert!(third.as_mut().now_or_never().is_none());
        let second = second.now_or_never().unwrap();
        drop(second);
        assert!(third.now_or_never().is_some());
    }

    #[tokio::test]
    async fn who_gives_up_blocks_nobody() {
        let places = UnattendedPlaces::default();
        let first = places.place(1).now_or_never().unwrap();
        let mut given_up = Box::pin(places.place(1));
        assert!(given_up.as_mut().now_or_never().is_none());
        let mut called = Box::pin(places.place(1));
        assert!(called.as_mut().now_or_never().is_none());
        drop(given_up);
        drop(first);
        // Called, and not polled since: the place is given back.
        drop(called);
        assert!(places.place(1).now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_higher_limit_counts_at_once() {
        let places = UnattendedPlaces::default();
        let _first = places.place(1).now_or_never().unwrap();
        let mut second = Box::pin(places.place(1));
        assert!(second.as_mut().now_or_never().is_none());
        let _third = places.place(3).now_or_never().unwrap();
        assert!(second.now_or_never().is_some());
    }
}
