//! Requests to Discord's REST API, made by our own client so that the answer's headers can be read.
//!
//! serenity's error type drops them, and its rate limiter is off whenever requests go to another address. Here every
//! request waits for its bucket, is retried after a 429 or a 5xx, and no request is made after a 401.

mod answer;
pub mod body;
pub mod explain;
pub mod limits;
pub mod mention;
pub mod modal;
mod request;
pub mod route;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use reqwest::Method;
use serde_json::{Value, json};
use tracing::{error, warn};

use self::body::{Body, FileContent};
use self::limits::{Limits, RouteKey};
use self::route::Route;
use crate::domain::{ChannelId, MessageId};
use crate::text::{self, redact::Redactor};

pub use answer::{RestError, message_id, snowflake};
pub use request::{Request, Urgency};

use answer::{complete_from_body, refusal, seen};
use request::{form, nonce};

/// The first pause after a failure; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// Longest time for a request, including uploads over a slow connection.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Longest time for a request that may be skipped.
const PASSING_TIMEOUT: Duration = Duration::from_secs(5);

/// Longest time for connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The first wait after a 429 that names none; it doubles up to a minute.
const UNSTATED_WAIT: Duration = Duration::from_secs(1);

/// Our name, in the form that Discord requests.
pub(crate) const USER_AGENT: &str = concat!("DiscordBot (chorus, ", env!("CARGO_PKG_VERSION"), ")");

/// The REST API. Cheap to clone; all clones share limits.
#[derive(Clone)]
pub struct Rest(Arc<Inner>);

impl std::fmt::Debug for Rest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rest").finish_non_exhaustive()
    }
}

struct Inner {
    client: reqwest::Client,
    base: String,
    authorization: String,
    redactor: Redactor,
    limits: Mutex<Limits>,
    /// Requests of one route are made one after the other: order is kept, and a bucket with an unknown limit is never
    /// overrun.
    lanes: Mutex<HashMap<RouteKey, Arc<tokio::sync::Mutex<()>>>>,
    unauthorized: AtomicBool,
}

impl Rest {
    /// Creates a client for the API at `base` (`https://discord.com`, or another for tests). All sent text passes
    /// `redactor`.
    pub fn new(base: &str, token: &str, redactor: Redactor) -> Result<Self, reqwest::Error> {
        Ok(Self(Arc::new(Inner {
            client: http_client()?,
            base: format!("{}/api/v10", base.trim_end_matches('/')),
            authorization: format!("Bot {token}"),
            redactor,
            limits: Mutex::new(limits_of(base)),
            lanes: Mutex::default(),
            unauthorized: AtomicBool::new(false),
        })))
    }

    /// Makes a request without a body; it must arrive.
    pub async fn call(&self, route: Route) -> Result<Value, RestError> {
        self.send(Request::new(route, Urgency::Durable)).await
    }

    /// Makes a request with a JSON body; it must arrive.
    pub async fn call_with(
        &self,
        route: Route,
        json: impl Into<Value>,
    ) -> Result<Value, RestError> {
        self.send(Request::new(route, Urgency::Durable).json(json))
            .await
    }

    /// Posts `body` and returns the id of the new message. A nonce keeps a repeated attempt from posting twice.
    pub async fn post(&self, channel: ChannelId, body: &Body) -> Result<MessageId, RestError> {
        self.post_once(channel, body, &nonce()).await
    }

    /// Posts `body` under the caller's nonce. The caller may try again later: it is still posted only once.
    pub async fn post_once(
        &self,
        channel: ChannelId,
        body: &Body,
        nonce: &str,
    ) -> Result<MessageId, RestError> {
        let request = Request::post(channel, body, Urgency::Durable).nonce(nonce);
        message_id(&self.send(request).await?)
    }

    /// Makes a request that posts a reply. If Discord does not accept the reference, the words are posted without it.
    pub async fn reply(&self, request: Request) -> Result<MessageId, RestError> {
        let posted = match self.send(request.clone()).await {
            Err(refused) if refused.is_of_reference() => {
                self.send(request.without_reference()).await
            }
            other => other,
        };
        message_id(&posted?)
    }

