//! `report`: what a role's last word must hold, as JSON Schemas. They are checked here so that a mistake in one is told with its
//! place, and not when the first report comes.

use serde_json::{Map, Value};

use super::compile::Compiler;
use super::values::Expected;
use super::yaml::Node;
use crate::text;

/// Bytes of a schema.
const MOST_BYTES: usize = 16 << 10;

/// Objects and lists of a schema within each other.
const DEEPEST: usize = 8;

/// Fields that a report may owe besides.
const MOST_FIELDS: usize = 10;

/// Keys whose values may lead to another document.
const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

const INSTEAD: &str = "write a JSON Schema of draft 2020-12";

impl Compiler<'_> {
    pub(super) fn report(&mut self, value: &Node) -> Result<(), Expected> {
        const SHAPE: Expected =
            Expected("`{schema: …, meta: {name: schema}}`, one of them or both");
        let mut report = Map::new();
        for (key, part) in value.entries().map_err(|_| SHAPE)? {
            let schemas = match key.text() {
                Ok("schema") => vec![("/schema".to_owned(), part)],
                Ok("meta") => fields(part)?,
                _ => return Err(SHAPE),
            };
            for (pointer, schema) in schemas {
                if let Err((place, message)) = check(&schema.json()) {
                    let message = format!("{pointer}{place}: {message}");
                    self.doubt(schema.line, "report", message, INSTEAD);
                    return Ok(());
                }
            }
            report.insert(key.text()?.to_owned(), part.json());
        }
        if report.is_empty() {
            return Err(SHAPE);
        }
        self.role.report = Some(Value::Object(report));
        Ok(())
    }
}

/// The schemas of the fields besides, with their places.
fn fields(meta: &Node) -> Result<Vec<(String, &Node)>, Expected> {
    const SHAPE: Expected = Expected("1 to 10 names under `meta`, each with a schema");
    let entries = meta.entries().map_err(|_| SHAPE)?;
    if entries.is_empty() || entries.len() > MOST_FIELDS {
        return Err(SHAPE);
    }
    let fields = entries.iter().map(|(name, schema)| {
        let name = name.text().map_err(|_| SHAPE)?;
        Ok((format!("/meta/{}", escaped(name)), schema))
    });
    fields.collect()
}

/// What is wrong with a schema, and where in it as a JSON pointer.
fn check(schema: &Value) -> Result<(), (String, String)> {
    let whole = |message: &str| Err((String::new(), message.to_owned()));
    if !schema.is_object() {
        return whole("a schema is an object");
    }
    if schema.to_string().len() > MOST_BYTES {
        return whole("the schema has more than 16 KiB");
    }
    look(schema, "", 1)?;
    match jsonschema::draft202012::new(schema) {
        Ok(_) => Ok(()),
        Err(error) => {
            let message = text::one_line(&text::visible(&error.to_string()).0, 200);
            Err((error.instance_path().to_string(), message))
        }
    }
}

/// Refuses what nests too deeply or leads to another document.
fn look(value: &Value, place: &str, depth: usize) -> Result<(), (String, String)> {
    if depth > DEEPEST && (value.is_object() || value.is_array()) {
        let message = format!("more than {DEEPEST} objects and lists within each other");
        return Err((place.to_owned(), message));
    }
    match value {
        Value::Object(keys) => keys.iter().try_for_each(|(key, value)| {
            let place = format!("{place}/{}", escaped(key));
            if REFERENCES.contains(&key.as_str())
                && value.as_str().is_some_and(|to| !to.starts_with('#'))
            {
                return Err((place, "it refers to another document".to_owned()));
            }
            look(value, &place, depth + 1)
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(at, value)| look(value, &format!("{place}/{at}"), depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// A key as JSON pointers have it.
fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
