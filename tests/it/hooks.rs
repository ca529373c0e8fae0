//! Webhooks: what strangers send, who is believed, and what becomes of it.

mod commands;
mod listener;
mod signer;
mod turns;

use chorus_webhook::{Key, Kind, Secret};
use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use crate::ops::metrics::free_address;
use crate::world::{Setup, World};

/// The key of the daemon under test.
pub(crate) const KEY: &str = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";

/// The deliveries with what became of them.
pub(super) const DELIVERIES: &str =
    "SELECT state || coalesce(': ' || reason, '') FROM deliveries ORDER BY id";

/// A world that receives webhooks, and the address at which.
pub(crate) fn receiving(config: Value) -> (Setup, String) {
    let address = free_address();
    let mut config = config;
    config["webhooks"] = json!({"listen": address});
    let setup = Setup {
        config,
        env: vec![("WEBHOOK_KEY", KEY.to_owned())],
        ..Setup::default()
    };
    (setup, address)
}

/// A webhook, as its sender knows it.
pub(crate) struct Hook {
    pub(super) kind: Kind,
    pub(crate) url: String,
    pub(super) secret: Secret,
}

impl Hook {
    /// Makes one as ann, and reads what she is told to enter at the sender.
    pub(crate) async fn made(world: &World, kind: Kind, typed: &str) -> Self {
        let command = format!("/hook new kind:{kind} {typed}");
        let answer = world.ann.asks(&command, "#lab").await;
        let url = answer
            .split('`')
            .find(|part| part.starts_with("http://"))
            .unwrap_or_else(|| panic!("{answer}"))
            .to_owned();
        let (_, id) = url.rsplit_once('/').unwrap();
        let secret = secret(id, 1);
        assert!(answer.contains(&secret.shown(kind)), "{answer}");
        Self { kind, url, secret }
    }

    pub(super) fn id(&self) -> &str {
        self.url.rsplit_once('/').unwrap().1
    }

    /// The headers of a delivery that the sender signs.
    pub(crate) fn signs(
        &self,
        id: &str,
        event: &str,
        body: &[u8],
        at: DateTime<Utc>,
    ) -> Vec<(String, String)> {
        let headers = self.kind.sign(&self.secret, id, event, body, at);
        let headers = headers.into_iter();
        headers
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }

    /// Sends a delivery, and returns the status of the answer.
    pub(crate) async fn sends(&self, world: &World, id: &str, event: &str, body: &Value) -> u16 {
        let body = body.to_string();
        let headers = self.signs(id, event, body.as_bytes(), world.clock.now());
        posts(&self.url, &headers, body.into_bytes())
            .await
            .status()
            .as_u16()
    }
}

/// The secret of a webhook in a version.
pub(super) fn secret(id: &str, version: i64) -> Secret {
    Key::from_hex(KEY).unwrap().secret(id, version)
}

/// Sends a request as somebody from outside.
pub(super) async fn posts(
    url: &str,
    headers: &[(String, String)],
    body: Vec<u8>,
) -> reqwest::Response {
    let request = reqwest::Client::new().post(url).body(body);
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(name, value)
    });
    request.send().await.unwrap()
}

/// A pull request that was opened at GitHub.
pub(super) fn pull_request(number: u32) -> Value {
    json!({
        "action": "opened",
        "pull_request": {
            "number": number,
            "title": format!("Change {number}"),
            "html_url": format!("https://example.com/o/r/pull/{number}"),
            "body": "Please look.",
        },
        "repository": {"full_name": "o/r"},
        "sender": {"login": "octocat"},
    })
}

/// Moves the clock past the time in which deliveries are joined.
pub(super) fn joining_is_over(world: &World) {
    world.clock.moves(TimeDelta::seconds(11));
}
