//! Speaks to a git server by HTTP: no redirects, credentials to the operator's hosts only.

use futures_util::StreamExt;
use reqwest::{RequestBuilder, Response};

use super::remote::Remote;
use crate::tools::git_access::HostAccess;

/// Bytes of an advertisement or a report that are read.
const LONGEST_ANSWER: usize = 16 * 1024 * 1024;

/// What the server has.
pub(super) async fn advertisement(
    client: &reqwest::Client,
    remote: &Remote,
    access: &HostAccess,
) -> Result<Vec<u8>, String> {
    let url = format!("{}/info/refs?service=git-receive-pack", remote.http_url());
    let answer = send(client.get(url), access).await?;
    expect_type(&answer, "application/x-git-receive-pack-advertisement")?;
    body(answer).await
}

/// Sends command and pack, and gives the report.
pub(super) async fn receive_pack(
    client: &reqwest::Client,
    remote: &Remote,
    access: &HostAccess,
    request: Vec<u8>,
) -> Result<Vec<u8>, String> {
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

async fn send(request: RequestBuilder, access: &HostAccess) -> Result<Response, String> {
    let request = match &access.token {
        Some(token) => request.basic_auth(&access.username, Some(token.expose())),
        None => request,
    };
    let answer = request
        .send()
        .await
        .map_err(|error| error.without_url().to_string())?;
    match answer.status().as_u16() {
        200 => Ok(answer),
        401 | 403 if access.token.is_none() => {
            Err("the operator has set no token for this host; set the remote to its SSH URL".into())
        }
        401 | 403 => Err("the server refuses the operator's token".into()),
        404 => Err("the server has no such repository, or hides it from the token".into()),
        status @ 300..=399 => Err(format!(
            "the server redirects ({status}), and credentials are not sent elsewhere; set the remote to the new URL"
        )),
        status => Err(format!("the server answers {status}")),
    }
}

fn expect_type(answer: &Response, wanted: &str) -> Result<(), String> {
    let given = answer
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok());
    if given == Some(wanted) {
        Ok(())
    } else {
        Err("the server does not speak git's HTTP protocol there".into())
    }
}

pub(super) async fn body(answer: Response) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut stream = answer.bytes_stream();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| error.without_url().to_string())?;
        bytes.extend_from_slice(&chunk);
        if bytes.len() > LONGEST_ANSWER {
            return Err("the server answers without end".into());
        }
    }
    Ok(bytes)
}
