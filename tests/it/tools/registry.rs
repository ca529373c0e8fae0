//! The list of tools, and the check of a call's arguments.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use chorus::domain::{CallId, ToolCall};
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
fn a_request_carries_the_core_tools_in_at_most_9900_bytes() {
    let toolset = Registry::standard().toolset(|_| true);
    let bytes: usize = toolset
        .schemas
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
                .to_string()
                .len()
        })
        .sum();
    assert!(
        bytes <= 9_900,
        "{bytes} bytes for {} tools",
        toolset.schemas.len()
    );
}

#[test]
fn the_core_is_told_in_full_and_the_shelf_by_name() {
    let toolset = Registry::standard().toolset(|_| true);
    let names: Vec<&str> = toolset
        .schemas
        .iter()
        .map(|tool| tool.name.as_str())
        .collect();
    assert_eq!(
        names.join(" "),
        "view create_file append_file str_replace str_replace_all insert_at replace_lines glob grep send_file schedule bash \
         run_concurrent run_background list_tasks read_task_output stop_task git_status git_commit git_diff git_log \
         tool_output ask_person self_edit_docs list_agents send_to_agent sub_agent web_fetch find_tools call_tool"
    );
    assert_snapshot!(toolset.shelf.block(), @"
    Further tools, whose arguments `find_tools` tells and which `call_tool` runs:
    add_process_hooks: watch a running task
    git_init: make the workspace a repository
    git_branch: list, make, delete branches
    git_checkout: switch branch or commit
    git_push: push a branch
    git_merge_request: open a pull request
    list_models: models you could run on
    self_edit_system_prompt: replace your system prompt
    self_edit_permissions: change your permission profile
    self_edit_model: change the model you use
    self_edit_web_search: turn web search on, off
    record_decision: record a decision of people
    read_agent_docs: read another agent's notes
    ");
    assert!(toolset.shelf.block().len() <= 2 << 10);
    for info in Registry::standard().infos() {
        let words = info
            .shelf
            .map_or(0, |words| words.split_whitespace().count());
        assert!(words <= 5, "{}: {words} words", info.name);
    }
    let none = Registry::standard().toolset(|info| info.shelf.is_none());
    assert_eq!(none.shelf.block(), "");
    let mut names = none.schemas.iter().map(|tool| tool.name.as_str());
    assert_eq!(
        names.next_back(),
        Some("web_fetch"),
        "nothing leads to an empty shelf"
    );
}

/// What a model writes around a call of a tool on the shelf, and what it is answered.
#[test]
fn a_call_through_call_tool_is_a_call_of_the_tool_it_names() {
    let registry = Registry::standard();
    let meant = |arguments: Value| {
        let call = ToolCall {
            id: CallId("1".into()),
            name: "call_tool".into(),
            arguments: arguments.as_object().unwrap().clone(),
        };
        let meant = call.meant();
        match registry.prepare(&meant.name, &meant.arguments) {
            Ok(prepared) => prepared.action.to_string(),
            Err(invalid) => invalid.to_string(),
        }
    };
    let push = json!({"remote": "origin", "branch": "main"});
    for arguments in [push.clone(), json!(push.to_string())] {
        let called = meant(json!({"name": "git_push", "arguments": arguments}));
        assert_eq!(called, "tool:git:push origin main");
    }
    let core = meant(json!({"name": "view", "arguments": {"path": "a"}}));
    assert_eq!(core, "tool:view:a");
    let found = meant(json!({"name": "find_tools", "arguments": {"query": "push"}}));
    assert_eq!(found, "tool:find_tools:push");
    assert_eq!(meant(json!({"name": "list_models"})), "tool:list_models:");
    assert_eq!(
        meant(json!({"name": " list_models ", "arguments": null})),
        "tool:list_models:"
    );

    let mut refused = String::new();
    let nested = json!({"name": "git_push", "arguments": push});
    for arguments in [
        json!({"name": "call_tool", "arguments": nested}),
        json!({"name": "git_psuh", "arguments": push}),
        json!({"name": "git_push", "arguments": {"remote": "origin"}}),
        json!({"name": "git_push", "arguments": ["origin"]}),
        json!({"name": "git_push", "arguments": "origin main"}),
        json!({"tool": "git_push"}),
        json!({"name": "", "arguments": {}}),
        json!({"name": 7}),
        json!({"name": "x".repeat(1 << 20), "arguments": {}}),
        json!({"name": "view", "arguments": "{".repeat(1 << 20)}),
    ] {
        refused.push_str(&meant(arguments));
        refused.push('\n');
    }
    assert_snapshot!(refused, @r#"
    call_tool cannot run: it cannot call itself; give the name of the tool that you want to run
    there is no tool `git_psuh`; did you mean `git_push`?
    git_push cannot run: `branch`: missing, expected a string. Its arguments: {"type":"object","properties":{"remote":{"type":"string"},"branch":{"type":"string"}},"required":["remote","branch"]}
    call_tool cannot run: `arguments`: expected an object, got a list. The arguments of that tool: {"type":"object","properties":{"remote":{"type":"string"},"branch":{"type":"string"}},"required":["remote","branch"]}
    call_tool cannot run: `arguments`: expected an object, got the string "origin main". The arguments of that tool: {"type":"object","properties":{"remote":{"type":"string"},"branch":{"type":"string"}},"required":["remote","branch"]}
    call_tool cannot run: `name`: missing, expected a string
    there is no tool ``; there are view, create_file, append_file, str_replace, str_replace_all, insert_at, replace_lines, glob, grep, send_file, schedule, bash, run_concurrent, run_background, list_tasks, read_task_output, stop_task, add_process_hooks, git_init, git_status, git_commit, git_branch, git_checkout, git_diff, git_log, git_push, git_merge_request, tool_output, ask_person, list_models, self_edit_system_prompt, self_edit_docs, self_edit_permissions, self_edit_model, self_edit_web_search, record_decision, list_agents, read_agent_docs, send_to_agent, sub_agent, web_fetch, find_tools
    call_tool cannot run: `name`: expected a string, got the number 7
    there is no tool `xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx`; there are view, create_file, append_file, str_replace, str_replace_all, insert_at, replace_lines, glob, grep, send_file, schedule, bash, run_concurrent, run_background, list_tasks, read_task_output, stop_task, add_process_hooks, git_init, git_status, git_commit, git_branch, git_checkout, git_diff, git_log, git_push, git_merge_request, tool_output, ask_person, list_models, self_edit_system_prompt, self_edit_docs, self_edit_permissions, self_edit_model, self_edit_web_search, record_decision, list_agents, read_agent_docs, send_to_agent, sub_agent, web_fetch, find_tools
    call_tool cannot run: `arguments`: expected an object, got the string "{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{…". The arguments of that tool: {"type":"object","properties":{"path":{"type":"string"},"offset":{"type":"integer","description":"First line, from 1."},"limit":{"type":"integer","description":"Lines (1000)."}},"required":["path"]}
    "#);
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
        "source": "a", "target": "b", "command": "true", "query": "push", "id": "task_001", "task_id": "task_001", "instructions": "i",
        "role": "explore", "prompt": "p", "text": "t", "action": "remind", "when": "at 18:00",
        "question": "q", "options": [{"label": "a"}, {"label": "b"}],
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
