//! Judges lines of actions for `chorus permissions check`: no agent, no home, no token.
//!
//! Whatever a line holds, it is answered with a verdict; what cannot be read is denied.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::action::Action;
use super::decide::Verdict;
use super::stack::Stack;

/// Makes the action of a tool call, from the tool's name and arguments.
///
/// The registry of tools stands above this module; its owner passes it in. An error is the reason for a refusal.
pub type Prepare<'a> = dyn Fn(&str, Map<String, Value>) -> Result<Action, Refusal> + 'a;

/// Why a line says no action that could be judged; the verdict says it in these words.
pub type Refusal = Cow<'static, str>;

/// Judges one JSON line: `{"action": "tool:…"}` or `{"tool": "bash", "arguments": {…}}`.
///
/// Either may have `always_allow`, a list of action strings.
pub fn judge_json(profiles: &Stack, line: &str, prepare: &Prepare<'_>) -> Verdict {
    let mut object = match serde_json::from_str(line) {
        Ok(Value::Object(object)) => object,
        Ok(_) => {
            return Verdict::deny("not an object: expected `action`, or `tool` and `arguments`");
        }
        Err(error) => return Verdict::deny(format!("not JSON: {error}")),
    };
    let always_allow = match object.remove("always_allow") {
        None => Vec::new(),
        Some(list) => match serde_json::from_value(list) {
            Ok(list) => list,
            Err(_) => return Verdict::deny("`always_allow` must be a list of texts"),
        },
    };
    let action = match (
        object.remove("action"),
        object.remove("tool"),
        object.remove("arguments"),
    ) {
        (Some(Value::String(text)), None, None) => {
            Action::parse(&text).map_err(|error| error.to_string().into())
        }
        (Some(Value::String(_)), _, _) => {
            Err("give either `action`, or `tool` and `arguments`".into())
        }
        (Some(_), _, _) => Err("`action` must be a text".into()),
        (None, Some(Value::String(tool)), Some(Value::Object(arguments))) => {
            prepare(&tool, arguments)
        }
        (None, Some(Value::String(tool)), None) => prepare(&tool, Map::new()),
        (None, Some(Value::String(_)), Some(_)) => Err("`arguments` must be an object".into()),
        (None, Some(_), _) => Err("`tool` must be a text".into()),
        (None, None, _) => Err("expected `action`, or `tool` and `arguments`".into()),
    };
    match action {
        Ok(action) => profiles.decide(&action, &always_allow),
        Err(reason) => Verdict::deny(reason),
    }
}

/// Judges one line that is an action string.
pub fn judge_text(profiles: &Stack, line: &str) -> Verdict {
    match Action::parse(line) {
        Ok(action) => profiles.decide(&action, &[]),
        Err(error) => Verdict::deny(error.to_string()),
    }
}
