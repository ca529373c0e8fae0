//! What the relay changes in a request: the model, and the limit of the answer. Everything else goes on as it was sent.

use serde_json::{Map, Value};

use crate::team::form::{Delivery, Form};

/// Fewest tokens of an answer that are worth a request.
pub(super) const LEAST_OUTPUT: u32 = 1_024;

/// A request that was read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RelayRequest {
    form: Form,
    body: Map<String, Value>,
    /// The model that is asked.
    pub(super) model: String,
    pub(super) delivery: Delivery,
}

/// Why a request cannot be passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoRequest {
    #[error("the request is not a JSON object")]
    NotJson,
    #[error("the request names no model")]
    NoModel,
}

impl RelayRequest {
    /// Reads a request for `path`.
    pub(super) fn read(form: Form, path: &str, body: &[u8]) -> Result<Self, NoRequest> {
        let Ok(Value::Object(body)) = serde_json::from_slice::<Value>(body) else {
            return Err(NoRequest::NotJson);
        };
        let whole = Value::Object(body);
        let delivery = form.delivery(path, &whole);
        let Value::Object(body) = whole else {
            return Err(NoRequest::NotJson);
        };
        let model = match form {
            Form::Gemini => model_in(path),
            Form::Anthropic | Form::CountTokens | Form::Chat | Form::Responses => {
                body.get("model").and_then(Value::as_str)
            }
        };
        let model = model.filter(|model| !model.is_empty());
        Ok(Self {
            form,
            model: model.ok_or(NoRequest::NoModel)?.to_owned(),
            body,
            delivery,
        })
    }

    /// Asks `model` instead. Returns the path for it.
    pub(super) fn ask(&mut self, model: &str, path: &str) -> String {
        let before = std::mem::replace(&mut self.model, model.to_owned());
        if self.form == Form::Gemini {
            let (before, after) = (format!("/models/{before}"), format!("/models/{model}"));
            return path.replacen(&before, &after, 1);
        }
        self.body.insert("model".to_owned(), model.into());
        path.to_owned()
    }

    /// The most tokens that it asks for; `None` where it leaves that to the provider.
    pub(super) fn output(&self) -> Option<u32> {
        let limits = match self.form {
            Form::Gemini => self.body.get("generationConfig")?.as_object()?,
            Form::Anthropic | Form::CountTokens | Form::Chat | Form::Responses => &self.body,
        };
        let mut keys = self.limit_keys().iter();
        let limit = keys.find_map(|key| limits.get(*key)?.as_u64())?;
        Some(u32::try_from(limit).unwrap_or(u32::MAX))
    }

    /// Lowers its limit to `most`, and sets it where there is none.
    pub(super) fn limit(&mut self, most: u32) {
        if self.output().is_some_and(|asked| asked <= most) {
            return;
        }
        let keys = self.limit_keys();
        let limits = match self.form {
            Form::Gemini => {
                let config = self.body.entry("generationConfig");
                let config = config.or_insert_with(|| Value::Object(Map::new()));
                if !config.is_object() {
                    *config = Value::Object(Map::new());
                }
                match config {
                    Value::Object(config) => config,
                    _ => return,
                }
            }
            Form::Anthropic | Form::CountTokens | Form::Chat | Form::Responses => &mut self.body,
        };
        let key = keys.iter().find(|key| limits.contains_key(**key));
        limits.insert((*key.unwrap_or(&keys[0])).to_owned(), most.into());
        if self.form == Form::Anthropic {
            self.think_less(most);
        }
    }

    /// Keeps the thinking of Anthropic's format below the limit of the answer, which contains it.
    fn think_less(&mut self, most: u32) {
        let budget = self
            .body
            .get("thinking")
            .and_then(|thinking| thinking.get("budget_tokens"));
        if budget
            .and_then(Value::as_u64)
            .is_none_or(|budget| budget < most.into())
        {
            return;
        }
        let half = most / 2;
        if half < LEAST_OUTPUT {
            self.body.remove("thinking");
        } else if let Some(thinking) = self.body.get_mut("thinking") {
            thinking["budget_tokens"] = half.into();
        }
    }

    /// The keys that hold the limit, the one that is set first.
    fn limit_keys(&self) -> &'static [&'static str] {
        match self.form {
            Form::Anthropic | Form::CountTokens => &["max_tokens"],
            Form::Chat => &["max_completion_tokens", "max_tokens"],
            Form::Responses => &["max_output_tokens"],
            Form::Gemini => &["maxOutputTokens", "max_output_tokens"],
        }
    }

    /// Returns its text.
    pub(super) fn into_body(self) -> Vec<u8> {
        // A value that was read is always written.
        serde_json::to_vec(&self.body).unwrap_or_default()
    }
}

