//! The relay of one member: passes the program's requests to a provider with the operator's key, within budgets.
//!
//! It listens on a Unix socket and knows one token. It changes the model where that is not allowed, and the limit of the answer; all
//! else passes as it is. What may be spent is decided by a [`Purse`]. Its own refusals are HTTP 400: programs retry others silently.

mod models;
mod request;
mod usage;

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::{Stream, StreamExt as _, stream};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

pub use self::models::ModelRule;
use self::request::{LEAST_OUTPUT, RelayRequest};
use self::usage::UsageReader;
use super::form::Form;
use super::sockets::{bind, is_known, refused};
use crate::domain::{AttemptOutcome, FailureClass, Usage};
use crate::llm::RelayEndpoint;

/// Bytes of a request.
const LARGEST: usize = 32 << 20;

/// Bytes of a list of models.
const LARGEST_LIST: usize = 16 << 20;

/// Requests in a minute while no prompt runs.
const UNASKED: usize = 60;
const MINUTE: Duration = Duration::from_secs(60);

/// How long a provider that is busy is asked again, and how long is waited where it does not say.
const BUSY: Duration = Duration::from_secs(600);
const WAIT: Duration = Duration::from_secs(5);

/// The status of a provider that is overloaded, which Anthropic uses.
const OVERLOADED: u16 = 529;

/// Headers of a request that are passed on.
const PASSED: [&str; 5] = [
    "accept",
    "content-type",
    "anthropic-version",
    "anthropic-beta",
    "openai-beta",
];

/// Headers of an answer that are passed on.
const RETURNED: [HeaderName; 1] = [header::CONTENT_TYPE];

/// Headers that hold a provider's id of a request.
const REQUEST_IDS: [&str; 2] = ["request-id", "x-request-id"];

/// What a member may spend, and what it spent. The owner of budgets implements it.
#[async_trait]
pub trait Purse: Send + Sync {
    /// Reserves money, and a place at the provider, for a request.
    ///
    /// # Errors
    ///
    /// When a budget is spent.
    async fn reserve(&self, asked: &Asked) -> Result<Grant, NotGranted>;

    /// Takes note of a request that ended. Its reservation is given back with it.
    fn spent(&self, done: Done);

    /// The provider refused the operator's key.
    fn key_refused(&self, provider: &str);

    /// The provider is busy and is asked again after this time.
    fn waits(&self, time: Duration);
}

/// Why a request is not paid, in a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotGranted(pub String);

/// A request that is to be paid.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    pub provider: String,
    pub model: String,
    /// Bytes of the request.
    pub bytes: usize,
    /// The most tokens that it asks for.
    pub output: Option<u32>,
}

/// Leave to make a request.
pub struct Grant {
    /// The most tokens that its answer may have; `None` where no budget is set.
    pub output: Option<u32>,
    /// What is held until the request has ended.
    pub held: Box<dyn Send + Sync>,
}

impl fmt::Debug for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grant")
            .field("output", &self.output)
            .finish_non_exhaustive()
    }
}

/// A request that ended.
#[derive(Debug)]
pub struct Done {
    pub provider: String,
    pub model: String,
    pub outcome: AttemptOutcome,
    /// `None` where the answer did not say.
    pub usage: Option<Usage>,
    pub duration: Duration,
    /// The provider's id of it.
    pub request_id: Option<String>,
    pub grant: Grant,
}

/// What a relay is made of.
pub struct RelayParts {
    /// What the program must send.
    pub token: String,
    pub endpoint: RelayEndpoint,
    pub models: ModelRule,
    pub purse: Arc<dyn Purse>,
}

impl fmt::Debug for RelayParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RelayParts").finish_non_exhaustive()
    }
}

/// The relay of one member. Dropping it ends it, with all that passes.
#[derive(Debug)]
pub struct Relay {
    shared: Arc<Shared>,
    /// The server.
    _tasks: JoinSet<()>,
}

