//! What a tool call would do, as one line of text that profiles speak of.

use std::fmt;
use std::sync::Arc;

use super::shell::Script;

/// Tools whose detail is a shell command.
const SHELL_TOOLS: [&str; 3] = ["bash", "run_concurrent", "run_background"];

/// Tools whose detail is a path relative to the workspace.
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

/// What a tool call would do: `tool:<tool>:<detail>`.
///
/// A shell command is parsed when the action is made and never again: what is judged, shown and run is this value.
#[derive(Clone, Debug)]
pub struct Action {
    /// The tool, as profiles call it.
    pub tool: String,
    /// The rest of the action string.
    pub detail: String,
    script: Option<Arc<Script>>,
}

impl Action {
    /// The action of any tool.
    ///
    /// White space around the detail is dropped and paths are normalised, so that ` push` is `push` and
    /// `src/../x` is `x`; a tool that runs shell commands has its command parsed.
    pub fn new(tool: impl Into<String>, detail: impl Into<String>) -> Self {
        let (tool, detail) = (tool.into(), detail.into());
        if SHELL_TOOLS.contains(&tool.as_str()) {
            return Self::shell(tool, detail);
        }
        let detail = if PATH_TOOLS.contains(&tool.as_str()) {
            normal_path(&detail)
        } else if tool == "git" || tool == "agent_comm" {
            single_blanks(&detail)
        } else {
            detail.trim().to_owned()
        };
        Self {
            tool,
            detail,
            script: None,
        }
    }

    /// The action of a tool that runs `command` in a shell.
    pub fn shell(tool: impl Into<String>, command: impl Into<String>) -> Self {
        let command = command.into();
        let script = Script::parse(&command);
        Self {
            tool: tool.into(),
            detail: command,
            script: Some(Arc::new(script)),
        }
    }

    /// Reads an action string.
    ///
    /// # Errors
    ///
    /// When `text` is not `tool:<tool>:<detail>` with a name of `a-z 0-9 _ - .` for the tool.
    pub fn parse(text: &str) -> Result<Self, ActionError> {
        let rest = text.strip_prefix("tool:").ok_or(ActionError::Malformed)?;
        let (tool, detail) = rest.split_once(':').ok_or(ActionError::Malformed)?;
        if !is_tool_name(tool) {
            return Err(ActionError::Malformed);
        }
        Ok(Self::new(tool, detail))
    }

    /// The parsed command, when the tool runs one.
    pub fn script(&self) -> Option<&Script> {
        self.script.as_deref()
    }

    /// Why it must never run, if it is a shell command that ruins the machine.
    pub fn catastrophe(&self) -> Option<&str> {
        self.script()?.catastrophe()
    }

    /// The action as it reads without what a reader does not see, and without case: a deny must hold for that too.
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

    /// Why no narrow pattern may allow this action, if so. Shell commands answer for themselves.
    pub(super) fn doubt(&self) -> Option<String> {
        if let Some(script) = &self.script {
            return script.doubt();
        }
        let hidden = |c: char| crate::text::is_hidden(c) || c == '\n' || c == '\t';
        if let Some(c) = self.detail.chars().find(|c| hidden(*c)) {
            return Some(format!(
                "it holds the hidden character U+{:04X}",
                u32::from(c)
            ));
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
        write!(f, "tool:{}:{}", self.tool, self.detail)
    }
}

/// Why a text is no action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// Not of the form at all.
    #[error("not an action: expected `tool:<tool>:<detail>`")]
    Malformed,
}

fn is_tool_name(name: &str) -> bool {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.".contains(&byte);
    !name.is_empty() && name.bytes().all(allowed)
}

/// `path` without `.` and with each `..` taking back the name before it. A leading `..` or `/` stays: it is judged, not hidden.
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
    match names.is_empty() && root.is_empty() {
        true => ".".to_owned(),
        false => format!("{root}{}", names.join("/")),
    }
}

fn leaves_the_workspace(path: &str) -> bool {
    path.starts_with('/') || path == ".." || path.starts_with("../")
}

fn single_blanks(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
