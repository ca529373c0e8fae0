//! Ollama as its documentation publishes it: `/v1/models`, `/api/show`, `/api/ps`, `/v1/chat/completions`.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Clone)]
pub(crate) struct Ollama {
    address: SocketAddr,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    answers: VecDeque<String>,
    asked: Vec<Value>,
    unlisted: Vec<String>,
    /// Windows of the models that are loaded.
    loaded: BTreeMap<String, u64>,
    /// The window that a model is loaded with when it is asked.
    loads_with: u64,
}

/// An address at which nobody listens yet.
pub(crate) struct Place {
    address: SocketAddr,
}

impl Place {
    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    pub(crate) async fn starts(self) -> Ollama {
        Ollama::at(TcpListener::bind(self.address).await.unwrap())
    }
}

impl Ollama {
    pub(crate) async fn start() -> Self {
        Self::at(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    pub(crate) async fn reserve() -> Place {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Place { address }
    }

    pub(crate) fn at(listener: TcpListener) -> Self {
        let shared = Shared {
            loaded: BTreeMap::from([("qwen3:8b".to_owned(), 16_384)]),
            loads_with: 32_768,
            ..Shared::default()
        };
        let ollama = Self {
            address: listener.local_addr().unwrap(),
            shared: Arc::new(Mutex::new(shared)),
        };
        let routes = Router::new()
            .route("/v1/models", get(models))
            .route("/v1/chat/completions", post(chat))
            .route("/api/show", post(show))
            .route("/api/ps", get(running))
            .with_state(ollama.clone());
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        ollama
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// What it answers next.
    pub(crate) fn says(&self, text: &str) {
        let mut shared = self.shared.lock().unwrap();
        shared.answers.push_back(text.to_owned());
    }

    /// Has a model that it does not list.
    pub(crate) fn has_unlisted(&self, model: &str) {
        let mut shared = self.shared.lock().unwrap();
        shared.unlisted.push(model.to_owned());
    }

    /// Unloads all models, and loads those that are asked from now on with `window` tokens, as OLLAMA_CONTEXT_LENGTH has it.
    pub(crate) fn loads_with(&self, window: u64) {
        let mut shared = self.shared.lock().unwrap();
        shared.loaded.clear();
        shared.loads_with = window;
    }

    /// The conversations that it was asked to go on with.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.shared.lock().unwrap().asked.clone()
    }
}

async fn models() -> Json<Value> {
    let model = |id: &str| json!({"id": id, "object": "model", "created": 1_760_000_000, "owned_by": "library"});
    Json(json!({"object": "list", "data": [
        model("nomic-embed-text:latest"), model("qwen3:8b"), model("gemma3:4b"), model("llama3.1:8b"),
    ]}))
}

async fn show(Json(asked): Json<Value>) -> Response {
    let (architecture, length, parameters, capabilities) = match asked["model"].as_str() {
        Some("nomic-embed-text:latest") => ("nomic-bert", 2_048, "", json!(["embedding"])),
        Some("qwen3:8b") => (
            "qwen3",
            40_960,
            "repeat_penalty                 1\nnum_ctx                        8192",
            json!(["completion", "tools", "thinking"]),
        ),
        Some("gemma3:4b") => (
            "gemma3",
            131_072,
            "temperature 1",
            json!(["completion", "vision"]),
        ),
        Some("llama3.1:8b") => ("llama", 131_072, "", json!(["completion", "tools"])),
        other => {
            let error =
                json!({"error": format!("model '{}' not found", other.unwrap_or_default())});
            return (StatusCode::NOT_FOUND, Json(error)).into_response();
        }
    };
    let mut info = json!({"general.architecture": architecture, "general.file_type": 15});
    info[format!("{architecture}.context_length")] = json!(length);
    Json(json!({
        "license": "…",
        "modelfile": "FROM …",
        "parameters": parameters,
        "template": "{{ .Prompt }}",
        "details": {"parent_model": "", "format": "gguf", "family": architecture},
        "model_info": info,
        "capabilities": capabilities,
        "modified_at": "2026-10-01T10:00:00.000000000+02:00",
    }))
    .into_response()
}

async fn running(State(ollama): State<Ollama>) -> Json<Value> {
    let shared = ollama.shared.lock().unwrap();
    let loaded = shared.loaded.iter().map(|(model, window)| {
        json!({
            "name": model, "model": model, "size": 6_591_830_464_u64, "digest": "a2af6cc3eb7f",
            "expires_at": "2026-10-17T16:47:07.93355-07:00", "size_vram": 5_333_539_264_u64, "context_length": window,
        })
    });
    Json(json!({"models": loaded.collect::<Vec<_>>()}))
}

async fn chat(State(ollama): State<Ollama>, Json(asked): Json<Value>) -> Response {
    let refused = |status: StatusCode, message: &str| {
        let error = json!({"error": {
            "message": message, "type": "api_error", "param": null, "code": null,
        }});
        (status, Json(error)).into_response()
    };
    let mut shared = ollama.shared.lock().unwrap();
    let model = asked["model"].as_str().unwrap_or_default().to_owned();
    let is_there = ["qwen3:8b", "gemma3:4b", "llama3.1:8b"].contains(&model.as_str())
        || shared.unlisted.contains(&model);
    if !is_there {
        return refused(StatusCode::NOT_FOUND, &format!("model '{model}' not found"));
    }
    if model == "gemma3:4b" && asked.get("tools").is_some() {
        let words = "registry.ollama.ai/library/gemma3:4b does not support tools";
        return refused(StatusCode::BAD_REQUEST, words);
    }
    let window = shared.loads_with;
    shared.loaded.entry(model.clone()).or_insert(window);
    let is_trial = asked["messages"].to_string().contains("Say yes.");
    let answer = if is_trial {
        "yes".to_owned()
    } else {
        shared.asked.push(asked);
        shared.answers.pop_front().unwrap_or("(nothing)".to_owned())
    };
    let mut stream = String::new();
    let chunk = |delta: Value, end: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": end});
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_760_000_000,
            "model": model, "system_fingerprint": "fp_ollama", "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    for piece in answer.as_bytes().chunks(7) {
        let piece = std::str::from_utf8(piece).unwrap();
        stream += &chunk(json!({"role": "assistant", "content": piece}), Value::Null);
    }
    stream += &chunk(json!({"role": "assistant", "content": ""}), json!("stop"));
    stream += "data: [DONE]\n\n";
    ([(header::CONTENT_TYPE, "text/event-stream")], stream).into_response()
}
