//! Speaks to a git server by HTTP: no redirects, credentials to the operator's hosts only.

use futures_util::StreamExt;
use reqwest::{RequestBuilder, Response};

use super::error::ServerError;
use super::remote::Remote;
use crate::tools::git_access::HostAccess;

/// Bytes of an advertisement or a report that are read.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

pub(super) async fn advertisement(
    client: &reqwest::Client,
    remote: &Remote,
    access: &HostAccess,
) -> Result<Vec<u8>, ServerError> {
    let url = format!("{}/info/refs?service=git-receive-pack", remote.http_url());
    let answer = send(client.get(url), access).await?;
    expect_type(&answer, "application/x-git-receive-pack-advertisement")?;
    body(answer).await
}

/// Sends command and pack, and returns the report.
pub(super) async fn receive_pack(
    client: &reqwest::Client,
    remote: &Remote,
    access: &HostAccess,
    request: Vec<u8>,
) -> Result<Vec<u8>, ServerError> {
    let url = format!("{}/git-receive-pack", remote.http_url());
    let request = client
        .post(url)
        .header("content-type", "application/x-git-receive-pack-request")
        .header("accept", "application/x-git-receive-pack-result")
        .body(request);
    let answer = send(request, access).await?;
    expect_type(&answer, "application/x-git-receive-pack-result")?;
    body(answer).await
}

async fn send(request: RequestBuilder, access: &HostAccess) -> Result<Response, ServerError> {
    let request = match &access.token {
        Some(token) => request.basic_auth(&access.username, Some(token.expose())),
        None => request,
    };
    let answer = request.send().await?;
    match answer.status().as_u16() {
        200 => Ok(answer),
        401 | 403 if access.token.is_none() => Err(ServerError::NoToken),
        401 | 403 => Err(ServerError::TokenRefused),
        404 => Err(ServerError::NoRepository),
        status @ 300..=399 => Err(ServerError::Redirects(status)),
        status => Err(ServerError::Status(status)),
    }
}

fn expect_type(answer: &Response, wanted: &str) -> Result<(), ServerError> {
    let given = answer
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    if given == Some(wanted) {
        Ok(())
    } else {
        Err(ServerError::OtherProtocol)
    }
}

pub(super) async fn body(answer: Response) -> Result<Vec<u8>, ServerError> {
    let mut bytes = Vec::new();
    let mut stream = answer.bytes_stream();
    while let Some(chunk) = stream.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > LONGEST_ANSWER {
            return Err(ServerError::Endless);
        }
    }
    Ok(bytes)
}
