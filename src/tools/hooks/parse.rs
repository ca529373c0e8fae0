//! Reads the hooks that a small model wrote. Its output is untrusted, because it has read the command and the
//! instructions.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::{HookSpec, MATCH_DELAY, MIN_INTERVAL, Trigger};

/// Most hooks from one description.
const MOST_HOOKS: usize = 10;

/// Most characters of a pattern or a message.
const LONGEST_TEXT: usize = 2_000;

/// Most characters of a model's name.
const LONGEST_MODEL: usize = 200;

/// Longest time in seconds that a hook may name: 30 days.
const LONGEST: f64 = 30.0 * 24.0 * 3600.0;

/// Most bytes of a compiled pattern. Matching a line of a log then takes a fraction of a second at worst.
const PATTERN_SIZE: usize = 256 << 10;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// Usable hooks.
    pub hooks: Vec<HookSpec>,
    /// Why other hooks cannot be used, one sentence each.
    pub refused: Vec<String>,
}

/// Why a hook cannot be used.
#[derive(Debug, thiserror::Error)]
enum InvalidHook {
    #[error("not an object")]
    NoObject,
    #[error("{0}")]
    Shape(#[from] serde_json::Error),
    #[error("its message has more than {LONGEST_TEXT} characters")]
    LongMessage,
    #[error("its model has more than {LONGEST_MODEL} characters")]
    LongModel,
    #[error("{name} must be between 0 and {LONGEST}, not {seconds}")]
    Time { name: &'static str, seconds: f64 },
    #[error("timeout_seconds must be above 0 and at most {LONGEST}, not {0}")]
    Timeout(f64),
    #[error("an empty pattern matches every line")]
    EmptyPattern,
    #[error("its pattern has more than {LONGEST_TEXT} characters")]
    LongPattern,
    #[error("{0}")]
    Pattern(#[from] InvalidPattern),
}

/// A pattern that is not a regular expression, or too large.
#[derive(Clone, Debug, thiserror::Error)]
#[error("`{text}` is not a regular expression: {error}")]
pub(in crate::tools) struct InvalidPattern {
    text: String,
    #[source]
    error: regex::Error,
}

/// Reads `raw`: a JSON array of hooks or a single one, with or without a code fence around it.
pub fn parse(raw: &str) -> Parsed {
    let items = match serde_json::from_str(without_fence(raw)) {
        Ok(Value::Array(items)) => items,
        Ok(item @ Value::Object(_)) => vec![item],
        Ok(_) => return refused("the answer is neither a list of hooks nor a hook".to_owned()),
        Err(error) => return refused(format!("the answer is not JSON: {error}")),
    };
    let mut parsed = Parsed::default();
    for (index, item) in items.into_iter().enumerate() {
        match hook(item) {
            _ if parsed.hooks.len() == MOST_HOOKS => {
                parsed
                    .refused
                    .push(format!("hook {}: more than {MOST_HOOKS}", index + 1));
            }
            Ok(hook) => parsed.hooks.push(hook),
            Err(why) => parsed.refused.push(format!("hook {}: {why}", index + 1)),
        }
    }
    parsed
}

/// Compiles a pattern of a hook.
///
/// # Errors
///
/// Fails if it is not a regular expression, or too large.
pub(in crate::tools) fn pattern(text: &str) -> Result<Regex, InvalidPattern> {
    RegexBuilder::new(text)
        .size_limit(PATTERN_SIZE)
        .build()
        .map_err(|error| InvalidPattern {
            text: text.to_owned(),
            error,
        })
}

fn refused(why: String) -> Parsed {
    Parsed {
        hooks: Vec::new(),
        refused: vec![why],
    }
}

fn without_fence(raw: &str) -> &str {
    let text = raw.trim();
    let Some(inner) = text.strip_prefix("```") else {
        return text;
    };
    let inner = inner.split_once('\n').map_or("", |(_, rest)| rest);
    inner.trim_end().strip_suffix("```").unwrap_or(inner).trim()
}

fn hook(mut item: Value) -> Result<HookSpec, InvalidHook> {
    let Some(fields) = item.as_object_mut() else {
        return Err(InvalidHook::NoObject);
    };
    complete_trigger(fields.get_mut("trigger"));
    let matches_output = fields
        .get("trigger")
        .is_some_and(|trigger| trigger["type"] == "on_output_match");
    let (delay, fires) = if matches_output {
        (MATCH_DELAY, 0)
    } else {
        (0.0, 1)
    };
    fields
        .entry("output_delay_seconds")
        .or_insert_with(|| delay.into());
    fields.entry("max_fires").or_insert_with(|| fires.into());
    fields
        .entry("min_message_interval")
        .or_insert_with(|| MIN_INTERVAL.into());
    let hook: HookSpec = serde_json::from_value(item)?;
    check(&hook)?;
    Ok(hook)
}

/// Completes a trigger without a kind: it is then the exit.
fn complete_trigger(trigger: Option<&mut Value>) {
    if let Some(trigger) = trigger.and_then(Value::as_object_mut) {
        trigger.entry("type").or_insert_with(|| "on_exit".into());
        // Models write null for parameters that do not apply.
        trigger.retain(|_, value| !value.is_null());
    }
}

fn check(hook: &HookSpec) -> Result<(), InvalidHook> {
    if hook.context_message.chars().count() > LONGEST_TEXT {
        return Err(InvalidHook::LongMessage);
    }
    if hook
        .model
        .as_ref()
        .is_some_and(|name| name.chars().count() > LONGEST_MODEL)
    {
        return Err(InvalidHook::LongModel);
    }
    let times = [
        ("output_delay_seconds", hook.output_delay_seconds),
        ("min_message_interval", hook.min_message_interval),
    ];
    for (name, seconds) in times {
        if !(0.0..=LONGEST).contains(&seconds) {
            return Err(InvalidHook::Time { name, seconds });
        }
    }
    match &hook.trigger {
        Trigger::OnExit { .. } => Ok(()),
        Trigger::OnOutputMatch { pattern: text } if text.is_empty() => {
            Err(InvalidHook::EmptyPattern)
        }
        Trigger::OnOutputMatch { pattern: text } if text.chars().count() > LONGEST_TEXT => {
            Err(InvalidHook::LongPattern)
        }
        Trigger::OnOutputMatch { pattern: text } => Ok(pattern(text).map(drop)?),
        Trigger::OnTimeout { timeout_seconds }
            if *timeout_seconds > 0.0 && *timeout_seconds <= LONGEST =>
        {
            Ok(())
        }
        Trigger::OnTimeout { timeout_seconds } => Err(InvalidHook::Timeout(*timeout_seconds)),
    }
}