/// The model in a path of Gemini's: `/v1beta/models/<model>:generateContent`.
fn model_in(path: &str) -> Option<&str> {
    let (model, _) = path.strip_prefix("/v1beta/models/")?.rsplit_once(':')?;
    (!model.contains('/')).then_some(model)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn limited(form: Form, body: &Value, most: u32) -> Value {
        let path = "/v1beta/models/m:generateContent";
        let mut request = RelayRequest::read(form, path, body.to_string().as_bytes()).unwrap();
        request.limit(most);
        serde_json::from_slice(&request.into_body()).unwrap()
    }

    #[test]
    fn a_limit_is_lowered_or_added_and_nothing_else_changes() {
        let thinking = |budget: u32| json!({"type": "enabled", "budget_tokens": budget});
        for (form, body, most, expected) in [
            (
                Form::Anthropic,
                json!({"model": "m", "max_tokens": 9000, "x": [1]}),
                2000,
                json!({"model": "m", "max_tokens": 2000, "x": [1]}),
            ),
            (
                Form::Anthropic,
                json!({"model": "m", "max_tokens": 900}),
                2000,
                json!({"model": "m", "max_tokens": 900}),
            ),
            (
                Form::Anthropic,
                json!({"model": "m", "max_tokens": 9000, "thinking": thinking(8000)}),
                4000,
                json!({"model": "m", "max_tokens": 4000, "thinking": thinking(2000)}),
            ),
            (
                Form::Anthropic,
                json!({"model": "m", "max_tokens": 9000, "thinking": thinking(8000)}),
                2000,
                json!({"model": "m", "max_tokens": 2000}),
            ),
            (
                Form::Anthropic,
                json!({"model": "m", "max_tokens": 9000, "thinking": thinking(1500)}),
                2000,
                json!({"model": "m", "max_tokens": 2000, "thinking": thinking(1500)}),
            ),
            (
                Form::Chat,
                json!({"model": "m"}),
                2000,
                json!({"model": "m", "max_completion_tokens": 2000}),
            ),
            (
                Form::Chat,
                json!({"model": "m", "max_tokens": 3000}),
                2000,
                json!({"model": "m", "max_tokens": 2000}),
            ),
            (
                Form::Responses,
                json!({"model": "m", "max_output_tokens": null}),
                2000,
                json!({"model": "m", "max_output_tokens": 2000}),
            ),
            (
                Form::Gemini,
                json!({"contents": []}),
                2000,
                json!({"contents": [], "generationConfig": {"maxOutputTokens": 2000}}),
            ),
            (
                Form::Gemini,
                json!({"generationConfig": {"maxOutputTokens": 9000, "topK": 1}}),
                2000,
                json!({"generationConfig": {"maxOutputTokens": 2000, "topK": 1}}),
            ),
        ] {
            assert_eq!(limited(form, &body, most), expected, "{form:?} {body}");
        }
    }

    #[test]
    fn another_model_is_asked_in_the_body_or_the_path() {
        let mut request =
            RelayRequest::read(Form::Chat, "/v1/chat/completions", br#"{"model": "a"}"#).unwrap();
        assert_eq!(
            request.ask("b", "/v1/chat/completions"),
            "/v1/chat/completions"
        );
        assert_eq!(request.into_body(), br#"{"model":"b"}"#);
        let path = "/v1beta/models/a:streamGenerateContent";
        let mut request = RelayRequest::read(Form::Gemini, path, b"{}").unwrap();
        assert_eq!(
            (request.model.as_str(), request.delivery),
            ("a", Delivery::Streamed)
        );
        assert_eq!(
            request.ask("b", path),
            "/v1beta/models/b:streamGenerateContent"
        );
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let read = |path: &str, body: &str| {
            RelayRequest::read(
                Form::of(&axum::http::Method::POST, path).unwrap(),
                path,
                body.as_bytes(),
            )
            .unwrap_err()
        };
        assert_eq!(read("/v1/messages", "[]"), NoRequest::NotJson);
        assert_eq!(read("/v1/messages", "{"), NoRequest::NotJson);
        assert_eq!(read("/v1/messages", "{}"), NoRequest::NoModel);
        assert_eq!(
            read("/v1beta/models/a/b:generateContent", "{}"),
            NoRequest::NoModel
        );
    }
}
