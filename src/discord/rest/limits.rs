//! Computes how long a request must wait: Discord's rate limits, learned from the headers of its answers. Pure.
//!
//! The only limit that is known in advance is Discord's global one, which no header names; whether another server has
//! one is found out. A route belongs to the bucket that its last answer named; routes that share a bucket share the
//! rest of it.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Most requests on all routes in [`GLOBAL_WINDOW`]: Discord's global limit is 50 per second, and serenity itself makes
/// some requests, for completions.
const GLOBAL: usize = 45;

/// Discord's second, and a little for inexact clocks.
const GLOBAL_WINDOW: Duration = Duration::from_millis(1_050);

/// The pause while as many requests are in progress as a second allows: their answers end it.
const FULL_PAUSE: Duration = Duration::from_millis(50);

/// Requests per second that only a server without Discord's global limit accepts.
const ENOUGH: usize = 60;

/// The pause while one more request finds out whether a server accepts it.
const PROBE_PAUSE: Duration = Duration::from_millis(2);

/// Invalid requests (401, 403, 429) in ten minutes after which we pause: Discord bans an address at 10,000.
const INVALID_GUARD: usize = 9_000;

/// The window in which Discord counts invalid requests.
const INVALID_WINDOW: Duration = Duration::from_secs(600);

/// Added to each wait, because clocks and networks are not exact and a 429 costs more than a moment.
const MARGIN: Duration = Duration::from_millis(25);

/// Most buckets before those without a wait are dropped: each channel and interaction has its own.
const MOST_BUCKETS: usize = 4_096;

/// A route with a limit of its own: method and path pattern, and the channel or server it names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RouteKey {
    /// Method and path, with names instead of ids.
    pub pattern: &'static str,
    /// The channel, server or webhook in the path; each has a limit of its own.
    pub major: u64,
}

impl RouteKey {
    /// Returns whether it answers an interaction. The token in its path authorises such a request, not the bot's. The
    /// global limit does not apply to it, as Discord documents: a press must be acknowledged within 3 s, regardless of
    /// other waiting requests.
    pub(super) fn answers_interaction(&self) -> bool {
        ["/interactions/", "/webhooks/"]
            .iter()
            .any(|answer| self.pattern.contains(answer))
    }
}

/// The information about limits in an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub status: u16,
    /// The bucket the route belongs to.
    pub bucket: Option<String>,
    /// Requests left in it.
    pub remaining: Option<u32>,
    /// Time until it is full again.
    pub reset_after: Option<Duration>,
    /// How long to wait, in a 429.
    pub retry_after: Option<Duration>,
    /// The scope of a 429.
    pub scope: Scope,
}

/// The scope of a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// This bot's, for the route.
    #[default]
    User,
    /// This bot's, for everything.
    Global,
    /// The resource's limit for all its users; does not count as an invalid request.
    Shared,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    remaining: u32,
    full_at: Instant,
}

/// The known state of all limits.
#[derive(Debug, Default)]
pub struct Limits {
    all_routes: AllRoutes,
    names: HashMap<&'static str, String>,
    buckets: HashMap<(String, u64), Bucket>,
    global_until: Option<Instant>,
    /// Requests that are not answered yet.
    under_way: usize,
    /// When the latest requests were answered. Discord received each of them before that, so no second of Discord's
    /// sees more than the limit, even if requests that left evenly arrive in a burst.
    answered: VecDeque<Instant>,
    invalid: VecDeque<Instant>,
}

/// Whether the server has a global limit, which no header names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum AllRoutes {
    #[default]
    Limited,
    /// It is not known: beyond Discord's limit one request is made at a time, until the server refuses one or has accepted
    /// enough.
    Unknown,
    /// It accepted more in a second than Discord does.
    Unlimited,
}

impl Limits {
    /// Creates the limits of a server that is not Discord's own: whether it has a global limit is found out.
    pub fn of_another_server() -> Self {
        Self {
            all_routes: AllRoutes::Unknown,
            ..Self::default()
        }
    }

    /// Returns how long a request on `route` must wait, if it must.
    pub fn wait(&mut self, route: &RouteKey, now: Instant) -> Option<Duration> {
        let of_all = if route.answers_interaction() {
            None
        } else {
            self.global_until.max(self.second_is_full(now))
        };
        let until = of_all
            .max(self.too_many_invalid(now))
            .max(self.bucket_is_empty(route, now))?;
        let wait = until.saturating_duration_since(now);
        (!wait.is_zero()).then(|| wait + MARGIN)
    }

