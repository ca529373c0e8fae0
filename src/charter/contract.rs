//! `report`: the required content of a role's last answer, as JSON Schemas. They are checked here so that an error in
//! one is reported with its place, and not at the first report.
//!
//! A report is judged in a worker process (`tools::report`): a malicious schema and report can take gigabytes.

use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::compile::Compiler;
use super::json_schema::{Fault, JsonSchema, MOST_PATTERNS, Misread, Thoroughness, escaped};
use super::values::Expected;
use super::yaml::Node;

/// Most required fields of a report.
const MOST_FIELDS: usize = 10;

/// Most bytes of the data of a report, and of each of its fields.
const MOST_BYTES: usize = 256 << 10;

/// Unknown fields of a report that are named.
const MOST_FOREIGN: usize = 10;

const INSTEAD: &str = "write a JSON Schema of draft 2020-12";

/// The required content of a report besides its text.
#[derive(Clone, Debug)]
pub struct Contract {
    /// As written in the charter.
    written: Value,
    data: Option<JsonSchema>,
    meta: Vec<(String, JsonSchema)>,
}

/// The faults of a report, in words for a model: first missing parts, then wrong ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lacks {
    /// Fields by name, such as `meta.ticket`.
    pub missing: Vec<String>,
    pub wrong: Vec<String>,
}

impl Lacks {
    pub fn is_empty(&self) -> bool {
        self.missing.is_empty() && self.wrong.is_empty()
    }

    pub fn and(mut self, further: Self) -> Self {
        self.missing.extend(further.missing);
        self.wrong.extend(further.wrong);
        self
    }

    fn of(part: &str, faults: Vec<Fault>) -> Self {
        let mut lacks = Self::default();
        for Fault {
            place,
            missing,
            what,
        } in faults
        {
            match missing {
                Some(name) => lacks
                    .missing
                    .push(format!("{part}{}.{name}", place.replace('/', "."))),
                None => lacks
                    .wrong
                    .push(format!("{part}{}: {what}", place.replace('/', "."))),
            }
        }
        lacks
    }
}

impl Contract {
    /// Reads a contract that was compiled before and written as JSON; `None` if it does not compile.
    pub fn read(written: Value) -> Option<Self> {
        Self::compile(written).ok()
    }

    fn compile(written: Value) -> Result<Self, Misread> {
        let mut patterns = MOST_PATTERNS;
        let data = match written.get("schema") {
            None => None,
            Some(schema) => Some(compiled("/schema", schema, &mut patterns)?),
        };
        let fields = written.get("meta").and_then(Value::as_object);
        let fields = fields.into_iter().flatten().map(|(name, schema)| {
            let place = format!("/meta/{}", escaped(name));
            Ok((name.clone(), compiled(&place, schema, &mut patterns)?))
        });
        let meta = fields.collect::<Result<_, Misread>>()?;
        Ok(Self {
            written,
            data,
            meta,
        })
    }

    /// Returns whether it requires data besides a text.
    pub fn has_data(&self) -> bool {
        self.data.is_some()
    }

    /// Returns the faults of `data`; none if no data is required. For a worker process only: neither memory nor time
    /// are bounded.
    pub fn lacks_data(&self, data: Option<&Value>, looked_for: Thoroughness) -> Lacks {
        match (&self.data, data) {
            (None, _) => Lacks::default(),
            (Some(_), None) => Lacks {
                missing: vec!["data".to_owned()],
                wrong: Vec::new(),
            },
            (Some(schema), Some(data)) => judged("data", schema, data, looked_for),
        }
    }

    /// Returns the faults of the fields `meta`. For a worker process only: neither memory nor time are bounded.
    pub fn lacks_meta(&self, meta: &Map<String, Value>, looked_for: Thoroughness) -> Lacks {
        let known = |name: &String| self.meta.iter().any(|(known, _)| known == name);
        let mut lacks = Lacks::default();
        for (name, schema) in &self.meta {
            let part = format!("meta.{name}");
            let further = match meta.get(name) {
                None => Lacks {
                    missing: vec![part],
                    wrong: Vec::new(),
                },
                Some(value) => judged(&part, schema, value, looked_for),
            };
            lacks = lacks.and(further);
        }
        let foreign = meta.keys().filter(|name| !known(name)).take(MOST_FOREIGN);
        lacks.wrong.extend(foreign.map(|name| {
            let name = crate::text::one_line(name, 60);
            format!("meta.{name}: there is no such field")
        }));
        lacks
    }

