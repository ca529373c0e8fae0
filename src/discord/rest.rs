//! Requests to Discord's REST API, made by our own client so that the answer's headers can be read.
//!
//! serenity's error type drops them, and its rate limiter is off whenever requests go to another address. Here every
//! request waits for its bucket, is retried after a 429 or a 5xx, and stops for good after a 401.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use reqwest::{Response, multipart};
use serde_json::Value;
use tracing::{error, warn};

use super::body::{Body, File};
use super::limits::{Limits, RouteKey, Scope, Seen};
use super::route::{self, Proof, Route};
use crate::domain::{ChannelId, MessageId};
use crate::text::redact::Redactor;

/// Times a durable request is made while the network or Discord fails; with the pauses between, half a minute.
const ATTEMPTS: u32 = 6;

/// The first pause after a failure; it doubles from there.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// How long a request may take. Files go up within it on a slow line.
const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a request that may fail may take.
const PASSING_TIMEOUT: Duration = Duration::from_secs(5);

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Our name, in the form Discord asks for.
const USER_AGENT: &str = concat!("DiscordBot (chorus, ", env!("CARGO_PKG_VERSION"), ")");

/// Whether a request must arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// It waits for its turn and is tried again.
    Durable,
    /// It is made now or not at all: typing, edits of a status.
    Passing,
}

/// Why a request gave nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RestError {
    /// Discord refused our token; nothing is asked of it any more.
    #[error(
        "Discord refused the bot's token, so nothing is sent any more; set a valid DISCORD_TOKEN and restart"
    )]
    Unauthorized,
    /// A passing request would have had to wait.
    #[error("Discord's rate limit leaves no room now")]
    Busy,
    /// Discord refused the request.
    #[error("Discord refused: {message} (HTTP {status}, code {code})")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Discord's own error code, 0 if there is none.
        code: u64,
        /// Discord's words.
        message: String,
    },
    /// It may or may not have arrived.
    #[error("Discord cannot be reached: {0}")]
    Unreachable(String),
}

impl RestError {
    /// The thing spoken of is not there (any more).
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Refused { status: 404, .. })
    }

    /// We lack a permission for it.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused { status: 403, .. })
    }

    /// Discord's error code of a refusal.
    pub fn code(&self) -> Option<u64> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Unauthorized | Self::Busy | Self::Unreachable(_) => None,
        }
    }
}

/// The REST API. Cheap to clone; all clones share limits.
#[derive(Clone)]
pub struct Rest(Arc<Inner>);

struct Inner {
    client: reqwest::Client,
    base: String,
    authorization: String,
    redactor: Redactor,
    limits: Mutex<Limits>,
    /// Requests of one route go one after the other: order is kept and a bucket is never overrun by guesses.
    lanes: Mutex<HashMap<RouteKey, Arc<tokio::sync::Mutex<()>>>>,
    unauthorized: AtomicBool,
}

impl Rest {
    /// A client for the API at `base` (`https://discord.com`, or another for tests). Whatever goes out passes `redactor`.
    ///
    /// # Errors
    ///
    /// When no TLS backend can be set up.
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

    /// Makes a request without a body that must arrive.
    ///
    /// # Errors
    ///
    /// See [`RestError`].
    pub async fn get(&self, route: Route) -> Result<Value, RestError> {
        self.send(Request::new(route, Urgency::Durable)).await
    }

    /// Makes a request with a JSON body that must arrive.
    ///
    /// # Errors
    ///
    /// See [`RestError`].
    pub async fn put(&self, route: Route, json: impl Into<Value>) -> Result<Value, RestError> {
        self.send(Request::new(route, Urgency::Durable).json(json))
            .await
    }

    /// Posts `body` and returns the id of the new message. A nonce keeps a repeated try from posting twice.
    ///
    /// # Errors
    ///
    /// See [`RestError`].
    pub async fn post(&self, channel: ChannelId, body: &Body) -> Result<MessageId, RestError> {
        let mut json = body.to_json();
        json.insert("nonce".into(), nonce().into());
        json.insert("enforce_nonce".into(), true.into());
        let request = Request::new(route::create_message(channel), Urgency::Durable)
            .json(json)
            .files(&body.files);
        message_id(&self.send(request).await?)
    }