struct Shared {
    parts: RelayParts,
    prompts: AtomicUsize,
    /// When requests came while no prompt ran.
    unasked: Mutex<VecDeque<Instant>>,
    /// The model that stood in for another one last.
    substituted: Mutex<Option<String>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

/// A prompt that runs, until this is dropped.
#[derive(Debug)]
pub struct Prompting(Arc<Shared>);

impl Drop for Prompting {
    fn drop(&mut self) {
        self.0.prompts.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Relay {
    /// Listens on the socket `path`, which only this user may open.
    ///
    /// # Errors
    ///
    /// When there is no socket.
    pub fn serve(path: &Path, parts: RelayParts) -> io::Result<Self> {
        let listener = bind(path)?;
        let shared = Arc::new(Shared {
            parts,
            prompts: AtomicUsize::new(0),
            unasked: Mutex::default(),
            substituted: Mutex::default(),
        });
        let router = Router::new()
            .fallback(answer)
            .layer(DefaultBodyLimit::max(LARGEST))
            .with_state(shared.clone());
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            // It ends only when it is dropped.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            shared,
            _tasks: tasks,
        })
    }

    /// Notes that a prompt runs.
    pub fn prompting(&self) -> Prompting {
        self.shared.prompts.fetch_add(1, Ordering::SeqCst);
        *self.shared.substituted.lock() = None;
        Prompting(self.shared.clone())
    }

    /// The model that stood in for another one since the prompt began.
    pub fn substituted(&self) -> Option<String> {
        self.shared.substituted.lock().clone()
    }
}

async fn answer(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path();
    if matches!(method, Method::GET | Method::HEAD) && path == "/" {
        return StatusCode::OK.into_response();
    }
    if !is_known(&shared.parts.token, &uri, &headers) {
        return refused("the token is not that of this member");
    }
    if !shared.has_room() {
        return refused("more than 60 requests in a minute without a prompt");
    }
    if method == Method::GET && path == "/v1/models" {
        return shared.list(&headers).await;
    }
    match Form::of(&method, path) {
        Some(form) => shared.pass(form, &uri, &headers, &body).await,
        None => refused("this path is not passed on"),
    }
}

impl Shared {
    /// Whether a request may be made now: always while a prompt runs.
    fn has_room(&self) -> bool {
        if self.prompts.load(Ordering::SeqCst) > 0 {
            return true;
        }
        let now = Instant::now();
        let mut unasked = self.unasked.lock();
        while unasked
            .front()
            .is_some_and(|at| now.duration_since(*at) >= MINUTE)
        {
            unasked.pop_front();
        }
        let has_room = unasked.len() < UNASKED;
        if has_room {
            unasked.push_back(now);
        }
        has_room
    }

    /// The provider's models, as far as they are allowed.
    async fn list(&self, headers: &HeaderMap) -> Response {
        let endpoint = &self.parts.endpoint;
        let call = endpoint.relayed(reqwest::Method::GET, "/v1/models", None);
        let call = call.headers(passed(headers));
        let Ok(answer) = call.send().await else {
            return refused("the provider cannot be reached");
        };
        if !answer.status().is_success() {
            return self.failed(answer.status().as_u16());
        }
        let text = Body::from_stream(answer.bytes_stream());
        let Ok(text) = axum::body::to_bytes(text, LARGEST_LIST).await else {
            return refused("the provider's list of models cannot be read");
        };
        let Ok(mut list) = serde_json::from_slice::<Value>(&text) else {
            return refused("the provider's list of models cannot be read");
        };
        if let Some(models) = list.get_mut("data").and_then(Value::as_array_mut) {
            let allowed = |model: &Value| {
                model["id"]
                    .as_str()
                    .is_some_and(|id| self.parts.models.allows(id))
            };
            models.retain(allowed);
        }
        axum::Json(list).into_response()
    }

