//! A model that says what a test wrote down for it, over Anthropic's wire.
//!
//! Every request is kept and held against the published schema and the rules for histories: what breaks one
//! is answered with 400, as the provider would, and fails the test at its end.

mod rules;
mod window;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use chorus_playground::model::wire::{self, Block, Reply};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// The name of the scripted model.
pub(crate) const MODEL: &str = "scripted-model";
/// The key that it takes.
pub(crate) const KEY: &str = "sk-scripted";

/// The scripted model. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Model {
    shared: Arc<Shared>,
}

struct Shared {
    base: String,
    script: Mutex<Script>,
    asked: watch::Sender<usize>,
    stop: CancellationToken,
}

/// Answers a request by what it holds.
type Rule = Box<dyn Fn(&Value) -> Reply + Send>;

#[derive(Default)]
struct Script {
    queue: VecDeque<Act>,
    /// Answers to requests whose latest words of a person contain a text; used again and again.
    standing: Vec<(String, Act)>,
    /// Answers whatever is asked, from the request alone.
    rule: Option<Rule>,
    /// What a summary is; none means that it fails.
    summary: Option<String>,
    /// Summaries wait for this.
    summary_gate: Option<CancellationToken>,
    models: Vec<String>,
    /// What it answers instead of a list of models.
    unlisted: Option<StatusCode>,
    /// Tokens that a request and its answer may take.
    window: Option<u64>,
    /// How often a request took more.
    overruns: usize,
    requests: Vec<Value>,
    /// How long each answer takes.
    takes: Duration,
    /// Requests that are being answered, and the most that were at once.
    under_way: usize,
    most_at_once: usize,
    violations: Vec<String>,
}

/// What the model does with one request.
#[derive(Clone)]
enum Act {
    Answer(Reply),
    /// Says the text, then calls nothing, after somebody let it go on.
    Think(CancellationToken, Box<Act>),
    Fail(StatusCode, Value, HeaderMap),
    /// Streams so many events of the answer, then ends the connection.
    Cut(Reply, usize),
    /// Waits before each event for a grant.
    Paced(Reply, Arc<tokio::sync::Semaphore>),
    /// Sends these bytes as the stream.
    Raw(String),
}

/// A model that is thinking; it goes on when told, or when this is dropped.
pub(crate) struct Thought {
    gate: CancellationToken,
}

impl Thought {
    /// Lets the model answer.
    pub(crate) fn ends(self) {}
}

impl Drop for Thought {
    fn drop(&mut self) {
        self.gate.cancel();
    }
}

/// An answer that streams only as far as it is let.
pub(crate) struct Stream {
    grants: Arc<tokio::sync::Semaphore>,
}

impl Stream {
    /// Lets so many further events out.
    pub(crate) fn lets(&self, events: usize) {
        self.grants.add_permits(events);
    }

    /// Lets all of it out.
    pub(crate) fn ends(self) {
        self.grants.add_permits(1_000_000);
    }
}

