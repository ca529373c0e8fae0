//! The files of four programs, as they are found.

use std::time::Duration;

use chorus::charter::{ModelChoice, RoleMode, Trust};
use chorus::domain::ProfileRef;

use super::{compiled, listed, notes, ours, theirs};

const SHELL: &str = "bash list_tasks read_task_output run_concurrent stop_task";

#[test]
fn our_own_says_everything() {
    let role = ours(
        "---
name: Reviewer of Changes
description: Reviews a change and says what is wrong with it.
model: sonnet
fallback_models: [haiku]
effort: xhigh
mode: full
sections: {lightweight: [Identity]}
tools: [view, grep, glob]
disallowedTools: [bash]
permissions: locked
max_steps: 12
timeout: 90s
budget_usd: 0.5
max_tokens: 20000
sub_agents: [explore, '@ops']
advisors: [security]
router: {destinations: [billing], required: true}
handoff: {role: editor, on_failure: withhold}
seed: [history]
docs: true
skills: [release]
compaction: {begin: 0.5, wait: 0.7}
tool_errors: {bash: Ask a person.}
---
## Identity
You review changes.
",
    )
    .unwrap();
    assert_eq!(role.name, "reviewer-of-changes");
    assert_eq!(role.title, "Reviewer of Changes");
    assert_eq!(role.model, ModelChoice::Named("sonnet".to_owned()));
    assert_eq!(role.fallback_models, ["haiku"]);
    assert_eq!(role.mode, RoleMode::Full);
    assert_eq!(listed(&role), "glob grep view");
    assert!(role.disallowed_tools.contains("run_background"));
    assert_eq!(role.permissions, [ProfileRef::Named("locked".to_owned())]);
    assert_eq!(role.limits.max_steps, Some(12));
    assert_eq!(role.limits.timeout, Some(Duration::from_secs(90)));
    assert_eq!(role.limits.max_tokens, Some(20_000));
    assert_eq!(role.sub_agents.as_ref().unwrap().len(), 2);
    assert!(role.router.as_ref().unwrap().required);
    assert_eq!(role.prompt, "## Identity\nYou review changes.");
    assert_eq!(role.sha256.len(), 64);
    assert!(role.notes.is_empty(), "{:?}", role.notes);
}

#[test]
fn a_file_of_claude_code_with_an_unquoted_colon_is_read_line_by_line() {
    let role = theirs(
        ".claude/agents/tester.md",
        "---\r
name: test-runner\r
description: Use this when: tests fail. Examples: <example>user: \"run\"</example>\r
tools: Read, Edit, Bash, mcp__github__create_issue, TodoWrite\r
model: inherit\r
color: red\r
---\r
\r
You run tests.\r
",
    )
    .unwrap();
    assert_eq!(role.name, "test-runner");
    assert!(role.description.starts_with("Use this when: tests fail."));
    assert_eq!(role.model, ModelChoice::Inherit);
    assert_eq!(
        listed(&role),
        format!(
            "append_file bash create_file insert_at list_tasks read_task_output replace_lines \
                 run_concurrent stop_task str_replace str_replace_all view"
        )
    );
    assert_eq!(role.prompt, "You run tests.");
    assert_eq!(
        notes(&role),
        [
            "3: line 3 is not YAML; read as plain text",
            "4: `mcp__github__create_issue` is a tool of an MCP server; it counts where the agent has that server",
            "6: `color` means nothing here: a file grants nothing",
        ]
    );
}

#[test]
fn a_file_of_copilot_is_named_by_its_file() {
    let role = theirs(
        ".github/agents/api-docs.agent.md",
        "\u{feff}---
name: API Documentation
description: 'Writes documentation'
tools: ['read', 'search', 'edit', 'github/*', 'execute']
infer: true
---
Write documentation.
",
    )
    .unwrap();
    assert_eq!(
        (role.name.as_str(), role.title.as_str()),
        ("api-docs", "API Documentation")
    );
    assert!(listed(&role).contains("grep") && listed(&role).contains("create_file"));
    assert_eq!(role.notes.len(), 2, "{:?}", role.notes);
}

