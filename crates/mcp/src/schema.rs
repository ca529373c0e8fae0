//! The limits of a schema that a model, a provider and a checker are given.

use serde_json::Value;

/// Bytes of a schema in canonical JSON.
const MAX_BYTES: usize = 64 << 10;

/// Levels of objects and lists in each other.
const MAX_DEPTH: usize = 32;

/// Values in all.
const MAX_NODES: usize = 2_000;

/// Keys whose text names another schema.
const REFERENCES: &[&str] = &["$ref", "$dynamicRef", "$recursiveRef"];

/// Why a schema is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    #[error("is not an object with `\"type\": \"object\"`")]
    NoObject,
    #[error("has {0} bytes, more than {MAX_BYTES}")]
    TooLarge(usize),
    #[error("is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("has more than {MAX_NODES} parts")]
    TooManyNodes,
    #[error("refers to a schema elsewhere")]
    RemoteReference,
}

/// Checks the schema of a tool's arguments.
///
/// # Errors
///
/// The first limit that it exceeds.
pub(crate) fn check_input(schema: &Value) -> Result<(), SchemaError> {
    if schema.get("type").and_then(Value::as_str) != Some("object") {
        return Err(SchemaError::NoObject);
    }
    check(schema)
}

/// Checks any schema.
///
/// # Errors
///
/// The first limit that it exceeds.
pub(crate) fn check(schema: &Value) -> Result<(), SchemaError> {
    let mut nodes = 0;
    walk(schema, 1, &mut nodes)?;
    let bytes = super::canonical(schema).len();
    if bytes > MAX_BYTES {
        return Err(SchemaError::TooLarge(bytes));
    }
    Ok(())
}

fn walk(value: &Value, depth: usize, nodes: &mut usize) -> Result<(), SchemaError> {
    *nodes += 1;
    if *nodes > MAX_NODES {
        return Err(SchemaError::TooManyNodes);
    }
    if depth > MAX_DEPTH && (value.is_object() || value.is_array()) {
        return Err(SchemaError::TooDeep);
    }
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                let is_reference = REFERENCES.contains(&key.as_str());
                if let (true, Some(target)) = (is_reference, member.as_str())
                    && !target.starts_with('#')
                {
                    return Err(SchemaError::RemoteReference);
                }
                walk(member, depth + 1, nodes)?;
            }
        }
        Value::Array(items) => {
            for item in items {
                walk(item, depth + 1, nodes)?;
            }
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    #[test]
    fn each_limit_has_its_reason() {
        assert_eq!(check_input(&json!({"type": "object"})), Ok(()));
        for no_object in [
            json!([]),
            json!({}),
            json!({"type": ["object"]}),
            json!(true),
        ] {
            assert_eq!(check_input(&no_object), Err(SchemaError::NoObject));
        }
        let mut deep = json!({});
        for _ in 0..32 {
            deep = json!({ "x": deep });
        }
        assert_eq!(check(&deep), Err(SchemaError::TooDeep));
        assert_eq!(check(&deep["x"]), Ok(()));
        let many: Vec<u32> = (0..2_000).collect();
        assert_eq!(check(&json!(many)), Err(SchemaError::TooManyNodes));
        let large = json!({"description": "x".repeat(70_000)});
        assert!(matches!(check(&large), Err(SchemaError::TooLarge(_))));
    }

    #[test]
    fn only_local_references_pass() {
        for (target, allowed) in [
            ("#/$defs/a", true),
            ("#", true),
            ("https://evil.example/s.json", false),
            ("file:///etc/passwd", false),
            ("other.json#/a", false),
        ] {
            let schema = json!({"type": "object", "properties": {"a": {"$ref": target}}});
            assert_eq!(check_input(&schema).is_ok(), allowed, "{target}");
        }
        // A property of that name is no reference.
        assert_eq!(
            check(&json!({"properties": {"$ref": {"type": "string"}}})),
            Ok(())
        );
    }
}
