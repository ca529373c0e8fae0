//! Requests to a provider and the events of their answers: with a bound on size, a bound on silence, and no redirects.
//!
//! The reader of server-sent events is our own because eventsource-stream 0.2 panics on a byte order mark and lets one
//! line grow without limit (`docs/decisions/0300-own-event-stream-reader.md`).

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, StatusCode};
use serde_json::Value;
use tokio::time::{Instant, timeout, timeout_at};

use super::error::{FailureClass, LlmError};
use super::failure::{ApiError, Said, of_connection, one_line, silent};
use super::local::{self, Reach};
use super::provider::{Encoded, OnDelta, Reply};
use super::stream_decoder::{Progress, StreamDecoder, nonsense};
use crate::clock;
use crate::config::Secret;
use crate::domain::{Usage, json_values};
use crate::text::long;

/// Longest answer that is read; a body of gigabytes ends here.
const MAX_BODY: usize = 32 << 20;

/// Bytes of an answer that are read before other tasks have their turn. That is a tenth of a millisecond of work, and
/// another turn may have to wait for a dozen of these.
const AT_A_STRETCH: usize = 4 << 10;

/// Longest error body that is read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// Longest list of models that is read; the longest known has a few megabytes.
const MAX_LIST: usize = 16 << 20;

/// Most values in such a list: a gateway with a thousand models has a hundred for each.
const MOST_LISTED: usize = 200_000;

/// A provider is unreachable if no connection opens within this time.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Most connections to one server that are kept for the next requests. A burst opens more, which are closed after their
/// answers: each holds buffers.
const MOST_IDLE: usize = 32;

/// How long to wait for the end of the body after the end of the answer, so that the connection can be used again.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(5);

/// Creates the client for all providers. It follows no redirect, because that would send the key elsewhere.
pub fn client() -> reqwest::Result<reqwest::Client> {
    builder().build()
}

/// Returns a builder for the same client.
pub(super) fn builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .pool_max_idle_per_host(MOST_IDLE)
        // It would keep a copy of each request, to send it again as HTTP/2 requires, but no client here speaks HTTP/2.
        .retry(
            reqwest::retry::never()
                .no_budget()
                .max_retries_per_request(0),
        )
        .user_agent(concat!("chorus/", env!("CARGO_PKG_VERSION")))
}

