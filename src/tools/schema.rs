//! The JSON Schema of a tool's arguments, derived from their type and shortened.
//!
//! Every request contains every schema, so parts that a model does not need are left out: titles, number formats,
//! defaults, and `null` beside the type of an optional argument.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// Keywords that a model does not need.
const NOISE: [&str; 4] = ["$schema", "title", "format", "default"];

/// Returns the short schema of `T`, an object with `properties` and, if some are, `required`.
pub(super) fn of<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    tidy(&mut schema);
    if let Value::Object(object) = &mut schema {
        // The type's own doc comment describes Rust code; the tool's description is sent beside the schema.
        object.remove("description");
        object
            .entry("properties")
            .or_insert_with(|| Value::Object(Map::new()));
    }
    schema
}

fn tidy(schema: &mut Value) {
    let Value::Object(object) = schema else {
        return;
    };
    for key in NOISE {
        object.remove(key);
    }
    if object.get("minimum").and_then(Value::as_u64) == Some(0) {
        object.remove("minimum");
    }
    drop_null(object);
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(tidy);
    }
    if let Some(items) = object.get_mut("items") {
        tidy(items);
    }
    if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
        choices.iter_mut().for_each(tidy);
    }
}

/// Turns `["string", "null"]` into `"string"`: `required` already shows that an argument is optional.
fn drop_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".into(), only);
        }
    }
}