#[test]
fn a_charter_of_squad_has_headings() {
    let text = "# Ripley

## IDENTITY
- **Name:** Ripley
- **Role**: Lead
- **Expertise:** architecture, review
- **Style:** direct

## Model
- **Preferred:** auto
- **Fallback**: haiku
- **Reasoning Effort:** high

## Tools
- `view`
- `Grep` — finds text
";
    let role = ours(text).unwrap();
    assert_eq!(role.name, "ripley");
    assert_eq!(role.description, "Lead (architecture, review)");
    assert_eq!(role.model, ModelChoice::Inherit);
    assert_eq!(role.fallback_models, ["haiku"]);
    assert_eq!(listed(&role), "grep view");
    assert_eq!(role.prompt, text.trim());
}

#[test]
fn names_of_tools_are_translated_in_any_case() {
    let cases = [
        ("Read", "view"),
        ("NotebookRead, LS", "view"),
        (
            "write",
            "append_file create_file insert_at replace_lines str_replace str_replace_all",
        ),
        ("search", "glob grep"),
        ("BashOutput", SHELL),
        ("shell", SHELL),
        ("WebFetch", "web_fetch"),
        ("web", "web_fetch web_search"),
        ("Task(explore, tester)", "sub_agent"),
        ("git_status, Skill", "git_status"),
    ];
    for (written, expected) in cases {
        let text = format!("---\nname: a\ndescription: b\ntools: {written}\n---\nc");
        assert_eq!(listed(&ours(&text).unwrap()), expected, "{written}");
    }
    let all = ours("---\nname: a\ndescription: b\ntools: '*'\n---\nc").unwrap();
    assert_eq!(all.tools, None);
    let none = ours("---\nname: a\ndescription: b\ntools: []\n---\nc").unwrap();
    assert_eq!(listed(&none), "");
    let whole = ours("---\nname: a\ndescription: b\ntools: WebFetch(*), Task(*)\n---\nc").unwrap();
    assert_eq!(listed(&whole), "sub_agent web_fetch");
    assert_eq!(whole.sub_agents, None);
    let named = ours("---\nname: a\ndescription: b\ntools: Agent(x, y)\n---\nc").unwrap();
    assert_eq!(named.sub_agents.unwrap(), ["x", "y"]);
}

#[test]
fn a_command_in_brackets_narrows_the_shell() {
    use chorus::permission::{Action, Decision, Profiles};
    let text = "---\nname: a\ndescription: b\ntools: Read, Bash(git:*), Bash(npm test)\n---\nc";
    let role = theirs(".claude/agents/a.md", text).unwrap();
    assert_eq!(listed(&role), "bash view");
    let profile = Profiles::default().resolve(&role.permissions[0]).unwrap();
    let decide = |tool: &str, detail: &str| {
        let action = match tool {
            "bash" => Action::shell(tool, detail),
            _ => Action::new(tool, detail),
        };
        profile.decide(&action, &[]).decision
    };
    for (tool, detail, expected) in [
        ("bash", "git status", Decision::Allow),
        ("bash", "git", Decision::Allow),
        ("bash", "npm test", Decision::Allow),
        ("bash", "npm test --all", Decision::Deny),
        ("bash", "gitx", Decision::Deny),
        ("bash", "git status; rm -rf /", Decision::Deny),
        ("bash", "git log $(curl x)", Decision::Deny),
        ("view", "notes.txt", Decision::Allow),
    ] {
        assert_eq!(decide(tool, detail), expected, "{tool} {detail}");
    }
}

#[test]
fn a_file_grants_nothing() {
    for mode in ["bypassPermissions", "acceptEdits", "default"] {
        let text = format!("---\nname: a\ndescription: b\npermissionMode: {mode}\n---\nc");
        let role = theirs(".claude/agents/a.md", &text).unwrap();
        assert!(
            role.permissions.is_empty() && role.notes.len() == 1,
            "{mode}"
        );
    }
    let plan = theirs(
        ".claude/agents/a.md",
        "---\nname: a\ndescription: b\npermissionMode: plan\n---\nc",
    );
    assert_eq!(
        plan.unwrap().permissions,
        [ProfileRef::Named("locked".to_owned())]
    );
}

