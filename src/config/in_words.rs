//! Keys and their values in words with units, for answers to people. Pure.

use std::time::Duration;

use serde_json::Value;

use super::effective::Key;
use super::value_kind::ValueKind;
use crate::text::{self, code_span};

/// Returns the name of a key as the beginning of a sentence: `Idle timeout`.
pub fn label(key: &Key) -> String {
    let words = key.name.replace('_', " ");
    let mut letters = words.chars();
    letters
        .next()
        .map(|first| first.to_uppercase().chain(letters).collect())
        .unwrap_or_default()
}

/// Returns a value of a key, as the end of a sentence. Null is the value from the next source.
pub fn value(key: &Key, value: &Value) -> String {
    match (key.kind, value) {
        (_, Value::Null) => "the default".to_owned(),
        (ValueKind::Duration { .. }, Value::Number(seconds)) => match seconds.as_u64() {
            Some(0) => "never".to_owned(),
            Some(seconds) => time(seconds),
            None => format!("{seconds} s"),
        },
        (ValueKind::Money, Value::Number(usd)) => match usd.as_f64() {
            Some(0.0) => "no limit".to_owned(),
            Some(usd) => text::dollars(usd),
            None => usd.to_string(),
        },
        (ValueKind::Roles, Value::Array(roles)) if roles.is_empty() => "everyone".to_owned(),
        (ValueKind::Roles, Value::Array(roles)) => listed(roles, |role| format!("<@&{role}>")),
        (_, Value::Bool(true)) => "on".to_owned(),
        (_, Value::Bool(false)) => "off".to_owned(),
        (_, Value::Array(all)) if all.is_empty() => "nothing".to_owned(),
        (_, Value::Array(all)) if all.iter().all(Value::is_string) => listed(all, code_span),
        (_, Value::String(text)) if text.chars().count() <= LONG && !text.contains('\n') => {
            code_span(text)
        }
        (_, Value::String(text)) => {
            let lines = text.lines().count();
            format!(
                "a text of {} in {}",
                text::count(text.chars().count(), "character", "characters"),
                text::count(lines, "line", "lines")
            )
        }
        (ValueKind::Profile, _) => "a profile of its own".to_owned(),
        (_, other) => code_span(&other.to_string()),
    }
}

/// Characters of a text that is shown in a sentence.
const LONG: usize = 100;

/// Formats a time in its largest whole unit.
fn time(seconds: u64) -> String {
    match seconds {
        hours if hours.is_multiple_of(3_600) => format!("{} h", hours / 3_600),
        minutes if minutes.is_multiple_of(60) => format!("{} min", minutes / 60),
        other => text::seconds(Duration::from_secs(other)),
    }
}

fn listed(all: &[Value], shown: impl Fn(&str) -> String) -> String {
    let all = all.iter().filter_map(Value::as_str);
    all.map(shown).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::effective::{
        ACCESS_ROLES, ADVISORS, BUDGET_DAY, IDLE_TIMEOUT, NETWORK, SANDBOX, SYSTEM_PROMPT,
    };
    use super::*;

    #[test]
    fn values_are_words_with_units() {
        for (key, given, told) in [
            (&IDLE_TIMEOUT, json!(5), "5 s"),
            (&IDLE_TIMEOUT, json!(1_800), "30 min"),
            (&IDLE_TIMEOUT, json!(0), "never"),
            (&IDLE_TIMEOUT, Value::Null, "the default"),
            (&BUDGET_DAY, json!(2.5), "$2.50"),
            (&BUDGET_DAY, json!(0), "no limit"),
            (&NETWORK, json!(true), "on"),
            (&SANDBOX, json!("off"), "`off`"),
            (&ADVISORS, json!(["explore", "docs"]), "`explore`, `docs`"),
            (&ADVISORS, json!([]), "nothing"),
            (&ACCESS_ROLES, json!([]), "everyone"),
            (&ACCESS_ROLES, json!(["7"]), "<@&7>"),
            (
                &SYSTEM_PROMPT,
                json!("a\nb"),
                "a text of 3 characters in 2 lines",
            ),
        ] {
            assert_eq!(value(key, &given), told, "{given}");
        }
        assert_eq!(label(&IDLE_TIMEOUT), "Idle timeout");
    }
}
