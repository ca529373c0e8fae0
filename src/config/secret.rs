//! A text that must not be seen: tokens and keys.

use std::fmt;

use secrecy::{ExposeSecret, SecretString};

/// A token or key. It has no `Display` and no `Serialize`, its `Debug` shows nothing, and its memory is wiped.
#[derive(Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// Takes `text` as a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(SecretString::from(text.into()))
    }

    /// Returns the text itself, for the one place that sends it.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
