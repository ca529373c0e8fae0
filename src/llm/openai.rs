//! OpenAI itself: Chat Completions, and Responses for the models that support nothing else.

use super::catalog::Catalog;
use super::error::LlmError;
use super::http::Endpoint;
use super::listing::Listing;
use super::openai_chat::OpenAiChat;
use super::openai_responses;
use super::openai_responses::OpenAiResponses;
use super::pictures::PictureBounds;
use super::provider::{Encoded, OnDelta, Provider, Reply, Request};
use super::target::Target;

/// OpenAI, with each model asked in the format that it supports.
#[derive(Debug)]
pub struct OpenAi {
    chat: OpenAiChat,
    responses: OpenAiResponses,
    catalog: Catalog,
}

impl OpenAi {
    /// Speaks to `endpoint`; `catalog` knows which models need Responses.
    pub fn new(endpoint: Endpoint, catalog: Catalog) -> Self {
        Self {
            chat: OpenAiChat::new(endpoint.clone()),
            responses: OpenAiResponses::new(endpoint),
            catalog,
        }
    }
}

#[async_trait::async_trait]
impl Provider for OpenAi {
    fn name(&self) -> &str {
        self.chat.name()
    }

    fn encode(&self, request: &Request) -> Result<Encoded, LlmError> {
        let facts = self
            .catalog
            .facts(&Target::new(self.name(), request.model.as_str()));
        // Only Responses can search the web together with an agent's tools.
        if facts.responses || request.web_search {
            self.responses.encode(request)
        } else {
            self.chat.encode(request)
        }
    }

    async fn stream(&self, body: &Encoded, on_delta: &mut OnDelta<'_>) -> Result<Reply, LlmError> {
        match body.format {
            openai_responses::FORMAT => self.responses.stream(body, on_delta).await,
            _ => self.chat.stream(body, on_delta).await,
        }
    }

    fn picture_bounds(&self) -> PictureBounds {
        self.chat.picture_bounds()
    }

    async fn list_models(&self) -> Result<Listing, LlmError> {
        self.chat.list_models().await
    }
}
