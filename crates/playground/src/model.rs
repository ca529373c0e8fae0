//! The demo model: a server that speaks Anthropic Messages and follows simple instructions with real tool calls.
//!
//! It is not a language model and says so. `wire` is its format, `errand` the instructions that it understands.

mod errand;
pub mod wire;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::loopback::programs_only;

/// The name of the demo model.
pub const NAME: &str = "demo";

/// Pause before each piece of a text: the pace of a real model, so that a long answer visibly grows.
const PIECE_PAUSE: Duration = Duration::from_millis(100);

/// A running demo model.
#[derive(Debug)]
pub struct DemoModel {
    base: String,
    stop: CancellationToken,
}

impl DemoModel {
    /// Starts it on loopback.
    ///
    /// # Errors
    ///
    /// Fails if no port is free.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let address = listener.local_addr()?;
        let base = format!("http://{address}");
        let stop = CancellationToken::new();
        let ending = stop.clone();
        let routes = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/messages/count_tokens", post(count_tokens))
            .route("/v1/models", get(models))
            .fallback(unknown)
            .layer(middleware::from_fn_with_state(address, programs_only));
        tokio::spawn(async move {
            let ended = axum::serve(listener, routes)
                .with_graceful_shutdown(async move { ending.cancelled().await })
                .await;
            if let Err(error) = ended {
                tracing::error!(%error, "the demo model ended: {error}");
            }
        });
        Ok(Self { base, stop })
    }

    /// Returns the value for `ANTHROPIC_BASE_URL`.
    pub fn base_url(&self) -> &str {
        &self.base
    }

    /// Ends it.
    pub fn stop(&self) {
        self.stop.cancel();
    }
}

async fn messages(body: Bytes) -> Response {
    let Ok(request) = serde_json::from_slice::<Value>(&body) else {
        return wire::error(
            StatusCode::BAD_REQUEST,
            "invalid_request_error",
            "The body is not JSON.",
        );
    };
    let mut reply = errand::reply(&request);
    reply.input_tokens = wire::estimate(body.len());
    if request["stream"] != true {
        return Json(wire::whole(&reply, NAME)).into_response();
    }
    let events = futures_util::stream::iter(wire::events(&reply, NAME)).then(|event| async move {
        if event["delta"]["type"] == "text_delta" {
            tokio::time::sleep(PIECE_PAUSE).await;
        }
        Ok::<_, Infallible>(wire::frame(&event))
    });
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, Body::from_stream(events)).into_response()
}

async fn count_tokens(body: Bytes) -> Json<Value> {
    Json(json!({"input_tokens": wire::estimate(body.len())}))
}

async fn models() -> Json<Value> {
    Json(json!({
        "data": [{
            "type": "model",
            "id": NAME,
            "display_name": "Demo model (no language model)",
            "created_at": "2026-01-01T00:00:00Z",
        }],
        "first_id": NAME,
        "last_id": NAME,
        "has_more": false,
    }))
}

async fn unknown() -> Response {
    wire::error(
        StatusCode::NOT_FOUND,
        "not_found_error",
        "The demo model does not know this route.",
    )
}