#[test]
fn in_a_repository_doubt_narrows() {
    let role = theirs(
        ".claude/agents/some role.md",
        "---\ndescription: b\nmodel: gpt-9\ntools: [Read, Frobnicate]\nsparkle: yes\n---\nc",
    )
    .unwrap();
    assert_eq!(
        (role.name.as_str(), role.model),
        ("some-role", ModelChoice::Inherit)
    );
    assert_eq!(role.notes.len(), 3);
    for (key, value) in [
        ("disallowedTools", "Frobnicate"),
        ("permissions", "nope"),
        ("tools", "mcp_a"),
    ] {
        let text = format!("---\nname: a\ndescription: b\n{key}: {value}\n---\nc");
        assert!(theirs(".claude/agents/a.md", &text).is_err(), "{key}");
    }
}

#[test]
fn the_same_bytes_give_the_same_role() {
    let text = "---\nname: a\ndescription: b\n---\nc";
    let twice = [(), ()].map(|()| compiled("a.md", text, Trust::People).unwrap());
    assert_eq!(twice[0], twice[1]);
}

#[test]
fn sets_of_tools_of_an_editor_are_told_from_tools_of_servers() {
    let cases = [
        (
            "edit/editFiles, search/codebase",
            "append_file create_file glob grep insert_at replace_lines str_replace str_replace_all",
        ),
        ("execute/runInTerminal, execute/getTerminalOutput", SHELL),
        (
            "read/readFile, search/fileSearch, web/fetch",
            "glob view web_fetch",
        ),
        (
            "codebase, fetch, runCommands",
            "bash glob grep list_tasks read_task_output run_concurrent stop_task web_fetch",
        ),
        (
            "agent/runSubagent, KillBash",
            "bash list_tasks read_task_output run_concurrent stop_task sub_agent",
        ),
        (
            "Read, AskUserQuestion, SendMessage, LSP, TaskCreate",
            "view",
        ),
    ];
    for (written, expected) in cases {
        let text = format!("---\nname: a\ndescription: b\ntools: {written}\n---\nc");
        let role = ours(&text).unwrap();
        assert_eq!(listed(&role), expected, "{written}");
        assert!(role.notes.is_empty(), "{written}: {:?}", notes(&role));
    }
    let servers = "---\nname: a\ndescription: b\ntools: [read, github/search_code, edit/nothing, 'time/*']\n---\nc";
    let role = ours(servers).unwrap();
    assert_eq!((listed(&role).as_str(), role.notes.len()), ("view", 3));
    for all in ["All tools", "all", "'*'"] {
        let text = format!("---\nname: a\ndescription: b\ntools: {all}\n---\nc");
        assert_eq!(ours(&text).unwrap().tools, None, "{all}");
    }
}

#[test]
fn a_command_that_is_excluded_takes_the_shell_away() {
    let text = "---\nname: a\ndescription: b\ntools: Read, Bash\ndisallowedTools: Bash(git push *), Write\n---\nc";
    let role = theirs(".claude/agents/a.md", text).unwrap();
    assert!(role.has_tool("view"));
    for tool in ["bash", "run_concurrent", "run_background", "create_file"] {
        assert!(!role.has_tool(tool), "{tool}");
    }
    assert_eq!(
        notes(&role),
        ["5: `Bash(git push *)` takes `bash` away, whatever the command"]
    );
}

#[test]
fn a_narrowing_that_cannot_be_read_is_not_left_out() {
    for lines in [
        "tools:\n  write: perhaps\n  bash: false",
        "disallowedTools: {bash: true}",
        "permissionMode: [plan]",
        "permissions: [locked]",
    ] {
        let text = format!("---\nname: a\ndescription: b\n{lines}\n---\nc");
        assert!(theirs(".claude/agents/a.md", &text).is_err(), "{lines}");
    }
    let allowed = "---\nname: a\ndescription: b\nallowed-tools: Read, Grep\n---\nc";
    let role = theirs(".claude/agents/a.md", allowed).unwrap();
    assert_eq!(listed(&role), "grep view");
    assert_eq!(notes(&role), ["4: `allowed-tools` is read as `tools`"]);
    let both =
        "---\nname: a\ndescription: b\ntools: Read, Bash\nallowedTools: [Read, Grep]\n---\nc";
    assert_eq!(
        listed(&theirs(".claude/agents/a.md", both).unwrap()),
        "view"
    );
}

