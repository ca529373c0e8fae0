//! What an agent may do: actions, profiles, decisions. Pure.

/// What a tool call would do, as `tool:<tool>:<detail>`.
#[derive(Clone, Debug)]
pub struct Action {
    /// The tool.
    pub tool: String,
    /// The rest of the action string.
    pub detail: String,
}

/// The groups of tools that built-in profiles speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Reading and writing files of the workspace.
    Files,
}
