//! Rate limits: a bucket for each route and channel, and a global one.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use super::call::Call;

/// Most requests a bot may make per second, over all routes.
const GLOBAL: usize = 50;

/// Whether rate limits apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    /// Headers are sent, but nothing is refused.
    #[default]
    Off,
    /// Like Discord's own.
    Real,
}

/// The scope of a rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// This bot on this route.
    Bucket,
    /// This bot on all routes.
    Global,
    /// The resource's limit for everyone; does not count against the bot.
    #[cfg(feature = "testing")]
    Shared,
}

/// A request that must wait.
pub(crate) struct Refusal {
    pub(crate) scope: Scope,
    pub(crate) retry_after: Duration,
}

/// How full every bucket is.
#[derive(Default)]
pub(crate) struct Buckets {
    pub(crate) limits: Limits,
    windows: HashMap<String, Window>,
    global: Vec<Instant>,
}

struct Window {
    began: Instant,
    used: u64,
}

/// The state of a request's bucket.
pub(crate) struct Standing {
    pub(crate) bucket: String,
    pub(crate) limit: u64,
    pub(crate) remaining: u64,
    pub(crate) reset_after: Duration,
    over: Option<Scope>,
}

impl Standing {
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.over.map(|scope| Refusal {
            scope,
            retry_after: self.reset_after,
        })
    }
}

impl Buckets {
    /// Counts a request, unless it is refused.
    pub(crate) fn take(&mut self, call: &Call, now: Instant) -> Standing {
        let (route, limit, per) = rule(call);
        let segments = &call.segments;
        let major = segments
            .get(1)
            .filter(|_| segments.first().is_some_and(|one| one != "applications"));
        let key = format!("{route}:{}", major.map_or("", String::as_str));
        let window = self.windows.entry(key).or_insert(Window {
            began: now,
            used: 0,
        });
        if now.duration_since(window.began) >= per {
            *window = Window {
                began: now,
                used: 0,
            };
        }
        let reset_after = per.saturating_sub(now.duration_since(window.began));
        let mut standing = Standing {
            bucket: route.to_owned(),
            limit,
            remaining: 0,
            reset_after,
            over: None,
        };
        if self.limits == Limits::Off {
            standing.remaining = limit;
            return standing;
        }
        let is_counted_globally = segments
            .first()
            .is_none_or(|one| one != "interactions" && one != "webhooks");
        if is_counted_globally {
            self.global
                .retain(|at| now.duration_since(*at) < Duration::from_secs(1));
            if self.global.len() >= GLOBAL {
                let oldest = self.global.first().copied().unwrap_or(now);
                standing.reset_after =
                    Duration::from_secs(1).saturating_sub(now.duration_since(oldest));
                standing.over = Some(Scope::Global);
                return standing;
            }
            self.global.push(now);
        }
        if window.used >= limit {
            standing.over = Some(Scope::Bucket);
            return standing;
        }
        window.used += 1;
        standing.remaining = limit - window.used;
        standing
    }
}

/// Returns the bucket, requests and time of a route. Discord publishes no table; these are the figures that bots see.
fn rule(call: &Call) -> (&'static str, u64, Duration) {
    let seconds = Duration::from_secs;
    let parts: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    let renames = call.body.get("name").is_some() || call.body.get("topic").is_some();
    match (call.method.as_str(), &parts[..]) {
        ("POST", ["channels", _, "messages"]) => ("message-create", 5, seconds(5)),
        ("PATCH", ["channels", _, "messages", _]) => ("message-edit", 5, seconds(5)),
        ("DELETE", ["channels", _, "messages", _]) => ("message-delete", 5, seconds(1)),
        ("POST", ["channels", _, "messages", "bulk-delete"]) => ("bulk-delete", 1, seconds(3)),
        ("POST", ["channels", _, "typing"]) => ("typing", 5, seconds(5)),
        ("PATCH", ["channels", _]) if renames => ("channel-modify", 2, seconds(600)),
        (_, ["channels", _, "messages", _, "reactions", ..]) => {
            ("reactions", 1, Duration::from_millis(250))
        }
        ("POST", ["guilds", _, "channels"]) => ("channel-create", 10, seconds(10)),
        ("PUT", ["applications", ..]) => ("commands", 20, seconds(60)),
        (_, ["webhooks", ..]) => ("webhooks", 5, seconds(2)),
        (_, ["interactions", ..]) => ("interactions", 50, seconds(1)),
        _ => ("other", 50, seconds(10)),
    }
}
