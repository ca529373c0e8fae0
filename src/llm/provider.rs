//! The interface of a provider: requests and answers.

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::error::LlmError;
use super::listing::Listing;
use super::local::Reach;
use super::parts::UNSEEN_IMAGE;
use super::pictures::{self, PictureBounds};
use super::quirks::Quirks;
use crate::config::Effort;
use crate::domain::{Assistant, CallId, Image, Item, StopReason, Usage};

/// A provider: a wire format at a base URL, with a key.
#[async_trait::async_trait]
pub trait Provider: Send + Sync {
    /// Returns its name in configuration, errors and accounting: `anthropic`, `openai`, `ollama`, ….
    fn name(&self) -> &str;

    /// Builds the request body, once for all attempts of a step.
    ///
    /// # Errors
    ///
    /// Fails with [`FailureClass::InvalidRequest`](super::FailureClass::InvalidRequest) if the format cannot express
    /// the request.
    fn encode(&self, request: &Request) -> Result<Encoded, LlmError>;

    /// Sends `body` and streams the answer to `on_delta`. Dropping the future cancels the request.
    ///
    /// # Errors
    ///
    /// Fails, with the class, if there is no complete, valid answer.
    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError>;

    /// Returns the models that its key may use; this also checks the key.
    async fn list_models(&self) -> Result<Listing, LlmError>;

    /// Returns how many pictures it accepts in one request, and their total size.
    fn picture_bounds(&self) -> PictureBounds {
        PictureBounds::default()
    }

    /// Returns the window of `model` on a local server; the server may choose it at the first request.
    async fn loaded_window(&self, _model: &str) -> Option<u64> {
        None
    }
}

#[derive(Clone, Debug)]
pub struct Request {
    /// Model id as the provider knows it.
    pub model: String,
    /// System prompt, docs and facts of the session, in order; a cache breakpoint belongs after the last.
    pub system: Vec<String>,
    /// The conversation, valid for every provider (see `history::repair`).
    pub items: Arc<Vec<Item>>,
    /// Tools it may call; empty on a last step.
    pub tools: Arc<Vec<ToolSchema>>,
    /// Most tokens of the answer.
    pub max_output_tokens: u32,
    /// Whether the provider may search the web, if it can.
    pub web_search: bool,
    /// Whether the model can see pictures; otherwise a note replaces them.
    pub sees_images: bool,
    /// Content that the provider refused: a note replaces a picture, and opaque blocks are left out.
    pub refused: Arc<RefusedContent>,
    /// How its server differs from the format.
    pub quirks: Quirks,
    /// How long it thinks; `None` leaves that to the model.
    pub thinking: Option<Effort>,
}

impl Request {
    /// Returns the note that replaces `picture`, if it is not sent.
    pub(super) fn instead_of(&self, picture: &Image) -> Option<String> {
        if !self.sees_images {
            return Some(UNSEEN_IMAGE.to_owned());
        }
        self.refused
            .has_picture(picture)
            .then(|| format!("[{} that the provider refused]", named(picture)))
    }

    /// Returns the number of pictures that are sent as pictures.
    pub(super) fn pictures_sent(&self) -> usize {
        pictures::all(&self.items)
            .filter(|picture| self.instead_of(picture).is_none())
            .count()
    }
}

/// Describes a picture in words: its kind and size.
pub(super) fn named(picture: &Image) -> String {
    let kib = picture.data.len().div_ceil(4) * 3 / 1024;
    format!("a picture ({}, {kib} KiB)", picture.media_type)
}

/// Content that a provider refused, by its hash: pictures, and opaque blocks of earlier answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedContent(HashSet<ContentHash>);

pub(super) type ContentHash = [u8; 32];

impl RefusedContent {
    /// Adds content. Returns the new part of it.
    pub(super) fn add(&mut self, content: impl Iterator<Item = ContentHash>) -> Vec<ContentHash> {
        content.filter(|hash| self.0.insert(*hash)).collect()
    }

    pub(super) fn remove(&mut self, content: &[ContentHash]) {
        for hash in content {
            self.0.remove(hash);
        }
    }

    fn has_picture(&self, picture: &Image) -> bool {
        !self.0.is_empty() && self.0.contains(&hash_of_picture(picture))
    }

    pub(super) fn has_block(&self, block: &Value) -> bool {
        !self.0.is_empty() && self.0.contains(&hash_of_block(block))
    }
}

pub(super) fn hash_of_picture(picture: &Image) -> ContentHash {
    Sha256::digest(picture.data.as_bytes()).into()
}

pub(super) fn hash_of_block(block: &Value) -> ContentHash {
    Sha256::digest(block.to_string().as_bytes()).into()
}

/// A tool as a model sees it.
#[derive(Clone, Debug, Serialize)]
pub struct ToolSchema {
    pub name: String,
    /// Its description for the model.
    pub description: String,
    /// JSON Schema of its arguments, an object; as text, because every request contains it unchanged.
    pub parameters: Box<RawValue>,
}

/// A request ready to send.
#[derive(Clone, Debug)]
pub struct Encoded {
    pub body: Bytes,
    /// The requested model, for accounting and for URLs that contain it.
    pub model: String,
    /// The wire format of the body, for providers that speak several.
    pub format: &'static str,
    /// The quirks that would change the body.
    pub changed_by: Quirks,
    /// The permitted destinations.
    pub reach: Reach,
}

/// A piece of an answer as it arrives. It is shown, never stored.
#[derive(Clone, Copy, Debug)]
pub enum Delta<'a> {
    Text(&'a str),
    Thinking,
    /// A tool call has begun; its arguments are not complete.
    ToolCall(&'a str),
}

/// Called with each piece of an answer as it arrives.
pub type OnDelta<'a> = dyn for<'d> FnMut(Delta<'d>) + Send + 'a;

#[derive(Clone, Debug)]
pub struct Reply {
    /// The answer as the transcript keeps it.
    pub assistant: Assistant,
    pub stop: StopReason,
    pub usage: Usage,
    /// The provider's id of the request, for its support team.
    pub request_id: Option<String>,
    /// Sources that the provider's web search cites, as (title, URL).
    pub citations: Vec<(String, String)>,
    /// Calls that must not run, because they are cut off or invalid. They are not in `assistant`.
    pub truncated_calls: Vec<TruncatedCall>,
}

/// A call that must not run. Sending the model [`TruncatedCall::why`] once lets it try again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruncatedCall {
    /// Its id, as far as it was received.
    pub id: CallId,
    pub name: String,
    /// The problem, in a sentence for the model.
    pub why: String,
    /// Whether a model that has tools wrote it as text. Such text may also be the answer.
    pub is_text: bool,
}
