//! One message of a session file, as far as it is shown.

use serde::Deserialize;
use serde_json::Value;

/// One message of a session file. Unknown keys are passed over.
#[derive(Debug, Deserialize)]
pub(super) struct Message {
    pub(super) role: String,
    #[serde(default)]
    pub(super) content: String,
    #[serde(default)]
    pub(super) tool_calls: Vec<Call>,
    #[serde(default)]
    pub(super) author: Option<Author>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Call {
    pub(super) name: String,
    #[serde(default)]
    pub(super) params: Value,
}

#[derive(Debug, Deserialize)]
pub(super) struct Author {
    pub(super) name: String,
}

impl Message {
    /// Who speaks, for a heading.
    pub(super) fn speaker(&self) -> &str {
        match (self.role.as_str(), &self.author) {
            ("user", Some(author)) => &author.name,
            ("user", None) => "User",
            ("assistant", _) => "Assistant",
            ("tool_result", _) => "Tool result",
            (other, _) => other,
        }
    }
}
