//! Answers a request: reads it, lets the desk judge it, has its route do it.

use std::io;

use axum::body::Body;
use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use serde_json::json;

use super::reply::{Outcome, Reply};
use super::routes::perform;
use crate::desk::call::Call;
use crate::desk::limits::Scope;
use crate::desk::{Effect, Judgement};
use crate::discord::Discord;

/// Answers one request below `/api/v10`.
pub(crate) async fn answer(State(discord): State<Discord>, request: HttpRequest) -> Response {
    let call = match Call::read(request).await {
        Ok(call) => call,
        Err(error) => return error.into_response(),
    };
    let (index, judgement) = discord.change(|world| world.desk.judge(&call));
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
