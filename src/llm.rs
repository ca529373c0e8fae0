//! Requests to models: one trait, one file per wire format, and their shared parts.
//!
//! A request is built once ([`Provider::encode`]) and can be sent several times ([`Provider::stream`]); `route` decides
//! what to try next after a failure.

mod anthropic;
mod arguments;
pub mod catalog;
pub mod discovery;
mod error;
mod failure;
mod gemini;
pub mod history;
mod http;
pub mod listing;
pub mod local;
mod openai;
mod openai_chat;
mod openai_responses;
mod parts;
pub mod pictures;
pub mod places;
mod provider;
mod providers;
pub mod quirks;
mod relayed;
pub mod route;
mod schemas;
mod stream_decoder;
mod target;
mod text_calls;
mod thoughts;
pub mod tokens;
mod tolerant;

pub use anthropic::Anthropic;
pub use catalog::Catalog;
pub use error::{FailureClass, LlmError};
pub use failure::of_connection_in_words;
pub use gemini::Gemini;
pub use http::{Endpoint, client};
pub use openai::OpenAi;
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
pub use parts::wire_id;
pub use provider::{Delta, Encoded, OnDelta, Provider, Reply, Request, ToolSchema, TruncatedCall};
pub use providers::{DEMO, Providers, ProvidersError, known_servers};
pub use relayed::RelayEndpoint;
pub(crate) use stream_decoder::random_id;
pub use target::Target;
