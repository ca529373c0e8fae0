//! Anthropic Messages.

mod event;
mod request;
mod stream;
mod thinking;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

use super::error::LlmError;
use super::http::Endpoint;
use super::provider::{Encoded, OnDelta, Provider, Reply, Request};

/// The version of the wire format that the code was written for.
const VERSION: &str = "2023-06-01";

/// Most pages of the list of models that are asked for.
const MAX_PAGES: usize = 20;

/// A server that speaks Anthropic Messages; its base URL is without `/v1`.
#[derive(Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
}

impl Anthropic {
    /// Speaks to `endpoint`.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }

    fn headers(&self) -> Result<HeaderMap, LlmError> {
        let mut headers = self.endpoint.key_header("x-api-key", "")?;
        headers.insert(
            HeaderName::from_static("anthropic-version"),
            HeaderValue::from_static(VERSION),
        );
        Ok(headers)
    }
}

#[async_trait::async_trait]
impl Provider for Anthropic {
    fn name(&self) -> &str {
        &self.endpoint.name
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        request::encode(self.name(), request)
    }

    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        let reading = stream::Messages::default();
        self.endpoint
            .stream("/v1/messages", self.headers()?, body, reading, on_delta)
            .await
    }

    async fn list_models(&self) -> Result<Vec<String>, LlmError> {
        let mut models = Vec::new();
        let mut after = String::new();
        for _ in 0..MAX_PAGES {
            let page = self
                .endpoint
                .get(&format!("/v1/models?limit=1000{after}"), self.headers()?)
                .await?;
            let ids = super::listing::ids(&page, "data", "id");
            models.extend(ids.map_err(|fault| self.endpoint.error(fault, None))?);
            let more = page
                .get("has_more")
                .and_then(Value::as_bool)
                .unwrap_or_default();
            let last = page.get("last_id").and_then(Value::as_str);
            match last {
                Some(last) if more => after = format!("&after_id={last}"),
                _ => break,
            }
        }
        Ok(models)
    }
}
