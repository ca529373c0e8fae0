//! Discord's API for subcommands: one attempt, with a short timeout, and the answer with its headers.

use std::time::Duration;

use reqwest::{Client, Response};

use crate::config::{Env, Secret};
use crate::discord::rest::{DISCORD, USER_AGENT};

/// The API, with a bot's token.
pub(super) struct Api<'a> {
    client: Client,
    pub(super) base: &'a str,
    token: &'a Secret,
}

impl<'a> Api<'a> {
    /// Creates a client for the API that the environment names, or Discord's own; each request may take `timeout`.
    pub(super) fn new(env: &'a Env, token: &'a Secret, timeout: Duration) -> reqwest::Result<Self> {
        Ok(Self {
            client: Client::builder()
                .user_agent(USER_AGENT)
                .timeout(timeout)
                .build()?,
            base: env.discord_api_url.as_deref().unwrap_or(DISCORD),
            token,
        })
    }

    /// Gets the resource at `path`, below `/api/v10/`.
    pub(super) async fn get(&self, path: &str) -> reqwest::Result<Response> {
        self.client
            .get(format!("{}/api/v10/{path}", self.base))
            .header("authorization", format!("Bot {}", self.token.expose()))
            .send()
            .await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn each_request_says_which_program_asks() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let answering = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let length = stream.read(&mut request).await.unwrap();
            let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
            stream.write_all(answer).await.unwrap();
            String::from_utf8_lossy(&request[..length]).into_owned()
        });
        let variables = [
            ("HOME".to_owned(), "/nowhere".to_owned()),
            (
                "CHORUS_DISCORD_API_URL".to_owned(),
                format!("http://{address}"),
            ),
        ];
        let env = Env::read(variables, None).unwrap();
        let token = Secret::new("t");
        let api = Api::new(&env, &token, Duration::from_secs(10)).unwrap();
        api.get("users/@me").await.unwrap();
        let request = answering.await.unwrap();
        assert!(
            request.contains("user-agent: DiscordBot (chorus, "),
            "{request}"
        );
    }
}
