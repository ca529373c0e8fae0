//! One request, before it is made.

use reqwest::multipart;
use serde_json::{Value, json};

use super::body::{Body, File, FileContent};
use super::route::{self, Route};
use crate::domain::{ChannelId, MessageId};

/// Flag of a message that notifies no one.
const SILENT: u64 = 1 << 12;

/// Whether a request must arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// It waits for its turn and is retried.
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
    /// How many attempts are made while the network or Discord fails.
    pub(super) tries: u32,
}

/// Attempts of a durable request while the network or Discord fails; with the pauses between them, half a minute.
const ATTEMPTS: u32 = 6;

impl Request {
    /// Creates a request that posts `body`.
    pub fn post(channel: ChannelId, body: &Body, urgency: Urgency) -> Self {
        Self::new(route::create_message(channel), urgency).body(body)
    }

    /// Creates a request that replaces the content of a message with `body`.
    pub fn edit(channel: ChannelId, message: MessageId, body: &Body, urgency: Urgency) -> Self {
        Self::new(route::edit_message(channel, message), urgency).body(body)
    }

    /// Creates a request without a body.
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

    /// Returns whether the bot's token authorises it.
    pub(super) fn takes_bot_token(&self) -> bool {
        !self.route.key.answers_interaction()
    }

    /// Returns the request, which is not repeated if its answer is lost: it would have its effect twice.
    #[must_use]
    pub fn once(mut self) -> Self {
        self.tries = 1;
        self
    }

    /// Adds a JSON body.
    #[must_use]
    pub fn json(mut self, json: impl Into<Value>) -> Self {
        self.json = Some(json.into());
        self
    }

    /// Sets a message as the body.
    #[must_use]
    pub fn body(self, body: &Body) -> Self {
        self.json(body.to_json()).files(&body.files)
    }

    /// Adds files to the JSON.
    #[must_use]
    pub fn files(mut self, files: &[File]) -> Self {
        self.files = files.to_vec();
        self
    }

    /// Makes the message post once, however often the request is made.
    #[must_use]
    pub fn nonce(self, nonce: &str) -> Self {
        self.with("nonce", nonce).with("enforce_nonce", true)
    }

    /// Makes the message a reply to another, without failing if that one is gone.
    #[must_use]
    pub fn reply_to(self, message: Option<MessageId>) -> Self {
        let Some(id) = message else {
            return self;
        };
        let reference = json!({"message_id": id.to_string(), "fail_if_not_exists": false});
        self.with("message_reference", reference)
    }

    /// Makes the message silent.
    #[must_use]
    pub fn silent(self) -> Self {
        self.with("flags", SILENT)
    }

    /// Removes the reference of a reply.
    #[must_use]
    pub fn without_reference(mut self) -> Self {
        if let Some(Value::Object(json)) = &mut self.json {
            json.remove("message_reference");
        }
        self
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        if let Some(Value::Object(json)) = &mut self.json {
            json.insert(key.into(), value.into());
        }
        self
    }

    /// Adds a reason for the server's audit log.
    #[must_use]
    pub fn audit_reason(mut self, reason: impl Into<String>) -> Self {
        self.audit_reason = Some(reason.into());
        self
    }
}

/// Returns a request's body if files are sent with its JSON.
pub(super) fn form(json: &Value, files: &[File]) -> multipart::Form {
    let mut form = multipart::Form::new().text("payload_json", json.to_string());
    for (index, file) in files.iter().enumerate() {
        let bytes = match &file.content {
            FileContent::Text(text) => text.clone().into(),
            FileContent::Bytes(bytes) => bytes.clone(),
        };
        let part = multipart::Part::stream(bytes).file_name(file.shown_name());
        form = form.part(format!("files[{index}]"), part);
    }
    form
}

/// Returns a nonce of 25 characters, the most that Discord accepts.
pub(super) fn nonce() -> String {
    uuid::Uuid::new_v4().simple().to_string()[..25].to_owned()
}