impl Model {
    /// Starts the server.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let script = Script {
            summary: Some("The people tried things. All of it is done.".to_owned()),
            models: vec![MODEL.to_owned()],
            ..Script::default()
        };
        let shared = Shared {
            base,
            script: Mutex::new(script),
            asked: watch::Sender::new(0),
            stop: CancellationToken::new(),
        };
        let stop = shared.stop.clone().cancelled_owned();
        let model = Self {
            shared: Arc::new(shared),
        };
        let routes = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/models", get(models))
            .with_state(model.clone());
        tokio::spawn(async move {
            let serving = axum::serve(listener, routes).with_graceful_shutdown(stop);
            serving.await.unwrap();
        });
        model
    }

    /// Ends the server.
    pub(crate) fn stop(&self) {
        self.shared.stop.cancel();
    }

    /// What `ANTHROPIC_BASE_URL` is to be.
    pub(crate) fn base_url(&self) -> &str {
        &self.shared.base
    }

    // --- the script ---------------------------------------------------------------------------

    /// Answers the next request that is not scripted yet with a text.
    pub(crate) fn answers(&self, text: &str) -> &Self {
        self.act(Act::Answer(said(text)))
    }

    /// Calls one tool.
    pub(crate) fn calls_tool(&self, name: &str, arguments: Value) -> &Self {
        self.calls(&[(name, arguments)])
    }

    /// Calls several tools in one answer.
    pub(crate) fn calls(&self, calls: &[(&str, Value)]) -> &Self {
        let taken = self.script(|script| script.queue.len() + script.requests.len());
        let blocks = calls.iter().enumerate().map(|(index, (name, arguments))| {
            Block::Call(
                format!("toolu_{taken}_{index}"),
                (*name).to_owned(),
                arguments.clone(),
            )
        });
        self.act(Act::Answer(Reply::new(blocks.collect())))
    }

    /// Gives any answer.
    pub(crate) fn replies(&self, reply: Reply) -> &Self {
        self.act(Act::Answer(reply))
    }

    /// Answers with a text whenever the latest words of a person contain `needle`, after the script of other calls.
    pub(crate) fn always_answers(&self, needle: &str, text: &str) -> &Self {
        self.script(|script| {
            script
                .standing
                .push((needle.to_owned(), Act::Answer(said(text))))
        });
        self
    }

    /// Answers all that is not scripted by a rule, which sees the whole request: for conversations that no script can
    /// foresee.
    pub(crate) fn follows(&self, rule: impl Fn(&Value) -> Reply + Send + 'static) {
        self.script(|script| script.rule = Some(Box::new(rule)));
    }

    /// Sums every conversation up with these words.
    pub(crate) fn summarises(&self, text: &str) {
        self.script(|script| script.summary = Some(text.to_owned()));
    }

    /// Refuses to sum anything up.
    pub(crate) fn cannot_summarise(&self) {
        self.script(|script| script.summary = None);
    }

    /// Thinks about every summary until told.
    pub(crate) fn thinks_about_summaries(&self) -> Thought {
        let gate = CancellationToken::new();
        self.script(|script| script.summary_gate = Some(gate.clone()));
        Thought { gate }
    }

    /// Refuses what takes more than so many tokens, answer included, and counts what it takes.
    pub(crate) fn has_window(&self, tokens: u64) {
        self.script(|script| script.window = Some(tokens));
    }

    /// How often a request took more than the window.
    pub(crate) fn overruns(&self) -> usize {
        self.script(|script| script.overruns)
    }

    /// Takes so long for each answer.
    pub(crate) fn takes(&self, time: Duration) {
        self.script(|script| script.takes = time);
    }

    /// The most requests that were being answered at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.script(|script| script.most_at_once)
    }

    /// Thinks about the next request until told; then says "done thinking".
    pub(crate) fn is_thinking(&self) -> Thought {
        self.thinks_then("done thinking")
    }

    /// Thinks about the next request until told; then says `text`.
    pub(crate) fn thinks_then(&self, text: &str) -> Thought {
        let gate = CancellationToken::new();
        self.act(Act::Think(gate.clone(), Box::new(Act::Answer(said(text)))));
        Thought { gate }
    }

    /// Refuses the next request.
    pub(crate) fn fails_with(&self, status: u16, body: Value) -> &Self {
        self.fails_with_headers(status, body, &[])
    }

    /// Refuses the next request, with headers such as `retry-after`.
    pub(crate) fn fails_with_headers(
        &self,
        status: u16,
        body: Value,
        headers: &[(&'static str, &str)],
    ) -> &Self {
        let headers = headers.iter().map(|(name, value)| {
            (
                header::HeaderName::from_static(name),
                value.parse().unwrap(),
            )
        });
        let status = StatusCode::from_u16(status).unwrap();
        self.act(Act::Fail(status, body, headers.collect()))
    }

    /// Is limited for so many seconds.
    pub(crate) fn is_limited(&self, seconds: u64) -> &Self {
        let body =
            json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow down"}});
        self.fails_with_headers(429, body, &[("retry-after", &seconds.to_string())])
    }

    /// Is overloaded.
    pub(crate) fn is_overloaded(&self) -> &Self {
        let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}});
        self.fails_with(529, body)
    }

    /// Streams these texts as one answer, each event only when let.
    pub(crate) fn streams(&self, text: &str) -> Stream {
        let grants = Arc::new(tokio::sync::Semaphore::new(0));
        self.act(Act::Paced(said(text), Arc::clone(&grants)));
        Stream { grants }
    }

    /// Ends the connection after so many events of an answer.
    pub(crate) fn is_cut_after(&self, events: usize, text: &str) -> &Self {
        self.act(Act::Cut(said(text), events))
    }

    /// Sends these bytes as its event stream.
    pub(crate) fn sends_raw(&self, stream: &str) -> &Self {
        self.act(Act::Raw(stream.to_owned()))
    }

    /// The same with a call of a tool behind the words.
    pub(crate) fn streams_and_calls(&self, text: &str, tool: &str, arguments: Value) -> Stream {
        let grants = Arc::new(tokio::sync::Semaphore::new(0));
        let taken = self.script(|script| script.queue.len() + script.requests.len());
        let call = Block::Call(format!("toolu_{taken}_s"), tool.to_owned(), arguments);
        let reply = Reply::new(vec![Block::Text(text.to_owned()), call]);
        self.act(Act::Paced(reply, Arc::clone(&grants)));
        Stream { grants }
    }

    /// Lists these models.
    pub(crate) fn lists(&self, models: &[&str]) {
        self.script(|script| {
            script.models = models.iter().map(|one| (*one).to_owned()).collect();
            script.unlisted = None;
        });
    }

    /// Answers with this status to who asks for its models, until [`Self::lists`].
    pub(crate) fn cannot_list(&self, status: u16) {
        let status = StatusCode::from_u16(status).unwrap();
        self.script(|script| script.unlisted = Some(status));
    }

    /// Forgets what was scripted and not yet used.
    pub(crate) fn forgets(&self) {
        self.script(|script| script.queue.clear());
    }

    fn act(&self, act: Act) -> &Self {
        self.script(|script| script.queue.push_back(act));
        self
    }

    // --- what it was asked ---------------------------------------------------------------------

    /// Bodies of all requests, summaries among them.
    pub(crate) fn requests(&self) -> Vec<Value> {
        self.script(|script| script.requests.clone())
    }

    /// The latest request.
    pub(crate) fn last_request(&self) -> Value {
        self.requests().pop().expect("the model was asked nothing")
    }

    /// Waits until it was asked `count` times in all.
    pub(crate) async fn was_asked(&self, count: usize) -> Value {
        let mut asked = self.shared.asked.subscribe();
        let waiting = asked.wait_for(|now| *now >= count);
        let waited = tokio::time::timeout(Duration::from_secs(60), waiting)
            .await
            .map(|all| *all.unwrap());
        waited.unwrap_or_else(|_| panic!("asked only {} times", self.requests().len()));
        self.requests()[count - 1].clone()
    }

    /// What was wrong with requests.
    pub(crate) fn violations(&self) -> Vec<String> {
        self.script(|script| script.violations.clone())
    }

    /// Scripted answers that nobody asked for.
    pub(crate) fn unused(&self) -> usize {
        self.script(|script| script.queue.len())
    }

    fn script<T>(&self, change: impl FnOnce(&mut Script) -> T) -> T {
        change(&mut self.shared.script.lock().unwrap())
    }

    /// Keeps a request and decides what is done with it.
    fn take(&self, request: &Value) -> Act {
        let act = self.script(|script| {
            script.requests.push(request.clone());
            let broken = rules::broken(request);
            if !broken.is_empty() {
                let message = broken.join("; ");
                script.violations.push(message.clone());
                return refusal(&message);
            }
            if let Some(window) = script.window
                && let Some((status, body)) = window::overflow(request, window)
            {
                script.overruns += 1;
                return Act::Fail(status, body, HeaderMap::new());
            }
            let asked = rules::last_words(request);
            if rules::is_summary(request) {
                let act = match &script.summary {
                    Some(text) => Act::Answer(said(text)),
                    None => refusal("This model sums nothing up."),
                };
                return match &script.summary_gate {
                    Some(gate) => Act::Think(gate.clone(), Box::new(act)),
                    None => act,
                };
            }
            if let Some(act) = script.queue.pop_front() {
                return act;
            }
            let standing = script
                .standing
                .iter()
                .find(|(needle, _)| asked.contains(needle.as_str()));
            if let Some((_, act)) = standing {
                return act.clone();
            }
            if let Some(rule) = &script.rule {
                return Act::Answer(rule(request));
            }
            let message = format!("nothing is scripted for this request: {asked}");
            script.violations.push(message.clone());
            refusal(&message)
        });
        self.shared.asked.send_modify(|count| *count += 1);
        act
    }
}