    /// Counts a request that is about to be made.
    pub fn take(&mut self, route: &RouteKey) {
        if !route.answers_interaction() {
            self.under_way += 1;
        }
        if let Some(bucket) = self.bucket_mut(route) {
            bucket.remaining = bucket.remaining.saturating_sub(1);
        }
    }

    /// Records the end of a counted request: answered, failed or given up.
    pub fn over(&mut self, route: &RouteKey, now: Instant) {
        if !route.answers_interaction() {
            self.under_way = self.under_way.saturating_sub(1);
            self.answered.push_back(now);
        }
    }

    /// Stores the information about limits in an answer.
    pub fn learn(&mut self, route: &RouteKey, seen: &Seen, now: Instant) {
        if let Some(name) = &seen.bucket {
            self.names.insert(route.pattern, name.clone());
        }
        if let (Some(remaining), Some(after), true) =
            (seen.remaining, seen.reset_after, seen.status != 429)
        {
            self.keep_bucket(route, remaining, now + after);
        }
        if matches!(seen.status, 401 | 403) || (seen.status == 429 && seen.scope != Scope::Shared) {
            self.invalid.push_back(now);
        }
        if seen.status != 429 {
            if self.all_routes == AllRoutes::Unknown && self.answered.len() >= ENOUGH {
                self.all_routes = AllRoutes::Unlimited;
            }
            return;
        }
        let until = now + seen.retry_after.unwrap_or(Duration::from_secs(1));
        match seen.scope {
            Scope::Global => {
                self.all_routes = AllRoutes::Limited;
                self.global_until = Some(until);
            }
            Scope::User | Scope::Shared => {
                // A shorter wait than the known one does not end that.
                let known = self.bucket_is_empty(route, now);
                self.keep_bucket(route, 0, known.map_or(until, |known| known.max(until)));
            }
        }
    }

    /// Returns invalid requests of the last ten minutes.
    pub fn invalid_requests(&mut self, now: Instant) -> usize {
        drop_older(&mut self.invalid, now, INVALID_WINDOW);
        self.invalid.len()
    }

    fn second_is_full(&mut self, now: Instant) -> Option<Instant> {
        drop_older(&mut self.answered, now, GLOBAL_WINDOW);
        let too_many = (self.under_way + self.answered.len()).checked_sub(GLOBAL)?;
        match self.all_routes {
            AllRoutes::Unlimited => None,
            AllRoutes::Unknown if self.under_way == 0 => None,
            AllRoutes::Unknown => Some(now + PROBE_PAUSE),
            AllRoutes::Limited => Some(match self.answered.get(too_many) {
                Some(oldest) => *oldest + GLOBAL_WINDOW,
                None => now + FULL_PAUSE,
            }),
        }
    }

    fn too_many_invalid(&mut self, now: Instant) -> Option<Instant> {
        if self.invalid_requests(now) < INVALID_GUARD {
            return None;
        }
        self.invalid.front().map(|first| *first + INVALID_WINDOW)
    }

    fn bucket_is_empty(&mut self, route: &RouteKey, now: Instant) -> Option<Instant> {
        let key = self.bucket_key(route);
        let bucket = self.buckets.get(&key)?;
        if bucket.full_at <= now {
            self.buckets.remove(&key);
            return None;
        }
        (bucket.remaining == 0).then_some(bucket.full_at)
    }

    fn keep_bucket(&mut self, route: &RouteKey, remaining: u32, full_at: Instant) {
        if self.buckets.len() >= MOST_BUCKETS {
            self.buckets.retain(|_, bucket| bucket.remaining == 0);
        }
        let key = self.bucket_key(route);
        self.buckets.insert(key, Bucket { remaining, full_at });
    }

    fn bucket_mut(&mut self, route: &RouteKey) -> Option<&mut Bucket> {
        let key = self.bucket_key(route);
        self.buckets.get_mut(&key)
    }

    fn bucket_key(&self, route: &RouteKey) -> (String, u64) {
        let name = match self.names.get(route.pattern) {
            Some(name) => name.clone(),
            None => route.pattern.to_owned(),
        };
        (name, route.major)
    }
}

fn drop_older(times: &mut VecDeque<Instant>, now: Instant, window: Duration) {
    while times
        .front()
        .is_some_and(|first| now.saturating_duration_since(*first) >= window)
    {
        times.pop_front();
    }
}
