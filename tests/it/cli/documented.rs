//! Every command and every configuration key is documented, and what is documented is there.

use std::collections::BTreeSet;
use std::fs;

use chorus::config::effective::KEYS;
use chorus::config::{Config, Right};
use chorus::tools::Registry;
use chorus::{cli, config};
use serde_json::Value;

fn page(name: &str) -> String {
    fs::read_to_string(name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_command_is_documented_and_has_an_example() {
    let page = page("docs/operations/commands.md");
    for command in cli::command().get_subcommands() {
        let name = command.get_name();
        if name == "help" {
            continue;
        }
        assert!(
            page.contains(&format!("`chorus {name}")),
            "commands.md lacks chorus {name}"
        );
        assert!(
            command.get_about().is_some(),
            "chorus {name} does not say what it does"
        );
        let help = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        assert!(help.starts_with("Example"), "chorus {name} has no example");
    }
}

#[test]
fn every_documented_command_is_there() {
    let commands = cli::command();
    for line in page("docs/operations/commands.md").lines() {
        let Some(rest) = line.strip_prefix("| `chorus ") else {
            continue;
        };
        let name = rest.split(['`', ' ']).next().unwrap();
        assert!(
            commands.find_subcommand(name).is_some(),
            "chorus {name} is documented and not there"
        );
    }
}

#[test]
fn every_key_is_documented_and_every_documented_key_is_there() {
    let page = page("docs/operations/configuration.md");
    let schema = config::schema();
    let known = schema.get("properties").unwrap().as_object().unwrap();
    for key in known.keys().filter(|key| *key != "$schema") {
        assert!(
            page.contains(&format!("| `{key}` |")),
            "configuration.md lacks `{key}`"
        );
    }
    let (keys, _) = page.split_once("## Environment").unwrap();
    for line in keys.lines().filter_map(|line| line.strip_prefix("| `")) {
        let key = line.split('`').next().unwrap();
        assert!(
            known.contains_key(key),
            "`{key}` is documented and not there"
        );
    }
}

#[test]
fn a_tool_needs_what_the_command_of_the_same_effect_needs() {
    let permissions = page("docs/permissions.md");
    let (_, table) = permissions
        .split_once("## Tools and the commands of the same effect")
        .unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let rows: BTreeSet<(String, String, String)> = table
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.split('|').map(str::trim).collect();
            let name = |cell: &str| cell.trim_matches('`').to_owned();
            (name(cells[1]), name(cells[2]), cells[3].to_owned())
        })
        .collect();
    let documented: BTreeSet<(String, String)> = rows
        .iter()
        .map(|(tool, command, _)| (tool.clone(), command.clone()))
        .collect();
    let tools = Registry::standard();
    let known: BTreeSet<(String, String)> = tools
        .infos()
        .filter_map(|tool| Some((tool.name.to_owned(), tool.command?.to_owned())))
        .collect();
    assert_eq!(documented, known);

    let commands = page("docs/commands.md");
    for (tool, command, needs) in rows {
        let begins = [format!("| `{command}`"), format!("| `{command} ")];
        let row = commands
            .lines()
            .find(|line| begins.iter().any(|begin| line.starts_with(begin)));
        let row = row.unwrap_or_else(|| panic!("commands.md lacks {command}"));
        let needed = row.split('|').nth(2).unwrap().trim();
        if needed != "–" {
            let info = tools.infos().find(|info| info.name == tool).unwrap();
            assert!(
                needs.contains(needed),
                "{tool}: {needs}, and {command}: {needed}"
            );
            assert!(info.by_people, "{tool} does not ask who is behind its turn");
        }
    }
}

/// How a table shows a default: nothing where it has parts of its own.
fn default_cell(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Object(parts) if !parts.is_empty() => String::new(),
        value => format!("`{value}`"),
    }
}

#[test]
fn the_documented_defaults_are_those_in_force() {
    let page = page("docs/operations/configuration.md");
    let defaults = serde_json::to_value(Config::default()).unwrap();
    for (key, value) in defaults.as_object().unwrap() {
        let row = page
            .lines()
            .find_map(|line| line.strip_prefix(&format!("| `{key}` | ")));
        let cell = row.unwrap().split('|').next().unwrap().trim();
        assert_eq!(cell, default_cell(value), "{key}");
    }
}

#[test]
fn the_documentation_names_the_keys_that_wait_for_the_next_start() {
    let page = page("docs/operations/configuration.md");
    let (_, after) = page.split_once("These wait for the next start").unwrap();
    let (listed, _) = after.split_once(".\n").unwrap();
    let mut documented: Vec<&str> = listed.split('`').skip(1).step_by(2).collect();
    documented.sort_unstable();
    let mut waiting = config::keys_at_start();
    waiting.sort_unstable();
    assert_eq!(documented, waiting);
}

#[test]
fn the_keys_of_agents_are_documented_as_their_table_says() {
    let page = page("docs/commands.md");
    let (_, after) = page.split_once("Keys of `/agent config`:\n\n").unwrap();
    let (table, _) = after.split_once("\n\n").unwrap();
    let rows = config::agent_keys().map(|key| {
        let right = match key.agent.unwrap() {
            Right::Command => "–",
            Right::ForValue => "what the value gives",
            Right::GrantOpen => "the right to grant `open`",
            Right::GrantOwnProfile => "the right to grant the agent's profile",
        };
        format!("| `{key}` | {} | {right} |", key.help.trim())
    });
    let head = [
        "| key | what it decides | to set it, besides Manage Channels |",
        "|---|---|---|",
    ];
    let expected: Vec<String> = head.map(str::to_owned).into_iter().chain(rows).collect();
    assert_eq!(
        table,
        expected.join("\n"),
        "docs/commands.md should say:\n{}",
        expected.join("\n")
    );
}

#[test]
fn the_decision_on_keys_that_widen_says_what_each_key_needs() {
    let page = page("docs/decisions/0106-keys-that-widen.md");
    for key in config::agent_keys() {
        let rows = page.lines().filter(|line| line.starts_with("| `"));
        let mut cells = rows.map(|row| row.split(" | ").collect::<Vec<_>>());
        let row = cells.find(|cells| cells[0].contains(&format!("`{key}`")));
        let needs = row.unwrap_or_else(|| panic!("0106 lacks `{key}`"))[1];
        let expected = match key.agent.unwrap() {
            Right::Command => "Manage Channels",
            Right::ForValue | Right::GrantOpen => "the right to grant ",
            Right::GrantOwnProfile => "the right to grant the agent's own profile",
        };
        assert!(needs.starts_with(expected), "{key}: {needs}");
    }
    let (_, servers) = page.split_once("Of the server's settings, ").unwrap();
    let (servers, _) = servers.split_once(" need the same").unwrap();
    let named: BTreeSet<&str> = servers.split('`').skip(1).step_by(2).collect();
    let wide = KEYS
        .iter()
        .filter(|key| key.server == Some(Right::GrantOpen));
    assert_eq!(named, wide.map(|key| key.name).collect());
}

#[test]
fn links_between_pages_lead_somewhere() {
    let mut pages: Vec<std::path::PathBuf> = [
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
    ]
    .map(Into::into)
    .into();
    let mut folders = vec![std::path::PathBuf::from("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        // What stands in code is shown, and leads nowhere.
        let text: String = text.split('`').step_by(2).collect();
        for link in text.split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            if target.is_empty() || target.contains("://") || target.contains(' ') {
                continue;
            }
            let path = page.parent().unwrap().join(target);
            assert!(path.exists(), "{}: {target} is not there", page.display());
        }
    }
}
