//! Finds the entries of a `config.json` that affect the operator's secrets and machine: addresses, variables with keys,
//! commands, and the rights of agents.
//!
//! Addresses, variables and commands are found by the form of keys and values, not by a list of keys, so future keys
//! are found too.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use anyhow::Context as _;
use serde_json::Value;

use crate::text;

/// Most characters of a value that are shown. A shorter form could hide what differs from the home's own value.
const SHOWN: usize = 4_000;

/// Keys that hold commands, so that each text below them decides something.
const OF_COMMANDS: [&str; 2] = ["mcpServers", "agent_servers"];

/// Returns a line for each address, each variable with content that is sent, each command, and each setting in `config`
/// that gives agents or people more rights than without it.
///
/// # Errors
///
/// Fails if it is not JSON.
pub(super) fn of(config: &[u8]) -> anyhow::Result<BTreeSet<String>> {
    let config = config.strip_prefix(b"\xef\xbb\xbf").unwrap_or(config);
    let config: Value = serde_json::from_slice(config).context("its config.json is not JSON")?;
    let mut found = BTreeSet::new();
    collect(&config, "", "", &mut found);
    let keys = config.as_object().into_iter().flatten();
    let widening = keys.filter(|(key, value)| widens(key, value));
    found.extend(widening.map(|(key, value)| shown(&format!("{key}: {value}"))));
    Ok(found)
}

fn shown(line: &str) -> String {
    text::one_line(&text::visible(line).0, SHOWN)
}

/// Checks whether the value of a key of `config.json` gives agents or people more rights than without it.
fn widens(key: &str, value: &Value) -> bool {
    match key {
        "sandbox" => value == "off",
        "default_permissions" => value == "open" || value.is_object(),
        "folders" | "sandbox_read" | "web_fetch_private" | "metrics_hosts" | "servers" => {
            value.as_array().is_some_and(|all| !all.is_empty())
        }
        "allow_bots" | "permission_grants" | "operator_channel" => !value.is_null(),
        "metrics_listen" => {
            let address = value
                .as_str()
                .and_then(|text| text.parse::<SocketAddr>().ok());
            !value.is_null() && address.is_none_or(|address| !address.ip().is_loopback())
        }
        // Strangers reach what listens for them.
        "webhooks" => value.get("listen").is_some_and(|listen| !listen.is_null()),
        _ => false,
    }
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
        Value::String(value) if is_of_command(path) || decides(key, value) => {
            found.insert(shown(&format!("{path}: {value}")));
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

fn is_of_command(path: &str) -> bool {
    let first = path.split('.').next().unwrap_or(path);
    OF_COMMANDS.contains(&first)
}

/// Checks whether `value` names a destination, a secret to send, or a command to run.
fn decides(key: &str, value: &str) -> bool {
    let is_named = ["_env", "_url", "_file", "_command"]
        .iter()
        .any(|ending| key.ends_with(ending))
        || matches!(key, "env" | "url" | "command" | "address");
    let is_of_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_address = value
        .split_once("://")
        .is_some_and(|(scheme, _)| !scheme.is_empty() && scheme.bytes().all(is_of_scheme));
    let is_variable = value.contains("${");
    is_named || is_address || is_variable
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
        let server = br#"{"mcpServers": {"time": {"command": "python3", "args": ["-c", "steal()"], "env": {"X": "${KEY}"}}},
            "later": {"header": "Bearer ${KEY}"}}"#;
        let found: Vec<_> = of(server).unwrap().into_iter().collect();
        assert_eq!(
            found,
            [
                "later.header: Bearer ${KEY}",
                "mcpServers.time.args: -c",
                "mcpServers.time.args: steal()",
                "mcpServers.time.command: python3",
                "mcpServers.time.env.X: ${KEY}",
            ]
        );
    }

    #[test]
    fn settings_that_give_agents_more_are_named_and_usual_ones_are_not() {
        let config = br#"{
            "sandbox": "off", "folders": ["/srv"], "sandbox_read": [], "default_permissions": "open", "metrics_listen": null,
            "web_fetch_private": ["127.0.0.1:22"], "idle_timeout": 60
        }"#;
        let found: Vec<_> = of(config).unwrap().into_iter().collect();
        assert_eq!(
            found,
            [
                r#"default_permissions: "open""#,
                r#"folders: ["/srv"]"#,
                r#"sandbox: "off""#,
                r#"web_fetch_private: ["127.0.0.1:22"]"#,
            ]
        );
        let usual = br#"{"sandbox": "auto", "default_permissions": "standard", "folders": []}"#;
        assert!(of(usual).unwrap().is_empty());
    }
}
