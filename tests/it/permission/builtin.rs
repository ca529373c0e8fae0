//! The decision table of the four built-in profiles.

use chorus::permission::{Action, Decision, Profile};

/// Decisions of one action under `open`, `guarded`, `standard` and `locked`, as `a`llow, as`k` or `d`eny.
const TABLE: &[(&str, &str)] = &[
    ("tool:view:src/main.rs", "aaaa"),
    ("tool:view:.", "aaaa"),
    ("tool:glob:.", "aaaa"),
    ("tool:grep:src", "aaaa"),
    ("tool:create_file:src/a.rs", "aaad"),
    ("tool:append_file:notes.md", "aaad"),
    ("tool:str_replace:a", "aaad"),
    ("tool:str_replace_all:a", "aaad"),
    ("tool:insert_at:a", "aaad"),
    ("tool:replace_lines:a", "aaad"),
    ("tool:send_file:a.png", "aaad"),
    ("tool:git:init", "aaad"),
    ("tool:git:status", "aaad"),
    ("tool:git:commit", "aaad"),
    ("tool:git:branch feature", "aaad"),
    ("tool:git:checkout main", "aaad"),
    ("tool:git:diff", "aaad"),
    ("tool:git:log", "aaad"),
    ("tool:git:push origin main", "adkd"),
    ("tool:git: push origin main", "adkd"),
    ("tool:git:\tpush  origin main", "adkd"),
    ("tool:git:merge_request main", "adkd"),
    ("tool:git:pushy", "aadd"),
    ("tool:self_edit:docs:notes.md", "aaad"),
    ("tool:self_edit:system_prompt", "aakd"),
    ("tool:self_edit:permissions:open", "aakd"),
    ("tool:self_edit:permissions:custom", "aakd"),
    ("tool:self_edit:model:x", "aakd"),
    ("tool:self_edit:web_search:on", "aakd"),
    ("tool:list_models:", "aaaa"),
    ("tool:list_tasks:", "aaaa"),
    ("tool:read_task_output:task_001", "aaaa"),
    ("tool:tool_output:out_1", "aaaa"),
    ("tool:agent_comm:list", "aaad"),
    ("tool:agent_comm:read_docs bob", "aaad"),
    ("tool:agent_comm:send bob", "aaad"),
    ("tool:stop_task:task_001", "aaad"),
    ("tool:add_process_hooks:task_001", "aakd"),
    ("tool:web_fetch:https://example.org/", "aakd"),
    ("tool:web_search:rust", "aaad"),
    ("tool:claude_code:fix it", "aakd"),
    ("tool:sub_agent:fix it", "aaad"),
    (r#"tool:mcp:read tracker get_issue {"number":1}"#, "aaad"),
    (
        r#"tool:mcp:write tracker create_issue {"title":"a"}"#,
        "adkd",
    ),
    ("tool:mcp:readtracker", "aadd"),
    ("tool:nonsense:x", "aadd"),
];

fn letter(decision: Decision) -> char {
    match decision {
        Decision::Allow => 'a',
        Decision::Ask => 'k',
        Decision::Deny => 'd',
    }
}

#[test]
fn every_action_is_decided_as_the_table_says() {
    let profiles =
        ["open", "guarded", "standard", "locked"].map(|name| Profile::builtin(name).unwrap());
    for (text, expected) in TABLE {
        let action = Action::parse(text).unwrap();
        let decided: String = profiles
            .iter()
            .map(|profile| letter(profile.decide(&action, &[]).decision))
            .collect();
        assert_eq!(decided, *expected, "{text}");
    }
}

#[test]
fn tools_that_a_profile_always_denies_are_known() {
    let hidden =
        |profile: &str, subject: &str| Profile::builtin(profile).unwrap().denies_all(subject);
    for (profile, subject, expected) in [
        ("locked", "bash", true),
        ("locked", "view", false),
        ("locked", "create_file", true),
        ("locked", "git:status", true),
        ("standard", "bash", false),
        ("standard", "git:push", false),
        ("standard", "self_edit:docs", false),
        ("guarded", "git:push", true),
        ("guarded", "git:merge_request", true),
        ("guarded", "git:status", false),
        ("guarded", "bash", false),
        ("open", "bash", false),
    ] {
        assert_eq!(hidden(profile, subject), expected, "{profile} {subject}");
    }
}

#[test]
fn only_a_command_of_a_shell_is_looked_at_for_what_ruins_the_machine() {
    assert!(Action::shell("bash", "rm -rf /").destructive().is_some());
    assert_eq!(Action::new("view", "rm -rf /").destructive(), None);
}

#[test]
fn always_allow_covers_a_tool_of_a_server_with_any_arguments() {
    let standard = Profile::builtin("standard").unwrap();
    let kept = ["tool:mcp:write tracker create_issue".to_owned()];
    for (text, expected) in [
        (r#"tool:mcp:write tracker create_issue {"title":"a"}"#, 'a'),
        (r#"tool:mcp:write tracker create_issues {"title":"a"}"#, 'k'),
        (r#"tool:mcp:write other create_issue {"title":"a"}"#, 'k'),
    ] {
        let action = Action::parse(text).unwrap();
        assert_eq!(
            letter(standard.decide(&action, &kept).decision),
            expected,
            "{text}"
        );
    }
    let guarded = Profile::builtin("guarded").unwrap();
    let action = Action::parse("tool:mcp:write tracker create_issue {}").unwrap();
    assert_eq!(letter(guarded.decide(&action, &kept).decision), 'd');
    assert!(guarded.denies_each("mcp:write", "write tracker create_issue"));
    assert!(!guarded.denies_each("mcp:read", "read tracker get_issue"));
    let locked = Profile::builtin("locked").unwrap();
    assert!(locked.denies_each("mcp:read", "read tracker get_issue"));
}
