//! The answers of routes.

use crate::desk::error::ApiError;
use serde_json::Value;

/// A route's answer.
pub(super) enum Reply {
    Json(Value),
    Nothing,
}

/// The outcome of a request.
pub(super) type Outcome = Result<Reply, ApiError>;
