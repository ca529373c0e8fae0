//! Reads values of the kinds that keys need from YAML.

use std::time::Duration;

use serde_json::{Map, Number, Value};

use super::yaml::{Node, Yaml};

/// Why a value is not of its kind: what was expected, in words that follow "write".
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Expected(pub(super) &'static str);

impl Node {
    /// Returns a text; numbers and switches are taken as they are written.
    pub(super) fn text(&self) -> Result<&str, Expected> {
        match &self.value {
            Yaml::Scalar { text, .. } => Ok(text),
            Yaml::List(_) | Yaml::Map(_) => Err(Expected("a text")),
        }
    }

    /// Returns whether the value after the key is empty.
    pub(super) fn is_nothing(&self) -> bool {
        matches!(&self.value, Yaml::Scalar { text, plain: true } if matches!(text.as_str(), "" | "~" | "null"))
    }

    pub(super) fn switch(&self) -> Result<bool, Expected> {
        match self.text() {
            Ok("true" | "yes") => Ok(true),
            Ok("false" | "no") => Ok(false),
            _ => Err(Expected("`true` or `false`")),
        }
    }

    pub(super) fn count(&self) -> Option<u64> {
        self.text().ok()?.replace('_', "").parse().ok()
    }

    pub(super) fn decimal(&self) -> Option<f64> {
        let number: f64 = self.text().ok()?.trim_start_matches('$').parse().ok()?;
        number.is_finite().then_some(number)
    }

    /// Returns a number of seconds, or a number with a unit.
    pub(super) fn duration(&self) -> Option<Duration> {
        let text = self.text().ok()?;
        text.parse()
            .ok()
            .map(Duration::from_secs)
            .or_else(|| humantime::parse_duration(text).ok())
    }

    /// Returns a list of texts, or one text separated by commas; each with its line. Commas in brackets do not
    /// separate.
    pub(super) fn words(&self) -> Result<Vec<(usize, &str)>, Expected> {
        match &self.value {
            Yaml::Scalar { text, .. } => Ok(split_words(text)
                .into_iter()
                .map(|word| (self.line, word))
                .collect()),
            Yaml::List(items) => items
                .iter()
                .map(|item| {
                    Ok((
                        item.line,
                        item.text().map_err(|_| Expected("a list of texts"))?.trim(),
                    ))
                })
                .collect(),
            Yaml::Map(_) => Err(Expected("a list of texts")),
        }
    }

    pub(super) fn entries(&self) -> Result<&[(Node, Node)], Expected> {
        match &self.value {
            Yaml::Map(entries) => Ok(entries),
            Yaml::Scalar { .. } | Yaml::List(_) => Err(Expected("keys with values")),
        }
    }

    /// Returns it as JSON: a plain scalar is a number, a switch or null if it looks like one.
    pub(super) fn json(&self) -> Value {
        match &self.value {
            Yaml::Scalar { text, plain } => scalar(text, *plain),
            Yaml::List(items) => items.iter().map(Self::json).collect(),
            Yaml::Map(entries) => {
                let named = entries
                    .iter()
                    .map(|(key, value)| (key.text().unwrap_or_default().to_owned(), value.json()));
                Value::Object(named.collect::<Map<_, _>>())
            }
        }
    }
}

fn scalar(text: &str, plain: bool) -> Value {
    match text {
        _ if !plain => text.into(),
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        number => match number.parse::<Number>() {
            Ok(number) => Value::Number(number),
            Err(_) => text.into(),
        },
    }
}

fn split_words(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.trim()
        .trim_start_matches('[')
        .trim_end_matches(']')
        .split(move |c| {
            match c {
                '(' => depth += 1,
                ')' => depth = depth.saturating_sub(1),
                _ => {}
            }
            c == ',' && depth == 0
        })
        .map(|word| word.trim().trim_matches(['"', '\'']))
        .filter(|word| !word.is_empty())
        .collect()
}
