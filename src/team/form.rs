//! Which request of a program the relay is asked, by its path.

use axum::http::Method;
use serde_json::{Value, json};

/// The form of a request, and so of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::team) enum Form {
    Anthropic,
    CountTokens,
    Chat,
    Responses,
    Gemini,
}

/// How an answer is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::team) enum Delivery {
    Whole,
    Streamed,
}

impl Form {
    /// The form of a request; `None` for a path that is not passed on.
    pub(in crate::team) fn of(method: &Method, path: &str) -> Option<Self> {
        if method != Method::POST {
            return None;
        }
        match path {
            "/v1/messages" => Some(Self::Anthropic),
            "/v1/messages/count_tokens" => Some(Self::CountTokens),
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/responses" => Some(Self::Responses),
            path if path.starts_with("/v1beta/models/") => {
                let verb = path.rsplit_once(':').map(|(_, verb)| verb);
                matches!(verb, Some("generateContent" | "streamGenerateContent"))
                    .then_some(Self::Gemini)
            }
            _ => None,
        }
    }

    /// How a request wants its answer.
    pub(in crate::team) fn delivery(self, path: &str, request: &Value) -> Delivery {
        let is_streamed = match self {
            Self::Gemini => path.ends_with(":streamGenerateContent"),
            Self::Anthropic | Self::CountTokens | Self::Chat | Self::Responses => {
                request["stream"] == json!(true)
            }
        };
        if is_streamed {
            Delivery::Streamed
        } else {
            Delivery::Whole
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_their_forms() {
        for (path, form) in [
            ("/v1/messages", Some(Form::Anthropic)),
            ("/v1/chat/completions", Some(Form::Chat)),
            ("/v1/responses", Some(Form::Responses)),
            (
                "/v1beta/models/gemini-3:generateContent",
                Some(Form::Gemini),
            ),
            ("/v1beta/models/gemini-3:countTokens", None),
            ("/v1/files", None),
            ("/v1/messages/batches", None),
        ] {
            assert_eq!(Form::of(&Method::POST, path), form, "{path}");
            assert_eq!(Form::of(&Method::GET, path), None);
        }
    }
}
