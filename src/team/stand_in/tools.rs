//! Finds a tool for commands among those that a request offers, and calls it by its own schema.

use serde_json::{Map, Value, json};

use crate::config::AsksBy;

/// Parts of names of tools that run commands.
const NAMES: [&str; 5] = ["bash", "shell", "exec", "command", "terminal"];

/// Parameters that hold a command.
const COMMANDS: [&str; 3] = ["command", "cmd", "script"];

/// Why a command needs more permissions.
const JUSTIFICATION: &str = "The check of Chorus.";

/// A call of a tool.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) kind: CallKind,
}

/// How a tool takes its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallKind {
    /// As JSON.
    Function,
    /// As a text, which `arguments` is then. Only the format of Responses has such tools.
    Text,
}

/// The tool of codex in whose JavaScript its other tools are called, and the one of these that runs commands.
const SCRIPTS: &str = "exec";
const SCRIPTED: &str = "exec_command";

/// Calls the first tool of `request` that runs commands.
pub(super) fn call(request: &Value, command: &str, asks_by: AsksBy) -> Option<Call> {
    let script = || has_scripts(request).then(|| script(command));
    function(request, command, asks_by).or_else(script)
}

/// Whether a request of codex offers commands in JavaScript. Its tools are then in the input, in groups.
fn has_scripts(request: &Value) -> bool {
    let input = request["input"].as_array().into_iter().flatten();
    let groups = input.filter_map(|item| item["tools"].as_array()).flatten();
    let mut tools = groups.flat_map(|tool| {
        let inner = tool["tools"].as_array().into_iter().flatten();
        inner.chain([tool])
    });
    tools.any(|tool| {
        let words = tool["description"].as_str().unwrap_or_default();
        tool["type"] == "custom" && tool["name"] == SCRIPTS && words.contains(SCRIPTED)
    })
}

/// A command in JavaScript, with escalated permissions: without them it fails before anybody is asked.
fn script(command: &str) -> Call {
    let arguments = json!({
        "cmd": command, "sandbox_permissions": "require_escalated", "justification": JUSTIFICATION,
    });
    Call {
        name: SCRIPTS.to_owned(),
        arguments: json!(format!("text(await tools.{SCRIPTED}({arguments}));")),
        kind: CallKind::Text,
    }
}

/// Calls the first tool that takes a command as JSON.
fn function(request: &Value, command: &str, asks_by: AsksBy) -> Option<Call> {
    offered(request).find_map(|(name, schema)| {
        let lower = name.to_lowercase();
        if !NAMES.iter().any(|part| lower.contains(part)) {
            return None;
        }
        let parameters = schema.get("properties")?.as_object()?;
        let key = COMMANDS.iter().find(|key| parameters.contains_key(**key))?;
        let mut arguments = Map::new();
        let is_list = parameters[*key]["type"] == "array";
        let value = if is_list {
            json!(["bash", "-lc", command])
        } else {
            json!(command)
        };
        arguments.insert((*key).to_owned(), value);
        if asks_by == AsksBy::Escalation {
            escalate(parameters, &mut arguments);
        }
        let required = schema["required"].as_array().into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            let kind = &parameters.get(name).unwrap_or(&Value::Null)["type"];
            arguments
                .entry(name.to_owned())
                .or_insert_with(|| filled(kind));
        }
        Some(Call {
            name,
            arguments: Value::Object(arguments),
            kind: CallKind::Function,
        })
    })
}

/// Requests escalated permissions, as a tool's parameters say how.
fn escalate(parameters: &Map<String, Value>, arguments: &mut Map<String, Value>) {
    for (name, value) in [
        ("sandbox_permissions", json!("require_escalated")),
        ("with_escalated_permissions", json!(true)),
        ("justification", json!(JUSTIFICATION)),
    ] {
        if parameters.contains_key(name) {
            arguments.insert(name.to_owned(), value);
        }
    }
}

/// A text that fits what a request wants: JSON by its schema where it has one, as programs of Gemini's ask before the first turn.
pub(super) fn text(request: &Value, words: &str) -> String {
    let config = &request["generationConfig"];
    let schema = config
        .get("responseJsonSchema")
        .or_else(|| config.get("responseSchema"));
    let Some(properties) = schema.and_then(|schema| schema["properties"].as_object()) else {
        return words.to_owned();
    };
    let fill = |(name, property): (&String, &Value)| {
        let kind = property["type"].as_str().unwrap_or_default().to_lowercase();
        let first = property["enum"]
            .as_array()
            .and_then(|words| words.first().cloned());
        let value = match kind.as_str() {
            "integer" | "number" => json!(1),
            _ => filled(&json!(kind)),
        };
        (name.clone(), first.unwrap_or(value))
    };
    Value::Object(properties.iter().map(fill).collect()).to_string()
}

