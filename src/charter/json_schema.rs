//! A JSON Schema of draft 2020-12 for roles: small, without references to other documents or to itself, and with
//! patterns that take linear time.
//!
//! Compiling one is bounded, and only checks that it can be used: nothing of it stays in memory. Checking a value
//! against one is not bounded: a schema of 14 KiB and a value of 18 KB took two gigabytes. Only a worker process may do
//! that.

use jsonschema::{PatternOptions, ValidationError, Validator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::text;

/// Most bytes of a schema, as written and after its references are replaced.
const MOST_BYTES: usize = 16 << 10;

/// Deepest nesting of objects and lists in a schema, as written.
const DEEPEST: usize = 8;

/// Most bytes of a compiled pattern.
const PATTERN_BYTES: usize = 128 << 10;

/// Most patterns of all schemas of a contract.
pub(super) const MOST_PATTERNS: usize = 32;

/// Most characters of a fault that are shown.
const LONGEST_FAULT: usize = 200;

/// Most faults of a value that are examined.
const FAULTS: usize = 50;

/// Keywords with a schema for each name.
const MAPS: [&str; 3] = ["properties", "patternProperties", "dependentSchemas"];

/// Keywords with data.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Keywords with schemas that exist only as targets of references.
const SHELVES: [&str; 2] = ["$defs", "definitions"];

/// Keywords that give a schema a name, so that others could refer to it.
const NAMES: [&str; 4] = ["$dynamicRef", "$dynamicAnchor", "$anchor", "$recursiveRef"];

/// The problem in a schema, and its place as a JSON pointer.
pub(super) type Misread = (String, String);

/// A schema that values are checked against.
#[derive(Clone, Debug)]
pub(super) struct JsonSchema {
    /// Without references.
    pub(super) value: Value,
}

/// How many faults of a value to find. Those of every branch of a schema may take gigabytes; the first one does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Thoroughness {
    Many,
    First,
}

/// A fault of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// Its place, as a JSON pointer.
    pub(super) place: String,
    /// The missing property; `None` if a present value is wrong.
    pub(super) missing: Option<String>,
    pub(super) what: String,
}

impl JsonSchema {
    /// Compiles a schema that may use `patterns_left` patterns; those it uses are subtracted.
    pub(super) fn compile(written: &Value, patterns_left: &mut usize) -> Result<Self, Misread> {
        if !written.is_object() {
            return whole("a schema is an object");
        }
        if written.to_string().len() > MOST_BYTES {
            return whole("the schema has more than 16 KiB");
        }
        check_depth(written, "", 1)?;
        let mut inliner = Inliner {
            root: written,
            within: Vec::new(),
            bytes: MOST_BYTES,
        };
        let value = inliner.schema(written, "")?;
        match patterns_left.checked_sub(patterns_in(&value)) {
            Some(left) => *patterns_left = left,
            None => return whole(&format!("there are more than {MOST_PATTERNS} patterns")),
        }
        match validator(&value) {
            Ok(_) => Ok(Self { value }),
            Err(error) => Err((error.instance_path().to_string(), shown(&error.to_string()))),
        }
    }

    /// Returns the faults of `value`, missing properties first. For a worker process only: neither memory nor time are
    /// bounded.
    pub(super) fn faults(&self, value: &Value, looked_for: Thoroughness) -> Vec<Fault> {
        // It was compiled before, so it compiles again.
        let Ok(validator) = validator(&self.value) else {
            return vec![Fault {
                place: String::new(),
                missing: None,
                what: "the schema cannot be used".to_owned(),
            }];
        };
        if validator.is_valid(value) {
            return Vec::new();
        }
        let mut faults: Vec<Fault> = match looked_for {
            Thoroughness::Many => validator
                .iter_errors(value)
                .take(FAULTS)
                .map(|error| Fault::of(&error))
                .collect(),
            Thoroughness::First => {
                let first = validator.validate(value).err();
                first.iter().map(Fault::of).collect()
            }
        };
        faults.sort_by_key(|fault| fault.missing.is_none());
        faults
    }
}

impl Fault {
    fn of(error: &ValidationError<'_>) -> Self {
        let whole = error.to_string();
        Self {
            place: error.instance_path().to_string(),
            missing: match error.kind() {
                jsonschema::error::ValidationErrorKind::Required { property } => {
                    property.as_str().map(str::to_owned)
                }
                _ => None,
            },
            // A long value would hide the fault.
            what: if whole.len() > LONGEST_FAULT {
                shown(&error.masked().to_string())
            } else {
                shown(&whole)
            },
        }
    }
}

fn validator(schema: &Value) -> Result<Validator, ValidationError<'_>> {
    let patterns = PatternOptions::regex()
        .size_limit(PATTERN_BYTES)
        .dfa_size_limit(PATTERN_BYTES);
    jsonschema::draft202012::options()
        .with_pattern_options(patterns)
        .build(schema)
}

