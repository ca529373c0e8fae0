//! One request, completely read: method, path, query, JSON and files.

use std::collections::HashMap;

use axum::body::Bytes;
use axum::extract::{FromRequest, Multipart, Query, Request};
use axum::http::{HeaderMap, HeaderName, Method, header};
use serde_json::Value;

use super::error::ApiError;

/// Largest body: ten files of the largest size and a little JSON.
const BODY_LIMIT: usize = 110 * 1024 * 1024;

/// A request of the bot.
pub(crate) struct Call {
    pub(crate) method: Method,
    /// Without the leading `/api/v10`.
    pub(crate) path: String,
    pub(crate) segments: Vec<String>,
    pub(crate) query: HashMap<String, String>,
    pub(crate) authorization: String,
    /// The JSON body, or the `payload_json` of a form; null if there is none.
    pub(crate) body: Value,
    pub(crate) files: Vec<Upload>,
}

/// A file in a request.
#[derive(Clone)]
pub(crate) struct Upload {
    /// The number in its field name `files[n]`.
    pub(crate) index: u64,
    pub(crate) name: String,
    pub(crate) content_type: Option<String>,
    pub(crate) bytes: Bytes,
}

impl Call {
    pub(crate) async fn read(request: Request) -> Result<Self, ApiError> {
        let whole_path = request.uri().path().to_owned();
        let path = ["/api/v10", "/api"]
            .iter()
            .find_map(|prefix| whole_path.strip_prefix(prefix))
            .unwrap_or(&whole_path)
            .to_owned();
        let query = Query::try_from_uri(request.uri())
            .map(|Query(query)| query)
            .unwrap_or_default();
        let authorization = text_of(request.headers(), header::AUTHORIZATION);
        let content_type = text_of(request.headers(), header::CONTENT_TYPE);
        let is_multipart = content_type.starts_with("multipart/form-data");
        let method = request.method().clone();
        let (body, files) = if is_multipart {
            form(request).await?
        } else {
            (plain(request).await?, Vec::new())
        };
        let segments = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(decoded)
            .collect();
        Ok(Self {
            method,
            path,
            segments,
            query,
            authorization,
            body,
            files,
        })
    }

    pub(crate) fn is_from(&self, token: &str) -> bool {
        self.authorization.strip_prefix("Bot ") == Some(token)
    }

    /// Returns a boolean from the query, which libraries write as a word or as a digit.
    pub(crate) fn flag(&self, name: &str) -> bool {
        let value = self.query.get(name);
        value.is_some_and(|value| value == "1" || value.eq_ignore_ascii_case("true"))
    }

    /// Returns a number from the query.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.query.get(name)?.parse().ok()
    }
}

fn text_of(headers: &HeaderMap, name: HeaderName) -> String {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
        .to_owned()
}

async fn plain(request: Request) -> Result<Value, ApiError> {
    let bytes = axum::body::to_bytes(request.into_body(), BODY_LIMIT)
        .await
        .map_err(|_| ApiError::too_large())?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&bytes).map_err(|_| ApiError::not_json())
}

async fn form(request: Request) -> Result<(Value, Vec<Upload>), ApiError> {
    let unreadable = |_| ApiError::not_json();
    let mut form = Multipart::from_request(request, &())
        .await
        .map_err(|_| ApiError::not_json())?;
    let mut body = Value::Null;
    let mut files = Vec::new();
    while let Some(field) = form.next_field().await.map_err(unreadable)? {
        let name = field.name().unwrap_or_default().to_owned();
        if name == "payload_json" {
            let text = field.text().await.map_err(unreadable)?;
            body = serde_json::from_str(&text).map_err(|_| ApiError::not_json())?;
            continue;
        }
        let number = name
            .trim_start_matches("files[")
            .trim_end_matches(']')
            .parse();
        let file_name = field.file_name().unwrap_or("file").to_owned();
        let content_type = field.content_type().map(str::to_owned);
        let bytes = field.bytes().await.map_err(unreadable)?;
        let index = number.unwrap_or(files.len() as u64);
        files.push(Upload {
            index,
            name: file_name,
            content_type,
            bytes,
        });
    }
    Ok((body, files))
}

/// Decodes the percent signs in a path segment.
fn decoded(segment: &str) -> String {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match hex
            .and_then(|two| u8::from_str_radix(two, 16).ok())
            .filter(|_| first == b'%')
        {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
