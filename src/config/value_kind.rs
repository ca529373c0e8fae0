//! The kinds of values that people write for a key, each read in one place.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde_json::{Value, json};

use super::units::{Usd, parse_duration};
use crate::clock;
use crate::domain::{RoleId, Router, handoffs_of};
use crate::permission::GrantTable;
use crate::text;
use crate::text::json::refuse_double_keys;

/// Most bytes of a system prompt, from any source.
pub const PROMPT_MAX: usize = 64 << 10;

/// The kind of value that people write for a key. The caller checks facts that only the daemon knows, such as which
/// models exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Instructions, kept unchanged.
    Prompt,
    Name,
    Model,
    /// Models in order, separated by commas.
    Models,
    /// Names of roles separated by commas, or `none`.
    RoleNames,
    /// Up to this many names of roles, separated by commas, or `none`; a turn passes through them.
    Advisors {
        most: usize,
    },
    /// The same in order, or JSON that also says what happens to an answer that does not pass.
    Handoff {
        most: usize,
    },
    /// Names of roles separated by commas, `none`, or JSON.
    Router,
    /// The name of a permission profile, or a profile in JSON.
    Profile,
    /// Seconds, or a number with a unit.
    Duration {
        /// The shortest in seconds; 0 means never.
        least: u64,
        /// The longest in seconds.
        most: u64,
        /// The values that completion offers.
        offered: &'static [&'static str],
    },
    Switch,
    /// A folder of the machine, by its full path.
    Folder,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of a role with a charter, or a charter.
    Charter,
    /// Roles by mention or id, separated by commas.
    Roles,
    /// US dollars.
    Money,
    /// Action strings as a JSON list.
    Actions,
    /// Profiles by role id, in JSON.
    Grants,
    /// The name of a time zone.
    Zone,
}

/// Why a text is not a value of its kind: a sentence with the correct form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct BadValue(String);

impl BadValue {
    fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

/// The word for an empty list of roles.
const NOBODY: &str = "none";

/// Returns whether `text` asks for the default value.
pub fn is_default(text: &str) -> bool {
    let word = text.trim();
    ["default", "none", "null"]
        .into_iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

impl ValueKind {
    /// Returns the value of `text` in the form of `agent.json` and the server's settings.
    ///
    /// # Errors
    ///
    /// Fails with what to write instead.
    pub fn read(self, text: &str) -> Result<Value, BadValue> {
        let text = text.trim();
        match self {
            Self::Prompt => prompt(text),
            Self::Name | Self::Model | Self::Charter => name(text),
            Self::Folder => folder(text),
            Self::Models => Ok(json!(listed(text).collect::<Vec<_>>())),
            Self::RoleNames if text.eq_ignore_ascii_case(NOBODY) => Ok(json!([])),
            Self::RoleNames => names(text),
            Self::Advisors { most } => advisors(text, most),
            Self::Handoff { most } => handoff(text, most),
            Self::Router => router(text),
            Self::Profile if text.starts_with('{') => profile(text),
            Self::Profile => name(text),
            Self::Duration { least, most, .. } => duration(text, least..=most),
            Self::Switch => switch(text),
            Self::Word(words) if words.contains(&text) => Ok(Value::from(text)),
            Self::Word(words) => Err(BadValue(format!("Write {}.", one_of(words)))),
            Self::Roles => roles(text),
            Self::Money => money(text),
            Self::Actions => actions(text),
            Self::Grants => grants(text),
            Self::Zone => zone(text),
        }
    }

    /// Returns the words that completion offers; only the daemon knows the names of models and profiles.
    pub const fn offered(self) -> &'static [&'static str] {
        match self {
            Self::Duration { offered, .. } => offered,
            Self::Word(words) => words,
            Self::Switch => &["true", "false"],
            Self::RoleNames | Self::Advisors { .. } | Self::Handoff { .. } | Self::Router => {
                &[NOBODY]
            }
            Self::Prompt
            | Self::Name
            | Self::Model
            | Self::Charter
            | Self::Folder
            | Self::Models
            | Self::Profile
            | Self::Roles
            | Self::Money
            | Self::Actions
            | Self::Grants
            | Self::Zone => &[],
        }
    }
}

fn zone(text: &str) -> Result<Value, BadValue> {
    match chorus_schedule::Zone::named(text) {
        Ok(zone) => Ok(Value::from(zone.name())),
        Err(error) => Err(BadValue(text::sentence(&format!(
            "This cannot be used: {error}"
        )))),
    }
}

fn prompt(text: &str) -> Result<Value, BadValue> {
    if text.is_empty() {
        return Err(BadValue::new("A system prompt cannot be empty."));
    }
    if text.len() > PROMPT_MAX {
        let most = text::bytes(PROMPT_MAX as u64);
        return Err(BadValue(format!("A system prompt has at most {most}.")));
    }
    Ok(Value::from(text))
}

fn name(text: &str) -> Result<Value, BadValue> {
    if text.is_empty() {
        return Err(BadValue::new("Write a name."));
    }
    Ok(Value::from(text))
}

fn folder(text: &str) -> Result<Value, BadValue> {
    if text.starts_with('/') {
        return Ok(Value::from(text));
    }
    Err(BadValue::new(
        "Write the whole path of a folder, from `/` on; `default` is the agent's own folder.",
    ))
}

fn names(text: &str) -> Result<Value, BadValue> {
    let names: Vec<&str> = listed(text).collect();
    if names.is_empty() {
        return Err(BadValue::new(
            "Name roles with commas between; `none` is nobody, `default` takes back what was set.",
        ));
    }
    Ok(json!(names))
}

fn advisors(text: &str, most: usize) -> Result<Value, BadValue> {
    if text.eq_ignore_ascii_case(NOBODY) {
        return Ok(json!([]));
    }
    let named: BTreeSet<&str> = listed(text).collect();
    match listed(text).count() {
        0 => names(text),
        count if count > most => Err(BadValue(format!("Name at most {most} roles."))),
        count if count > named.len() => Err(BadValue::new("Name each role once.")),
        _ => names(text),
    }
}

fn handoff(text: &str, most: usize) -> Result<Value, BadValue> {
    if !text.starts_with(['[', '{']) {
        return advisors(text, most);
    }
    let chain = refuse_double_keys(text)
        .and_then(|()| handoffs_of(text))
        .map_err(|error| {
            BadValue(format!(
                r#"Write names with commas between, or JSON such as {{"role": "editor", "on_failure": "withhold"}}: {error}."#
            ))
        })?;
    let named: BTreeSet<&str> = chain.iter().map(|one| one.role.as_str()).collect();
    if chain.len() > most {
        return Err(BadValue(format!("Name at most {most} roles.")));
    }
    if named.len() < chain.len() {
        return Err(BadValue::new("Name each role once."));
    }
    Ok(json!(chain))
}

fn router(text: &str) -> Result<Value, BadValue> {
    let router = if text.eq_ignore_ascii_case(NOBODY) {
        Router::default()
    } else if text.starts_with('{') {
        refuse_double_keys(text)
            .and_then(|()| serde_json::from_str(text))
            .map_err(|error| {
                BadValue(format!(
                    r#"Write names with commas between, or JSON such as {{"destinations": ["billing"], "required": true}}: {error}."#
                ))
            })?
    } else {
        names(text)?;
        Router {
            destinations: listed(text).map(str::to_owned).collect(),
            required: false,
        }
    };
    Ok(json!(router))
}

fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty())
}

