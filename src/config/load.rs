//! Reads `config.json` and reports each mistake with its place and a correction.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use schemars::Schema;
use serde_json::Value;

use super::check;
use super::env::{Fault, Refusal, check_config};
use super::keys::Config;
use super::problem::Problem;
use crate::text::json::{double_key, refuse_double_keys};
use crate::text::near;

impl Config {
    /// Reads the file. Without a file, all keys have their defaults.
    ///
    /// Nothing is written: a daemon that was pointed at the wrong directory should leave no files behind.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be read, others may have written it, or it is invalid.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        match read(path) {
            Ok(text) => Self::parse(&text, path),
            Err(Refusal::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound => {
                Ok(Self::default())
            }
            Err(Refusal::Unreadable(source)) => Err(ConfigError::Unreadable {
                path: path.to_owned(),
                source,
            }),
            Err(Refusal::Untrusted(fault)) => Err(ConfigError::Untrusted {
                path: path.to_owned(),
                fault,
            }),
        }
    }

    /// Reads `text`, the content of `path`.
    ///
    /// # Errors
    ///
    /// Fails with the first mistake in it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let invalid = |error| ConfigError::Invalid(explain(&error, text, path));
        let config: Self = serde_json::from_str(text).map_err(invalid)?;
        refuse_double_keys(text).map_err(invalid)?;
        match check::mistake(&config, path.parent()) {
            None => Ok(config),
            Some(mistake) => Err(ConfigError::Invalid(mistake.at(text, path))),
        }
    }
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file exists but cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Others may have written the file, which decides where keys are sent.
    #[error("{} is not read: {fault}", path.display())]
    Untrusted { path: PathBuf, fault: Fault },
    /// The content of the file is invalid.
    #[error(transparent)]
    Invalid(Problem),
}

fn read(path: &Path) -> Result<String, Refusal> {
    let mut file = File::open(path)?;
    check_config(path, &file)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the JSON Schema of `config.json`.
pub fn schema() -> Schema {
    schemars::schema_for!(Config)
}

/// Returns the keys of `config.json` that are read only at the start of the daemon.
pub fn keys_at_start() -> Vec<String> {
    let schema = schema();
    let keys = schema.get("properties").and_then(Value::as_object);
    keys.into_iter()
        .flatten()
        .filter(|(_, key)| key.get("x-at-start") == Some(&Value::Bool(true)))
        .map(|(name, _)| name.clone())
        .collect()
}

/// Turns serde's error into a [`Problem`]: names the key, and for an unknown key the nearest known one.
fn explain(error: &serde_json::Error, text: &str, path: &Path) -> Problem {
    Problem {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        reason: reason(error, text),
    }
}

/// Returns serde's error about `text`, without its place, in the same words for every file that people write.
pub fn reason(error: &serde_json::Error, text: &str) -> String {
    let full = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let message = full.strip_suffix(&position).unwrap_or(&full);
    if let Some(reason) = unknown_name(message).or_else(|| double_key(message)) {
        return reason;
    }
    match key_before(text, error) {
        Some(key) if !message.contains(&format!("`{key}`")) => format!("`{key}`: {message}"),
        _ => message.to_owned(),
    }
}

/// Explains an unknown key or variant: serde names it and all that it knows there, each in backquotes.
fn unknown_name(message: &str) -> Option<String> {
    let kind = if message.starts_with("unknown field") {
        "key"
    } else if message.starts_with("unknown variant") {
        "value"
    } else {
        return None;
    };
    let mut names = message.split('`').skip(1).step_by(2);
    let given = names.next()?;
    let known: Vec<&str> = names.filter(|name| *name != "$schema").collect();
    Some(match near(given, known.iter().copied()) {
        Some(near) => format!("unknown {kind} `{given}`: did you mean `{near}`?"),
        None => format!(
            "unknown {kind} `{given}`: write one of {}",
            known.join(", ")
        ),
    })
}

static KEY: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#""([^"\\]*)"\s*:"#).ok());

/// Returns the last key before the place of the error, whose value is wrong. A syntax error has none.
fn key_before<'a>(text: &'a str, error: &serde_json::Error) -> Option<&'a str> {
    if !error.is_data() {
        return None;
    }
    let end = offset(text, error.line(), error.column());
    let keys = KEY.as_ref()?.captures_iter(text.get(..end)?);
    keys.last()?.get(1).map(|key| key.as_str())
}

/// Returns the byte offset of a position as serde counts it (columns in bytes, from 1).
fn offset(text: &str, line: usize, column: usize) -> usize {
    let before: usize = text
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    let mut end = (before + column).min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    end
}