    /// Puts `body` in place of the message.
    ///
    /// # Errors
    ///
    /// See [`RestError`].
    pub async fn edit(
        &self,
        channel: ChannelId,
        message: MessageId,
        body: &Body,
        urgency: Urgency,
    ) -> Result<(), RestError> {
        let request = Request::new(route::edit_message(channel, message), urgency).body(body);
        self.send(request).await.map(drop)
    }

    /// Makes a request.
    ///
    /// # Errors
    ///
    /// See [`RestError`].
    pub async fn send(&self, mut request: Request) -> Result<Value, RestError> {
        if let Some(json) = &mut request.json {
            self.redact(json);
        }
        let lane = self.lane(&request.route.key);
        let _turn = match request.urgency {
            Urgency::Durable => lane.lock().await,
            Urgency::Passing => lane.try_lock().map_err(|_| RestError::Busy)?,
        };
        let mut failures = 0;
        loop {
            self.wait_for_room(&request).await?;
            let reason = match self.attempt(&request).await {
                Attempt::Done(outcome) => return outcome,
                Attempt::Again => continue,
                Attempt::Failed(reason) => reason,
            };
            failures += 1;
            if failures == ATTEMPTS || request.urgency == Urgency::Passing {
                return Err(RestError::Unreachable(reason));
            }
            tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(failures)).await;
        }
    }

    /// Invalid requests (401, 403, 429) of the last ten minutes, for health.
    pub fn invalid_requests(&self) -> usize {
        self.limits(|limits| limits.invalid_requests(Instant::now()))
    }

    async fn wait_for_room(&self, request: &Request) -> Result<(), RestError> {
        loop {
            if request.route.proof == Proof::BotToken && self.0.unauthorized.load(Ordering::Relaxed)
            {
                return Err(RestError::Unauthorized);
            }
            let key = &request.route.key;
            let wait = self.limits(|limits| {
                let now = Instant::now();
                let wait = limits.wait(key, now);
                if wait.is_none() {
                    limits.take(key, now);
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

    async fn attempt(&self, request: &Request) -> Attempt {
        let response = match self.build(request).send().await {
            Ok(response) => response,
            Err(error) => return Attempt::Failed(error.without_url().to_string()),
        };
        let mut seen = seen(&response);
        let status = response.status();
        let value = match response.bytes().await {
            Ok(bytes) if bytes.is_empty() => Value::Null,
            Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or(Value::Null),
            Err(error) => return Attempt::Failed(error.without_url().to_string()),
        };
        if status.as_u16() == 429 {
            complete_from_body(&mut seen, &value);
        }
        let key = &request.route.key;
        self.limits(|limits| limits.learn(key, &seen, Instant::now()));
        match status.as_u16() {
            200..=299 => Attempt::Done(Ok(value)),
            429 => {
                warn!(
                    discord.route = key.pattern,
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
            401 if request.route.proof == Proof::BotToken => {
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
        if request.route.proof == Proof::BotToken {
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

    fn lane(&self, key: &RouteKey) -> Arc<tokio::sync::Mutex<()>> {
        let mut lanes = self.0.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if lanes.len() >= MOST_LANES {
            lanes.retain(|_, lane| Arc::strong_count(lane) > 1);
        }
        Arc::clone(lanes.entry(key.clone()).or_default())
    }

    fn limits<T>(&self, use_them: impl FnOnce(&mut Limits) -> T) -> T {
        use_them(&mut self.0.limits.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn redact(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let std::borrow::Cow::Owned(clean) = self.0.redactor.redact(text) {
                    *text = clean;
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.redact(value)),
            Value::Object(map) => map.values_mut().for_each(|value| self.redact(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

/// Where the API is Discord's own.
pub const DISCORD: &str = "https://discord.com";

fn limits_of(base: &str) -> Limits {
    match base.trim_end_matches('/') {
        DISCORD => Limits::default(),
        _ => Limits::of_another_server(),
    }
}

/// Lanes kept before idle ones are forgotten: each interaction has its own.
const MOST_LANES: usize = 4_096;

/// An HTTP client for Discord, for us and for serenity, whose own has no timeouts.
///
/// # Errors
///
/// When no TLS backend can be set up.
pub fn http_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(TIMEOUT)
        .build()
}

/// An HTTP client that opens the gateway's line: without an end to the time that may take.
///
/// # Errors
///
/// When no TLS backend can be set up.
pub(super) fn line_client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .user_agent(USER_AGENT)
        .connect_timeout(CONNECT_TIMEOUT)
        .http1_only()
        .build()
}

/// One request, before it is made.
#[derive(Clone, Debug)]
pub struct Request {
    route: Route,
    json: Option<Value>,
    files: Vec<File>,
    urgency: Urgency,
    audit_reason: Option<String>,
}

impl Request {
    /// A request without a body.
    pub fn new(route: Route, urgency: Urgency) -> Self {
        Self {
            route,
            json: None,
            files: Vec::new(),
            urgency,
            audit_reason: None,
        }
    }

    /// The same with a JSON body.
    #[must_use]
    pub fn json(mut self, json: impl Into<Value>) -> Self {
        self.json = Some(json.into());
        self
    }

    /// The same with a message as its body.
    #[must_use]
    pub fn body(self, body: &Body) -> Self {
        self.json(body.to_json()).files(&body.files)
    }

    /// The same with files beside its JSON.
    #[must_use]
    pub fn files(mut self, files: &[File]) -> Self {
        self.files = files.to_vec();
        self
    }

    /// The same with what the server's audit log shall say.
    #[must_use]
    pub fn audit_reason(mut self, reason: impl Into<String>) -> Self {
        self.audit_reason = Some(reason.into());
        self
    }
}

enum Attempt {
    Done(Result<Value, RestError>),
    Again,
    Failed(String),
}

fn form(json: &Value, files: &[File]) -> multipart::Form {
    let mut form = multipart::Form::new().text("payload_json", json.to_string());
    for (index, file) in files.iter().enumerate() {
        let part = multipart::Part::stream(file.bytes.clone()).file_name(file.name.clone());
        form = form.part(format!("files[{index}]"), part);
    }
    form
}

fn seen(response: &Response) -> Seen {
    let header = |name: &str| response.headers().get(name)?.to_str().ok();
    let seconds = |name: &str| header(name).and_then(to_seconds);
    let is_global = header("x-ratelimit-global").is_some();
    Seen {
        status: response.status().as_u16(),
        bucket: header("x-ratelimit-bucket").map(str::to_owned),
        remaining: header("x-ratelimit-remaining").and_then(|left| left.parse().ok()),
        reset_after: seconds("x-ratelimit-reset-after"),
        retry_after: seconds("retry-after"),
        scope: match header("x-ratelimit-scope") {
            Some("global") => Scope::Global,
            Some("shared") => Scope::Shared,
            Some(_) | None if is_global => Scope::Global,
            Some(_) | None => Scope::User,
        },
    }
}

fn to_seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// The body of a 429 says the wait to the millisecond, the header only in whole seconds.
fn complete_from_body(seen: &mut Seen, body: &Value) {
    let exact = body["retry_after"]
        .as_f64()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seen.retry_after = exact.or(seen.retry_after);
    if body["global"].as_bool() == Some(true) {
        seen.scope = Scope::Global;
    }
}

fn refusal(status: u16, body: &Value) -> RestError {
    RestError::Refused {
        status,
        code: body["code"].as_u64().unwrap_or_default(),
        message: body["message"]
            .as_str()
            .unwrap_or("no reason given")
            .to_owned(),
    }
}

/// A nonce of 25 characters, as many as Discord takes.
fn nonce() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..25].to_owned()
}

/// The id in a message's JSON.
///
/// # Errors
///
/// When there is none: whoever answered is not Discord.
pub fn message_id(message: &Value) -> Result<MessageId, RestError> {
    snowflake(&message["id"])
        .map(MessageId)
        .ok_or_else(|| RestError::Unreachable("its answer holds no message id".into()))
}

/// A snowflake in JSON.
pub fn snowflake(value: &Value) -> Option<u64> {
    value.as_str()?.parse().ok()
}
