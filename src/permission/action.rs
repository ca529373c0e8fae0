//! The effect of a tool call, as one line of text that the patterns of profiles match.

use std::fmt;
use std::sync::Arc;

use super::pattern::SHELL_TOOLS;
use super::surroundings::{self, Surroundings};
use shell_verdict::Script;

/// Tools with a detail that is a path relative to the workspace.
const PATH_TOOLS: [&str; 10] = [
    "view",
    "create_file",
    "append_file",
    "str_replace",
    "str_replace_all",
    "insert_at",
    "replace_lines",
    "glob",
    "grep",
    "send_file",
];

/// The tool of all actions of MCP servers: `tool:mcp:<mark> <server> <tool> <arguments>`.
const MCP: &str = "mcp";

/// The effect of a tool call: `tool:<tool>:<detail>`, and for a shell command its folder and hooks.
///
/// A shell command is parsed when the action is created and never again: the judged, shown and executed command is this
/// value.
#[derive(Clone, Debug)]
pub struct Action {
    /// The tool, as profiles name it.
    pub tool: String,
    /// The target of the action; for a shell command, only the command.
    pub detail: String,
    script: Option<Arc<Script>>,
    surroundings: Surroundings,
    /// The same act at the place where links lead its path.
    reached: Option<Arc<Action>>,
}

impl Action {
    /// Creates the action of any tool.
    ///
    /// White space around the detail is dropped and paths are normalised, so that ` push` is `push` and `src/../x` is
    /// `x`. The command of a tool that runs shell commands is parsed, and so are the folder and hooks after it.
    pub fn new(tool: impl Into<String>, detail: impl Into<String>) -> Self {
        let (tool, detail) = (tool.into(), detail.into());
        if SHELL_TOOLS.contains(&tool.as_str()) {
            let (command, surroundings) = surroundings::split(&detail);
            return Self::shell(tool, command).within(surroundings);
        }
        let detail = if PATH_TOOLS.contains(&tool.as_str()) {
            normal_path(&detail)
        } else if tool == "git" || tool == "agent_comm" || tool == "schedule" {
            single_blanks(&detail)
        } else {
            detail.trim().to_owned()
        };
        Self {
            tool,
            detail,
            script: None,
            surroundings: Surroundings::default(),
            reached: None,
        }
    }

    /// Creates the action of a tool that runs `command` in a shell, in the workspace itself.
    pub fn shell(tool: impl Into<String>, command: impl Into<String>) -> Self {
        let command = command.into();
        let script = Script::parse(&command);
        Self {
            tool: tool.into(),
            detail: command,
            script: Some(Arc::new(script)),
            surroundings: Surroundings::default(),
            reached: None,
        }
    }

    /// Returns the same command in another folder, or with hooks.
    #[must_use]
    pub fn within(mut self, surroundings: Surroundings) -> Self {
        self.surroundings = surroundings;
        self
    }

    /// Adds `reached`, which is also judged: the same act at the place where links lead its path.
    #[must_use]
    pub fn leading_to(mut self, reached: Self) -> Self {
        self.reached = (reached.to_string() != self.to_string()).then(|| Arc::new(reached));
        self
    }

    /// Returns the same act at the place where links lead its path; `None` if they lead nowhere else.
    pub fn reached(&self) -> Option<&Self> {
        self.reached.as_deref()
    }

    /// Returns the entry of `always_allow` that covers all calls of its tool, regardless of their arguments; `None` if
    /// an entry is one action. Tools of MCP servers have one.
    pub fn standing(&self) -> Option<String> {
        if self.tool != MCP {
            return None;
        }
        let mut words = self.detail.splitn(4, ' ');
        let (mark, server, tool) = (words.next()?, words.next()?, words.next()?);
        Some(format!("tool:{MCP}:{mark} {server} {tool}"))
    }

    /// Returns the entries of `always_allow` that *Always allow* adds for it.
    pub fn kept_as(&self) -> Vec<String> {
        match self.standing() {
            Some(standing) => vec![standing],
            None => self.judged(),
        }
    }

