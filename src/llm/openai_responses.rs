//! OpenAI Responses.

mod request;
mod stream;

pub(super) use self::request::FORMAT;
use super::error::LlmError;
use super::http::Endpoint;
use super::openai_chat;
use super::provider::{Encoded, OnDelta, Provider, Reply, Request};

/// A server that speaks Responses; its base URL is with `/v1`. Nothing is stored there.
#[derive(Debug)]
pub struct OpenAiResponses {
    endpoint: Endpoint,
}

impl OpenAiResponses {
    /// Speaks to `endpoint`.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

#[async_trait::async_trait]
impl Provider for OpenAiResponses {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        request::encode(self.name(), request)
    }

    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        let headers = self.endpoint.key_header("authorization", "Bearer ")?;
        let reading = stream::Response::default();
        self.endpoint
            .stream("/responses", headers, body, reading, on_delta)
            .await
    }

    async fn list_models(&self) -> Result<Vec<String>, LlmError> {
        openai_chat::list_models(&self.endpoint).await
    }
}
