//! Speaks to a git server by HTTP: no redirects, and credentials only for the operator's hosts.

use bytes::Bytes;
use futures_util::StreamExt;
use reqwest::{Body, RequestBuilder, Response};
use tokio_util::io::ReaderStream;

use super::error::ServerError;
use super::push::Request;
use super::remote::Remote;
use crate::tools::git_access::HostAccess;

/// Most bytes of an advertisement or a report that are read.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// Bytes of a pack that are read at a time.
const CHUNK: usize = 64 << 10;

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
    request: Request,
) -> Result<Vec<u8>, ServerError> {
    let url = format!("{}/git-receive-pack", remote.http_url());
    let pack = tokio::fs::File::from_std(request.pack);
    let size = pack.metadata().await.map_err(ServerError::Pack)?.len();
    let length = request.command.len() as u64 + size;
    let command = futures_util::stream::iter([Ok(Bytes::from(request.command))]);
    let request_body = command.chain(ReaderStream::with_capacity(pack, CHUNK));
    let request = client
        .post(url)
        .header("content-type", "application/x-git-receive-pack-request")
        .header("accept", "application/x-git-receive-pack-result")
        .header("content-length", length)
        .body(Body::wrap_stream(request_body));
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
