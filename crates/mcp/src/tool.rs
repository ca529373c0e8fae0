//! The definition of a tool as a server sends it, checked and hashed.

use chorus_rpc::{members, text};
use chorus_text::json::refuse_double_keys;
use chorus_text::{is_hidden, one_line};
use serde_json::Value;
use serde_json::value::RawValue;

use super::schema::{self, SchemaError};
use super::{canonical, sha256};

/// Characters of a name.
const MAX_NAME: usize = 128;

/// Bytes of a whole definition.
const MAX_DEFINITION: usize = 256 << 10;

/// Characters of a name in a refusal.
const SHOWN: usize = 80;

/// A tool that may be offered.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// Its name for the server.
    pub name: String,
    pub title: Option<String>,
    /// Empty where the server gives none.
    pub description: String,
    /// The schema of its arguments: an object.
    pub input: Value,
    /// Whether the server says that it changes nothing. This is not checked.
    pub read_only: bool,
    /// Its whole definition in canonical JSON, unknown members included.
    pub definition: String,
    /// The hash of [`Tool::definition`].
    pub sha256: String,
}

/// A tool that is not used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its name as far as it can be shown.
    pub name: String,
    pub why: ToolError,
}

/// Why a tool is not used. The text follows the tool's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    #[error("is no object")]
    NoObject,
    #[error("has a definition of {0} bytes, more than {MAX_DEFINITION}")]
    TooLarge(usize),
    #[error("has a definition that cannot be read: {0}")]
    Unreadable(String),
    #[error("has no name")]
    NoName,
    #[error("has a name of more than {MAX_NAME} characters")]
    LongName,
    #[error("has a name with characters that cannot be seen")]
    HiddenName,
    #[error("has the name of an earlier tool")]
    Twice,
    #[error("has a `{0}` that is not text")]
    NoText(&'static str),
    #[error("has an input schema that {0}")]
    Input(SchemaError),
    #[error("has an output schema that {0}")]
    Output(SchemaError),
}

impl Tool {
    /// Reads one item of a list.
    ///
    /// # Errors
    ///
    /// Why it is refused.
    pub fn read(item: &RawValue) -> Result<Self, Refused> {
        let of = |why| Refused {
            name: shown_name(item),
            why,
        };
        let size = item.get().len();
        if size > MAX_DEFINITION {
            return Err(of(ToolError::TooLarge(size)));
        }
        refuse_double_keys(item.get()).map_err(|error| of(unreadable(&error)))?;
        let value = serde_json::from_str(item.get()).map_err(|error| of(unreadable(&error)))?;
        Self::of(&value).map_err(of)
    }

    /// Reads a stored definition again.
    ///
    /// # Errors
    ///
    /// Why it is refused.
    pub fn of(value: &Value) -> Result<Self, ToolError> {
        let Value::Object(members) = value else {
            return Err(ToolError::NoObject);
        };
        let name = members.get("name").and_then(Value::as_str);
        let name = name.filter(|name| !name.is_empty());
        let name = name.ok_or(ToolError::NoName)?.to_owned();
        check_name(&name)?;
        let said = |key: &'static str| match members.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(ToolError::NoText(key)),
        };
        let input = members.get("inputSchema").cloned().unwrap_or_default();
        schema::check_input(&input).map_err(ToolError::Input)?;
        if let Some(output) = members
            .get("outputSchema")
            .filter(|schema| !schema.is_null())
        {
            schema::check(output).map_err(ToolError::Output)?;
        }
        let hint = members
            .get("annotations")
            .and_then(|hints| hints.get("readOnlyHint"));
        let definition = canonical(value);
        Ok(Self {
            title: said("title")?,
            description: said("description")?.unwrap_or_default(),
            read_only: hint == Some(&Value::Bool(true)),
            input,
            name,
            sha256: sha256(&definition),
            definition,
        })
    }
}

