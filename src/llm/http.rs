//! Requests to a provider and the answers they bring: bounded in size, bounded in silence, never redirected.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::{FailureClass, LlmError};
use super::failure::{ApiError, Said, one_line};
use super::provider::{Encoded, OnDelta, Reply};
use super::sse::Decoder;
use super::stream_decoder::{Progress, StreamDecoder};
use crate::clock;
use crate::config::Secret;
use crate::domain::Usage;

/// Longest answer that is read, whatever it says: a gigabyte body ends here.
const MAX_BODY: usize = 32 << 20;

/// Longest error body that is read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// Longest list of models that is read; the longest known has a few megabytes.
const MAX_LIST: usize = 16 << 20;

/// A provider that does not answer the call by then is not there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the end of the body is waited for after the end of the answer, so that the connection can serve again.
const DRAIN: Duration = Duration::from_millis(5);

/// Makes the client for all providers. It follows no redirect, because that would carry the key elsewhere.
///
/// # Errors
///
/// When TLS cannot be set up.
pub fn client() -> reqwest::Result<reqwest::Client> {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .user_agent(concat!("chorus/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// Where a provider is, who it is and how long it may be silent.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its name in configuration, errors and accounting.
    pub name: String,
    /// The client that all providers share.
    pub client: reqwest::Client,
    /// Its base URL, no slash at the end.
    pub base_url: String,
    /// Its key, where it needs one.
    pub key: Option<Secret>,
    /// How long an answer may bring no content.
    pub silence: Duration,
}

impl Endpoint {
    /// Sends `request` to `path` and reads the answer event by event with `reading`.
    pub(super) async fn stream<R: StreamDecoder>(
        &self,
        path: &str,
        headers: HeaderMap,
        request: &Encoded,
        mut reading: R,
        on_delta: &mut OnDelta<'_>,
    ) -> Result<Reply, LlmError> {
        let mut deadline = Instant::now() + self.silence;
        let call = self
            .client
            .post(format!("{}{path}", self.base_url))
            .headers(headers)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(request.body.clone());
        let mut response = self.send(call, deadline).await?;
        let id = request_id(response.headers());
        let failed = |fault, usage: Option<Usage>| LlmError {
            usage: usage.map(Box::new),
            ..self.error(fault, id.clone())
        };
        if let Err(fault) = is_event_stream(&mut response, deadline).await {
            return Err(failed(fault, None));
        }
        let mut body = Body::new(response, MAX_BODY);
        let mut decoder = Decoder::default();
        loop {
            let chunk = match body.next(deadline).await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => break,
                Err(fault) => return Err(failed(fault, reading.usage())),
            };
            let events = decoder
                .push(&chunk)
                .map_err(|fault| failed(fault, reading.usage()))?;
            // An event without data is a sign of life of some proxy.
            for event in events.iter().filter(|event| !event.data.trim().is_empty()) {
                let progress = reading
                    .take(event, on_delta)
                    .map_err(|fault| failed(fault, reading.usage()))?;
                match progress {
                    Progress::Nothing => {}
                    Progress::Content => deadline = Instant::now() + self.silence,
                    Progress::Done => {
                        body.drain().await;
                        return Ok(reading.reply(request, id));
                    }
                }
            }
        }
        match reading.at_end() {
            Ok(()) => Ok(reading.reply(request, id)),
            Err(fault) => Err(failed(fault, reading.usage())),
        }
    }

    /// Gets `path` as JSON.
    pub(super) async fn get(&self, path: &str, headers: HeaderMap) -> Result<Value, LlmError> {
        let deadline = Instant::now() + self.silence;
        let call = self
            .client
            .get(format!("{}{path}", self.base_url))
            .headers(headers);
        let response = self.send(call, deadline).await?;
        let id = request_id(response.headers());
        let body = match Body::new(response, MAX_LIST).whole(deadline).await {
            Ok(body) => body,
            Err(fault) => return Err(self.error(fault, id)),
        };
        serde_json::from_slice(&body)
            .map_err(|_| self.error(ApiError::invalid("the answer is not JSON"), id))
    }

    /// Sends `call`; whatever is no success becomes an error of its class.
    async fn send(
        &self,
        call: reqwest::RequestBuilder,
        deadline: Instant,
    ) -> Result<Response, LlmError> {
        let response = match timeout_at(deadline, call.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.error(fault_of(&error), None)),
            Err(_) => return Err(self.error(silent(), None)),
        };
        let status = response.status();
        if status == StatusCode::OK {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let fault = match status.as_u16() {
            200..=299 => ApiError::invalid(format!("HTTP {status} instead of an answer")),
            300..=399 => ApiError::invalid(format!(
                "HTTP {status}: the base URL leads elsewhere, and keys are not sent along; set the address it leads to"
            )),
            status => {
                let body = Body::new(response, MAX_ERROR_BODY)
                    .whole(deadline)
                    .await
                    .unwrap_or_default();
                Said::read_bytes(&body).with_status(status, &headers, clock::now())
            }
        };
        let fault = ApiError {
            status: Some(status.as_u16()),
            ..fault
        };
        Err(self.error(fault, request_id(&headers)))
    }

    /// Names the provider of `fault`, and keeps its key out of the text.
    pub(super) fn error(&self, fault: ApiError, request_id: Option<String>) -> LlmError {
        let message = match &self.key {
            Some(key) if !key.expose().is_empty() => fault.message.replace(key.expose(), "[key]"),
            _ => fault.message,
        };
        LlmError {
            class: fault.class,
            provider: self.name.clone(),
            message,
            status: fault.status,
            retry_after: fault.retry_after,
            request_id,
            usage: None,
        }
    }

    /// A header that carries the key, not to be logged. A key that no header can carry is refused.
    pub(super) fn key_header(
        &self,
        name: &'static str,
        prefix: &str,
    ) -> Result<HeaderMap, LlmError> {
        let mut headers = HeaderMap::new();
        let Some(key) = &self.key else {
            return Ok(headers);
        };
        let value = HeaderValue::from_str(&format!("{prefix}{}", key.expose()));
        let Ok(mut value) = value else {
            let fault = ApiError::new(
                FailureClass::AuthError,
                "the key has characters that no key has; set it again",
            );
            return Err(self.error(fault, None));
        };
        value.set_sensitive(true);
        headers.insert(HeaderName::from_static(name), value);
        Ok(headers)
    }
}

/// A body that is read chunk by chunk up to a bound.
struct Body {
    response: Response,
    left: usize,
}

impl Body {
    fn new(response: Response, bound: usize) -> Self {
        Self {
            response,
            left: bound,
        }
    }

    async fn next(&mut self, deadline: Instant) -> Result<Option<Bytes>, ApiError> {
        let chunk = match timeout_at(deadline, self.response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(None),
            Ok(Err(error)) => return Err(fault_of(&error)),
            Err(_) => return Err(silent()),
        };
        match self.left.checked_sub(chunk.len()) {
            Some(left) => self.left = left,
            None => return Err(ApiError::invalid("the answer is longer than any answer is")),
        }
        Ok(Some(chunk))
    }

    async fn whole(mut self, deadline: Instant) -> Result<Vec<u8>, ApiError> {
        let mut whole = Vec::new();
        while let Some(chunk) = self.next(deadline).await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    }

    /// Reads what follows the end of the answer, usually nothing. What it brings does not matter.
    async fn drain(mut self) {
        let _ = timeout(DRAIN, self.response.chunk()).await;
    }
}

/// A 200 that is no event stream is an error in JSON, or a page of something that is no provider.
async fn is_event_stream(response: &mut Response, deadline: Instant) -> Result<(), ApiError> {
    let Some(kind) = response.headers().get(CONTENT_TYPE) else {
        return Ok(());
    };
    let kind = kind.to_str().unwrap_or_default().to_ascii_lowercase();
    if kind.starts_with("text/event-stream") {
        return Ok(());
    }
    let wrong = ApiError::invalid(format!(
        "the answer is {}, not an event stream",
        one_line(&kind)
    ));
    if !kind.contains("json") {
        return Err(wrong);
    }
    let mut body = Vec::new();
    while body.len() < MAX_ERROR_BODY {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            _ => break,
        }
    }
    let value: Value = serde_json::from_slice(&body).unwrap_or_default();
    let error = value.get(0).unwrap_or(&value).get("error");
    Err(if error.is_some_and(|error| !error.is_null()) {
        Said::read(&value).within_stream()
    } else {
        wrong
    })
}

