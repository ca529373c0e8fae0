//! The desk that each request passes: it is read, written down, counted against its bucket, and made to fail on demand.

pub(crate) mod call;
pub(crate) mod error;
pub(crate) mod limits;

use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use self::call::Call;
use self::limits::{Buckets, Refusal, Scope, Standing};

/// A request as it was seen, for tests.
#[derive(Clone, Debug)]
pub struct Request {
    /// When it came.
    pub at: Instant,
    /// Its method, such as `POST`.
    pub method: String,
    /// Its path below `/api/v10`.
    pub path: String,
    /// Its JSON, or the `payload_json` of a form; null when there was none.
    pub body: Value,
    /// Names of the files in it.
    pub files: Vec<String>,
    /// What was answered; none while it is under way, and when the connection was dropped.
    pub status: Option<u16>,
    /// It was made to fail by an order.
    pub is_ordered: bool,
    /// Whom the limit was for that it ran into.
    pub limited: Option<Scope>,
}

/// What happens to a request instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Effect {
    /// 429.
    RateLimited {
        /// Whom it is for.
        scope: Scope,
        /// For how long.
        retry_after: Duration,
    },
    /// This status, and nothing is done.
    Status(u16),
    /// This status with a page of HTML and none of Discord's headers, as from what stands before Discord.
    Page(u16),
    /// The answer comes this much later.
    Late(Duration),
    /// The connection ends, and nothing was done.
    DropBefore,
    /// It is done, and the connection ends before the answer.
    DropAfter,
}

/// Requests to break, and how.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Method to match; empty for every one.
    pub method: &'static str,
    /// Part of the path to match; empty for every one.
    pub path: String,
    /// How many requests are still to be hit.
    pub times: usize,
    /// What happens to them.
    pub effect: Effect,
}

/// What the desk says to a request.
pub(crate) struct Judgement {
    pub(crate) effect: Option<Effect>,
    pub(crate) refusal: Option<Refusal>,
    pub(crate) headers: HeaderMap,
}

/// The book of requests, the buckets and the faults ordered.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) log: Vec<Request>,
    /// Requests for routes that do not exist here.
    pub(crate) unknown: Vec<String>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) buckets: Buckets,
}

impl Desk {
    /// Writes a request down and decides what becomes of it.
    pub(crate) fn judge(&mut self, call: &Call) -> (usize, Judgement) {
        let now = Instant::now();
        let index = self.log.len();
        self.log.push(Request {
            at: now,
            method: call.method.to_string(),
            path: call.path.clone(),
            body: call.body.clone(),
            files: call.files.iter().map(|file| file.name.clone()).collect(),
            status: None,
            is_ordered: false,
            limited: None,
        });
        let effect = self.fault_for(call);
        self.log[index].is_ordered = effect.is_some();
        let standing = self.buckets.take(call, now);
        let refusal = match effect {
            Some(Effect::RateLimited { scope, retry_after }) => {
                Some(Refusal { scope, retry_after })
            }
            Some(_) | None => standing.refusal(),
        };
        self.log[index].limited = refusal.as_ref().map(|refusal| refusal.scope);
        let headers = headers(&standing, refusal.as_ref());
        (
            index,
            Judgement {
                effect,
                refusal,
                headers,
            },
        )
    }

    pub(crate) fn settle(&mut self, index: usize, status: Option<u16>) {
        if let Some(request) = self.log.get_mut(index) {
            request.status = status;
        }
    }

    fn fault_for(&mut self, call: &Call) -> Option<Effect> {
        let hit = self.faults.iter_mut().find(|fault| {
            fault.times > 0
                && (fault.method.is_empty() || fault.method == call.method.as_str())
                && call.path.contains(&fault.path)
        })?;
        hit.times -= 1;
        Some(hit.effect)
    }
}

fn headers(standing: &Standing, refusal: Option<&Refusal>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |name: &'static str, text: String| {
        if let Ok(value) = HeaderValue::from_str(&text) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    let after = refusal.map_or(standing.reset_after, |refusal| refusal.retry_after);
    let remaining = if refusal.is_some() {
        0
    } else {
        standing.remaining
    };
    let reset = chrono::Utc::now().timestamp_millis() as f64 / 1_000.0 + after.as_secs_f64();
    put("x-ratelimit-limit", standing.limit.to_string());
    put("x-ratelimit-remaining", remaining.to_string());
    put("x-ratelimit-reset", format!("{reset:.3}"));
    put(
        "x-ratelimit-reset-after",
        format!("{:.3}", after.as_secs_f64()),
    );
    put("x-ratelimit-bucket", standing.bucket.clone());
    if let Some(refusal) = refusal {
        put(
            "retry-after",
            refusal.retry_after.as_secs_f64().ceil().to_string(),
        );
        let scope = match refusal.scope {
            Scope::Bucket => "user",
            Scope::Global => "global",
            Scope::Shared => "shared",
        };
        put("x-ratelimit-scope", scope.to_owned());
        if refusal.scope == Scope::Global {
            put("x-ratelimit-global", "true".to_owned());
        }
    }
    headers
}
