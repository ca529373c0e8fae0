//! Read-only tools: after a restart, a call of one of these may simply be made again.

/// The tools that change nothing. Every other tool may have effects, including unknown ones.
const ONLY_LOOK: [&str; 15] = [
    "ask_person",
    "find_tools",
    "git_diff",
    "git_log",
    "git_status",
    "glob",
    "grep",
    "list_agents",
    "list_models",
    "list_tasks",
    "read_agent_docs",
    "read_task_output",
    "tool_output",
    "view",
    "web_fetch",
];

/// Tools that give work to others, or end a turn: their effects are those of the child turns below it.
const DELEGATES: [&str; 3] = ["hand_over", "report", "sub_agent"];

/// Returns whether a call of `tool` may itself have effects.
pub fn has_effects(tool: &str) -> bool {
    !DELEGATES.contains(&tool) && !ONLY_LOOK.contains(&tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::Registry;

    #[test]
    fn every_tool_that_only_looks_is_one_that_exists() {
        let registry = Registry::standard();
        let names: Vec<&str> = registry.infos().map(|info| info.name).collect();
        for tool in ONLY_LOOK {
            assert!(names.contains(&tool), "{tool}");
        }
        assert!(names.contains(&"sub_agent"));
    }

    #[test]
    fn what_writes_or_is_unknown_has_effects() {
        for tool in [
            "bash",
            "create_file",
            "git_push",
            "send_to_agent",
            "mcp__x__y",
        ] {
            assert!(has_effects(tool), "{tool}");
        }
        for tool in ["view", "grep", "sub_agent", "hand_over"] {
            assert!(!has_effects(tool), "{tool}");
        }
    }
}
