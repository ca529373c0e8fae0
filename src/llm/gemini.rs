//! Gemini.

mod request;
mod stream;

use super::error::LlmError;
use super::http::Endpoint;
use super::listing;
use super::parts::inexpressible;
use super::provider::{Encoded, OnDelta, Provider, Reply, Request};

/// A server that speaks Gemini; its base URL is with `/v1beta`.
#[derive(Debug)]
pub struct Gemini {
    endpoint: Endpoint,
}

impl Gemini {
    /// Speaks to `endpoint`.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

#[async_trait::async_trait]
impl Provider for Gemini {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if request.model.is_empty() || !request.model.bytes().all(allowed) {
            return Err(inexpressible(
                self.name(),
                "the model's name cannot be part of an address",
            ));
        }
        request::encode(self.name(), request)
    }

    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        let headers = self.endpoint.key_header("x-goog-api-key", "")?;
        let path = format!("/models/{}:streamGenerateContent?alt=sse", body.model);
        let reading = stream::Generation::default();
        self.endpoint
            .stream(&path, headers, body, reading, on_delta)
            .await
    }

    async fn list_models(&self) -> Result<Vec<String>, LlmError> {
        let headers = self.endpoint.key_header("x-goog-api-key", "")?;
        let page = self.endpoint.get("/models?pageSize=1000", headers).await?;
        let names = listing::ids(&page, "models", "name")
            .map_err(|fault| self.endpoint.error(fault, None))?;
        let names = names.iter().map(|name| name.trim_start_matches("models/"));
        Ok(names
            .filter(|name| name.starts_with("gem"))
            .map(str::to_owned)
            .collect())
    }
}