fn silent() -> ApiError {
    ApiError::new(FailureClass::Timeout, "no content for too long")
}

/// The class of a failure below HTTP, without the URL, which can carry a key.
fn fault_of(error: &reqwest::Error) -> ApiError {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    let mut broke = false;
    loop {
        broke |= cause
            .downcast_ref::<io::Error>()
            .is_some_and(is_of_the_line);
        match cause.source() {
            Some(deeper) => cause = deeper,
            None => break,
        }
    }
    let (class, what) = match error {
        error if error.is_timeout() => (FailureClass::Timeout, "timed out"),
        error if error.is_connect() => (FailureClass::NetworkError, "cannot be reached"),
        error if error.is_decode() && !broke => (
            FailureClass::InvalidResponse,
            "sent a body that cannot be read",
        ),
        error if error.is_builder() => (
            FailureClass::InvalidRequest,
            "has an address that makes no request",
        ),
        _ => (FailureClass::NetworkError, "broke the connection"),
    };
    let deepest = one_line(&cause.to_string());
    let names_url = error
        .url()
        .is_some_and(|url| deepest.contains(url.as_str()));
    if names_url || deepest.is_empty() {
        ApiError::new(class, what)
    } else {
        ApiError::new(class, format!("{what} ({deepest})"))
    }
}

/// The connection ended, as opposed to a body that makes no sense.
fn is_of_the_line(error: &io::Error) -> bool {
    use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    matches!(
        error.kind(),
        UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe
    )
}

/// The provider's id of the request, by the name that each gives it.
fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id", "x-goog-request-id"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .map(one_line)
}
