//! The desk that each request passes: it reads the request and counts it in its bucket.

pub(crate) mod call;
pub(crate) mod error;
pub(crate) mod limits;

use std::time::Instant;

use axum::http::{HeaderMap, HeaderName, HeaderValue};

use self::call::Call;
use self::limits::{Buckets, Refusal, Scope, Standing};
#[cfg(feature = "testing")]
use crate::testing::requests::Book;

/// The desk's decision about a request.
pub(crate) struct Judgement {
    pub(crate) refusal: Option<Refusal>,
    pub(crate) headers: HeaderMap,
}

/// The buckets, and the orders and records of a test.
#[derive(Default)]
pub(crate) struct Desk {
    pub(crate) buckets: Buckets,
    #[cfg(feature = "testing")]
    pub(crate) book: Book,
}

impl Desk {
    /// Counts a request and decides whether it must wait, as it must if `ordered` says so.
    pub(crate) fn judge(&mut self, call: &Call, ordered: Option<Refusal>) -> Judgement {
        let standing = self.buckets.take(call, Instant::now());
        let refusal = ordered.or_else(|| standing.refusal());
        let headers = headers(&standing, refusal.as_ref());
        Judgement { refusal, headers }
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
            #[cfg(feature = "testing")]
            Scope::Shared => "shared",
        };
        put("x-ratelimit-scope", scope.to_owned());
        if refusal.scope == Scope::Global {
            put("x-ratelimit-global", "true".to_owned());
        }
    }
    headers
}
