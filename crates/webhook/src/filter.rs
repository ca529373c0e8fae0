//! Which deliveries are wanted: by event, and by one value of the body.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

use crate::kind::Kind;
use crate::render::Payload;

/// Which deliveries of a webhook are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filter {
    events: Vec<String>,
    value: Option<(Pointer, String)>,
}

/// A JSON pointer (RFC 6901).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer(String);

/// Why a filter is refused: one sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadFilter(String);

/// Patterns of events that one webhook may have.
const MOST_EVENTS: usize = 50;
/// Characters of a pointer, and of a value.
const LONGEST: usize = 200;

impl Filter {
    /// Reads `events` (`issues.opened, pull_request.*`) and `match` (`/ref=refs/heads/main`).
    ///
    /// # Errors
    ///
    /// If the kind has no events, or if one of the texts cannot be read.
    pub fn new(kind: Kind, events: Option<&str>, value: Option<&str>) -> Result<Self, BadFilter> {
        let events = match events {
            None => Vec::new(),
            Some(_) if matches!(kind, Kind::Bearer | Kind::Chorus) => {
                return Err(BadFilter(format!(
                    "deliveries of kind `{kind}` name no event; use `match`"
                )));
            }
            Some(events) => event_patterns(events)?,
        };
        let value = value.map(|text| {
            let (pointer, wanted) = text.split_once('=').ok_or_else(|| {
                BadFilter(
                    "`match` is `<pointer>=<value>`, such as `/ref=refs/heads/main`".to_owned(),
                )
            })?;
            Ok((pointer.trim().parse()?, wanted.trim().to_owned()))
        });
        Ok(Self {
            events,
            value: value.transpose()?,
        })
    }

    /// Says whether a delivery is wanted.
    pub fn wants(&self, payload: &Payload) -> bool {
        let event = self.events.is_empty()
            || payload
                .event()
                .is_some_and(|event| self.events.iter().any(|pattern| fits(pattern, &event)));
        let value = self
            .value
            .as_ref()
            .is_none_or(|(pointer, wanted)| pointer.value(payload.json()).as_ref() == Some(wanted));
        event && value
    }
}

impl Pointer {
    /// Returns the text, number or truth value that it points at.
    pub fn value(&self, json: Option<&Value>) -> Option<String> {
        match json?.pointer(&self.0)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(truth) => Some(truth.to_string()),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }

    /// Returns its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Pointer {
    type Err = BadFilter;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.starts_with('/') && text.chars().count() <= LONGEST {
            return Ok(Self(text.to_owned()));
        }
        Err(BadFilter(format!(
            "a JSON pointer begins with `/`, such as `/pull_request/number`, and has at most {LONGEST} characters"
        )))
    }
}

impl fmt::Display for BadFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadFilter {}

fn event_patterns(events: &str) -> Result<Vec<String>, BadFilter> {
    let patterns: Vec<String> = events
        .split(',')
        .map(|pattern| pattern.trim().to_owned())
        .collect();
    let spelled = |pattern: &String| {
        let name = pattern.strip_suffix(".*").unwrap_or(pattern);
        !name.is_empty()
            && name.len() <= LONGEST
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || "._-:/".contains(letter))
    };
    match patterns.iter().find(|pattern| !spelled(pattern)) {
        Some(wrong) => Err(BadFilter(format!(
            "`{}` is no event; write `push`, `issues.opened` or `pull_request.*`",
            wrong.replace('`', "")
        ))),
        None if patterns.len() > MOST_EVENTS => Err(BadFilter(format!(
            "a webhook names at most {MOST_EVENTS} events"
        ))),
        None => Ok(patterns),
    }
}

/// `issues.opened` fits itself; `issues.*` and `issues` fit whatever happens to issues.
fn fits(pattern: &str, event: &str) -> bool {
    let name = pattern.strip_suffix(".*").unwrap_or(pattern);
    let of_name = event
        .strip_prefix(name)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    event == pattern || of_name
}
