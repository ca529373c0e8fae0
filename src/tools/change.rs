//! An edit of the agent's own configuration, for the audit log.

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::text::redact::Redactor;

/// Bytes up to which the audit log keeps a whole value.
const MOST_KEPT: usize = 16 * 1024;

/// An edit of the agent's own configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The edited part: `system_prompt`, `docs:README.md`, `model`, ….
    pub edited: String,
    /// The value before, empty if there was none.
    pub old: String,
    pub new: String,
}

impl Change {
    /// Returns the change in the form for an audit row: secrets masked, long values cut, with their length and hash.
    pub fn for_audit(self, redactor: &Redactor) -> Self {
        let kept = |value: String| cut(&redactor.redact(&value));
        Self {
            edited: self.edited,
            old: kept(self.old),
            new: kept(self.new),
        }
    }
}

fn cut(value: &str) -> String {
    if value.len() <= MOST_KEPT {
        return value.to_owned();
    }
    let end = value.floor_char_boundary(MOST_KEPT);
    let hash = Sha256::digest(value.as_bytes());
    format!(
        "{} [… cut; {} bytes in all, SHA-256 {hash:x}]",
        &value[..end],
        value.len()
    )
}
