//! Simplifies the schemas of tools for servers that refuse parts of JSON Schema.

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Map, Value};

use super::provider::ToolSchema;

/// The keywords that every server accepts.
const KEPT: [&str; 6] = [
    "type",
    "description",
    "properties",
    "required",
    "items",
    "enum",
];

/// Returns the tools with schemas that contain only types, names and descriptions. The removed constraints are checked
/// when a call is read.
pub(super) fn plain(tools: &[ToolSchema]) -> Vec<ToolSchema> {
    let plain = |tool: &ToolSchema| ToolSchema {
        parameters: plain_text(&tool.parameters).unwrap_or_else(|| tool.parameters.clone()),
        ..tool.clone()
    };
    tools.iter().map(plain).collect()
}

fn plain_text(schema: &RawValue) -> Option<Box<RawValue>> {
    let schema: Value = serde_json::from_str(schema.get()).ok()?;
    to_raw_value(&plain_schema(schema)).ok()
}

fn plain_schema(schema: Value) -> Value {
    let Value::Object(schema) = schema else {
        return schema;
    };
    let mut plain = Map::new();
    for (key, value) in schema {
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(fields)) => {
                let fields = fields.into_iter();
                Value::Object(fields.map(|(name, of)| (name, plain_schema(of))).collect())
            }
            ("items", items) => plain_schema(items),
            ("type", Value::Array(types)) => {
                let mut types = types.into_iter().filter(|name| name != "null");
                types.next().unwrap_or_else(|| "string".into())
            }
            (_, value) => value,
        };
        if KEPT.contains(&key.as_str()) {
            plain.insert(key, value);
        }
    }
    Value::Object(plain)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plain_schema_keeps_names_and_types_at_every_depth() {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "path": {"type": ["string", "null"], "minLength": 1, "description": "A file."},
                "minLength": {"type": "array", "items": {"type": "integer", "format": "uint64"}, "maxItems": 3},
            },
            "required": ["path"],
        });
        let plain = json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "A file."},
                "minLength": {"type": "array", "items": {"type": "integer"}},
            },
            "required": ["path"],
        });
        assert_eq!(plain_schema(schema), plain);
    }
}