/// A value of a kind for a parameter that must be there.
fn filled(kind: &Value) -> Value {
    match kind.as_str() {
        Some("boolean") => json!(false),
        Some("integer" | "number") => json!(10_000),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("Writes a file."),
    }
}

/// The tools of a request with their schemas, in each format.
fn offered(request: &Value) -> impl Iterator<Item = (String, &Value)> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools.flat_map(|tool| {
        let of_gemini = ["functionDeclarations", "function_declarations"]
            .into_iter()
            .filter_map(|key| tool[key].as_array())
            .flatten();
        let inner = tool.get("function").unwrap_or(tool);
        of_gemini.chain([inner]).filter_map(|tool| {
            let schema = ["input_schema", "parameters", "parametersJsonSchema"]
                .into_iter()
                .find_map(|key| tool.get(key))?;
            Some((tool["name"].as_str()?.to_owned(), schema))
        })
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_tool_for_commands_is_called_by_its_schema() {
        let text = json!({"type": "object", "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
            "required": ["command", "description"]});
        let words = json!({"type": "object", "properties": {"command": {"type": "array"}, "with_escalated_permissions": {"type": "boolean"},
            "justification": {"type": "string"}}, "required": ["command"]});
        let other = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        for tools in [
            json!([{"name": "Read", "input_schema": other}, {"name": "Bash", "input_schema": text}]),
            json!([{"type": "function", "function": {"name": "bash", "parameters": text}}]),
            json!([{"functionDeclarations": [{"name": "read_file", "parameters": other}, {"name": "run_shell_command", "parametersJsonSchema": text}]}]),
        ] {
            let found = call(&json!({ "tools": tools }), "ls", AsksBy::Itself).unwrap();
            assert_eq!(
                found.arguments,
                json!({"command": "ls", "description": "Writes a file."})
            );
        }
        let codex = json!({"tools": [{"type": "web_search"}, {"type": "function", "name": "shell", "parameters": words}]});
        let found = call(&codex, "ls", AsksBy::Escalation).unwrap();
        assert_eq!(
            found.arguments,
            json!({"command": ["bash", "-lc", "ls"], "with_escalated_permissions": true, "justification": "The check of Chorus."})
        );
        assert_eq!(
            call(&codex, "ls", AsksBy::Itself).unwrap().arguments,
            json!({"command": ["bash", "-lc", "ls"]})
        );
    }

    #[test]
    fn json_is_answered_where_it_is_wanted() {
        assert_eq!(text(&json!({}), "Done."), "Done.");
        let schema = json!({"properties": {"reason": {"type": "STRING"}, "score": {"type": "INTEGER"}, "model": {"enum": ["flash", "pro"]}}});
        let request = json!({"generationConfig": {"responseJsonSchema": schema}});
        assert_eq!(
            text(&request, "Done."),
            r#"{"reason":"Writes a file.","score":1,"model":"flash"}"#
        );
    }

    #[test]
    fn codex_is_given_a_command_in_javascript() {
        let exec = json!({"type": "custom", "name": "exec", "description": "await tools.exec_command(...)"});
        let group = json!({"type": "namespace", "name": "functions", "tools": [exec]});
        let request =
            json!({"input": [{"type": "additional_tools", "tools": [group]}, {"type": "message"}]});
        let found = call(&request, "ls", AsksBy::Escalation).unwrap();
        assert_eq!((found.name.as_str(), found.kind), ("exec", CallKind::Text));
        let script = found.arguments.as_str().unwrap();
        assert!(script.starts_with(r#"text(await tools.exec_command({"cmd":"ls","sandbox_permissions":"require_escalated""#), "{script}");
    }

    #[test]
    fn without_such_a_tool_there_is_no_call() {
        for request in [
            json!({}),
            json!({"tools": "x"}),
            json!({"tools": [{"name": "Bash"}, {"name": "Bash", "input_schema": {}}, 7]}),
            json!({"tools": [{"name": "Read", "input_schema": {"properties": {"command": {}}}}]}),
        ] {
            assert_eq!(call(&request, "ls", AsksBy::Itself), None, "{request}");
        }
    }
}
