//! The groups of tools that the built-in profiles name.

/// Tools that the built-in profiles treat alike. Every tool names its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Group {
    /// Reading, writing and sending files of the workspace.
    Files,
    /// git inside the workspace.
    GitLocal,
    /// git with remote effects: push and merge requests.
    GitRemote,
    /// Existing things: models, tools, tasks and their output; and questions to people.
    Information,
    /// Editing the agent's own documents.
    Docs,
    /// Listing, reading and writing to other agents.
    AgentComm,
    Shell,
    /// Commands that continue beside the turn, and their hooks.
    Tasks,
    StopTask,
    /// Reminders and scheduled turns.
    Schedule,
    /// Fetching a page.
    WebFetch,
    /// The provider's own search.
    WebSearch,
    /// Editing the agent's prompt, permissions, model or web search, and the decisions of its server's people.
    SelfEdit,
    /// Sub-agents: each of their actions is judged on its own, and no sub-agent can do more than its parent may.
    SubAgents,
    /// External agents.
    Delegates,
    /// Tools of MCP servers that a person marked as read-only.
    McpRead,
    /// All other tools of MCP servers.
    McpWrite,
}

impl Group {
    /// All groups, in the order that people see.
    pub const ALL: [Self; 17] = [
        Self::Files,
        Self::GitLocal,
        Self::GitRemote,
        Self::Information,
        Self::Docs,
        Self::AgentComm,
        Self::Shell,
        Self::Tasks,
        Self::StopTask,
        Self::Schedule,
        Self::WebFetch,
        Self::WebSearch,
        Self::SelfEdit,
        Self::SubAgents,
        Self::Delegates,
        Self::McpRead,
        Self::McpWrite,
    ];

    /// The pattern that matches the one read-only action of the tool `schedule`: it counts as [`Self::Information`].
    pub(super) const LIST_OF_SCHEDULES: &str = "tool:schedule:list";

    /// Returns the pattern that matches every action of the group's tools, and no other action.
    pub const fn pattern(self) -> &'static str {
        match self {
            Self::Files => {
                "tool:(view|create_file|append_file|str_replace|str_replace_all|insert_at|replace_lines|glob|grep|send_file):.*"
            }
            Self::GitLocal => r"tool:git:(init|commit|branch|checkout|diff|log|status)(\s.*)?",
            Self::GitRemote => r"tool:git:(push|merge_request)(\s.*)?",
            Self::Information => {
                "tool:(list_models|list_tasks|read_task_output|tool_output|ask_person|find_tools):.*"
            }
            Self::Docs => "tool:self_edit:docs:.*",
            Self::AgentComm => r"tool:agent_comm:(list|read_docs|send)(\s.*)?",
            Self::Shell => "tool:bash:.*",
            Self::Tasks => "tool:(run_concurrent|run_background|add_process_hooks):.*",
            Self::StopTask => "tool:stop_task:.*",
            Self::Schedule => r"tool:schedule:(create|remind|delete)(\s.*)?",
            Self::WebFetch => "tool:web_fetch:.*",
            Self::WebSearch => "tool:web_search:.*",
            Self::SelfEdit => {
                "tool:self_edit:(system_prompt|(permissions|model|web_search|decision):.*)"
            }
            Self::SubAgents => "tool:sub_agent:.*",
            Self::Delegates => "tool:(external_agent|claude_code):.*",
            Self::McpRead => "tool:mcp:read .*",
            Self::McpWrite => "tool:mcp:write .*",
        }
    }
}
