//! The secrets of webhooks: derived from one key, so that no store holds them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::kind::Kind;

/// The key from which the secrets of all webhooks are derived: 32 random bytes.
#[derive(Clone)]
pub struct Key([u8; 32]);

/// A text that is no key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadKey;

/// The secret of one webhook in one version.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Key {
    /// Reads a key as 64 hexadecimal digits.
    ///
    /// # Errors
    ///
    /// If the text is anything else.
    pub fn from_hex(text: &str) -> Result<Self, BadKey> {
        let text = text.trim();
        if text.len() != 64 {
            return Err(BadKey);
        }
        read_hex(text)
            .and_then(|bytes| bytes.try_into().ok())
            .map(Self)
            .ok_or(BadKey)
    }

    /// Returns the secret of the webhook `id` in `version`. Raising the version replaces the secret.
    pub fn secret(&self, id: &str, version: i64) -> Secret {
        Secret(mac(&self.0, &[format!("{id}.{version}").as_bytes()]))
    }
}

impl Secret {
    /// Returns the secret as it is entered at the sender: hexadecimal digits, or `whsec_` and base64 for Standard Webhooks.
    pub fn shown(&self, kind: Kind) -> String {
        match kind {
            Kind::Standard => format!("whsec_{}", STANDARD.encode(self.0)),
            Kind::Github | Kind::Gitea | Kind::Bearer | Kind::Chorus => hex(&self.0),
        }
    }

    /// The bytes that sign: those of the digits, or for Standard Webhooks what the base64 stands for.
    pub(crate) fn signing_key(&self, kind: Kind) -> Vec<u8> {
        match kind {
            Kind::Standard => self.0.to_vec(),
            Kind::Github | Kind::Gitea | Kind::Bearer | Kind::Chorus => hex(&self.0).into_bytes(),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a webhook key has 64 hexadecimal digits")
    }
}

impl std::error::Error for BadKey {}

/// HMAC-SHA256 over the parts, one after the other.
pub(crate) fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // A key of any length is taken, so this cannot fail.
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        return [0; 32];
    };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn read_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text
        .chars()
        .map(|digit| {
            digit
                .to_digit(16)
                .and_then(|digit| u8::try_from(digit).ok())
        })
        .collect::<Option<_>>()?;
    digits.len().is_multiple_of(2).then(|| {
        digits
            .chunks_exact(2)
            .map(|pair| pair[0] << 4 | pair[1])
            .collect()
    })
}
