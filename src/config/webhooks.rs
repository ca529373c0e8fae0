//! Where webhooks are received, and the key that their secrets are derived from.

use std::borrow::Cow;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Env;
use super::keys::Config;

/// The variable that holds the key of webhooks.
pub const WEBHOOK_KEY: &str = "WEBHOOK_KEY";

/// Where webhooks are received.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WebhooksConfig {
    /// Loopback address such as `127.0.0.1:9465`, or `unix:/path`, at which webhooks are received. None: no webhooks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listen: Option<WebhookAddress>,
    /// Base of the addresses that `/hook new` shows, such as `https://chorus.example.org`.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "public_url"
    )]
    pub public_url: Option<String>,
}

/// An address that only this machine reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookAddress {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

/// A text that is no such address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not an address that only this machine reaches: write \"127.0.0.1:9465\" or \"unix:/run/chorus/webhooks.sock\", and put a \
     reverse proxy in front of it (Caddy: reverse_proxy 127.0.0.1:9465; Tailscale: tailscale funnel 9465; Cloudflare: cloudflared \
     tunnel --url http://127.0.0.1:9465)"
)]
pub struct BadAddress(String);

impl FromStr for WebhookAddress {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadAddress(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            let path = PathBuf::from(path);
            return path
                .is_absolute()
                .then_some(Self::Unix(path))
                .ok_or_else(bad);
        }
        match text.parse::<SocketAddr>() {
            Ok(address) if address.ip().is_loopback() => Ok(Self::Tcp(address)),
            Ok(_) | Err(_) => Err(bad()),
        }
    }
}

impl fmt::Display for WebhookAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl Serialize for WebhookAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for WebhookAddress {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

impl JsonSchema for WebhookAddress {
    fn schema_name() -> Cow<'static, str> {
        "WebhookAddress".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// A base of addresses, without a slash at its end, or null.
fn public_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else {
        return Ok(None);
    };
    let parsed = reqwest::Url::parse(&text);
    let is_base = parsed.is_ok_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    if is_base {
        return Ok(Some(text.trim_end_matches('/').to_owned()));
    }
    Err(D::Error::custom(format!(
        "{text:?} is not the base of an address: write one such as \"https://chorus.example.org\""
    )))
}

/// Checks that there is a key where webhooks are received.
///
/// # Errors
///
/// What to do, where there is none or it cannot be used.
pub fn check_webhook_key(config: &Config, env: &Env) -> Result<(), WebhookKeyFault> {
    match (&config.webhooks.listen, &env.webhook_key) {
        (Some(_), None) => Err(WebhookKeyFault::Missing),
        (_, Some(key)) => chorus_webhook::Key::from_hex(key.expose())
            .map(drop)
            .map_err(|_| WebhookKeyFault::Bad),
        (None, None) => Ok(()),
    }
}

/// What is wrong with the key of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WebhookKeyFault {
    #[error(
        "`webhooks.listen` needs the secret WEBHOOK_KEY, which is not set: `chorus init` writes one; or put 64 hexadecimal digits, \
         such as `openssl rand -hex 32` prints, into .env of the home"
    )]
    Missing,
    #[error(
        "WEBHOOK_KEY is not a key: it must have 64 hexadecimal digits, such as `openssl rand -hex 32` prints"
    )]
    Bad,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_this_machine_reaches_an_address() {
        for right in ["127.0.0.1:9465", "[::1]:80", "unix:/run/chorus/hooks.sock"] {
            assert_eq!(right.parse::<WebhookAddress>().unwrap().to_string(), right);
        }
        for wrong in [
            "0.0.0.0:8080",
            "[::]:80",
            "192.168.1.2:80",
            "localhost",
            "unix:relative",
            "",
        ] {
            let error = wrong.parse::<WebhookAddress>().unwrap_err().to_string();
            for proxy in ["reverse_proxy 127.0.0.1", "tailscale funnel", "cloudflared"] {
                assert!(error.contains(proxy), "{error}");
            }
        }
    }
}
