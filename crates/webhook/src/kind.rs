//! The five kinds of webhooks: where each has its signature and the id of a delivery.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::secret::{Secret, hex, mac, read_hex};

/// Who sends, and so how a delivery is signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// GitHub.
    Github,
    /// Gitea and Forgejo.
    Gitea,
    /// Standard Webhooks.
    Standard,
    /// A secret in the header `Authorization`: Grafana, Alertmanager, Uptime Kuma, scripts.
    Bearer,
    /// Chorus itself.
    Chorus,
}

/// What arrived.
#[derive(Clone, Copy)]
pub struct Delivery<'a> {
    /// Returns a header's value; names are in lower case.
    pub header: &'a dyn Fn(&str) -> Option<&'a str>,
    /// The body, byte for byte.
    pub body: &'a [u8],
    /// When it arrived.
    pub at: DateTime<Utc>,
}

/// Seconds that the timestamp of Standard Webhooks may be off.
const TOLERANCE: u64 = 300;
/// Bytes of a delivery's id that are kept as they are.
const LONGEST_ID: usize = 200;

impl Kind {
    /// All kinds, in the order in which people see them.
    pub const ALL: [Self; 5] = [
        Self::Github,
        Self::Gitea,
        Self::Standard,
        Self::Bearer,
        Self::Chorus,
    ];

