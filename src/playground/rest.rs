//! REST v10: reads a request, lets the desk judge it, finds its route, answers in Discord's shapes.

mod call;
mod callbacks;
mod channels;
mod commands;
mod desk;
mod error;
mod guilds;
mod limits;
mod messages;
mod threads;
mod validate;

use std::io;

use axum::body::Body;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::{Value, json};

use self::call::Call;
pub(crate) use self::desk::Desk;
use self::desk::Judgement;
pub use self::desk::{Effect, Fault, Request, Scope};
use self::error::ApiError;
pub use self::limits::Limits;
use super::server::Discord;
use super::world::World;

/// Largest file the local Discord takes: 10 MiB, what a server without boosts has.
pub(crate) const FILE_LIMIT: usize = 10 * 1024 * 1024;

/// What a route answers with.
pub(crate) enum Reply {
    Json(Value),
    Nothing,
}

type Outcome = Result<Reply, ApiError>;

/// Answers one request below `/api/v10`.
pub(crate) async fn answer(State(discord): State<Discord>, request: HttpRequest) -> Response {
    let call = match Call::read(request).await {
        Ok(call) => call,
        Err(error) => return error.into_response(),
    };
    let (index, judgement) = discord.change(|world| world.judge(&call));
    match judgement.effect {
        None => {}
        Some(Effect::Late(delay)) => tokio::time::sleep(delay).await,
        Some(Effect::DropBefore) => {
            discord.change(|world| world.desk.settle(index, None));
            return broken();
        }
        Some(Effect::Status(status)) => {
            discord.change(|world| world.desk.settle(index, Some(status)));
            let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return (
                code,
                axum::Json(json!({"message": "the local Discord was told to fail", "code": 0})),
            )
                .into_response();
        }
        Some(Effect::Page(status)) => {
            discord.change(|world| world.desk.settle(index, Some(status)));
            let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return (code, Html("<html><body>cloudflare</body></html>")).into_response();
        }
        Some(Effect::DropAfter) => {
            discord.change(|world| {
                let _ = perform(world, &call);
                world.desk.settle(index, None);
            });
            return broken();
        }
        Some(Effect::RateLimited { .. }) => {}
    }
    if let Some(limited) = judgement.limited() {
        discord.change(|world| world.desk.settle(index, Some(429)));
        return with_headers(limited, judgement.headers);
    }
    let response = discord.change(|world| {
        let response = into_response(perform(world, &call));
        world.desk.settle(index, Some(response.status().as_u16()));
        response
    });
    with_headers(response, judgement.headers)
}

/// Serves an uploaded file.
pub(crate) async fn attachment(
    State(discord): State<Discord>,
    Path((id, _name)): Path<(u64, String)>,
) -> Response {
    let file = discord.look(|world| world.files.get(&id).cloned());
    let Some(file) = file else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let disposition = format!("attachment; filename=\"{}\"", file.name);
    let headers = [
        (header::CONTENT_TYPE, file.content_type),
        (header::CONTENT_DISPOSITION, disposition),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
    ];
    (headers, file.bytes).into_response()
}

