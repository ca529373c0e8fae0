//! Finds what a `config.json` decides about the operator's secrets: addresses, variables with keys, and commands.
//!
//! It goes by the form of keys and values, not by a list of keys: a key that is new tomorrow is found too.

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::Value;

use crate::text;

/// Characters of a value that are shown.
const SHOWN: usize = 200;

/// Returns a line for each address, each variable whose content is sent, and each command in `config`.
///
/// # Errors
///
/// When it is not JSON.
pub(super) fn of(config: &[u8]) -> anyhow::Result<BTreeSet<String>> {
    let config = config.strip_prefix(b"\xef\xbb\xbf").unwrap_or(config);
    let config = serde_json::from_slice(config).context("its config.json is not JSON")?;
    let mut found = BTreeSet::new();
    collect(&config, "", "", &mut found);
    Ok(found)
}

fn collect(value: &Value, path: &str, key: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                collect(value, &below(path, key), key, found);
            }
        }
        Value::Array(values) => {
            for value in values {
                collect(value, path, key, found);
            }
        }
        Value::String(value) if decides(key, value) => {
            let line = format!("{path}: {value}");
            found.insert(text::one_line(&text::visible(&line).0, SHOWN));
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// Checks whether `value` says where something is sent, which secret that is, or what is run.
fn decides(key: &str, value: &str) -> bool {
    let is_named = ["_env", "_url", "_file", "_command"]
        .iter()
        .any(|ending| key.ends_with(ending))
        || matches!(key, "env" | "url" | "command" | "address");
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_address = value
        .split_once("://")
        .is_some_and(|(scheme, _)| !scheme.is_empty() && scheme.bytes().all(is_of_scheme));
    is_named || is_address
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::of;

    #[test]
    fn each_address_variable_and_command_is_named() {
        let config = br#"{
            "default_model": "x/y",
            "providers": {"evil": {"base_url": "http://127.0.0.1:9", "api_key_env": "ANTHROPIC_API_KEY", "models": ["a"]}},
            "forges": {"git.example": {"kind": "gitlab", "base_url": "git.example", "token_env": "T"}},
            "profiles": {"mine": {"allow": ["tool:web_fetch:https://docs\\.rs/.*"]}},
            "later": [{"endpoint": "wss://evil.example"}, {"command": "./x"}]
        }"#;
        let found: Vec<_> = of(config).unwrap().into_iter().collect();
        assert_eq!(
            found,
            [
                "forges.git.example.base_url: git.example",
                "forges.git.example.token_env: T",
                "later.command: ./x",
                "later.endpoint: wss://evil.example",
                "providers.evil.api_key_env: ANTHROPIC_API_KEY",
                "providers.evil.base_url: http://127.0.0.1:9",
            ]
        );
        assert!(of(b"{").is_err());
    }
}
