//! What a route answers with.

use serde_json::Value;

use super::error::ApiError;

/// What a route answers with.
pub(super) enum Reply {
    Json(Value),
    Nothing,
}

/// What came of a request.
pub(super) type Outcome = Result<Reply, ApiError>;
