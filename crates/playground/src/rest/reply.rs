//! What a route answers with.

use crate::desk::error::ApiError;
use serde_json::Value;

/// What a route answers with.
pub(super) enum Reply {
    Json(Value),
    Nothing,
}

/// The outcome of a request.
pub(super) type Outcome = Result<Reply, ApiError>;
