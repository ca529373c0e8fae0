//! Binds an approval to exactly the approved call.

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::stack::Stack;
use crate::domain::TurnId;

/// Returns the SHA-256 over tool, arguments, profiles and turn, in lower-case hex.
///
/// Computed when the question is asked and again before the call runs: a difference means that something changed in
/// between, and the call is refused. The order of keys in the arguments does not matter.
pub fn binding_hash(
    tool: &str,
    arguments: &Map<String, Value>,
    profiles: &Stack,
    turn: TurnId,
) -> String {
    let arguments = canonical(&Value::Object(arguments.clone()));
    let bound = serde_json::json!([tool, arguments, profiles.hash(), turn.to_string()]);
    format!("{:x}", Sha256::digest(bound.to_string()))
}

/// Returns `value` with the keys of every object in order.
fn canonical(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map
                .iter()
                .map(|(key, value)| (key.clone(), canonical(value)))
                .collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Object(entries.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(canonical).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
