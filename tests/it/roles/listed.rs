//! `/roles`: files as other programs have them, dropped in unchanged, and what is wrong with those that are none.

use super::{lab, writes};
use crate::world::{World, run_test};

/// Files of repositories, and what `/roles` says of each.
const WILD: &[(&str, &str, &str)] = &[
    (
        ".claude/agents/code-reviewer.md",
        "---\nname: code-reviewer\ndescription: Expert reviewer. Use proactively: after every change.\ntools: Read, Grep, Glob, Bash(git diff:*)\nmodel: sonnet\ncolor: green\n---\n\nYou are a senior reviewer.\n",
        "line 3 is not YAML; read as plain text",
    ),
    (
        ".claude/agents/team/debugger.md",
        "---\r\nname: debugger\r\ndescription: \"Finds the cause of a failing test.\"\r\ntools: Read, Edit, Bash\r\n---\r\nFind it.\r\n",
        "Finds the cause of a failing test.",
    ),
    (
        ".github/agents/docs.agent.md",
        "---\ndescription: Writes documentation\ntools: ['read', 'edit', 'search', 'github/create_issue']\n---\nWrite docs.\n",
        "`github/create_issue` is a tool of an MCP server; it counts where the agent has that server",
    ),
    (
        ".github/agents/planner.md",
        "\u{feff}---\nname: The Planner\ndescription: Plans work.\nmodel: no-such-model\ntools: ['*']\n---\nPlan.\n",
        "there is no model",
    ),
    (
        "service/.claude/agents/dba.md",
        "## Identity\n\n**Name** Dora\n**Role**: Keeps the database\n\n## Tools\n\n- Read\n- Grep\n",
        "Keeps the database",
    ),
    (
        ".claude/agents/only-mcp.md",
        "---\nname: only-mcp\ndescription: Talks to servers.\ntools: mcp__x__y, mcp__a__b\n---\nTalk.\n",
        "`mcp__x__y` is a tool of an MCP server; it counts where the agent has that server",
    ),
    (
        ".claude/agents/wide.md",
        "---\nname: wide\ndescription: Wants all.\npermissionMode: bypassPermissions\npermissions: open\n---\nAll.\n",
        "Wants all.",
    ),
    (
        ".claude/agents/excludes.md",
        "---\nname: excludes\ndescription: Leaves out.\ndisallowedTools: NoSuchTool\n---\nNo.\n",
        "there is no tool `NoSuchTool`",
    ),
];

/// All pages of `/roles` in `#lab`.
async fn roles(world: &World) -> String {
    // Discord draws no backslash.
    world.ann.asks("/roles", "#lab").await.replace('\\', "")
}

#[tokio::test]
async fn files_of_other_programs_are_offered_or_refused_with_their_reason() {
    run_test(async |world| {
        std::fs::create_dir_all(world.workspace("lab").join("service/.git")).unwrap();
        for (path, text, _) in WILD {
            writes(world, &format!("workspace/{path}"), text);
        }
        let listed = roles(world).await;
        for (path, _, expected) in WILD {
            assert!(listed.contains(path), "{path}\n{listed}");
            assert!(listed.contains(expected), "{path}: {expected}\n{listed}");
        }
        assert!(listed.contains("excludes (cannot be used)"), "{listed}");
        assert!(
            listed.contains("debugger\n") || listed.contains("debugger"),
            "{listed}"
        );
        world.edits_agent_json("lab", serde_json::json!({"repo_instructions": false}));
        let listed = roles(world).await;
        assert!(!listed.contains(".claude/agents"), "{listed}");
    })
    .await;
}

#[tokio::test]
async fn the_agents_own_role_comes_first_and_pages_are_turned() {
    run_test(async |world| {
        writes(world, "charter.md", "---\nname: chief\ndescription: Leads.\nadvisors: [tester]\n---\nLead.\n");
        for number in 1..=12 {
            let text = format!("---\nname: helper-{number:02}\ndescription: Helps.\nmax_steps: {number}\n---\nHelp.\n");
            writes(world, &format!("charters/helper-{number:02}.md"), &text);
        }
        let listed = roles(world).await;
        assert!(listed.contains("charter.md cannot be used"), "{listed}");
        assert!(
            listed.contains("charter.md, line 4: advisors: there is no role `tester`"),
            "{listed}"
        );
        writes(world, "charters/tester.md", "---\nname: tester\ndescription: Tests.\n---\nTest.\n");
        let listed = roles(world).await;
        let [chief, first] = ["chief (this agent)", "helper-01"].map(|name| listed.find(name).unwrap());
        assert!(chief < first, "{listed}");
        assert!(listed.contains("at most 3 steps") && listed.contains("Page 1 of 2"), "{listed}");
        assert!(!listed.contains("explore"), "{listed}");
        let told = world.ann.clone();
        told.runs("/roles", "#lab").await;
        told.clicks("#lab", "Next").await;
        world
            .waits("the second page", |world| {
                let seen = world.transcript("#lab");
                (seen.contains("explore") && seen.contains("Page 2 of 2")).then_some(())
            })
            .await;
    })
    .await;
}

#[tokio::test]
async fn links_and_pipes_in_a_repository_are_not_followed() {
    run_test(async |world| {
        let agents = lab(world).join("workspace/.claude/agents");
        std::fs::create_dir_all(&agents).unwrap();
        let outside = tempfile::tempdir().unwrap();
        let charter = "---\nname: outside\ndescription: From elsewhere.\n---\nNo.\n";
        std::fs::write(outside.path().join("outside.md"), charter).unwrap();
        std::os::unix::fs::symlink(outside.path(), agents.join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("outside.md"), agents.join("link.md"))
            .unwrap();
        rustix::fs::mkfifoat(
            rustix::fs::CWD,
            agents.join("pipe.md"),
            rustix::fs::Mode::RUSR,
        )
        .unwrap();
        std::os::unix::fs::symlink(outside.path(), lab(world).join("workspace/.github")).unwrap();
        let listed = roles(world).await;
        assert!(!listed.contains("From elsewhere."), "{listed}");
        assert_eq!(
            listed.matches("it is not a regular file").count(),
            2,
            "{listed}"
        );
    })
    .await;
}
