//! A scripted model over Anthropic's wire that takes no time, or always the same.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use chorus_playground::model::wire::{self, Block, Reply};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::UnboundedSender;

use super::discord::nodelay;
use super::runs;
use super::stage::Seen;

/// Its name.
pub(crate) const MODEL: &str = "scripted-model";

/// What it says when nothing else was scripted, and what the null bot answers with.
pub(crate) const ANSWER: &str = "It is done: everything you asked for is in the file.";

/// The scripted model. Clones are the same one.
#[derive(Clone)]
pub(crate) struct Model {
    base: String,
    shared: Arc<Shared>,
}

struct Shared {
    seen: UnboundedSender<Seen>,
    script: Mutex<VecDeque<Bytes>>,
    answer: Bytes,
    pause_ms: AtomicU64,
    /// The same for sub-agents.
    child_pause_ms: AtomicU64,
    /// Whether it calls sub-agents where people write so.
    delegates: AtomicBool,
    calls: AtomicU64,
}

impl Model {
    pub(crate) async fn start(seen: UnboundedSender<Seen>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let model = Self {
            base: format!("http://{}", listener.local_addr().unwrap()),
            shared: Arc::new(Shared {
                seen,
                script: Mutex::default(),
                answer: rendered(Block::Text(ANSWER.to_owned())),
                pause_ms: AtomicU64::new(0),
                child_pause_ms: AtomicU64::new(0),
                delegates: AtomicBool::new(false),
                calls: AtomicU64::new(0),
            }),
        };
        let routes = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/models", get(models))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(model.clone());
        tokio::spawn(async move {
            axum::serve(nodelay(listener), routes).await.unwrap();
        });
        model
    }

    /// What `ANTHROPIC_BASE_URL` is to be.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Calls a tool at the next request.
    pub(crate) fn calls(&self, tool: &str, arguments: Value) {
        let number = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let call = Block::Call(format!("toolu_{number}"), tool.to_owned(), arguments);
        self.shared.script.lock().unwrap().push_back(rendered(call));
    }

    /// Says something and calls a tool at the next request.
    pub(crate) fn says_and_calls(&self, words: &str, tool: &str, arguments: Value) {
        let number = self.shared.calls.fetch_add(1, Ordering::Relaxed);
        let call = Block::Call(format!("toolu_{number}"), tool.to_owned(), arguments);
        let both = all_rendered(vec![Block::Text(words.to_owned()), call]);
        self.shared.script.lock().unwrap().push_back(both);
    }

    /// From now on it calls sub-agents where people write `delegate N` or `chain N`.
    pub(crate) fn delegates(&self) {
        self.shared.delegates.store(true, Ordering::Relaxed);
    }

    /// From now on a sub-agent's answer takes so long.
    pub(crate) fn children_think_for(&self, pause: Duration) {
        let pause = pause.as_millis() as u64;
        self.shared.child_pause_ms.store(pause, Ordering::Relaxed);
    }

    /// What it says to a request that nothing was scripted for, and how long it thinks about that.
    fn decides(&self, body: &Bytes) -> (Bytes, u64) {
        let pause = self.shared.pause_ms.load(Ordering::Relaxed);
        if !self.shared.delegates.load(Ordering::Relaxed) {
            return (self.shared.answer.clone(), pause);
        }
        let request: Value = serde_json::from_slice(body).unwrap();
        if request["system"].to_string().contains("a sub-agent of") {
            let own = self.shared.child_pause_ms.load(Ordering::Relaxed);
            return (self.shared.answer.clone(), pause.max(own));
        }
        let calls = runs::calls_in(&request);
        if calls.is_empty() {
            return (self.shared.answer.clone(), pause);
        }
        (all_rendered(calls), pause)
    }

    /// Makes several calls at once at the next request.
    pub(crate) fn calls_all(&self, tool: &str, calls: Vec<Value>) {
        let calls = calls.into_iter().map(|arguments| {
            let number = self.shared.calls.fetch_add(1, Ordering::Relaxed);
            Block::Call(format!("toolu_{number}"), tool.to_owned(), arguments)
        });
        let answer = all_rendered(calls.collect());
        self.shared.script.lock().unwrap().push_back(answer);
    }

    /// From now on it thinks so long about each answer.
    pub(crate) fn thinks_for(&self, pause: Duration) {
        self.shared
            .pause_ms
            .store(pause.as_millis() as u64, Ordering::Relaxed);
    }
}

fn rendered(block: Block) -> Bytes {
    all_rendered(vec![block])
}

fn all_rendered(blocks: Vec<Block>) -> Bytes {
    let events = wire::events(&Reply::new(blocks), MODEL);
    events.iter().map(wire::frame).collect::<String>().into()
}

async fn messages(State(model): State<Model>, body: Bytes) -> Response {
    let _ = model.shared.seen.send(Seen::Asked {
        at: Instant::now(),
        body: body.clone(),
    });
    let scripted = model.shared.script.lock().unwrap().pop_front();
    let (answer, pause) = match scripted {
        Some(answer) => (answer, model.shared.pause_ms.load(Ordering::Relaxed)),
        None => model.decides(&body),
    };
    match pause {
        0 => {}
        pause => tokio::time::sleep(Duration::from_millis(pause)).await,
    }
    let seen = model.shared.seen.clone();
    let stream = futures_util::stream::once(async move {
        let _ = seen.send(Seen::Answered { at: Instant::now() });
        Ok::<_, std::convert::Infallible>(answer)
    });
    (
        [(header::CONTENT_TYPE, "text/event-stream")],
        Body::from_stream(stream),
    )
        .into_response()
}

async fn models() -> Response {
    let one = json!({"type": "model", "id": MODEL, "display_name": MODEL, "created_at": "2026-01-01T00:00:00Z"});
    axum::Json(json!({"data": [one], "has_more": false, "first_id": MODEL, "last_id": MODEL}))
        .into_response()
}