fn refusal(message: &str) -> Act {
    let body =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
    Act::Fail(StatusCode::BAD_REQUEST, body, HeaderMap::new())
}

fn said(text: &str) -> Reply {
    Reply::new(vec![Block::Text(text.to_owned())])
}

async fn models(State(model): State<Model>, headers: HeaderMap) -> Response {
    if headers.get("x-api-key").is_none_or(|key| key != KEY) {
        return wire::error(
            StatusCode::UNAUTHORIZED,
            "authentication_error",
            "invalid x-api-key",
        );
    }
    if let Some(status) = model.script(|script| script.unlisted) {
        return wire::error(status, "api_error", "not now");
    }
    let names = model.script(|script| script.models.clone());
    let one = |name: &String| json!({"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"});
    let data: Vec<Value> = names.iter().map(one).collect();
    let body = json!({"data": data, "has_more": false, "first_id": names.first(), "last_id": names.last()});
    axum::Json(body).into_response()
}

async fn messages(State(model): State<Model>, headers: HeaderMap, body: Bytes) -> Response {
    if headers.get("x-api-key").is_none_or(|key| key != KEY) {
        return wire::error(
            StatusCode::UNAUTHORIZED,
            "authentication_error",
            "invalid x-api-key",
        );
    }
    let request: Value = serde_json::from_slice(&body).unwrap();
    let _under_way = UnderWay::begin(model.clone());
    let mut act = model.take(&request);
    let takes = model.script(|script| script.takes);
    if !takes.is_zero() {
        tokio::time::sleep(takes).await;
    }
    if let Act::Think(gate, then) = act {
        gate.cancelled().await;
        act = *then;
    }
    let streams = request["stream"] == true;
    if model.script(|script| script.window.is_some())
        && let Act::Answer(reply) = &mut act
    {
        reply.input_tokens = window::counted(&request);
    }
    match act {
        Act::Answer(reply) if !streams => axum::Json(wire::whole(&reply, MODEL)).into_response(),
        Act::Answer(reply) => sse(Body::from(
            wire::events(&reply, MODEL)
                .iter()
                .map(wire::frame)
                .collect::<String>(),
        )),
        Act::Fail(status, body, headers) => (status, headers, axum::Json(body)).into_response(),
        Act::Cut(reply, count) => {
            let sent: Vec<_> = wire::events(&reply, MODEL)
                .iter()
                .take(count)
                .map(wire::frame)
                .collect();
            let sent = futures_util::stream::iter(sent).map(Ok);
            let end = futures_util::stream::once(async {
                // The peer sees what was sent before it sees the end.
                tokio::task::yield_now().await;
                Err(std::io::Error::from(std::io::ErrorKind::ConnectionAborted))
            });
            sse(Body::from_stream(sent.chain(end)))
        }
        Act::Paced(reply, grants) => {
            let events =
                futures_util::stream::iter(wire::events(&reply, MODEL)).then(move |event| {
                    let grants = Arc::clone(&grants);
                    async move {
                        grants.acquire().await.unwrap().forget();
                        Ok::<_, Infallible>(wire::frame(&event))
                    }
                });
            sse(Body::from_stream(events))
        }
        Act::Raw(stream) => sse(Body::from(stream)),
        Act::Think(..) => unreachable!("a thought ends in something else"),
    }
}

/// A request that is being answered, until this is dropped.
struct UnderWay(Model);

impl UnderWay {
    fn begin(model: Model) -> Self {
        model.script(|script| {
            script.under_way += 1;
            script.most_at_once = script.most_at_once.max(script.under_way);
        });
        Self(model)
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.script(|script| script.under_way -= 1);
    }
}

fn sse(body: Body) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}