fn check_name(name: &str) -> Result<(), ToolError> {
    if name.chars().count() > MAX_NAME {
        return Err(ToolError::LongName);
    }
    if name.chars().any(|c| c.is_control() || is_hidden(c)) {
        return Err(ToolError::HiddenName);
    }
    Ok(())
}

fn unreadable(error: &serde_json::Error) -> ToolError {
    ToolError::Unreadable(one_line(&error.to_string(), 200))
}

/// The name of an item that is refused, as far as there is one.
fn shown_name(item: &RawValue) -> String {
    let found = members(item, ["name"]).ok();
    let name = found.and_then(|[name]| text(name));
    let (name, _) = chorus_text::visible(&one_line(&name.unwrap_or_default(), SHOWN));
    name
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<Tool, Refused> {
        Tool::read(&RawValue::from_string(text.to_owned()).unwrap())
    }

    fn refusal(value: &Value) -> String {
        let refused = read(&value.to_string()).unwrap_err();
        format!("{} {}", refused.name, refused.why)
    }

    #[test]
    fn a_definition_is_hashed_with_all_that_it_has() {
        let tool = read(r#"{"name":"get","inputSchema":{"type":"object"},"x-y":1}"#).unwrap();
        let same =
            read(r#"{ "x-y": 1, "inputSchema": {"type": "object"}, "name": "get" }"#).unwrap();
        assert_eq!(tool, same);
        assert_eq!(
            tool.definition,
            r#"{"inputSchema":{"type":"object"},"name":"get","x-y":1}"#
        );
        let other = read(r#"{"name":"get","inputSchema":{"type":"object"},"x-y":2}"#).unwrap();
        assert_ne!(tool.sha256, other.sha256);
        assert!(!tool.read_only);
        let hinted = json!({"name": "a", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
        assert!(Tool::of(&hinted).unwrap().read_only);
    }

    #[test]
    fn a_stored_definition_is_read_as_the_one_it_was() {
        let tool =
            read(r#"{"name":"get","description":"x","inputSchema":{"type":"object"}}"#).unwrap();
        assert_eq!(
            Tool::of(&serde_json::from_str(&tool.definition).unwrap()).unwrap(),
            tool
        );
    }

    #[test]
    fn each_refusal_names_its_reason() {
        let object = json!({"type": "object"});
        for (definition, reason) in [
            (json!(7), " is no object"),
            (json!({"inputSchema": object}), " has no name"),
            (json!({"name": "", "inputSchema": object}), " has no name"),
            (
                json!({"name": "a"}),
                "a has an input schema that is not an object with `\"type\": \"object\"`",
            ),
            (
                json!({"name": "a\u{202e}b", "inputSchema": object}),
                "a\\u{202E}b has a name with characters that cannot be seen",
            ),
            (
                json!({"name": "a", "title": 1, "inputSchema": object}),
                "a has a `title` that is not text",
            ),
        ] {
            assert_eq!(refusal(&definition), reason);
        }
        let long = json!({"name": "n".repeat(129), "inputSchema": object});
        assert!(refusal(&long).ends_with("has a name of more than 128 characters"));
        let large = json!({"name": "a", "description": "d".repeat(300_000), "inputSchema": object});
        assert!(refusal(&large).contains("more than 262144"));
        let twice = read(r#"{"name":"a","name":"b","inputSchema":{"type":"object"}}"#).unwrap_err();
        assert!(matches!(twice.why, ToolError::Unreadable(_)));
    }

    #[test]
    fn depth_does_not_matter_to_memory_or_stack() {
        let deep = format!(
            r#"{{"name":"deep","inputSchema":{{"type":"object","x":{}{}}}}}"#,
            "[".repeat(50_000),
            "]".repeat(50_000)
        );
        let refused = read(&deep).unwrap_err();
        assert_eq!(refused.name, "deep");
        assert!(matches!(refused.why, ToolError::Unreadable(_)));
    }
}
