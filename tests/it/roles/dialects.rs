//! Files of four programs, dropped in unchanged and called: the model server gets the model, the schemas and the prompt that
//! each of them asks for.

use serde_json::{Value, json};

use super::writes;
use crate::world::{World, run_test};

/// A file, the role that it makes, and what the request of a sub-agent with it holds.
struct Case {
    path: &'static str,
    text: &'static str,
    role: &'static str,
    model: &'static str,
    tools: &'static [&'static str],
    prompt: &'static str,
}

const CASES: [Case; 4] = [
    Case {
        path: "workspace/.claude/agents/team/reviewer.md",
        text: "---\nname: Code Reviewer 👀\ndescription: Use this agent when: a change is done. Examples:\n\n<example>\nuser: \"Review it\"\n</example>\n\nmodel: haiku\ncolor: green\ntools: Read, Grep, Glob, Bash(git diff:*), mcp__github__search, TodoWrite\n---\n\nYou review, the worst first.\n",
        role: "code-reviewer",
        model: "claude-haiku-4-5",
        tools: &["view", "glob", "grep", "bash", "tool_output"],
        prompt: "You review, the worst first.",
    },
    Case {
        path: "workspace/.github/agents/docs.agent.md",
        text: "\u{feff}---\r\nname: The Writer\r\ndescription: 'Writes documentation'\r\nmodel: Claude Haiku 4.5 (copilot)\r\ntools: ['edit/editFiles', 'search/codebase', 'github/*']\r\nhandoffs: []\r\n---\r\nYou write documentation.\r\n",
        role: "docs",
        model: "claude-haiku-4-5",
        tools: &[
            "create_file",
            "append_file",
            "str_replace",
            "str_replace_all",
            "insert_at",
            "replace_lines",
            "glob",
            "grep",
            "tool_output",
        ],
        prompt: "You write documentation.",
    },
    Case {
        path: "workspace/service/.claude/agents/dora.md",
        text: "# Dora — Data\n\n## Identity\n\n- **Name:** Dora\n- **Role:** Keeps the database\n\n## Model\n\n- **Preferred:** auto\n- **Fallback:** Standard chain — the coordinator handles it\n\n## Tools\n\n- Read\n- Grep\n",
        role: "dora",
        model: "scripted-model",
        tools: &["view", "grep", "tool_output"],
        prompt: "- **Role:** Keeps the database",
    },
    Case {
        path: "charters/planner.md",
        text: "---\nname: planner\ndescription: Plans.\nmodel: inherit\ntools: [view, web_fetch, git_log, git_push]\ndisallowedTools: [web_fetch]\n---\nYou plan.\n",
        role: "planner",
        model: "scripted-model",
        tools: &["view", "git_log", "tool_output", "find_tools", "call_tool"],
        prompt: "You plan.",
    },
];

fn names(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap().iter();
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

#[tokio::test]
async fn a_file_is_called_with_its_model_its_tools_and_its_prompt() {
    run_test(async |world| {
        world.model.lists(&["scripted-model", "claude-haiku-4-5"]);
        world.restarts().await;
        std::fs::create_dir_all(world.workspace("lab").join("service/.git")).unwrap();
        for case in &CASES {
            writes(world, case.path, case.text);
        }
        for (number, case) in CASES.iter().enumerate() {
            let task = json!({"role": case.role, "prompt": "Do it.", "title": "a task"});
            let done = format!("Number {number} is done.");
            world
                .model
                .calls(&[("sub_agent", task)])
                .answers("My report.")
                .answers(&done);
            world.ann.says("#lab", "go").await;
            world.sees("#lab", &done).await;
            asked_as_said(world, case);
        }
    })
    .await;
}

/// The request before the latest is that of the sub-agent.
fn asked_as_said(world: &World, case: &Case) {
    let requests = world.model.requests();
    let [.., child, parent] = requests.as_slice() else {
        panic!("{requests:?}");
    };
    assert!(parent.to_string().contains("My report."), "{}", case.role);
    assert_eq!(child["model"], case.model, "{}", case.role);
    assert_eq!(names(child), case.tools, "{}", case.role);
    let system = child["system"][0]["text"].as_str().unwrap();
    assert!(system.contains(case.prompt), "{system}");
}
