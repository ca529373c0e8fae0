//! OpenAI Chat Completions, which OpenAI and most other servers speak.

mod reasoning_details;
mod request;
mod stream;

use super::error::LlmError;
use super::http::Endpoint;
use super::listing;
use super::provider::{Encoded, OnDelta, Provider, Reply, Request};

/// A server that speaks Chat Completions; its base URL is with `/v1`, where it has one.
#[derive(Debug)]
pub struct OpenAiChat {
    endpoint: Endpoint,
}

impl OpenAiChat {
    /// Speaks to `endpoint`.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

#[async_trait::async_trait]
impl Provider for OpenAiChat {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        request::encode(&self.endpoint, request)
    }

    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        let headers = self.endpoint.key_header("authorization", "Bearer ")?;
        let reading = stream::Completion::default();
        self.endpoint
            .stream("/chat/completions", headers, body, reading, on_delta)
            .await
    }

    async fn list_models(&self) -> Result<Vec<String>, LlmError> {
        list_models(&self.endpoint).await
    }
}

/// The models that an OpenAI-like server lists; of OpenAI's own only those that chat.
pub(super) async fn list_models(endpoint: &Endpoint) -> Result<Vec<String>, LlmError> {
    let headers = endpoint.key_header("authorization", "Bearer ")?;
    let page = endpoint.get("/models", headers).await?;
    let ids = listing::ids(&page, "data", "id").map_err(|fault| endpoint.error(fault, None))?;
    Ok(match endpoint.name.as_str() {
        "openai" => listing::chat_models(ids),
        _ => ids,
    })
}