    /// Replaces the content of the message with `body`.
    pub async fn edit(
        &self,
        channel: ChannelId,
        message: MessageId,
        body: &Body,
        urgency: Urgency,
    ) -> Result<(), RestError> {
        self.send(Request::edit(channel, message, body, urgency))
            .await
            .map(drop)
    }

    /// Removes the buttons from a message; the rest of it stays.
    pub async fn remove_buttons(
        &self,
        channel: ChannelId,
        message: MessageId,
    ) -> Result<(), RestError> {
        let route = route::edit_message(channel, message);
        let edit = self.call_with(route, json!({"components": []}));
        edit.await.map(drop)
    }

    pub async fn send(&self, mut request: Request) -> Result<Value, RestError> {
        if let Some(json) = &mut request.json {
            self.redact(json);
        }
        for file in &mut request.files {
            self.redact_text(&mut file.name);
            if let FileContent::Text(text) = &mut file.content {
                self.redact_text(text);
            }
        }
        let lane = self.lane(&request.route.key);
        let _turn = match request.urgency {
            Urgency::Durable => lane.lock.lock().await,
            Urgency::Passing => lane.lock.try_lock().map_err(|_| RestError::Busy)?,
        };
        let (mut failures, mut waits) = (0, 0);
        loop {
            self.wait_for_room(&request).await?;
            let reason = match self.attempt(&request, waits).await {
                Attempt::Done(Err(refused)) if failures > 0 && is_done(&request, &refused) => {
                    return Ok(Value::Null);
                }
                Attempt::Done(outcome) => return outcome,
                Attempt::Again => {
                    waits += 1;
                    continue;
                }
                Attempt::Failed(reason) => reason,
            };
            failures += 1;
            if failures >= request.tries {
                return Err(RestError::Unreachable(reason));
            }
            // A growing pause, so that a failing server is not pressed harder.
            tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(failures)).await;
        }
    }

    /// Returns invalid requests (401, 403, 429) of the last ten minutes, for health.
    pub fn invalid_requests(&self) -> usize {
        self.limits(|limits| limits.invalid_requests(Instant::now()))
    }

    /// Returns how long a request on this route would have to wait now.
    pub fn wait(&self, route: &Route) -> Option<Duration> {
        self.limits(|limits| limits.wait(&route.key, Instant::now()))
    }

    async fn wait_for_room(&self, request: &Request) -> Result<(), RestError> {
        loop {
            if request.takes_bot_token() && self.0.unauthorized.load(Ordering::Relaxed) {
                return Err(RestError::Unauthorized);
            }
            let key = &request.route.key;
            let wait = self.limits(|limits| {
                let now = Instant::now();
                let wait = limits.wait(key, now);
                if wait.is_none() {
                    limits.take(key);
                }
                wait
            });
            match (wait, request.urgency) {
                (None, _) => return Ok(()),
                (Some(_), Urgency::Passing) => return Err(RestError::Busy),
                (Some(wait), Urgency::Durable) => tokio::time::sleep(wait).await,
            }
        }
    }

    async fn attempt(&self, request: &Request, waits: u32) -> Attempt {
        let _under_way = UnderWay {
            rest: self,
            key: &request.route.key,
        };
        let response = match self.build(request).send().await {
            Ok(response) => response,
            Err(error) => return Attempt::Failed(text::with_causes(&error.without_url())),
        };
        let mut seen = seen(&response);
        let status = response.status();
        let value = match response.bytes().await {
            Ok(bytes) if bytes.is_empty() => Value::Null,
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            Err(error) => return Attempt::Failed(text::with_causes(&error.without_url())),
        };
        if status.as_u16() == 429 {
            complete_from_body(&mut seen, &value, UNSTATED_WAIT * 2_u32.pow(waits.min(6)));
        }
        let key = &request.route.key;
        self.limits(|limits| limits.learn(key, &seen, Instant::now()));
        match status.as_u16() {
            200..=299 => Attempt::Done(Ok(value)),
            429 => {
                warn!(
                    discord.route = key.pattern,
                    discord.major = key.major,
                    discord.scope = ?seen.scope,
                    "Discord asked us to wait {:?} on {}",
                    seen.retry_after.unwrap_or_default(),
                    key.pattern
                );
                match request.urgency {
                    Urgency::Durable => Attempt::Again,
                    Urgency::Passing => Attempt::Done(Err(RestError::Busy)),
                }
            }
            401 if request.takes_bot_token() => {
                if !self.0.unauthorized.swap(true, Ordering::Relaxed) {
                    error!(
                        "Discord refused the bot's token; nothing is sent any more. Set a valid DISCORD_TOKEN and restart"
                    );
                }
                Attempt::Done(Err(RestError::Unauthorized))
            }
            status @ 500.. => Attempt::Failed(format!("HTTP {status}")),
            status => Attempt::Done(Err(refusal(status, &value))),
        }
    }

    fn build(&self, request: &Request) -> reqwest::RequestBuilder {
        let url = format!("{}{}", self.0.base, request.route.path);
        let mut builder = self.0.client.request(request.route.method.clone(), url);
        if request.takes_bot_token() {
            builder = builder.header("Authorization", &self.0.authorization);
        }
        if let Some(reason) = &request.audit_reason {
            let encoded: String = reason.bytes().map(|byte| format!("%{byte:02X}")).collect();
            builder = builder.header("X-Audit-Log-Reason", encoded);
        }
        if request.urgency == Urgency::Passing {
            builder = builder.timeout(PASSING_TIMEOUT);
        }
        match (&request.json, request.files.is_empty()) {
            (None, _) => builder.header("Content-Length", 0),
            (Some(json), true) => builder.json(json),
            (Some(json), false) => builder.multipart(form(json, &request.files)),
        }
    }

    fn lane<'a>(&'a self, key: &'a RouteKey) -> Lane<'a> {
        let lock = Arc::clone(self.0.lanes.lock().entry(key.clone()).or_default());
        Lane {
            rest: self,
            key,
            lock,
        }
    }

    fn limits<T>(&self, use_them: impl FnOnce(&mut Limits) -> T) -> T {
        use_them(&mut self.0.limits.lock())
    }

    fn redact_text(&self, text: &mut String) {
        if let std::borrow::Cow::Owned(clean) = self.0.redactor.redact(text) {
            *text = clean;
        }
    }

    fn redact(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.redact_text(text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact(value)),
            Value::Object(map) => map.values_mut().for_each(|value| self.redact(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// The base of Discord's own API.
pub const DISCORD: &str = "https://discord.com";

fn limits_of(base: &str) -> Limits {
    match base.trim_end_matches('/') {
        DISCORD => Limits::default(),
        _ => Limits::of_another_server(),
    }
}

/// Idle connections that are kept for the next requests; further connections of a burst are closed.
const MOST_IDLE: usize = 32;

/// Returns an HTTP client for Discord, for ourselves and for serenity, whose own has no timeouts.
pub fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .pool_max_idle_per_host(MOST_IDLE)
        // Ours are the only retries; its own, for HTTP/2, would need a copy of each request.
        .retry(
            reqwest::retry::never()
                .no_budget()
                .max_retries_per_request(0),
        )
        .build()
}

/// Returns an HTTP client for the gateway's connection, which has no time limit.
pub(super) fn gateway_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .http1_only()
        .build()
}

enum Attempt {
    Done(Result<Value, RestError>),
    Again,
    Failed(String),
}

/// The place of one request in the lane of its route. The last one removes the lane: most routes are used once.
struct Lane<'a> {
    rest: &'a Rest,
    key: &'a RouteKey,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl Drop for Lane<'_> {
    fn drop(&mut self) {
        let mut lanes = self.rest.0.lanes.lock();
        // The map's own and this one.
        if Arc::strong_count(&self.lock) == 2 {
            lanes.remove(self.key);
        }
    }
}

/// A request that was counted, until it ends, even by being given up.
struct UnderWay<'a> {
    rest: &'a Rest,
    key: &'a RouteKey,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.rest
            .limits(|limits| limits.over(self.key, Instant::now()));
    }
}

/// Returns whether a refused second attempt shows that the first one succeeded and only its answer was lost.
fn is_done(request: &Request, refused: &RestError) -> bool {
    let is_deletion = request.route.method == Method::DELETE;
    refused.is_answered_already() || (is_deletion && refused.is_gone())
}
