//! One request, before it is made.

use reqwest::multipart;
use serde_json::Value;

use super::body::{Body, File};
use super::route::Route;

/// Whether a request must arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// It waits for its turn and is tried again.
    Durable,
    /// It is made now or not at all: typing, edits of a status.
    Passing,
}

/// One request, before it is made.
#[derive(Clone, Debug)]
pub struct Request {
    pub(super) route: Route,
    pub(super) json: Option<Value>,
    pub(super) files: Vec<File>,
    pub(super) urgency: Urgency,
    pub(super) audit_reason: Option<String>,
    /// How often it is made while the network or Discord fails.
    pub(super) tries: u32,
}

/// Times a durable request is made while the network or Discord fails; with the pauses between, half a minute.
const ATTEMPTS: u32 = 6;

impl Request {
    /// A request without a body.
    pub fn new(route: Route, urgency: Urgency) -> Self {
        Self {
            route,
            json: None,
            files: Vec::new(),
            urgency,
            audit_reason: None,
            tries: match urgency {
                Urgency::Durable => ATTEMPTS,
                Urgency::Passing => 1,
            },
        }
    }

    /// The same, not repeated when its answer is lost: what it makes would be made twice.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.tries = 1;
        self
    }

    /// The same with a JSON body.
    #[must_use]
    pub fn json(mut self, json: impl Into<Value>) -> Self {
        self.json = Some(json.into());
        self
    }

    /// The same with a message as its body.
    #[must_use]
    pub fn body(self, body: &Body) -> Self {
        self.json(body.to_json()).files(&body.files)
    }

    /// The same with files beside its JSON.
    #[must_use]
    pub fn files(mut self, files: &[File]) -> Self {
        self.files = files.to_vec();
        self
    }

    /// The same without one key of its JSON.
    #[must_use]
    pub fn without(mut self, key: &str) -> Self {
        if let Some(Value::Object(json)) = &mut self.json {
            json.remove(key);
        }
        self
    }

    /// The same with what the server's audit log shall say.
    #[must_use]
    pub fn audit_reason(mut self, reason: impl Into<String>) -> Self {
        self.audit_reason = Some(reason.into());
        self
    }
}

/// A request's body where files go with its JSON.
pub(super) fn form(json: &Value, files: &[File]) -> multipart::Form {
    let mut form = multipart::Form::new().text("payload_json", json.to_string());
    for (index, file) in files.iter().enumerate() {
        let part = multipart::Part::stream(file.bytes.clone()).file_name(file.shown_name());
        form = form.part(format!("files[{index}]"), part);
    }
    form
}

/// A nonce of 25 characters, as many as Discord takes.
pub(super) fn nonce() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..25].to_owned()
}
