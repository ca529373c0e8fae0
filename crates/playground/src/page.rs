//! The web page: a small Discord in the browser, for one person on this machine.
//!
//! Anyone who can reach it can have agents run commands, so it answers only a browser that was pointed at loopback.
//! `Host` must be a name of loopback, with any port, because a tunnel (`ssh -L 9000:127.0.0.1:8300`) has its own port.
//! `Origin`, if present, must be the same. That keeps other web sites out, even with DNS rebinding.

mod act;
mod files;
mod models;
mod snapshot;

use std::io;
use std::sync::Arc;

use axum::extract::ws::{self, WebSocket, WebSocketUpgrade};
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::broadcast::error::RecvError;
use tokio_util::sync::CancellationToken;

use super::discord::Discord;
use super::guild::FILE_LIMIT;
use super::loopback::is_of_this_machine;
use super::rest::answer;
use chorus_base::discord_ids::{ChannelId, UserId};

pub use models::{ModelChoice, ModelDesk, ModelServer, ModelState, Vendor};

/// The page may load from, and connect to, only itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The person whom the page acts as.
#[derive(Deserialize)]
struct As {
    #[serde(rename = "as")]
    user: UserIdText,
}

/// A user id as the page writes it: JavaScript cannot hold 64 bits in a number.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct UserIdText(UserId);

impl TryFrom<String> for UserIdText {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().map(Self)
    }
}

/// Serves the page on an already bound listener, until `stop`.
///
/// # Errors
///
/// Fails if the listener fails.
pub(super) async fn serve(
    discord: Discord,
    listener: TcpListener,
    desk: Option<Arc<dyn ModelDesk>>,
    stop: CancellationToken,
) -> io::Result<()> {
    let model = Router::new()
        .route("/api/model", get(models::state).post(models::choose))
        .route("/api/model/servers", get(models::servers))
        .with_state(desk);
    let routes = Router::new()
        .route("/api/state", get(state))
        .route("/api/channels/{id}/messages", get(messages))
        .route("/api/events", any(events))
        .route("/api/act", post(act::act))
        .route("/api/upload", post(act::upload))
        .route("/attachments/{id}/{name}", get(answer::attachment))
        .fallback(files::file)
        .with_state(discord)
        .merge(model)
        .layer(DefaultBodyLimit::max(FILE_LIMIT))
        .layer(middleware::from_fn(guard));
    axum::serve(listener, routes)
        .with_graceful_shutdown(stop.cancelled_owned())
        .await
}

/// Refuses requests that do not come from our own page, and sets the security headers of answers.
async fn guard(request: Request, next: Next) -> Response {
    if !is_of_this_machine(&request) {
        let words =
            "This page is only for browsers on this machine; open it at its loopback address.";
        return (StatusCode::FORBIDDEN, words).into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(POLICY),
    );
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    headers.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    let isolation = HeaderName::from_static("cross-origin-resource-policy");
    headers.insert(isolation, HeaderValue::from_static("same-origin"));
    response
}

async fn state(State(discord): State<Discord>) -> Json<Value> {
    Json(discord.look(snapshot::state))
}

async fn messages(
    State(discord): State<Discord>,
    Path(channel): Path<u64>,
    Query(As { user }): Query<As>,
) -> Json<Value> {
    Json(discord.look(|world| snapshot::messages(world, ChannelId(channel), user.0)))
}

async fn events(
    State(discord): State<Discord>,
    Query(As { user }): Query<As>,
    upgrade: WebSocketUpgrade,
) -> Response {
    upgrade.on_upgrade(move |socket| tell(discord, user.0, socket))
}

/// Sends one page the events that its person may see.
///
/// The first event asks it to load everything, because earlier events were not sent to it.
async fn tell(discord: Discord, user: UserId, mut socket: WebSocket) {
    let mut news = discord.look(|world| world.news.subscribe());
    let reload = json!({"t": "reload"});
    if socket
        .send(ws::Message::text(reload.to_string()))
        .await
        .is_err()
    {
        return;
    }
    loop {
        let body = tokio::select! {
            received = socket.recv() => match received {
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => return,
            },
            one = news.recv() => match one {
                Ok(one) if one.only_for.is_none_or(|owner| owner == user) => one.body,
                Ok(_) => continue,
                Err(RecvError::Lagged(_)) => reload.clone(),
                Err(RecvError::Closed) => return,
            },
        };
        if socket
            .send(ws::Message::text(body.to_string()))
            .await
            .is_err()
        {
            return;
        }
    }
}
