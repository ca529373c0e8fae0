//! Places at the models: how many requests run at once, and which is next while others wait.
//!
//! ```text
//! request ─▶ is there room? ─▶ Place, until it is dropped
//!                  └─────────▶ Queued, in its lane ─▶ Place, once it is the first of those who have room
//! ```
//!
//! A place is held only while a provider answers, so a request never holds one while it waits for another.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::config::Config;

/// The queue of a request. Earlier lanes go first, and each lane is served in the order of its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// The final answer of a turn at its limit.
    LastStep,
    /// A request of a core agent.
    Core,
    #[default]
    Root,
    /// A request of a child turn.
    Child,
}

impl Lane {
    const COUNT: usize = 4;

    /// Returns the lane after `times` promotions. The lane of last steps is out of reach: it would fill up with every
    /// request that waited long.
    fn risen(self, times: usize) -> usize {
        match self {
            Self::LastStep => Self::LastStep as usize,
            Self::Core | Self::Root | Self::Child => {
                let lane = (self as usize).saturating_sub(times);
                lane.max(Self::Core as usize)
            }
        }
    }
}

/// How long a request waits before it is promoted or given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueLimits {
    /// Time after which it is promoted by one lane, and again after the same time.
    pub rises_after: Duration,
    /// Time after which it is given up.
    pub gives_up_after: Duration,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            rises_after: Duration::from_secs(30),
            gives_up_after: Duration::from_secs(600),
        }
    }
}

/// Most requests that run at once; 0 means no limit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceLimits {
    pub all: u32,
    /// By the provider's name.
    pub by_provider: BTreeMap<String, u32>,
}

impl PlaceLimits {
    /// Returns the configured limits.
    pub fn of(config: &Config) -> Self {
        let providers = config.providers.iter();
        let limited = providers
            .filter_map(|(name, provider)| Some((name.clone(), provider.max_requests?.get())));
        Self {
            all: config.max_requests.get(),
            by_provider: limited.collect(),
        }
    }

    fn of_provider(&self, provider: &str) -> u32 {
        self.by_provider.get(provider).copied().unwrap_or_default()
    }
}

/// The daemon's places. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Places {
    state: Arc<Mutex<State>>,
    queue_limits: QueueLimits,
}

/// One running request, until this is dropped.
#[derive(Debug)]
pub struct Place {
    places: Places,
    provider: String,
}

/// A waiting request. Dropping this removes it from the queue.
#[derive(Debug)]
pub struct Queued {
    places: Places,
    provider: String,
    lane: Lane,
    ticket: u64,
    call: oneshot::Receiver<()>,
    /// Whether it has become a [`Place`].
    is_taken: bool,
}

#[derive(Debug, Default)]
struct State {
    limits: PlaceLimits,
    under_way: u32,
    providers: BTreeMap<String, Queue>,
    /// The number of tickets given out.
    tickets: u64,
}

/// The running requests at one provider, and those that wait for it.
#[derive(Debug, Default)]
struct Queue {
    under_way: u32,
    /// By [`Lane`], in the order of their tickets: the first in each lane has waited longest and is next.
    lanes: [VecDeque<Waiter>; Lane::COUNT],
}

#[derive(Debug)]
struct Waiter {
    ticket: u64,
    lane: Lane,
    since: Instant,
    call: oneshot::Sender<()>,
}

/// The order of service: the smallest rank is next.
type Rank = (usize, u64);

impl Places {
    /// Creates places with these limits of waiting, and without a limit of requests.
    pub fn new(queue_limits: QueueLimits) -> Self {
        Self {
            state: Arc::default(),
            queue_limits,
        }
    }

    /// Applies `limits` from now on. Running requests are not affected.
    pub fn set(&self, limits: PlaceLimits) {
        let mut state = self.state.lock();
        state.limits = limits;
        state.call_next(self.queue_limits);
    }

    /// Takes a place at `provider`.
    ///
    /// # Errors
    ///
    /// Fails with the waiting request, which has joined the queue, if all places are taken.
    pub fn ask(&self, provider: &str, lane: Lane) -> Result<Place, Queued> {
        let mut state = self.state.lock();
        let provider = provider.to_owned();
        if state.has_room(&provider) {
            state.begin(&provider);
            let places = self.clone();
            return Ok(Place { places, provider });
        }
        let (sender, call) = oneshot::channel();
        state.tickets += 1;
        let ticket = state.tickets;
        let waiter = Waiter {
            ticket,
            lane,
            since: Instant::now(),
            call: sender,
        };
        let queue = state.providers.entry(provider.clone()).or_default();
        queue.lanes[lane as usize].push_back(waiter);
        Err(Queued {
            places: self.clone(),
            provider,
            lane,
            ticket,
            call,
            is_taken: false,
        })
    }

    /// Returns the number of waiting requests.
    pub fn waiting(&self) -> usize {
        let state = self.state.lock();
        let queues = state.providers.values();
        queues
            .flat_map(|queue| &queue.lanes)
            .map(VecDeque::len)
            .sum()
    }

    /// Returns how long a request waits before it is given up.
    pub const fn queue_limits(&self) -> QueueLimits {
        self.queue_limits
    }
}

