//! The slash commands as Discord is told of them.

use std::path::Path;

use chorus::discord::registered_commands;
use serde_json::Value;

/// One line for each command and each of its options.
fn lines(commands: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for command in commands.as_array().unwrap() {
        collect(command, "", &mut lines);
    }
    lines
}

fn collect(command: &Value, above: &str, lines: &mut Vec<String>) {
    let text = |key: &str| command[key].as_str().unwrap_or_default();
    let name = format!("{above}{}", text("name"));
    let options = command["options"].as_array().cloned().unwrap_or_default();
    let is_group = options
        .iter()
        .any(|option| matches!(option["type"].as_u64(), Some(1 | 2)));
    let needs = match command["default_member_permissions"].as_str() {
        Some(bits) => format!(" [needs {bits}]"),
        None => String::new(),
    };
    if command["type"] == 3 {
        return lines.push(format!("message command: {name}{needs}"));
    }
    lines.push(format!("/{name}{needs} — {}", text("description")));
    for option in &options {
        if is_group {
            collect(option, &format!("{name} "), lines);
            continue;
        }
        let mut line = format!(
            "    {} ({})",
            option["name"].as_str().unwrap(),
            kind(option)
        );
        for key in ["required", "autocomplete"] {
            if option[key].as_bool() == Some(true) {
                line.push_str(&format!(", {key}"));
            }
        }
        line.push_str(&format!(" — {}", option["description"].as_str().unwrap()));
        lines.push(line);
    }
}

fn kind(option: &Value) -> &'static str {
    match option["type"].as_u64() {
        Some(3) => "text",
        Some(4) => "number",
        Some(5) => "yes or no",
        Some(6) => "person",
        Some(8) => "role",
        Some(10) => "amount",
        Some(11) => "file",
        other => panic!("option type {other:?}"),
    }
}

#[test]
fn these_are_all_commands_with_their_options() {
    insta::assert_snapshot!(lines(&registered_commands()).join("\n"));
}

#[test]
fn each_command_has_its_line_in_the_documentation() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/commands.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut missing = Vec::new();
    for command in registered_commands().as_array().unwrap() {
        let name = command["name"].as_str().unwrap();
        let subs = command["options"].as_array().cloned().unwrap_or_default();
        let subs: Vec<_> = subs.iter().filter(|option| option["type"] == 1).collect();
        let names: Vec<String> = if subs.is_empty() {
            vec![name.to_owned()]
        } else {
            subs.iter()
                .map(|sub| format!("{name} {}", sub["name"].as_str().unwrap()))
                .collect()
        };
        let is_told = |name: &String| {
            page.contains(&format!("`/{name}`"))
                || page.contains(&format!("`/{name} "))
                || page.contains(&format!("| *{name}* |"))
        };
        missing.extend(names.into_iter().filter(|name| !is_told(name)));
    }
    assert_eq!(missing, Vec::<String>::new(), "not in docs/commands.md");
}

#[test]
fn what_discord_is_told_is_within_its_limits() {
    let commands = registered_commands();
    let commands = commands.as_array().unwrap();
    assert!(commands.len() <= 100);
    for command in commands {
        check(command);
    }
}

#[test]
fn whoever_chooses_a_value_sends_its_name() {
    fn choices(option: &Value, found: &mut Vec<(Value, Value)>) {
        for part in option["options"].as_array().into_iter().flatten() {
            choices(part, found);
        }
        let offered = option["choices"].as_array().into_iter().flatten();
        found.extend(offered.map(|choice| (choice["name"].clone(), choice["value"].clone())));
    }
    let mut found = Vec::new();
    for command in registered_commands().as_array().unwrap() {
        choices(command, &mut found);
    }
    for name in ["lightweight", "jsonl", "remove"] {
        assert!(found.iter().any(|(known, _)| known == name), "{name}");
    }
    for (name, value) in found {
        assert_eq!(value, name);
    }
}

fn check(command: &Value) {
    let name = command["name"].as_str().unwrap();
    assert!((1..=32).contains(&name.chars().count()), "{name}");
    if command["type"] == 3 {
        return;
    }
    let description = command["description"].as_str().unwrap();
    assert!(
        (1..=100).contains(&description.chars().count()),
        "{name}: {description}"
    );
    let options = command["options"].as_array().cloned().unwrap_or_default();
    assert!(options.len() <= 25);
    let required: Vec<bool> = options
        .iter()
        .map(|option| option["required"].as_bool().unwrap_or_default())
        .collect();
    assert!(
        required.is_sorted_by(|a, b| a >= b),
        "{name}: required options come first"
    );
    options.iter().for_each(check);
}
