//! Requests of other programs that pass to a provider as they are, with the operator's key.

use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::{Method, RequestBuilder};

use super::http::Endpoint;
use crate::config::WireFormat;

/// A provider that is asked in its own words: its address, its key, and where the key stands in a request.
#[derive(Clone, Debug)]
pub struct RelayEndpoint {
    endpoint: Endpoint,
    format: WireFormat,
}

impl RelayEndpoint {
    /// A provider that speaks `format` at `endpoint`.
    pub const fn new(endpoint: Endpoint, format: WireFormat) -> Self {
        Self { endpoint, format }
    }

    /// Its name in configuration, errors and accounting.
    pub fn name(&self) -> &str {
        &self.endpoint.name
    }

    /// The format that it speaks.
    pub fn format(&self) -> WireFormat {
        self.format
    }

    /// How long it may take to begin its answer.
    pub fn silence(&self) -> Duration {
        self.endpoint.silence
    }

    /// A request for `path`, which begins with the version of the API: `/v1/messages`. It has the key, and no other header yet.
    pub fn relayed(&self, method: Method, path: &str, body: Option<Bytes>) -> RequestBuilder {
        let base = self.endpoint.base_url.as_str();
        // An address of the operator's may end with the version already.
        let version = path.split('/').nth(1).unwrap_or_default();
        let base = match base.strip_suffix(version) {
            Some(base) if !version.is_empty() => base.trim_end_matches('/'),
            _ => base,
        };
        let mut call = self
            .endpoint
            .client
            .request(method, format!("{base}{path}"));
        if let Some(key) = &self.endpoint.key {
            let (name, prefix) = match self.format {
                WireFormat::Anthropic => ("x-api-key", ""),
                WireFormat::Gemini => ("x-goog-api-key", ""),
                WireFormat::Openai | WireFormat::OpenaiResponses => ("authorization", "Bearer "),
            };
            // A key that is no header's value is refused by the provider, as a wrong one is.
            let value = HeaderValue::from_str(&format!("{prefix}{}", key.expose()));
            if let Ok(mut value) = value {
                value.set_sensitive(true);
                call = call.header(HeaderName::from_static(name), value);
            }
        }
        match body {
            Some(body) => call.body(body),
            None => call,
        }
    }
}
