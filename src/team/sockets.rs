//! The socket of a member's relay: who may open it, who is known there, and what a refusal looks like.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use axum::Json;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use serde_json::json;
use tokio::net::UnixListener;

/// Listens on the socket `path`, which only this user may open.
pub(super) fn bind(path: &Path) -> io::Result<UnixListener> {
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Whether a request has the token, where each format has its key.
pub(super) fn is_known(token: &str, uri: &Uri, headers: &HeaderMap) -> bool {
    let sent = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = sent("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let keys = [bearer, sent("x-api-key"), sent("x-goog-api-key")];
    let query = uri.query().unwrap_or_default().split('&');
    let mut in_query = query.filter_map(|pair| pair.strip_prefix("key="));
    keys.contains(&Some(token)) || in_query.any(|key| key == token)
}

/// A refusal of our own, in a form that all programs read. Its status is always 400: programs retry 401 and 429 silently.
pub(super) fn refused(why: &str) -> Response {
    let message = format!("Chorus: {why}");
    let error = json!({"type": "invalid_request_error", "message": message, "code": 400, "status": "INVALID_ARGUMENT"});
    let body = json!({"type": "error", "error": error});
    (StatusCode::BAD_REQUEST, Json(body)).into_response()
}