/// The address of a provider, its key and how long it may be silent.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Its name in configuration, errors and accounting.
    pub name: String,
    /// The client that all providers share.
    pub client: reqwest::Client,
    /// Its base URL, without a slash at the end.
    pub base_url: String,
    /// Its key, if it needs one.
    pub key: Option<Secret>,
    /// Longest time without content in an answer.
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
        let client = match request.reach {
            Reach::Anywhere => &self.client,
            Reach::Local => {
                local::client(&self.base_url).map_err(|fault| self.error(fault, None))?
            }
        };
        let call = client
            .post(format!("{}{path}", self.base_url))
            .headers(headers)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "text/event-stream")
            .body(request.body.clone());
        let response = self.send(call, deadline).await?;
        let id = request_id(response.headers());
        let failed = |fault, usage: Option<Usage>| LlmError {
            usage: usage.map(Box::new),
            ..self.error(fault, id.clone())
        };
        let kind = content_type(&response);
        let mut body = Body::new(response, MAX_BODY);
        let (form, mut waiting) = match body.form(deadline).await {
            Ok(found) => found,
            Err(fault) => return Err(failed(fault, None)),
        };
        match form {
            Form::Events => {}
            Form::Json => {
                let whole = body.rest(waiting, deadline).await;
                let read = whole.and_then(|whole| {
                    long::work_on(whole.len(), || read_whole(&whole, &mut reading, on_delta))
                });
                return match read {
                    Ok(()) => Ok(reading.reply(request, id)),
                    Err(fault) => Err(failed(fault, reading.usage())),
                };
            }
            Form::Page => return Err(failed(no_events(&kind), None)),
        }
        let mut decoder = Decoder::default();
        let mut has_events = false;
        let mut at_a_stretch = 0;
        loop {
            let chunk = match waiting.take() {
                Some(chunk) => chunk,
                None => match body.next(deadline).await {
                    Ok(Some(chunk)) => chunk,
                    Ok(None) => break,
                    Err(fault) => return Err(failed(fault, reading.usage())),
                },
            };
            for piece in chunk.chunks(AT_A_STRETCH) {
                at_a_stretch += piece.len();
                if at_a_stretch > AT_A_STRETCH {
                    at_a_stretch = piece.len();
                    tokio::task::yield_now().await;
                }
                let events = decoder
                    .push(piece)
                    .map_err(|fault| failed(fault, reading.usage()))?;
                has_events |= !events.is_empty();
                // An event without data is some proxy's keep-alive.
                for event in events.iter().filter(|event| !event.data.trim().is_empty()) {
                    let taken = long::work_on(event.data.len(), || reading.take(event, on_delta));
                    let progress = taken.map_err(|fault| failed(fault, reading.usage()))?;
                    match progress {
                        Progress::Nothing => {}
                        Progress::Content => deadline = Instant::now() + self.silence,
                        Progress::Done => {
                            let read = body.read();
                            body.drain().await;
                            return Ok(long::work_on(read, || reading.reply(request, id)));
                        }
                    }
                }
            }
        }
        // A server that leaves out the blank line after its last event: the end of the body ends the event. A truncated
        // one does not count.
        if let Some(last) = decoder.end()
            && let Ok(Progress::Done) = reading.take(&last, on_delta)
        {
            return Ok(long::work_on(body.read(), || reading.reply(request, id)));
        }
        let ended = match reading.at_end() {
            Err(_) if !has_events && !is_event_stream(&kind) => Err(no_events(&kind)),
            ended => ended,
        };
        match ended {
            Ok(()) => Ok(long::work_on(body.read(), || reading.reply(request, id))),
            Err(fault) => Err(failed(fault, reading.usage())),
        }
    }

    /// Returns whether this is the server at `host`, and not another one that speaks its format.
    pub(super) fn is_at(&self, host: &str) -> bool {
        let url = reqwest::Url::parse(&self.base_url);
        url.is_ok_and(|url| url.host_str() == Some(host))
    }

    pub(super) async fn get(&self, path: &str, headers: HeaderMap) -> Result<Value, LlmError> {
        let url = format!("{}{path}", self.base_url);
        self.json(self.client.get(url).headers(headers)).await
    }

    /// Gets `path` as JSON. The path is not below the version of the API but next to it.
    pub(super) async fn get_at_root(
        &self,
        path: &str,
        headers: HeaderMap,
    ) -> Result<Value, LlmError> {
        let url = format!("{}{path}", self.root());
        self.json(self.client.get(url).headers(headers)).await
    }

    /// Posts `body` to `path`, which is not below the version of the API but next to it; the answer is JSON.
    pub(super) async fn post_at_root(
        &self,
        path: &str,
        headers: HeaderMap,
        body: &Value,
    ) -> Result<Value, LlmError> {
        let url = format!("{}{path}", self.root());
        self.json(self.client.post(url).headers(headers).json(body))
            .await
    }

    fn root(&self) -> &str {
        self.base_url
            .strip_suffix("/v1")
            .unwrap_or(self.base_url.as_str())
    }

    /// Returns the answer to `call`, as JSON.
    async fn json(&self, call: reqwest::RequestBuilder) -> Result<Value, LlmError> {
        let deadline = Instant::now() + self.silence;
        let response = self.send(call, deadline).await?;
        let id = request_id(response.headers());
        let body = match Body::new(response, MAX_LIST).whole(deadline).await {
            Ok(body) => body,
            Err(fault) => return Err(self.error(fault, id)),
        };
        if json_values::count(&body) > MOST_LISTED {
            let fault =
                ApiError::invalid("the answer has more values than a list of models may have");
            return Err(self.error(fault, id));
        }
        serde_json::from_slice(&body)
            .map_err(|_| self.error(ApiError::invalid("the answer is not JSON"), id))
    }

    /// Sends `call`; any status except success becomes an error of its class.
    async fn send(
        &self,
        call: reqwest::RequestBuilder,
        deadline: Instant,
    ) -> Result<Response, LlmError> {
        let response = match timeout_at(deadline, call.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(self.error(of_connection(&error), None)),
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

    /// Adds the provider's name to `fault`, and removes its key from the text.
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

    /// Returns a header with the key, excluded from logs. A key that no header can carry is refused.
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
                "the key has characters that no key has; copy it again",
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
    bound: usize,
    left: usize,
}

impl Body {
    fn new(response: Response, bound: usize) -> Self {
        Self {
            response,
            bound,
            left: bound,
        }
    }

    /// Returns the bytes read so far.
    const fn read(&self) -> usize {
        self.bound - self.left
    }

    async fn next(&mut self, deadline: Instant) -> Result<Option<Bytes>, ApiError> {
        let chunk = match timeout_at(deadline, self.response.chunk()).await {
            Ok(Ok(Some(chunk))) => chunk,
            Ok(Ok(None)) => return Ok(None),
            Ok(Err(error)) => return Err(of_connection(&error)),
            Err(_) => return Err(silent()),
        };
        match self.left.checked_sub(chunk.len()) {
            Some(left) => self.left = left,
            None => return Err(ApiError::invalid("the answer is longer than the limit")),
        }
        Ok(Some(chunk))
    }

    async fn whole(mut self, deadline: Instant) -> Result<Vec<u8>, ApiError> {
        self.rest(None, deadline).await
    }

    /// Returns the rest, after the part that was read ahead.
    async fn rest(&mut self, ahead: Option<Bytes>, deadline: Instant) -> Result<Vec<u8>, ApiError> {
        let mut whole = ahead.map(Vec::from).unwrap_or_default();
        while let Some(chunk) = self.next(deadline).await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole)
    }

    /// Reads up to the first byte that shows the form of the answer. Returns also the chunk with that byte.
    async fn form(&mut self, deadline: Instant) -> Result<(Form, Option<Bytes>), ApiError> {
        while let Some(chunk) = self.next(deadline).await? {
            let begins = chunk.strip_prefix(BYTE_ORDER_MARK.as_bytes());
            let begins = begins.unwrap_or(&chunk).trim_ascii_start();
            let form = match begins.first() {
                Some(b'{' | b'[') => Form::Json,
                Some(b'<') => Form::Page,
                Some(_) => Form::Events,
                None => continue,
            };
            return Ok((form, Some(chunk)));
        }
        Ok((Form::Events, None))
    }

    /// Reads the bytes after the end of the answer, usually none. The content is ignored.
    async fn drain(mut self) {
        let _ = timeout(DRAIN_TIMEOUT, self.response.chunk()).await;
    }
}

