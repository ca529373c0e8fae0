//! Presses that may deny a question: they have arrived, and it is not known yet whether they count.
//!
//! Each press is judged in a task of its own, so an *Allow* can be judged before a *Deny* that arrived first or at the same
//! moment. Before a call that was allowed starts, its turn waits for the presses that have arrived.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::Notify;

/// The presses on one question that may deny it. Clones are of the same question.
#[derive(Clone, Debug, Default)]
pub struct Presses(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    arrivals: Mutex<Arrivals>,
    /// One of them was judged.
    judged: Notify,
}

#[derive(Debug, Default)]
struct Arrivals {
    /// How many have arrived since the question was asked.
    count: u64,
    /// The numbers of those that are not judged yet.
    open: BTreeSet<u64>,
}

/// A press that has arrived. It counts as judged once this is dropped.
#[derive(Debug)]
pub struct Arrived {
    presses: Presses,
    number: u64,
}

impl Presses {
    /// Notes that a press has arrived.
    pub fn arrive(&self) -> Arrived {
        let mut arrivals = self.0.arrivals.lock();
        let number = arrivals.count;
        arrivals.count += 1;
        arrivals.open.insert(number);
        Arrived {
            presses: self.clone(),
            number,
        }
    }

    /// Waits until every press that has arrived by now is judged. Later ones do not prolong the wait.
    pub async fn settle(&self) {
        let later = self.0.arrivals.lock().count;
        loop {
            let judged = self.0.judged.notified();
            tokio::pin!(judged);
            // From here on no notice is missed.
            judged.as_mut().enable();
            let first = self.0.arrivals.lock().open.first().copied();
            if first.is_none_or(|first| first >= later) {
                return;
            }
            judged.await;
        }
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        self.presses.0.arrivals.lock().open.remove(&self.number);
        self.presses.0.judged.notify_waiters();
    }
}