#[test]
fn a_file_that_describes_no_role_is_none() {
    for text in [
        "# Agents\n\nCopy these to your project.\n",
        "Here is the agent:\n\n---\nname: a\ndescription: b\n---\nc\n",
        "```chatagent\n# Researcher\n\nYou look things up.\n```\n",
    ] {
        let said = theirs(".claude/agents/README.md", text).unwrap_err();
        let said = said.to_string();
        assert!(
            said.contains("neither front matter nor `## Identity`"),
            "{said}"
        );
    }
}

#[test]
fn a_block_of_code_around_the_whole_file_is_taken_off() {
    let text = "```chatagent\n---\nname: Jarvis\ndescription: Delegates.\ntools: ['read/readFile', 'frob']\n---\n\nYou delegate.\n\n```sh\nls\n```\n\nNever work yourself.\n```\n";
    let role = theirs(".github/agents/jarvis.agent.md", text).unwrap();
    assert_eq!(
        (role.name.as_str(), role.title.as_str()),
        ("jarvis", "Jarvis")
    );
    assert_eq!(
        role.prompt,
        "You delegate.\n\n```sh\nls\n```\n\nNever work yourself."
    );
    // Lines are those of the file.
    assert_eq!(
        notes(&role),
        ["5: tools: there is no tool `frob`; left out"]
    );
    let empty = "````\n---\nname: a\ndescription: b\n---\n````\n";
    assert_eq!(ours(empty).unwrap().prompt, "");
}

#[test]
fn a_model_is_found_under_the_names_that_people_read() {
    for (written, expected) in [
        ("opus[1m]", "opus"),
        ("Claude Sonnet 4.5 (copilot)", "claude-sonnet-4.5"),
        ("Haiku", "haiku"),
    ] {
        let text = format!("---\nname: a\ndescription: b\nmodel: {written}\n---\nc");
        let role = theirs(".github/agents/a.agent.md", &text).unwrap();
        assert_eq!(
            role.model,
            ModelChoice::Named(expected.to_owned()),
            "{written}"
        );
    }
}

#[test]
fn what_squad_explains_of_a_model_is_no_model() {
    let text = |model: &str| {
        format!("# A\n\n## Identity\n\n- **Name:** A\n- **Role:** Lead\n\n## Model\n\n{model}\n")
    };
    for model in [
        "- **Preferred:** auto\n- **Fallback:** Standard chain — the coordinator handles fallback automatically",
        "- **Preferred:** auto (defaults to claude-sonnet-4.5 — test code is code)\n- **Fallback:** standard chain, then none",
    ] {
        let role = ours(&text(model)).unwrap();
        assert_eq!(role.model, ModelChoice::Inherit, "{model}");
        assert!(role.fallback_models.is_empty(), "{model}");
    }
    let named = ours(&text(
        "- **Preferred:** `opus` (architecture)\n- **Fallback:** sonnet, haiku",
    ))
    .unwrap();
    assert_eq!(named.model, ModelChoice::Named("opus".to_owned()));
    assert_eq!(named.fallback_models, ["sonnet", "haiku"]);
}

#[test]
fn what_is_not_to_be_called_by_models_is_not() {
    let text = |line: &str| format!("---\ndescription: b\n{line}\n---\nc");
    for (line, expected) in [
        ("infer: false", false),
        ("infer: true", true),
        ("disable-model-invocation: true", false),
    ] {
        let role = theirs(".github/agents/a.agent.md", &text(line)).unwrap();
        assert_eq!(role.model_invocable, expected, "{line}");
    }
}