    /// Returns the action strings that are judged: its own, and that of the place where it leads.
    pub fn judged(&self) -> Vec<String> {
        let all = std::iter::once(self).chain(self.reached());
        all.map(Self::to_string).collect()
    }

    /// Returns the path that it acts on; for a shell command, the folder that it runs in.
    pub(super) fn path(&self) -> &str {
        match &self.script {
            Some(_) => self.surroundings.folder.as_deref().unwrap_or("."),
            None => &self.detail,
        }
    }

    /// Reads an action string.
    ///
    /// # Errors
    ///
    /// Fails if `text` is not `tool:<tool>:<detail>` with a name of `a-z 0-9 _ - .` for the tool.
    pub fn parse(text: &str) -> Result<Self, ActionError> {
        let rest = text.strip_prefix("tool:").ok_or(ActionError::Malformed)?;
        let (tool, detail) = rest.split_once(':').ok_or(ActionError::Malformed)?;
        if !is_tool_name(tool) {
            return Err(ActionError::Malformed);
        }
        Ok(Self::new(tool, detail))
    }

    /// Returns the parsed command, if the tool runs one.
    pub fn script(&self) -> Option<&Script> {
        self.script.as_deref()
    }

    /// Returns the folder and the hooks of a shell command.
    pub(super) fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Returns the end of the action string of `command`, a shell command that is all or a part of this one.
    pub(super) fn suffix(&self, command: &str) -> String {
        match self.script {
            Some(_) => self.surroundings.suffix(command),
            None => String::new(),
        }
    }

    /// Returns why it must never run, if it is a shell command that ruins the machine.
    pub fn destructive(&self) -> Option<&str> {
        self.script()?.destructive()
    }

    /// Returns the action without invisible characters and in lower case: a deny must also match that.
    pub(super) fn plain_reading(&self) -> Option<String> {
        if self.script.is_some() {
            return None;
        }
        let seen: String = self
            .detail
            .chars()
            .filter(|c| !crate::text::is_hidden(*c))
            .collect();
        let seen = match self.tool.as_str() {
            "git" => single_blanks(&seen.to_lowercase()),
            _ => seen.trim().to_owned(),
        };
        (seen != self.detail).then(|| format!("tool:{}:{seen}", self.tool))
    }

    /// Returns why no narrow pattern may allow this action, if so. Shell commands have their own checks.
    pub(super) fn doubt(&self) -> Option<String> {
        let hidden = |c: char| crate::text::is_hidden(c) || c == '\n' || c == '\t';
        let holds = |c: char| format!("it holds the hidden character U+{:04X}", u32::from(c));
        if let Some(script) = &self.script {
            let beside = self.surroundings.texts().flat_map(str::chars);
            let beside = beside.into_iter().find(|c| crate::text::is_hidden(*c));
            return script.doubt().or(beside.map(holds));
        }
        if let Some(c) = self.detail.chars().find(|c| hidden(*c)) {
            return Some(holds(c));
        }
        if self.tool == "web_fetch" && self.detail.contains(' ') {
            return Some("a URL holds no blank".to_owned());
        }
        if PATH_TOOLS.contains(&self.tool.as_str()) && leaves_the_workspace(&self.detail) {
            return Some("the path leaves the workspace".to_owned());
        }
        None
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = self.suffix(&self.detail);
        write!(f, "tool:{}:{}{suffix}", self.tool, self.detail)
    }
}

/// Why a text is not an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    #[error("not an action: expected `tool:<tool>:<detail>`")]
    Malformed,
}

fn is_tool_name(name: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
    !name.is_empty() && name.bytes().all(allowed)
}

/// Normalises `path`: removes `.`, and lets each `..` remove the name before it. A leading `..` or `/` stays: it is
/// judged, not hidden.
fn normal_path(path: &str) -> String {
    let path = path.trim();
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => {
                names.pop();
            }
            name => names.push(name),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    if names.is_empty() && root.is_empty() {
        ".".to_owned()
    } else {
        format!("{root}{}", names.join("/"))
    }
}

fn leaves_the_workspace(path: &str) -> bool {
    path.starts_with('/') || path == ".." || path.starts_with("../")
}

fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
