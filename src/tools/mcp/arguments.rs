//! Checks arguments against the pinned schema of a server's tool: types, required arguments, choices. More complicated
//! checks are left to the server.

use serde_json::{Map, Value};

use crate::text;

/// Deepest level of a value that is checked.
const DEEPEST: usize = 16;

/// Most problems that are reported.
const MOST: usize = 10;

/// Most choices that are named.
const CHOICES: usize = 20;

/// Returns the arguments in `given` that the schema allows. Unknown keys are dropped only if it forbids them.
///
/// # Errors
///
/// Fails with the problems, one sentence each.
pub(super) fn check(
    schema: &Value,
    given: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<String>> {
    let mut problems = Vec::new();
    let taken = object(schema, schema, given, "", DEEPEST, &mut problems);
    problems.truncate(MOST);
    if problems.is_empty() {
        Ok(taken)
    } else {
        Err(problems)
    }
}

fn object(
    root: &Value,
    schema: &Value,
    given: &Map<String, Value>,
    place: &str,
    depth: usize,
    problems: &mut Vec<String>,
) -> Map<String, Value> {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    let is_closed = schema["additionalProperties"] == Value::Bool(false)
        && schema.get("patternProperties").is_none();
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !given.contains_key(name) {
            problems.push(format!("`{}`: missing", named(place, name)));
        }
    }
    let is_required = |name: &str| {
        let required = schema["required"].as_array().into_iter().flatten();
        required.into_iter().any(|one| one == name)
    };
    let mut taken = Map::new();
    for (name, value) in given {
        let Some(expected) = properties.get(name) else {
            if !is_closed {
                taken.insert(name.clone(), value.clone());
            }
            continue;
        };
        let at = named(place, name);
        let mut found = Vec::new();
        let fitted = fit(root, expected, value, &at, depth, &mut found);
        // Models write null when they mean nothing.
        if value.is_null() && !found.is_empty() && !is_required(name) {
            continue;
        }
        problems.append(&mut found);
        taken.insert(name.clone(), fitted);
    }
    taken
}

fn named(place: &str, name: &str) -> String {
    let name = text::visible(&text::one_line(name, 60)).0;
    if place.is_empty() {
        name
    } else {
        format!("{place}.{name}")
    }
}

fn fit(
    root: &Value,
    expected: &Value,
    value: &Value,
    place: &str,
    depth: usize,
    problems: &mut Vec<String>,
) -> Value {
    if depth == 0 {
        return value.clone();
    }
    let depth = depth - 1;
    if let Some(target) = expected["$ref"].as_str() {
        let target = target.strip_prefix('#').and_then(|at| root.pointer(at));
        return match target {
            Some(target) => fit(root, target, value, place, depth, problems),
            None => value.clone(),
        };
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = expected[key].as_array() {
            let fits = choices.iter().any(|choice| {
                let mut found = Vec::new();
                fit(root, choice, value, place, depth, &mut found);
                found.is_empty()
            });
            if !fits {
                problems.push(format!("`{place}`: fits none of the forms in its schema"));
            }
            return value.clone();
        }
    }
    if let Some(choices) = expected["enum"].as_array()
        && !choices.contains(value)
    {
        let shown: Vec<String> = choices.iter().take(CHOICES).map(Value::to_string).collect();
        problems.push(format!("`{place}`: expected one of {}", shown.join(", ")));
        return value.clone();
    }
    let kinds: Vec<&str> = match &expected["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !kinds.is_empty() && !kinds.iter().any(|kind| is_of(kind, value)) {
        problems.push(format!("`{place}`: expected {}", kinds.join(" or ")));
        return value.clone();
    }
    match value {
        Value::Object(members) => {
            Value::Object(object(root, expected, members, place, depth, problems))
        }
        Value::Array(items) if expected["items"].is_object() => {
            let fitted = items.iter().enumerate().map(|(at, item)| {
                let place = format!("{place}[{at}]");
                fit(root, &expected["items"], item, &place, depth, problems)
            });
            Value::Array(fitted.collect())
        }
        value => value.clone(),
    }
}

fn is_of(kind: &str, value: &Value) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "number" => value.is_number(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn checked(schema: &Value, given: &Value) -> Result<Value, Vec<String>> {
        check(schema, given.as_object().unwrap()).map(Value::Object)
    }

    #[test]
    fn types_required_and_choices_are_checked() {
        let schema = json!({"type": "object", "required": ["repo"], "properties": {
            "repo": {"type": "string"}, "state": {"enum": ["open", "closed"]}, "page": {"type": ["integer", "null"]},
            "labels": {"type": "array", "items": {"type": "string"}}, "who": {"$ref": "#/$defs/who"},
            "one": {"anyOf": [{"type": "string"}, {"type": "number"}]},
        }, "$defs": {"who": {"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}}}});
        let good = json!({"repo": "a", "state": "open", "page": null, "labels": ["x"], "who": {"id": 1}, "one": 2, "further": 1});
        assert_eq!(checked(&schema, &good), Ok(good));
        for (given, problem) in [
            (json!({}), "`repo`: missing"),
            (json!({"repo": 1}), "`repo`: expected string"),
            (
                json!({"repo": "a", "state": "x"}),
                "`state`: expected one of \"open\", \"closed\"",
            ),
            (
                json!({"repo": "a", "page": 1.5}),
                "`page`: expected integer or null",
            ),
            (
                json!({"repo": "a", "labels": ["x", 1]}),
                "`labels[1]`: expected string",
            ),
            (json!({"repo": "a", "who": {}}), "`who.id`: missing"),
            (
                json!({"repo": "a", "one": true}),
                "`one`: fits none of the forms in its schema",
            ),
        ] {
            assert_eq!(
                checked(&schema, &given),
                Err(vec![problem.to_owned()]),
                "{given}"
            );
        }
    }

    #[test]
    fn unknown_keys_are_dropped_where_they_are_forbidden() {
        let schema = json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}});
        assert_eq!(
            checked(&schema, &json!({"a": "x", "b": 1})),
            Ok(json!({"a": "x"}))
        );
        assert_eq!(checked(&schema, &json!({"a": null})), Ok(json!({})));
    }

    #[test]
    fn a_schema_that_refers_to_itself_ends() {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}, "b": {"$ref": "#"}}});
        let mut deep = json!({});
        for _ in 0..200 {
            deep = json!({ "b": deep });
        }
        assert!(checked(&schema, &deep).is_ok());
        assert!(checked(&schema, &json!({"a": 1})).is_ok());
    }
}
