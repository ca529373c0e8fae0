//! Judges lines of actions for `chorus permissions check`: no agent, no home, no token.
//!
//! Every line gets a verdict; one that cannot be read is denied.

use std::error::Error;

use serde_json::{Map, Value};

use super::action::{Action, ActionError};
use super::decide::Verdict;
use super::effort::Effort;
use super::stack::Stack;

/// Creates the action of a tool call, from the tool's name and arguments.
///
/// The registry of tools is in a higher module; its owner passes it in.
pub type Prepare<'a> = dyn Fn(&str, Map<String, Value>) -> Result<Action, Refusal> + 'a;

/// Why a line contains no action that can be judged; the verdict gives this reason.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    #[error("not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// It is JSON of another shape, in a sentence.
    #[error("{0}")]
    Shape(&'static str),
    #[error("{0}")]
    Action(#[from] ActionError),
    /// No tool can be called like this.
    #[error("{0}")]
    Call(Box<dyn Error + Send + Sync>),
}

/// Judges one JSON line: `{"action": "tool:…"}` or `{"tool": "bash", "arguments": {…}}`.
///
/// Either may have `always_allow`, a list of action strings.
pub fn judge_json(profiles: &Stack, line: &str, prepare: &Prepare<'_>) -> Verdict {
    match read(line, prepare) {
        Ok((action, always_allow)) => profiles.decide(&action, &always_allow, &Effort::default()),
        Err(refusal) => Verdict::deny(refusal.to_string()),
    }
}

/// Returns the action that a line means, and its `always_allow`.
fn read(line: &str, prepare: &Prepare<'_>) -> Result<(Action, Vec<String>), Refusal> {
    let shape = |reason| Err(Refusal::Shape(reason));
    let Value::Object(mut object) = serde_json::from_str(line)? else {
        return shape("not an object: expected `action`, or `tool` and `arguments`");
    };
    let always_allow = match object.remove("always_allow").map(serde_json::from_value) {
        None => Vec::new(),
        Some(Ok(list)) => list,
        Some(Err(_)) => return shape("`always_allow` must be a list of texts"),
    };
    let action = match (
        object.remove("action"),
        object.remove("tool"),
        object.remove("arguments"),
    ) {
        (Some(Value::String(text)), None, None) => Action::parse(&text)?,
        (Some(Value::String(_)), _, _) => {
            return shape("give either `action`, or `tool` and `arguments`");
        }
        (Some(_), _, _) => return shape("`action` must be a text"),
        (None, Some(Value::String(tool)), Some(Value::Object(arguments))) => {
            prepare(&tool, arguments)?
        }
        (None, Some(Value::String(tool)), None) => prepare(&tool, Map::new())?,
        (None, Some(Value::String(_)), Some(_)) => {
            return shape("`arguments` must be an object");
        }
        (None, Some(_), _) => return shape("`tool` must be a text"),
        (None, None, _) => return shape("expected `action`, or `tool` and `arguments`"),
    };
    Ok((action, always_allow))
}

/// Judges one line that is an action string.
pub fn judge_text(profiles: &Stack, line: &str) -> Verdict {
    match Action::parse(line) {
        Ok(action) => profiles.decide(&action, &[], &Effort::default()),
        Err(error) => Verdict::deny(error.to_string()),
    }
}