/// Returns how many patterns a schema has, including names that look like one.
fn patterns_in(schema: &Value) -> usize {
    match schema {
        Value::Object(keys) => {
            let own = keys.contains_key("pattern") as usize;
            let names = keys.get("patternProperties").and_then(Value::as_object);
            own + names.map_or(0, Map::len) + keys.values().map(patterns_in).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(patterns_in).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Replaces references with their targets.
struct Inliner<'a> {
    root: &'a Value,
    /// The references that are being followed.
    within: Vec<&'a str>,
    /// Bytes that are left for the result.
    bytes: usize,
}

impl<'a> Inliner<'a> {
    fn schema(&mut self, schema: &'a Value, place: &str) -> Result<Value, Misread> {
        match schema {
            Value::Object(keys) => self.keywords(keys, place),
            Value::Array(items) => self.list(items, place),
            plain => self.counted(plain.clone()),
        }
    }

    fn list(&mut self, items: &'a [Value], place: &str) -> Result<Value, Misread> {
        let items = items.iter().enumerate();
        let items = items.map(|(at, item)| self.schema(item, &format!("{place}/{at}")));
        items.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }

    fn keywords(&mut self, keys: &'a Map<String, Value>, place: &str) -> Result<Value, Misread> {
        let mut schema = Map::new();
        let mut meant = None;
        for (key, value) in keys {
            let place = format!("{place}/{}", escaped(key));
            let is_root = self.within.is_empty() && place.matches('/').count() == 1;
            let value = match key.as_str() {
                "$ref" => {
                    meant = Some(self.reference(value, &place)?);
                    continue;
                }
                key if SHELVES.contains(&key) => continue,
                "$schema" | "$id" if is_root => continue,
                "$id" => return Err((place, "a part of a schema has no name here".to_owned())),
                key if NAMES.contains(&key) => {
                    let what = "references by name are not taken; write `$ref: \"#/$defs/…\"`";
                    return Err((place, what.to_owned()));
                }
                key if MAPS.contains(&key) => self.map(value, &place)?,
                key if DATA.contains(&key) => self.counted(value.clone())?,
                _ => self.schema(value, &place)?,
            };
            self.take(key.len() + 4)?;
            schema.insert(key.clone(), value);
        }
        Ok(match meant {
            None => Value::Object(schema),
            Some(meant) if schema.is_empty() => meant,
            Some(meant) => {
                let beside = schema.remove("allOf");
                let mut all = vec![meant];
                all.extend(
                    beside
                        .and_then(|all| match all {
                            Value::Array(all) => Some(all),
                            _ => None,
                        })
                        .unwrap_or_default(),
                );
                schema.insert("allOf".to_owned(), Value::Array(all));
                Value::Object(schema)
            }
        })
    }

    /// Inlines a schema for each name.
    fn map(&mut self, schemas: &'a Value, place: &str) -> Result<Value, Misread> {
        let Value::Object(schemas) = schemas else {
            return self.counted(schemas.clone());
        };
        let mut map = Map::new();
        for (name, schema) in schemas {
            self.take(name.len() + 4)?;
            let schema = self.schema(schema, &format!("{place}/{}", escaped(name)))?;
            map.insert(name.clone(), schema);
        }
        Ok(Value::Object(map))
    }

    fn reference(&mut self, to: &'a Value, place: &str) -> Result<Value, Misread> {
        let wrong = |what: &str| Err((place.to_owned(), what.to_owned()));
        let Some(to) = to.as_str() else {
            return wrong("a reference is a text");
        };
        let Some(pointer) = to.strip_prefix('#') else {
            return wrong("it refers to another document");
        };
        if pointer.is_empty() || self.within.contains(&to) {
            return wrong("it refers to itself");
        }
        let Some(meant) = self.root.pointer(pointer) else {
            return wrong("there is nothing at the place that it refers to");
        };
        self.within.push(to);
        let meant = self.schema(meant, place);
        self.within.pop();
        meant
    }

    fn counted(&mut self, value: Value) -> Result<Value, Misread> {
        self.take(value.to_string().len() + 1)?;
        Ok(value)
    }

    fn take(&mut self, bytes: usize) -> Result<(), Misread> {
        match self.bytes.checked_sub(bytes) {
            Some(left) => self.bytes = left,
            None => return whole("the schema has more than 16 KiB with what it refers to"),
        }
        Ok(())
    }
}

fn whole<T>(message: &str) -> Result<T, Misread> {
    Err((String::new(), message.to_owned()))
}

fn check_depth(value: &Value, place: &str, depth: usize) -> Result<(), Misread> {
    if depth > DEEPEST && (value.is_object() || value.is_array()) {
        let message = format!("more than {DEEPEST} objects and lists within each other");
        return Err((place.to_owned(), message));
    }
    match value {
        Value::Object(keys) => keys.iter().try_for_each(|(key, value)| {
            check_depth(value, &format!("{place}/{}", escaped(key)), depth + 1)
        }),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(at, value)| check_depth(value, &format!("{place}/{at}"), depth + 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Returns a key as written in JSON pointers.
pub(super) fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn shown(message: &str) -> String {
    text::one_line(&text::visible(message).0, LONGEST_FAULT)
}