/// The form of an answer, by its beginning: servers and proxies send events and JSON under each other's content type.
enum Form {
    Events,
    /// A whole answer, several pieces of one, or an error.
    Json,
    /// A web page from something that is not a provider.
    Page,
}

fn content_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    one_line(&kind.to_ascii_lowercase())
}

fn is_event_stream(kind: &str) -> bool {
    kind.is_empty() || kind.starts_with("text/event-stream")
}

/// Returns the fault for an answer without events.
fn no_events(kind: &str) -> ApiError {
    let kind = if kind.is_empty() { "a page" } else { kind };
    ApiError::invalid(format!("the answer is {kind}, not an event stream"))
}

/// Reads an answer that came as JSON: whole, or as one value for each piece.
fn read_whole<R: StreamDecoder>(
    body: &[u8],
    reading: &mut R,
    on_delta: &mut OnDelta<'_>,
) -> Result<(), ApiError> {
    let body = body
        .strip_prefix(BYTE_ORDER_MARK.as_bytes())
        .unwrap_or(body);
    if json_values::count(body) > MOST_VALUES {
        return Err(ApiError::invalid(
            "the answer has more values than the limit",
        ));
    }
    for value in serde_json::Deserializer::from_slice(body).into_iter::<Value>() {
        let value = value.map_err(nonsense)?;
        let error = value.get(0).unwrap_or(&value).get("error");
        if error.is_some_and(|error| !error.is_null()) {
            return Err(Said::read(&value).within_stream());
        }
        // Some proxies put a whole answer, or its pieces, into an array.
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        for event in values.into_iter().flat_map(R::events_of) {
            let event = Event {
                name: String::new(),
                data: event.to_string(),
            };
            if reading.take(&event, on_delta)? == Progress::Done {
                return Ok(());
            }
        }
    }
    reading.at_end()
}