impl Queued {
    /// Waits for its place. Cancel-safe.
    pub async fn place(&mut self) -> Place {
        // The queue keeps the sender until it calls.
        let _ = (&mut self.call).await;
        self.is_taken = true;
        Place {
            places: self.places.clone(),
            provider: self.provider.clone(),
        }
    }

    /// Returns how many requests are before it.
    pub fn before(&self) -> usize {
        let now = Instant::now();
        let (state, queue_limits) = (self.places.state.lock(), self.places.queue_limits);
        let own = state
            .waiter(self)
            .map(|waiter| waiter.rank(now, queue_limits.rises_after));
        let Some(own) = own else {
            return 0;
        };
        let is_full = state.is_full();
        let queues = state.providers.iter();
        let rivals = queues.filter(|(name, _)| is_full || **name == self.provider);
        rivals
            .flat_map(|(_, queue)| &queue.lanes)
            .map(|lane| {
                lane.partition_point(|waiter| waiter.rank(now, queue_limits.rises_after) < own)
            })
            .sum()
    }

    /// Returns the limit that it waits for.
    pub fn limit(&self) -> u32 {
        let state = self.places.state.lock();
        if state.is_full_at(&self.provider) {
            state.limits.of_provider(&self.provider)
        } else {
            state.limits.all
        }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if self.is_taken {
            return;
        }
        let mut state = self.places.state.lock();
        if !state.forget(self) {
            // It was called but dropped before it took the place.
            state.end(&self.provider, self.places.queue_limits);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.places.state.lock();
        state.end(&self.provider, self.places.queue_limits);
    }
}

impl State {
    fn is_full(&self) -> bool {
        self.limits.all > 0 && self.under_way >= self.limits.all
    }

    fn is_full_at(&self, provider: &str) -> bool {
        let most = self.limits.of_provider(provider);
        let queue = self.providers.get(provider);
        most > 0 && queue.is_some_and(|queue| queue.under_way >= most)
    }

    fn has_room(&self, provider: &str) -> bool {
        !self.is_full() && !self.is_full_at(provider)
    }

    fn begin(&mut self, provider: &str) {
        self.under_way += 1;
        match self.providers.get_mut(provider) {
            Some(queue) => queue.under_way += 1,
            None => {
                let queue = Queue {
                    under_way: 1,
                    ..Queue::default()
                };
                self.providers.insert(provider.to_owned(), queue);
            }
        }
    }

    fn end(&mut self, provider: &str, queue_limits: QueueLimits) {
        self.under_way -= 1;
        if let Some(queue) = self.providers.get_mut(provider) {
            queue.under_way -= 1;
        }
        self.call_next(queue_limits);
    }

    /// Gives free places to the next requests, as long as there are any.
    fn call_next(&mut self, queue_limits: QueueLimits) {
        let now = Instant::now();
        while let Some((provider, lane)) = self.next(now, queue_limits) {
            let queue = self.providers.get_mut(&provider);
            let Some(waiter) = queue.and_then(|queue| queue.lanes[lane].pop_front()) else {
                return;
            };
            self.begin(&provider);
            // The receiver exists: it leaves the queue before it is dropped.
            let _ = waiter.call.send(());
        }
    }

    /// Returns the provider and the lane of the next request.
    fn next(&self, now: Instant, queue_limits: QueueLimits) -> Option<(String, usize)> {
        if self.is_full() {
            return None;
        }
        let queues = self.providers.iter();
        let with_room = queues.filter(|(name, _)| !self.is_full_at(name));
        let firsts = with_room.flat_map(|(name, queue)| {
            let lanes = queue.lanes.iter().enumerate();
            lanes.filter_map(move |(lane, waiters)| Some((name, lane, waiters.front()?)))
        });
        firsts
            .min_by_key(|(_, _, waiter)| waiter.rank(now, queue_limits.rises_after))
            .map(|(name, lane, _)| (name.clone(), lane))
    }

    fn position(&self, queued: &Queued) -> Option<usize> {
        let lane = &self.providers.get(&queued.provider)?.lanes[queued.lane as usize];
        lane.binary_search_by_key(&queued.ticket, |waiter| waiter.ticket)
            .ok()
    }

    fn waiter(&self, queued: &Queued) -> Option<&Waiter> {
        let position = self.position(queued)?;
        self.providers.get(&queued.provider)?.lanes[queued.lane as usize].get(position)
    }

    /// Removes a waiting request from the queue; returns whether it was there.
    fn forget(&mut self, queued: &Queued) -> bool {
        let position = self.position(queued);
        let queue = self.providers.get_mut(&queued.provider);
        match (position, queue) {
            (Some(position), Some(queue)) => {
                queue.lanes[queued.lane as usize].remove(position).is_some()
            }
            (None, _) | (_, None) => false,
        }
    }
}

impl Waiter {
    fn rank(&self, now: Instant, rises_after: Duration) -> Rank {
        let waited = now.saturating_duration_since(self.since);
        let risen = waited.as_nanos() / rises_after.as_nanos().max(1);
        let risen = usize::try_from(risen).unwrap_or(usize::MAX);
        (self.lane.risen(risen), self.ticket)
    }
}
