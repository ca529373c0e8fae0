//! Checks a model's arguments against a tool's schema.
//!
//! Keys that the tool does not have are dropped before other code sees them. All problems are reported at once, so that
//! a model can correct them together.

use serde_json::{Map, Value};

/// Returns the arguments in `given` that `schema` has.
///
/// # Errors
///
/// Fails with every problem, one sentence each, in the order of the schema.
pub(super) fn check(
    schema: &Value,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<String>> {
    let empty = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let is_required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|required| required.iter().any(|entry| entry == name))
    };
    let mut taken = Map::new();
    let mut problems = Vec::new();
    for (name, expected) in properties {
        match given.get(name) {
            None | Some(Value::Null) if is_required(name) => {
                problems.push(missing(name, expected, properties, given));
            }
            None | Some(Value::Null) => {}
            Some(value) => match fit(name, expected, value) {
                Ok(value) => {
                    taken.insert(name.clone(), value);
                }
                Err(mut found) => problems.append(&mut found),
            },
        }
    }
    if problems.is_empty() {
        Ok(taken)
    } else {
        Err(problems)
    }
}

fn missing(
    name: &str,
    expected: &Value,
    properties: &Map<String, Value>,
    given: &Map<String, Value>,
) -> String {
    let strangers = given
        .keys()
        .filter(|key| !properties.contains_key(key.as_str()))
        .map(String::as_str);
    let alike = strangers
        .map(|key| (strsim::jaro_winkler(key, name), key))
        .filter(|(likeness, key)| *likeness > 0.8 || key.contains(name))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    let hint = match alike {
        Some((_, key)) => format!(" (you sent `{}`)", short(key)),
        None => String::new(),
    };
    format!("`{name}`: missing, expected {}{hint}", described(expected))
}

/// Returns `value` as `expected` requires it; a whole number written as `3.0` is accepted as one.
fn fit(place: &str, expected: &Value, value: &Value) -> Result<Value, Vec<String>> {
    if let Some(choices) = expected["anyOf"].as_array() {
        return choices
            .iter()
            .find_map(|choice| fit(place, choice, value).ok())
            .ok_or_else(|| vec![mismatch(place, expected, value)]);
    }
    let fits = match expected["type"].as_str() {
        None => true,
        Some("string") => value.is_string() && in_enum(expected, value),
        Some("boolean") => value.is_boolean(),
        Some("number") => value.is_number(),
        Some("object") => value.is_object(),
        Some("integer") => return whole(place, expected, value),
        Some("array") => return list(place, expected, value),
        Some(_) => false,
    };
    if fits {
        Ok(value.clone())
    } else {
        Err(vec![mismatch(place, expected, value)])
    }
}

fn in_enum(expected: &Value, value: &Value) -> bool {
    expected["enum"]
        .as_array()
        .is_none_or(|words| words.contains(value))
}

fn whole(place: &str, expected: &Value, value: &Value) -> Result<Value, Vec<String>> {
    let number = match value.as_f64() {
        Some(number) if number.fract() == 0.0 && number.abs() < 9e15 => number as i64,
        Some(_) | None => return Err(vec![mismatch(place, expected, value)]),
    };
    // A schema without a smallest value belongs to an unsigned type.
    let least = expected["minimum"].as_i64().unwrap_or(0);
    let most = expected["maximum"].as_i64().unwrap_or(i64::MAX);
    if (least..=most).contains(&number) {
        return Ok(number.into());
    }
    let range = if most == i64::MAX {
        format!("{least} or more")
    } else {
        format!("{least} to {most}")
    };
    Err(vec![format!(
        "`{place}`: expected a whole number, {range}, got {number}"
    )])
}

fn list(place: &str, expected: &Value, value: &Value) -> Result<Value, Vec<String>> {
    let Some(entries) = value.as_array() else {
        return Err(vec![mismatch(place, expected, value)]);
    };
    let mut taken = Vec::with_capacity(entries.len());
    let mut problems = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        match fit(&format!("{place}[{index}]"), &expected["items"], entry) {
            Ok(entry) => taken.push(entry),
            Err(mut found) => problems.append(&mut found),
        }
    }
    if problems.is_empty() {
        Ok(Value::Array(taken))
    } else {
        problems.truncate(5);
        Err(problems)
    }
}

fn mismatch(place: &str, expected: &Value, value: &Value) -> String {
    format!(
        "`{place}`: expected {}, got {}",
        described(expected),
        kind(value)
    )
}

/// Describes the requirement of a schema in words.
fn described(expected: &Value) -> String {
    if let Some(choices) = expected["anyOf"].as_array() {
        let words: Vec<String> = choices.iter().map(described).collect();
        return words.join(" or ");
    }
    if let Some(words) = expected["enum"].as_array() {
        let words: Vec<String> = words.iter().map(Value::to_string).collect();
        return format!("one of {}", words.join(", "));
    }
    match expected["type"].as_str() {
        Some("string") => "a string".into(),
        Some("boolean") => "true or false".into(),
        Some("number") => "a number".into(),
        Some("integer") => "a whole number".into(),
        Some("object") => "an object".into(),
        Some("array") => "a list".into(),
        Some(_) | None => "a value".into(),
    }
}

/// Describes the given value; short values are quoted.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {:?}", short(text)),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}

fn short(text: &str) -> String {
    const SHOWN: usize = 40;
    if text.chars().count() <= SHOWN {
        return text.to_owned();
    }
    let head: String = text.chars().take(SHOWN).collect();
    format!("{head}…")
}