    /// Returns the arguments of the tool that gives a report: all of them, or only the fields.
    pub fn parameters(&self, only_meta: bool) -> Value {
        let mut properties = Map::new();
        let mut required = Vec::new();
        if !only_meta {
            let text = json!({"type": "string", "description": "The report as people read it, in Markdown."});
            properties.insert("text".to_owned(), text);
            required.push(if self.has_data() { "data" } else { "text" });
        }
        if let Some(data) = self.data.as_ref().filter(|_| !only_meta) {
            properties.insert("data".to_owned(), data.value.clone());
        }
        if !self.meta.is_empty() {
            let names: Vec<&String> = self.meta.iter().map(|(name, _)| name).collect();
            let fields: Map<String, Value> = self
                .meta
                .iter()
                .map(|(name, schema)| (name.clone(), schema.value.clone()))
                .collect();
            let meta = json!({
                "type": "object",
                "properties": fields,
                "required": names,
                "additionalProperties": false,
            });
            properties.insert("meta".to_owned(), meta);
            required.push("meta");
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

impl PartialEq for Contract {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl Serialize for Contract {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.written.serialize(serializer)
    }
}

impl Compiler<'_> {
    pub(super) fn report(&mut self, value: &Node) -> Result<(), Expected> {
        const SHAPE: Expected =
            Expected("`{schema: …, meta: {name: schema}}`, one of them or both");
        let mut lines = Vec::new();
        for (key, part) in value.entries().map_err(|_| SHAPE)? {
            match key.text() {
                Ok("schema") => lines.push(("/schema".to_owned(), part.line)),
                Ok("meta") => lines.extend(fields(part)?),
                _ => return Err(SHAPE),
            }
        }
        if lines.is_empty() {
            return Err(SHAPE);
        }
        match Contract::compile(value.json()) {
            Ok(contract) => self.role.report = Some(contract),
            Err((place, message)) => {
                let of_place = lines.iter().filter(|(start, _)| place.starts_with(start));
                let line = of_place.max_by_key(|(start, _)| start.len());
                let line = line.map_or(value.line, |(_, line)| *line);
                self.doubt(line, "report", format!("{place}: {message}"), INSTEAD);
            }
        }
        Ok(())
    }
}

/// Returns the names of the fields, with their lines.
fn fields(meta: &Node) -> Result<Vec<(String, usize)>, Expected> {
    const SHAPE: Expected = Expected("1 to 10 names under `meta`, each with a schema");
    let entries = meta.entries().map_err(|_| SHAPE)?;
    if entries.is_empty() || entries.len() > MOST_FIELDS {
        return Err(SHAPE);
    }
    let fields = entries.iter().map(|(name, schema)| {
        let name = name.text().map_err(|_| SHAPE)?;
        Ok((format!("/meta/{}", escaped(name)), schema.line))
    });
    fields.collect()
}

fn compiled(place: &str, schema: &Value, patterns_left: &mut usize) -> Result<JsonSchema, Misread> {
    JsonSchema::compile(schema, patterns_left)
        .map_err(|(below, message)| (format!("{place}{below}"), message))
}

/// Returns the faults of `value`, one part of a report.
fn judged(part: &str, schema: &JsonSchema, value: &Value, looked_for: Thoroughness) -> Lacks {
    if value.to_string().len() > MOST_BYTES {
        wrong(format!("{part}: it has more than 256 KiB"))
    } else {
        Lacks::of(part, schema.faults(value, looked_for))
    }
}

fn wrong(what: String) -> Lacks {
    Lacks {
        missing: Vec::new(),
        wrong: vec![what],
    }
}