fn profile(text: &str) -> Result<Value, BadValue> {
    refuse_double_keys(text)
        .and_then(|()| serde_json::from_str(text))
        .map_err(|error| BadValue(format!("The profile is not valid JSON: {error}.")))
}

fn duration(text: &str, range: RangeInclusive<u64>) -> Result<Value, BadValue> {
    let seconds = text.parse().ok().or_else(|| parse_duration(text));
    let never = if *range.start() == 0 {
        "`0` is never, "
    } else {
        ""
    };
    let Some(seconds) = seconds else {
        return Err(BadValue(format!(
            "Write a duration in seconds or with a unit, such as `1800`, `30m` or `2h`; {never}`default` takes back what was set."
        )));
    };
    if !range.contains(&seconds) {
        let [least, most] =
            [range.start(), range.end()].map(|end| clock::duration(Duration::from_secs(*end)));
        return Err(BadValue(format!(
            "Write a duration from {least} to {most}; {never}`default` takes back what was set."
        )));
    }
    Ok(Value::from(seconds))
}

fn switch(text: &str) -> Result<Value, BadValue> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" | "1" => Ok(Value::Bool(true)),
        "false" | "off" | "no" | "0" => Ok(Value::Bool(false)),
        _ => Err(BadValue::new("Write `true` or `false`.")),
    }
}

fn one_of(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

fn roles(text: &str) -> Result<Value, BadValue> {
    if text == "everyone" {
        return Ok(json!([]));
    }
    // An empty list means everyone: an invalid list must never become one.
    let ids: Option<Vec<RoleId>> = text
        .trim_start_matches('[')
        .trim_end_matches(']')
        .split([',', ' '])
        .filter(|part| !part.is_empty())
        .map(|part| role(part).parse().ok().map(RoleId))
        .collect();
    ids.filter(|ids| !ids.is_empty())
        .map(|ids| json!(ids.iter().map(|id| id.0).collect::<Vec<_>>()))
        .ok_or_else(|| {
            BadValue::new(
                "Name roles by mention or id, with commas between; `everyone` lets everyone in who sees the channel, `default` takes the server's.",
            )
        })
}

/// Returns the id in a mention such as `<@&123>`, or in a JSON text.
fn role(part: &str) -> &str {
    let mention = part
        .strip_prefix("<@&")
        .and_then(|rest| rest.strip_suffix('>'));
    mention.unwrap_or_else(|| part.trim_matches('"'))
}

fn money(text: &str) -> Result<Value, BadValue> {
    let sum = text.trim_start_matches('$').parse().ok();
    sum.and_then(Usd::new)
        .map(|usd| json!(usd.get()))
        .ok_or_else(|| BadValue::new("Write US dollars, such as `0.50`; `default` takes back what was set, and the budget of `config.json` holds, if there is one."))
}

fn actions(text: &str) -> Result<Value, BadValue> {
    let list: Vec<String> = serde_json::from_str(text).map_err(|error| {
        BadValue(format!(
            "`always_allow` is a JSON list of action strings: {error}."
        ))
    })?;
    Ok(json!(list))
}

fn grants(text: &str) -> Result<Value, BadValue> {
    let table: Result<GrantTable, _> =
        refuse_double_keys(text).and_then(|()| serde_json::from_str(text));
    let value = table.and_then(serde_json::to_value);
    value.map_err(|error| {
        BadValue(format!(
            r#"Write JSON such as {{"123456789": ["standard", "open"]}}: {error}."#
        ))
    })
}