    /// Passes a request on.
    async fn pass(&self, form: Form, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Response {
        let mut request = match RelayRequest::read(form, uri.path(), body) {
            Ok(request) => request,
            Err(why) => return refused(&why.to_string()),
        };
        let Some(path) = self.allowed(&mut request, uri.path()) else {
            let model = crate::text::one_line(&request.model, 100);
            return refused(&format!("the model {model} is not allowed"));
        };
        let asked = Asked {
            provider: self.parts.endpoint.name().to_owned(),
            model: request.model.clone(),
            bytes: body.len(),
            output: request.output(),
        };
        let grant = match self.parts.purse.reserve(&asked).await {
            Ok(grant) => grant,
            Err(why) => return refused(&why.to_string()),
        };
        // Tokens that are only counted have no answer to limit.
        if let Some(most) = grant.output.filter(|_| form != Form::CountTokens) {
            if most < LEAST_OUTPUT && asked.output.is_none_or(|output| output > most) {
                return refused("the budget leaves less than 1,024 tokens for the answer");
            }
            request.limit(most);
        }
        let mut passing = Passing {
            reader: Some(UsageReader::new(form, request.delivery)),
            done: Some(Done {
                provider: asked.provider,
                model: asked.model,
                outcome: AttemptOutcome::Stopped,
                usage: None,
                duration: Duration::ZERO,
                request_id: None,
                grant,
            }),
            purse: self.parts.purse.clone(),
            begun: Instant::now(),
        };
        let headers = passed(headers);
        let body = Bytes::from(request.into_body());
        let target = with_query(&path, uri);
        match self.send(&target, &headers, &body).await {
            Ok(answer) => streamed(answer, passing),
            Err(failure) => {
                passing.ends(AttemptOutcome::Failed(failure.class()));
                self.failure(failure)
            }
        }
    }

    /// Has a request ask a model that is allowed. Returns its path; `None` where no model is.
    fn allowed(&self, request: &mut RelayRequest, path: &str) -> Option<String> {
        if self.parts.models.allows(&request.model) {
            return Some(path.to_owned());
        }
        let model = self.parts.models.substitute()?;
        *self.substituted.lock() = Some(model.to_owned());
        Some(request.ask(model, path))
    }

    /// Sends a request, again and again while the provider is busy.
    async fn send(
        &self,
        target: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<reqwest::Response, Failure> {
        let until = Instant::now() + BUSY;
        let endpoint = &self.parts.endpoint;
        loop {
            let call = endpoint.relayed(reqwest::Method::POST, target, Some(body.clone()));
            let sent = timeout(endpoint.silence(), call.headers(headers.clone()).send()).await;
            let answer = match sent {
                Ok(Ok(answer)) => answer,
                Ok(Err(_)) => return Err(Failure::Unreachable),
                Err(_) => return Err(Failure::Silent),
            };
            let status = answer.status().as_u16();
            match status {
                401 | 403 => return Err(Failure::Status(status)),
                429 | OVERLOADED => {}
                _ => return Ok(answer),
            }
            let wait = retry_after(answer.headers()).unwrap_or(WAIT);
            if Instant::now() + wait > until {
                return Err(Failure::Status(status));
            }
            self.parts.purse.waits(wait);
            sleep(wait).await;
        }
    }

    /// The answer to the program where the provider's would be retried silently, or ask for a key.
    fn failed(&self, status: u16) -> Response {
        self.failure(Failure::Status(status))
    }

    fn failure(&self, failure: Failure) -> Response {
        let provider = self.parts.endpoint.name();
        match failure {
            Failure::Status(401 | 403) => {
                self.parts.purse.key_refused(provider);
                refused("the provider refused the operator's key")
            }
            Failure::Status(429 | OVERLOADED) => {
                refused(&format!("{provider} is busy and was asked for 10 minutes"))
            }
            Failure::Status(status) => refused(&format!("{provider} answered with HTTP {status}")),
            Failure::Unreachable => refused(&format!("{provider} cannot be reached")),
            Failure::Silent => refused(&format!("{provider} did not answer in time")),
        }
    }
}

/// Why a provider has no answer that may be passed on.
#[derive(Clone, Copy, Debug)]
enum Failure {
    Status(u16),
    Unreachable,
    Silent,
}

impl Failure {
    const fn class(self) -> FailureClass {
        match self {
            Self::Status(401 | 403) => FailureClass::AuthError,
            Self::Status(429 | OVERLOADED) => FailureClass::RateLimit,
            Self::Status(_) => FailureClass::ServerError,
            Self::Unreachable => FailureClass::NetworkError,
            Self::Silent => FailureClass::Timeout,
        }
    }
}

/// The headers of a request that are passed on: none that holds a key.
fn passed(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in PASSED {
        if let Some(value) = headers.get(name) {
            kept.insert(HeaderName::from_static(name), value.clone());
        }
    }
    kept
}

/// The path with what the program asked besides, without its token.
fn with_query(path: &str, uri: &Uri) -> String {
    let query = uri.query().unwrap_or_default().split('&');
    let kept: Vec<&str> = query
        .filter(|pair| !pair.is_empty() && !pair.starts_with("key="))
        .collect();
    if kept.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", kept.join("&"))
    }
}

/// How long a provider asks to wait, in seconds.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?;
    value.trim().parse().ok().map(Duration::from_secs)
}

/// A request that passes. Dropped before its end, it was given up by the program or with the relay.
struct Passing {
    reader: Option<UsageReader>,
    done: Option<Done>,
    purse: Arc<dyn Purse>,
    begun: Instant,
}

impl Passing {
    fn ends(&mut self, outcome: AttemptOutcome) {
        let Some(mut done) = self.done.take() else {
            return;
        };
        done.outcome = outcome;
        done.usage = self.reader.take().and_then(UsageReader::finish);
        done.duration = self.begun.elapsed();
        self.purse.spent(done);
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.ends(AttemptOutcome::Stopped);
    }
}

/// Passes an answer on as it comes.
fn streamed(answer: reqwest::Response, mut passing: Passing) -> Response {
    let (status, headers) = (answer.status(), answer.headers().clone());
    if let Some(done) = &mut passing.done {
        let mut ids = REQUEST_IDS
            .iter()
            .filter_map(|name| headers.get(*name)?.to_str().ok());
        done.request_id = ids.next().map(|id| crate::text::one_line(id, 100));
    }
    let end = if status.is_success() {
        AttemptOutcome::Ok
    } else if status.is_client_error() {
        AttemptOutcome::Failed(FailureClass::ModelError)
    } else {
        AttemptOutcome::Failed(FailureClass::ServerError)
    };
    let body = Body::from_stream(read_on_the_way(answer.bytes_stream(), passing, end));
    let mut response = Response::new(body);
    *response.status_mut() = status;
    for name in RETURNED {
        if let Some(value) = headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

fn read_on_the_way(
    answer: impl Stream<Item = reqwest::Result<Bytes>> + Send + Unpin + 'static,
    passing: Passing,
    end: AttemptOutcome,
) -> impl Stream<Item = reqwest::Result<Bytes>> + Send + 'static {
    stream::unfold(
        (answer, passing),
        move |(mut answer, mut passing)| async move {
            match answer.next().await {
                Some(Ok(bytes)) => {
                    if let Some(reader) = &mut passing.reader {
                        reader.take(&bytes);
                    }
                    Some((Ok(bytes), (answer, passing)))
                }
                Some(Err(error)) => {
                    passing.ends(AttemptOutcome::Failed(FailureClass::NetworkError));
                    Some((Err(error), (answer, passing)))
                }
                None => {
                    passing.ends(end);
                    None
                }
            }
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_token_goes_no_further() {
        let uri: Uri = "http://x/v1beta/models/m:streamGenerateContent?key=secret&alt=sse"
            .parse()
            .unwrap_or_default();
        assert_eq!(with_query("/p", &uri), "/p?alt=sse");
        let bare: Uri = "http://x/p?key=secret".parse().unwrap_or_default();
        assert_eq!(with_query("/p", &bare), "/p");
        let mut headers = HeaderMap::new();
        for name in ["x-api-key", "authorization", "cookie", "accept"] {
            headers.insert(
                HeaderName::from_static(name),
                header::HeaderValue::from_static("x"),
            );
        }
        let kept = passed(&headers);
        assert_eq!(
            kept.keys().map(HeaderName::as_str).collect::<Vec<_>>(),
            ["accept"]
        );
    }
}
