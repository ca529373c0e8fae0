//! The list of tools, and the check of a call's arguments.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chorus::tools::Registry;
use insta::assert_snapshot;
use serde_json::{Map, Value, json};

fn refusal(name: &str, arguments: Value) -> String {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    Registry::standard()
        .prepare(name, &arguments)
        .unwrap_err()
        .to_string()
}

#[test]
fn every_tool_file_is_in_the_list_once() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tools");
    let list = fs::read_to_string(source.join("builtin.rs")).unwrap();
    for entry in fs::read_dir(source.join("builtin")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap_or_default();
        let is_tool = ["impl Tool for", "impl WriteFile for"];
        assert!(is_tool.iter().any(|one| text.contains(one)), "{path:?}");
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let mentions = list.matches(&format!("erased({stem}::")).count();
        assert_eq!(mentions, 1, "{stem} stands {mentions} times in the list");
    }
}

#[test]
fn every_tool_has_a_name_of_its_own() {
    let registry = Registry::standard();
    let names: Vec<&str> = registry.infos().map(|info| info.name).collect();
    let distinct: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), distinct.len());
}

#[test]
fn a_request_carries_all_tools_in_less_than_ten_kilobytes() {
    let schemas = Registry::standard().schemas(|_| true);
    let bytes: usize = schemas
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
                .to_string()
                .len()
        })
        .sum();
    assert!(
        bytes < 10 * 1024,
        "{bytes} bytes for {} tools",
        schemas.len()
    );
}

#[test]
fn an_unknown_tool_is_answered_with_the_nearest_name() {
    assert_snapshot!(refusal("tool_outputs", json!({})), @"there is no tool `tool_outputs`; did you mean `tool_output`?");
}

#[test]
fn all_problems_are_named_at_once() {
    assert_snapshot!(
        refusal("tool_output", json!({"handel": "out_00000000", "offset": "one", "limit": -3, "grep": ["x"]})),
        @r#"tool_output cannot run: `handle`: missing, expected a string (you sent `handel`); `offset`: expected a whole number, got the string "one"; `limit`: expected a whole number, 0 or more, got -3; `grep`: expected a string, got a list"#
    );
}

#[test]
fn keys_a_tool_does_not_have_never_reach_it() {
    let forged = json!({"handle": "out_00000000", "is_admin": true, "workspace": "/etc", "limit": 3.0, "grep": null});
    let Value::Object(forged) = forged else {
        unreachable!("it is an object")
    };
    let prepared = Registry::standard()
        .prepare("tool_output", &forged)
        .unwrap();
    assert_eq!(
        Value::Object(prepared.arguments),
        json!({"handle": "out_00000000", "limit": 3})
    );
}

#[test]
fn every_action_falls_in_the_group_its_tool_claims() {
    let arguments = json!({
        "path": "a/b.txt", "content": "c", "old_str": "o", "new_str": "n", "line": 1, "start": 1, "end": 1,
        "pattern": "p", "handle": "out_00000000",
        "new_prompt": "n", "new_profile": "locked", "new_model": "m", "enabled": true, "agent": "ada", "message": "m",
        "url": "https://example.org/", "remote": "origin", "branch": "main", "ref": "main", "title": "t", "description": "d",
        "source": "a", "target": "b", "command": "true", "id": "task_001", "task_id": "task_001", "instructions": "i",
    });
    let Value::Object(arguments) = arguments else {
        unreachable!("it is an object")
    };
    let registry = Registry::standard();
    for info in registry.infos() {
        let action = match registry.prepare(info.name, &arguments) {
            Ok(prepared) => prepared.action.to_string(),
            Err(problem) => panic!("add an argument for {}: {problem}", info.name),
        };
        let pattern = regex::Regex::new(&format!("^(?s:{})$", info.group.pattern())).unwrap();
        assert!(
            pattern.is_match(&action),
            "{action} is not in {:?}",
            info.group
        );
        let subject = format!("tool:{}", info.subject);
        assert!(
            action.starts_with(&subject),
            "{action} does not begin with {subject}"
        );
    }
}
