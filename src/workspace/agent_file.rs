//! `agent.json`: the authoritative configuration of an agent.
//!
//! People edit it by hand. So a rewrite starts from the file as it is on disk, changes only the keys it is about and
//! keeps all others. An invalid file is reported with the place, never overwritten.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;

use cap_std::fs::Dir;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::regular_file;
use crate::config::reason;
use crate::domain::AgentConfig;
use crate::text::json::refuse_double_keys;

/// Its name in the agent's folder.
pub const NAME: &str = "agent.json";

/// Largest `agent.json` in bytes: a prompt of 64 KiB, a long profile and a reserve.
pub const MOST_BYTES: u64 = 1024 * 1024;

/// An `agent.json` as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentFile {
    /// The keys that Chorus knows.
    pub config: AgentConfig,
    /// All keys, in the file's order.
    pub raw: Map<String, Value>,
    /// The line of each key, counted from 1.
    lines: BTreeMap<String, usize>,
}

impl AgentFile {
    /// Returns the error for a key with a value of the right type that cannot be used.
    pub fn fault(&self, key: &str, reason: &str) -> String {
        match self.lines.get(key) {
            Some(line) => format!("agent.json, line {line}: `{key}`: {reason}"),
            None => format!("agent.json: `{key}`: {reason}"),
        }
    }
}

/// Why an `agent.json` could not be used.
#[derive(Debug, thiserror::Error)]
pub enum AgentFileError {
    /// It is not JSON, or a key has an invalid value.
    #[error("agent.json, line {line}, column {column}: {reason}")]
    Broken {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// The found and the expected value.
        reason: String,
    },
    /// It is not a regular file, or too large.
    #[error("agent.json {0}")]
    Unusable(&'static str),
    #[error("agent.json: {0}")]
    Io(#[from] io::Error),
}

/// Reads the file in `folder`.
///
/// # Errors
///
/// Fails if it is missing, too large, or does not parse.
pub fn read(folder: &Dir) -> Result<AgentFile, AgentFileError> {
    parse(&text(folder)?)
}

fn text(folder: &Dir) -> Result<String, AgentFileError> {
    let file = regular_file::open(folder, NAME)?;
    let file = file.ok_or(AgentFileError::Unusable("is not a regular file"))?;
    let mut text = String::new();
    file.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(AgentFileError::Unusable("has more than 1 MiB"));
    }
    Ok(text)
}

/// Returns the folder that the file in `folder` names as the workspace, regardless of its other keys; `None` if it
/// names none.
///
/// # Errors
///
/// Fails if the file or this key cannot be read.
pub fn workspace(folder: &Dir) -> Result<Option<PathBuf>, AgentFileError> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        workspace: Option<PathBuf>,
    }
    let text = text(folder)?;
    let named: Named = serde_json::from_str(&text).map_err(io::Error::from)?;
    Ok(named.workspace)
}

/// Reads an `agent.json` from its text.
///
/// # Errors
///
/// Fails if it is not JSON or a known key has an invalid value.
pub fn parse(text: &str) -> Result<AgentFile, AgentFileError> {
    let broken = |error: serde_json::Error| AgentFileError::Broken {
        line: error.line(),
        column: error.column(),
        reason: reason(&error, text),
    };
    let file = AgentFile {
        config: serde_json::from_str(text).map_err(broken)?,
        raw: serde_json::from_str(text).map_err(broken)?,
        lines: lines(text),
    };
    refuse_double_keys(text).map_err(broken)?;
    Ok(file)
}

/// Returns the line of each key of the outermost object in `text`, which is JSON.
fn lines(text: &str) -> BTreeMap<String, usize> {
    let (mut lines, mut line, mut depth) = (BTreeMap::new(), 1, 0_usize);
    let mut rest = text.char_indices();
    while let Some((start, character)) = rest.next() {
        match character {
            '\n' => line += 1,
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.saturating_sub(1),
            '"' => {
                let end = end_of_string(&mut rest).unwrap_or(text.len());
                let is_key = text[end..].trim_start().starts_with(':');
                if depth == 1
                    && is_key
                    && let Ok(key) = serde_json::from_str(&text[start..end])
                {
                    lines.insert(key, line);
                }
            }
            _ => {}
        }
    }
    lines
}

/// Skips the rest of a string; returns where it ends.
fn end_of_string(rest: &mut std::str::CharIndices<'_>) -> Option<usize> {
    while let Some((at, character)) = rest.next() {
        match character {
            '"' => return Some(at + 1),
            // The escaped character ends nothing.
            '\\' => drop(rest.next()),
            _ => {}
        }
    }
    None
}

/// Changes keys of the file in `folder`; `change` gets all of them as they are on disk.
///
/// Rewrites of one agent wait for each other, even in other processes.
///
/// # Errors
///
/// Fails if the file is invalid, the change makes it invalid, or it cannot be written; then the old file stays.
pub fn rewrite(
    folder: &Dir,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<AgentFile, AgentFileError> {
    let lock = folder.open(".")?;
    flock(&lock, FlockOperation::LockExclusive).map_err(io::Error::from)?;
    let mut raw = read(folder)?.raw;
    change(&mut raw);
    let text = pretty(&raw)?;
    let file = parse(&text)?;
    regular_file::replace(folder, NAME, text.as_bytes())?;
    Ok(file)
}

/// Writes `config` as a new file in `folder`, together with other keys of `base`.
pub fn create(
    folder: &Dir,
    base: &Map<String, Value>,
    config: &AgentConfig,
) -> Result<AgentFile, AgentFileError> {
    let mut raw = base.clone();
    if let Value::Object(known) = serde_json::to_value(config).map_err(io::Error::from)? {
        raw.extend(known);
    }
    let text = pretty(&raw)?;
    let file = parse(&text)?;
    regular_file::replace(folder, NAME, text.as_bytes())?;
    Ok(file)
}

/// Formats JSON like the template: four spaces, a newline at the end.
fn pretty(raw: &Map<String, Value>) -> io::Result<String> {
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(b"    ");
    raw.serialize(&mut serde_json::Serializer::with_formatter(
        &mut bytes, formatter,
    ))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(io::Error::other)
}
