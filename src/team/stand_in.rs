//! A relay that answers in the place of a model: the first request that offers a tool for commands gets one command, every other one
//! a short text.
//!
//! It listens on a Unix socket and knows one token. Its refusals are HTTP 400: programs retry others silently.

mod answers;
mod tools;

use std::io;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use self::answers::Answer;
use self::tools::Call;
use super::form::Form;
use super::sockets::{bind, is_known, refused};
use crate::config::AsksBy;

/// Bytes of a request.
const LARGEST: usize = 32 << 20;

/// What it says where it gives no command.
const WORDS: &str = "Done.";

/// What it gave so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Given {
    /// Requests for an answer of the model.
    pub(super) requests: u32,
    /// Whether one of them got the command.
    pub(super) command: bool,
}

/// A relay that answers by itself. Dropping it ends it.
#[derive(Debug)]
pub(super) struct StandIn {
    shared: Arc<Shared>,
    /// The server.
    _tasks: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    token: String,
    command: String,
    asks_by: AsksBy,
    given: Mutex<Given>,
}

impl StandIn {
    /// Listens on the socket `path`, which only this user may open.
    pub(super) fn serve(path: &Path, asks_by: AsksBy, command: &str) -> io::Result<Self> {
        let listener = bind(path)?;
        let shared = Arc::new(Shared {
            token: uuid::Uuid::new_v4().simple().to_string(),
            command: command.to_owned(),
            asks_by,
            given: Mutex::default(),
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

    /// What the program must send.
    pub(super) fn token(&self) -> &str {
        &self.shared.token
    }

    pub(super) fn given(&self) -> Given {
        *self.shared.given.lock()
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
    if !is_known(&shared.token, &uri, &headers) {
        return refused("the token is not that of this member");
    }
    if method == Method::GET && path == "/v1/models" {
        return axum::Json(json!({"object": "list", "data": [], "has_more": false}))
            .into_response();
    }
    let Some(form) = Form::of(&method, path) else {
        return refused("this path is not passed on");
    };
    if form == Form::CountTokens {
        return axum::Json(json!({"input_tokens": 100})).into_response();
    }
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return refused("the request is not JSON");
    };
    let call = shared.next(&request);
    let words = Answer {
        model: request["model"].as_str().unwrap_or("model").to_owned(),
        call,
        text: tools::text(&request, WORDS),
    };
    let (kind, text) = words.written(form, form.delivery(path, &request));
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}

impl Shared {
    /// The command, if this request is the first that offers a tool for it.
    fn next(&self, request: &Value) -> Option<Call> {
        let mut given = self.given.lock();
        given.requests += 1;
        if given.command {
            return None;
        }
        let call = tools::call(request, &self.command, self.asks_by)?;
        given.command = true;
        Some(call)
    }
}