/// The table of routes.
fn perform(world: &mut World, call: &Call) -> Outcome {
    let segments: Vec<&str> = call.segments.iter().map(String::as_str).collect();
    let needs_token = !matches!(
        segments[..],
        ["gateway"] | ["interactions", ..] | ["webhooks", ..]
    );
    if needs_token && !call.is_from(&world.token) {
        return Err(ApiError::unauthorized());
    }
    match (&call.method, &segments[..]) {
        (&Method::GET, ["gateway"]) => guilds::gateway(world),
        (&Method::GET, ["gateway", "bot"]) => guilds::gateway_bot(world),
        (&Method::GET, ["oauth2", "applications", "@me"] | ["applications", "@me"]) => {
            guilds::application(world)
        }
        (&Method::GET, ["users", "@me"]) => guilds::me(world),
        (&Method::GET, ["users", "@me", "guilds"]) => guilds::my_guilds(world),
        (&Method::POST, ["users", "@me", "channels"]) => guilds::open_direct(world, call),
        (&Method::GET, ["users", user]) => guilds::user(world, user),

        (method, ["applications", _, "commands", rest @ ..]) => {
            commands::global(world, call, method, rest)
        }
        (method, ["applications", _, "guilds", guild, "commands", rest @ ..]) => {
            commands::of_guild(world, call, method, guild, rest)
        }

        (&Method::GET, ["guilds", guild]) => guilds::one(world, guild),
        (&Method::GET, ["guilds", guild, "channels"]) => guilds::channels(world, guild),
        (&Method::POST, ["guilds", guild, "channels"]) => channels::create(world, call, guild),
        (&Method::GET, ["guilds", guild, "roles"]) => guilds::roles(world, guild),
        (&Method::GET, ["guilds", guild, "members"]) => guilds::members(world, guild),
        (&Method::GET, ["guilds", guild, "members", user]) => guilds::member(world, guild, user),
        (&Method::GET, ["guilds", guild, "threads", "active"]) => threads::active(world, guild),

        (&Method::GET, ["channels", channel]) => channels::get(world, channel),
        (&Method::PATCH, ["channels", channel]) => channels::modify(world, call, channel),
        (&Method::DELETE, ["channels", channel]) => channels::delete(world, channel),
        (&Method::POST, ["channels", channel, "typing"]) => channels::typing(world, channel),
        (&Method::PUT, ["channels", channel, "permissions", of]) => {
            channels::overwrite(world, call, channel, of)
        }
        (&Method::GET, ["channels", channel, "messages"]) => messages::list(world, call, channel),
        (&Method::POST, ["channels", channel, "messages"]) => {
            messages::create(world, call, channel)
        }
        (&Method::POST, ["channels", channel, "messages", "bulk-delete"]) => {
            messages::bulk_delete(world, call, channel)
        }
        (&Method::GET, ["channels", channel, "messages", message]) => {
            messages::get(world, channel, message)
        }
        (&Method::PATCH, ["channels", channel, "messages", message]) => {
            messages::edit(world, call, channel, message)
        }
        (&Method::DELETE, ["channels", channel, "messages", message]) => {
            messages::delete(world, channel, message)
        }
        (
            method,
            [
                "channels",
                channel,
                "messages",
                message,
                "reactions",
                rest @ ..,
            ],
        ) => messages::reactions(world, method, channel, message, rest),
        (&Method::POST, ["channels", channel, "messages", message, "threads"]) => {
            threads::create_on(world, call, channel, message)
        }
        (&Method::POST, ["channels", channel, "threads"]) => threads::create(world, call, channel),
        (&Method::GET, ["channels", channel, "threads", "archived", "public"]) => {
            threads::archived(world, channel)
        }
        (&Method::PUT, ["channels", channel, "thread-members", user]) => {
            threads::join(world, channel, user)
        }
        (&Method::DELETE, ["channels", channel, "thread-members", user]) => {
            threads::leave(world, channel, user)
        }

        (&Method::POST, ["interactions", id, token, "callback"]) => {
            callbacks::callback(world, call, id, token)
        }
        (&Method::POST, ["webhooks", _, token]) => callbacks::follow_up(world, call, token),
        (method, ["webhooks", _, token, "messages", message]) => {
            callbacks::message(world, call, method, token, message)
        }

        _ => {
            let route = format!("{} {}", call.method, call.path);
            tracing::warn!(%route, "the local Discord does not know {route}");
            world.desk.unknown.push(route);
            Err(ApiError::unknown_route())
        }
    }
}

fn into_response(outcome: Outcome) -> Response {
    match outcome {
        Ok(Reply::Json(body)) => axum::Json(body).into_response(),
        Ok(Reply::Nothing) => StatusCode::NO_CONTENT.into_response(),
        Err(error) => error.into_response(),
    }
}

fn with_headers(mut response: Response, headers: HeaderMap) -> Response {
    response.headers_mut().extend(headers);
    response
}

/// A response whose body fails at once: the server ends the connection before it has sent a byte.
fn broken() -> Response {
    let failure = futures_util::stream::once(async {
        Err::<bytes::Bytes, _>(io::Error::from(io::ErrorKind::ConnectionAborted))
    });
    Response::new(Body::from_stream(failure))
}

impl Judgement {
    /// The 429 that this judgement comes to, if it is one.
    fn limited(&self) -> Option<Response> {
        let refusal = self.refusal.as_ref()?;
        let body = json!({
            "message": "You are being rate limited.",
            "retry_after": refusal.retry_after.as_secs_f64(),
            "global": refusal.scope == Scope::Global,
        });
        Some((StatusCode::TOO_MANY_REQUESTS, axum::Json(body)).into_response())
    }
}
