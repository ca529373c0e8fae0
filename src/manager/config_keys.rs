//! The keys of `/agent config`, and their values as people write them.

use serde_json::{Value, json};

use super::error::ManagerError;
use crate::text;

/// Keys that `/agent config` knows, in the order they are offered.
pub const CONFIG_KEYS: [&str; 14] = [
    "system_prompt",
    "model",
    "permissions",
    "name",
    "idle_timeout",
    "web_search",
    "fallback_models",
    "always_allow",
    "turn_timeout",
    "sandbox",
    "network",
    "access_roles",
    "budget_turn",
    "budget_day",
];

/// Words that take a value back to the server's.
pub(super) const UNSET: [&str; 3] = ["default", "none", "null"];

/// What somebody needs to set a key, besides the command itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing, or what the value itself asks for.
    Nothing,
    /// The right to grant `open`: the key lifts a wall or a limit, as that profile would.
    Open,
    /// The right to grant the agent's own profile: the key decides who uses it.
    OwnProfile,
}

/// What it takes to set `key` (`docs/decisions/0106-keys-that-widen.md`).
pub(super) fn need(key: &str) -> Need {
    match key {
        "sandbox" | "network" | "budget_turn" | "budget_day" => Need::Open,
        "access_roles" => Need::OwnProfile,
        _ => Need::Nothing,
    }
}

/// The key of this name.
pub(super) fn known_key(key: &str) -> Result<&'static str, ManagerError> {
    CONFIG_KEYS
        .into_iter()
        .find(|known| *known == key)
        .ok_or_else(|| unknown_key(key))
}

/// Says that there is no such key, and which one may be meant.
pub(super) fn unknown_key(key: &str) -> ManagerError {
    let near = text::near(key, CONFIG_KEYS);
    ManagerError::refused(match near {
        Some(near) => format!(
            "There is no key `{}`. Did you mean `{near}`?",
            text::one_line(key, 60)
        ),
        None => format!(
            "There is no key `{}`. There are: {}.",
            text::one_line(key, 60),
            CONFIG_KEYS.join(", ")
        ),
    })
}

/// A value for people.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Seconds out of a duration; 0 only where `zero` allows it.
pub(super) fn seconds(text: &str, zero: bool) -> Result<u64, ManagerError> {
    let parsed = text.parse::<u64>().ok().or_else(|| {
        humantime::parse_duration(text)
            .ok()
            .map(|length| length.as_secs())
    });
    match parsed {
        Some(0) if zero => Ok(0),
        Some(seconds) if seconds > 0 && seconds <= 365 * 86_400 => Ok(seconds),
        _ => Err(ManagerError::refused(
            "Write a duration in seconds or with a unit, such as `1800`, `30m` or `2h`; `0` turns an idle timeout off, `default` takes the server's.",
        )),
    }
}

/// Yes or no.
pub(super) fn on_or_off(text: &str) -> Result<bool, ManagerError> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(true),
        "false" | "off" | "no" | "0" => Ok(false),
        _ => Err(ManagerError::refused("Write `true` or `false`.")),
    }
}

/// US dollars, not negative.
pub(super) fn dollars(text: &str) -> Result<f64, ManagerError> {
    let parsed = text
        .trim_start_matches('$')
        .parse::<f64>()
        .ok()
        .filter(|usd| usd.is_finite() && *usd >= 0.0);
    parsed.ok_or_else(|| {
        ManagerError::refused("Write US dollars, such as `0.50`, or `none` for no budget.")
    })
}

/// What stands for the id in a mention such as `<@&123>`, or in a JSON text.
fn role(part: &str) -> &str {
    let mention = part
        .strip_prefix("<@&")
        .and_then(|rest| rest.strip_suffix('>'));
    mention.unwrap_or_else(|| part.trim_matches('"'))
}

/// Roles by mention or id.
pub(super) fn roles(text: &str) -> Result<Value, ManagerError> {
    let text = text.trim();
    if text == "everyone" {
        return Ok(json!([]));
    }
    // An empty list means everyone: what is not understood must never become one.
    let ids: Option<Vec<u64>> = text
        .trim_start_matches('[')
        .trim_end_matches(']')
        .split([',', ' '])
        .filter(|part| !part.is_empty())
        .map(|part| role(part).parse().ok())
        .collect();
    ids.filter(|ids| !ids.is_empty())
        .map(|ids| json!(ids))
        .ok_or_else(|| {
            ManagerError::refused(
                "Name roles by mention or id, with commas between; `everyone` lets everyone in who sees the channel, `default` takes the server's.",
            )
        })
}