    /// Returns its word: `github`, `gitea`, `standard`, `bearer`, `chorus`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Github => "github",
            Self::Gitea => "gitea",
            Self::Standard => "standard",
            Self::Bearer => "bearer",
            Self::Chorus => "chorus",
        }
    }

    /// Returns the delivery's id if one of the secrets signed it. Comparisons take constant time.
    pub fn verify(self, secrets: &[Secret], delivery: &Delivery<'_>) -> Option<String> {
        let signed = match self {
            Self::Github => {
                self.signed_body(secrets, delivery, &[("x-hub-signature-256", "sha256=")])
            }
            Self::Gitea => self.signed_body(
                secrets,
                delivery,
                &[
                    ("x-gitea-signature", ""),
                    ("x-forgejo-signature", ""),
                    ("x-hub-signature-256", "sha256="),
                ],
            ),
            Self::Chorus => {
                self.signed_body(secrets, delivery, &[("x-chorus-signature-256", "sha256=")])
            }
            Self::Standard => self.signed_standard(secrets, delivery),
            Self::Bearer => self.authorized(secrets, delivery),
        };
        signed.then(|| self.delivery_id(delivery))
    }

    /// Returns the headers of a delivery that `secret` signs.
    pub fn sign(
        self,
        secret: &Secret,
        id: &str,
        event: &str,
        body: &[u8],
        at: DateTime<Utc>,
    ) -> Vec<(&'static str, String)> {
        let key = secret.signing_key(self);
        let body_signature = || hex(&mac(&key, &[body]));
        match self {
            Self::Github => vec![
                (
                    "x-hub-signature-256",
                    format!("sha256={}", body_signature()),
                ),
                ("x-github-delivery", id.to_owned()),
                ("x-github-event", event.to_owned()),
            ],
            Self::Gitea => vec![
                ("x-gitea-signature", body_signature()),
                ("x-gitea-delivery", id.to_owned()),
                ("x-gitea-event", event.to_owned()),
            ],
            Self::Standard => {
                let timestamp = at.timestamp().to_string();
                let signature = mac(
                    &key,
                    &[id.as_bytes(), b".", timestamp.as_bytes(), b".", body],
                );
                vec![
                    (
                        "webhook-signature",
                        format!("v1,{}", STANDARD.encode(signature)),
                    ),
                    ("webhook-id", id.to_owned()),
                    ("webhook-timestamp", timestamp),
                ]
            }
            Self::Bearer => vec![("authorization", format!("Bearer {}", secret.shown(self)))],
            Self::Chorus => vec![
                (
                    "x-chorus-signature-256",
                    format!("sha256={}", body_signature()),
                ),
                ("x-chorus-delivery", id.to_owned()),
            ],
        }
    }

    /// Returns what a delivery of this kind calls its event, apart from its body.
    pub fn event_header(self) -> Option<&'static str> {
        match self {
            Self::Github => Some("x-github-event"),
            Self::Gitea => Some("x-gitea-event"),
            Self::Standard | Self::Bearer | Self::Chorus => None,
        }
    }

    fn signed_body(
        self,
        secrets: &[Secret],
        delivery: &Delivery<'_>,
        headers: &[(&str, &str)],
    ) -> bool {
        let given = headers
            .iter()
            .find_map(|(name, prefix)| Some(((delivery.header)(name)?, *prefix)));
        let Some(given) =
            given.and_then(|(value, prefix)| read_hex(value.trim().strip_prefix(prefix)?))
        else {
            return false;
        };
        any(secrets, |secret| {
            mac(&secret.signing_key(self), &[delivery.body])
                .ct_eq(&given[..])
                .into()
        })
    }

    fn signed_standard(self, secrets: &[Secret], delivery: &Delivery<'_>) -> bool {
        let header = |name| (delivery.header)(name);
        let (Some(id), Some(timestamp), Some(signatures)) = (
            header("webhook-id"),
            header("webhook-timestamp"),
            header("webhook-signature"),
        ) else {
            return false;
        };
        let recent = timestamp
            .parse::<i64>()
            .is_ok_and(|sent| delivery.at.timestamp().abs_diff(sent) <= TOLERANCE);
        let given: Vec<Vec<u8>> = signatures
            .split_whitespace()
            .take(16)
            .filter_map(|signature| STANDARD.decode(signature.strip_prefix("v1,")?).ok())
            .collect();
        let signed = any(secrets, |secret| {
            let right = mac(
                &secret.signing_key(self),
                &[
                    id.as_bytes(),
                    b".",
                    timestamp.as_bytes(),
                    b".",
                    delivery.body,
                ],
            );
            given.iter().fold(false, |found, given| {
                bool::from(right.ct_eq(&given[..])) | found
            })
        });
        recent & signed
    }

    fn authorized(self, secrets: &[Secret], delivery: &Delivery<'_>) -> bool {
        let Some((scheme, given)) =
            (delivery.header)("authorization").and_then(|value| value.trim().split_once(' '))
        else {
            return false;
        };
        let given = given.trim().as_bytes().to_vec();
        let given = match scheme.to_ascii_lowercase().as_str() {
            "bearer" => given,
            "basic" => {
                let decoded = STANDARD.decode(given).unwrap_or_default();
                let password = decoded
                    .iter()
                    .position(|byte| *byte == b':')
                    .and_then(|colon| decoded.get(colon + 1..));
                password.unwrap_or_default().to_vec()
            }
            _ => return false,
        };
        any(secrets, |secret| {
            secret.signing_key(self).ct_eq(&given).into()
        })
    }

    fn delivery_id(self, delivery: &Delivery<'_>) -> String {
        let headers: &[&str] = match self {
            Self::Github => &["x-github-delivery"],
            Self::Gitea => &["x-gitea-delivery", "x-forgejo-delivery"],
            Self::Standard => &["webhook-id"],
            Self::Bearer => &[],
            Self::Chorus => &["x-chorus-delivery"],
        };
        match headers
            .iter()
            .find_map(|name| (delivery.header)(name))
            .map(str::trim)
        {
            Some(id) if (1..=LONGEST_ID).contains(&id.len()) => id.to_owned(),
            Some(id) if !id.is_empty() => hex(&Sha256::digest(id.as_bytes())),
            // Without an id, the same body is the same delivery.
            _ => hex(&Sha256::digest(delivery.body)),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Kind {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.word() == word)
            .ok_or(())
    }
}

impl fmt::Debug for Delivery<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery")
            .field("bytes", &self.body.len())
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

/// Asks each secret, also after one that fits.
fn any(secrets: &[Secret], fits: impl Fn(&Secret) -> bool) -> bool {
    secrets
        .iter()
        .fold(false, |found, secret| fits(secret) | found)
}