/// Returns the provider's id of the request, under whichever name it uses.
fn request_id(headers: &HeaderMap) -> Option<String> {
    ["request-id", "x-request-id", "x-goog-request-id"]
        .iter()
        .find_map(|name| headers.get(*name)?.to_str().ok())
        .map(one_line)
}

/// Longest line, and longest data of one event: many times a whole answer with its encrypted reasoning.
const MAX_EVENT: usize = 8 << 20;

/// Most values in the JSON of one event: eight megabytes of sources have as many.
const MOST_VALUES: usize = 600_000;

const BYTE_ORDER_MARK: &str = "\u{feff}";

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Event {
    /// Its `event:` field; empty if there is none.
    pub(super) name: String,
    /// Its `data:` fields, joined by line breaks.
    pub(super) data: String,
}

/// Turns bytes into events. An event is complete only after its blank line.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    /// The incomplete line.
    line: Vec<u8>,
    event: Event,
    has_data: bool,
    /// The last byte was a carriage return: a line feed right after it belongs to it.
    after_return: bool,
    /// The first line is complete, so no byte order mark can follow.
    started: bool,
}

impl Decoder {
    /// Takes `bytes` and returns the events that they complete.
    ///
    /// # Errors
    ///
    /// Fails if a line or an event is too long, or a line is not UTF-8.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, ApiError> {
        let mut events = Vec::new();
        let mut rest = bytes;
        if self.after_return && !rest.is_empty() {
            self.after_return = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(end) = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.extend_line(&rest[..end])?;
            if let Some(event) = self.end_line()? {
                events.push(event);
            }
            let is_return = rest[end] == b'\r';
            rest = &rest[end + 1..];
            match rest.first() {
                Some(b'\n') if is_return => rest = &rest[1..],
                None => self.after_return = is_return,
                Some(_) => {}
            }
        }
        self.extend_line(rest)?;
        Ok(events)
    }

    /// Returns the event at the end of the body without a blank line after it, if there is one.
    pub(super) fn end(&mut self) -> Option<Event> {
        let ended = self.end_line().ok()?;
        ended.or_else(|| self.end_line().ok()?)
    }

    fn extend_line(&mut self, bytes: &[u8]) -> Result<(), ApiError> {
        if self.line.len() + bytes.len() > MAX_EVENT {
            return Err(ApiError::invalid(
                "one line of the answer is longer than 8 MiB",
            ));
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    /// Takes the complete line; a blank one completes an event.
    fn end_line(&mut self) -> Result<Option<Event>, ApiError> {
        let bytes = std::mem::take(&mut self.line);
        let Ok(text) = std::str::from_utf8(&bytes) else {
            return Err(ApiError::invalid("the answer is not UTF-8"));
        };
        let text = if !std::mem::replace(&mut self.started, true) {
            text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text)
        } else {
            text
        };
        if text.is_empty() {
            let event = std::mem::take(&mut self.event);
            if json_values::count(&event.data) > MOST_VALUES {
                return Err(ApiError::invalid(
                    "one event of the answer has more values than the limit",
                ));
            }
            return Ok(std::mem::take(&mut self.has_data).then_some(event));
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => self.add_data(value)?,
            // Comments (an empty field name), `id`, `retry` and others: an answer does not need them.
            _ => {}
        }
        Ok(None)
    }

    fn add_data(&mut self, value: &str) -> Result<(), ApiError> {
        if self.event.data.len() + value.len() > MAX_EVENT {
            return Err(ApiError::invalid(
                "one event of the answer is longer than 8 MiB",
            ));
        }
        if self.has_data {
            self.event.data.push('\n');
        }
        self.has_data = true;
        self.event.data.push_str(value);
        Ok(())
    }
}
