//! Discord's errors: a status, a number, a sentence, and for forms the field that is wrong.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// An error response.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    code: u32,
    message: String,
    errors: Option<Value>,
}

impl ApiError {
    fn new(status: StatusCode, code: u32, message: &str) -> Self {
        Self {
            status,
            code,
            message: message.to_owned(),
            errors: None,
        }
    }

    pub(crate) fn unauthorized() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, 0, "401: Unauthorized")
    }

    pub(crate) fn unknown_route() -> Self {
        Self::new(StatusCode::NOT_FOUND, 0, "404: Not Found")
    }

    pub(crate) fn too_large() -> Self {
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            40005,
            "Request entity too large",
        )
    }

    pub(crate) fn not_json() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            50109,
            "The request body contains invalid JSON.",
        )
    }

    pub(crate) fn unknown_channel() -> Self {
        Self::new(StatusCode::NOT_FOUND, 10003, "Unknown Channel")
    }

    pub(crate) fn unknown_guild() -> Self {
        Self::new(StatusCode::NOT_FOUND, 10004, "Unknown Guild")
    }

    pub(crate) fn unknown_member() -> Self {
        Self::new(StatusCode::NOT_FOUND, 10007, "Unknown Member")
    }

    pub(crate) fn unknown_message() -> Self {
        Self::new(StatusCode::NOT_FOUND, 10008, "Unknown Message")
    }

    pub(crate) fn unknown_user() -> Self {
        Self::new(StatusCode::NOT_FOUND, 10013, "Unknown User")
    }

    pub(crate) fn unknown_webhook() -> Self {
        Self::new(StatusCode::NOT_FOUND, 10015, "Unknown Webhook")
    }

    pub(crate) fn unknown_interaction() -> Self {
        Self::new(StatusCode::NOT_FOUND, 10062, "Unknown interaction")
    }

    pub(crate) fn unknown_command() -> Self {
        Self::new(StatusCode::NOT_FOUND, 10063, "Unknown application command")
    }

    pub(crate) fn already_answered() -> Self {
        let words = "Interaction has already been acknowledged.";
        Self::new(StatusCode::BAD_REQUEST, 40060, words)
    }

    pub(crate) fn full(what: &str, most: usize) -> Self {
        let code = if what == "guild" { 30013 } else { 50035 };
        Self::new(
            StatusCode::BAD_REQUEST,
            code,
            &format!("Maximum number of {what} channels reached ({most})"),
        )
    }

    pub(crate) fn thread_exists() -> Self {
        let words = "A thread has already been created for this message";
        Self::new(StatusCode::BAD_REQUEST, 160_004, words)
    }

    pub(crate) fn too_many_threads() -> Self {
        let words = "Maximum number of active threads reached";
        Self::new(StatusCode::BAD_REQUEST, 160_006, words)
    }

    pub(crate) fn archived() -> Self {
        Self::new(StatusCode::BAD_REQUEST, 50083, "Thread is archived")
    }

    pub(crate) fn no_history() -> Self {
        let words = "Cannot reply without permission to read message history";
        Self::new(StatusCode::FORBIDDEN, 160_002, words)
    }

    pub(crate) fn missing_access() -> Self {
        Self::new(StatusCode::FORBIDDEN, 50001, "Missing Access")
    }

    pub(crate) fn not_the_author() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            50005,
            "Cannot edit a message authored by another user",
        )
    }

    pub(crate) fn empty_message() -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            50006,
            "Cannot send an empty message",
        )
    }

    pub(crate) fn closed_to_direct_messages() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            50007,
            "Cannot send messages to this user",
        )
    }

    pub(crate) fn missing_permissions() -> Self {
        Self::new(StatusCode::FORBIDDEN, 50013, "Missing Permissions")
    }

    pub(crate) fn too_old() -> Self {
        let words = "You can only bulk delete messages that are under 14 days old.";
        Self::new(StatusCode::BAD_REQUEST, 50034, words)
    }

    /// Creates the error for a wrong field of the body; `field` is its path, joined by dots.
    pub(crate) fn invalid(field: &str, code: &str, message: &str) -> Self {
        let mut errors = json!({"_errors": [{"code": code, "message": message}]});
        for part in field.rsplit('.') {
            errors = json!({part: errors});
        }
        Self {
            errors: Some(errors),
            ..Self::new(StatusCode::BAD_REQUEST, 50035, "Invalid Form Body")
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut body = json!({"message": self.message, "code": self.code});
        if let Some(errors) = self.errors {
            body["errors"] = errors;
        }
        (self.status, axum::Json(body)).into_response()
    }
}
