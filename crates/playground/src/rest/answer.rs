//! Answers a request: reads it, has the desk judge it, and carries it out.

use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::reply::{Outcome, Reply};
use super::routes::perform;
use crate::desk::Judgement;
use crate::desk::call::Call;
use crate::desk::limits::Scope;
use crate::discord::Discord;
#[cfg(feature = "testing")]
use crate::testing::requests::served;
use crate::world::World;

/// Answers one request below `/api/v10`.
pub(crate) async fn answer(State(discord): State<Discord>, request: HttpRequest) -> Response {
    match Call::read(request).await {
        Ok(call) => served(&discord, &call).await,
        Err(error) => error.into_response(),
    }
}

/// Answers immediately; in tests an answer may be late.
#[cfg(not(feature = "testing"))]
fn served(discord: &Discord, call: &Call) -> std::future::Ready<Response> {
    std::future::ready(discord.change(|world| {
        let judgement = world.desk.judge(call, None);
        finish(world, call, judgement)
    }))
}

/// Carries out a request, unless it must wait.
pub(crate) fn finish(world: &mut World, call: &Call, judgement: Judgement) -> Response {
    let limited = judgement.limited();
    let mut response = limited.unwrap_or_else(|| into_response(perform(world, call)));
    response.headers_mut().extend(judgement.headers);
    response
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

impl Judgement {
    /// Returns the 429 for this judgement, if it is one.
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
