//! The scope of an entry of `always_allow`, in words for the person who grants or revokes it.
//!
//! An entry must match the whole action exactly, so everything in the action is fixed. Arguments that are not in the
//! action may differ; the scope names them.

use super::action::Action;

/// The scope of one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope {
    /// The permitted act, as an imperative without a full stop.
    pub what: &'static str,
    /// The fixed parts, each with its label. The value is empty if the label is enough.
    pub bound: Vec<(&'static str, String)>,
    /// The parts that may differ from call to call, as a sentence; empty if there are none.
    pub free: &'static str,
}

/// Returns the scope of the entry `entry`.
pub fn scope(entry: &str) -> Scope {
    let Ok(action) = Action::parse(entry) else {
        return Scope {
            what: "Do nothing: this entry is not an action",
            bound: vec![("Entry", entry.to_owned())],
            free: "",
        };
    };
    if action.script().is_some() {
        return command(&action);
    }
    let detail = action.detail.as_str();
    match action.tool.as_str() {
        "git" => git(detail),
        "self_edit" => self_edit(detail),
        "agent_comm" => between_agents(detail),
        "mcp" => of_server(detail),
        tool => plain(tool, detail),
    }
}

fn command(action: &Action) -> Scope {
    let what = match action.tool.as_str() {
        "run_concurrent" => "Start this command beside a turn",
        "run_background" => "Start this command so that it goes on after the turn",
        _ => "Run this command and wait for it",
    };
    let beside = action.surroundings();
    let folder = match &beside.folder {
        Some(folder) => ("Folder", folder.clone()),
        None => ("Folder: the workspace itself", String::new()),
    };
    let mut bound = vec![("Command", action.detail.clone()), folder];
    if let Some(hooks) = &beside.hooks {
        bound.push(("Hooks", hooks.clone()));
    }
    if let Some(model) = &beside.model {
        bound.push(("Model of their turns", model.clone()));
    }
    Scope {
        what,
        bound,
        free: "The files and programs that the command uses may have changed by then, and so may the sandbox and network settings.",
    }
}

fn git(detail: &str) -> Scope {
    let (verb, rest) = detail.split_once(' ').unwrap_or((detail, ""));
    let deleted = rest.strip_prefix("--delete ");
    let (what, name, free) = match verb {
        "init" => ("Make its workspace a git repository", "", ""),
        "status" => ("Show the state of its git repositories", "", ""),
        "log" => ("Show the commits of its git repository", "", ""),
        "diff" => ("Show changes in its git repository", "Between", ""),
        "commit" => (
            "Commit to its git repository",
            "",
            "Any message and any files.",
        ),
        "branch" if deleted.is_some() => ("Delete this git branch", "Branch", ""),
        "branch" => ("Make this git branch, or list the branches", "Branch", ""),
        "checkout" => (
            "Go to this git branch or commit",
            "Branch or commit",
            "It may make the branch first.",
        ),
        "push" => (
            "Push this git branch",
            "Remote and branch",
            "Any commits, to the address that the remote has by then.",
        ),
        "merge_request" => (
            "Open merge or pull requests",
            "Into the branch",
            "Any source branch, title and description.",
        ),
        _ => (
            "Use its git tools for this",
            "What",
            "Any other arguments of the tool.",
        ),
    };
    bound_to(what, name, deleted.unwrap_or(rest), free)
}

fn self_edit(detail: &str) -> Scope {
    let (key, value) = detail.split_once(':').unwrap_or((detail, ""));
    let (what, name, free) = match key {
        "system_prompt" => ("Replace its own system prompt", "", "Any text."),
        "docs" => ("Write this file of its notes", "File", "Any content."),
        "permissions" if value == "custom" => (
            "Give itself a permission profile that is spelled out",
            "",
            "Any profile, as long as everybody who wrote in the turn may grant it.",
        ),
        "permissions" => (
            "Give itself this permission profile",
            "Profile",
            "As long as everybody who wrote in the turn may grant it.",
        ),
        "model" => ("Choose this model for itself", "Model", ""),
        "web_search" => ("Turn its web search on or off", "To", ""),
        _ => ("Change this value of its own", "Value", "Anything in it."),
    };
    bound_to(what, name, value, free)
}

fn between_agents(detail: &str) -> Scope {
    let (verb, agent) = detail.split_once(' ').unwrap_or((detail, ""));
    let (what, free) = match verb {
        "list" => ("List the agents of this server", ""),
        "read_docs" => ("Read the notes of this agent", ""),
        "send" => ("Send messages to this agent", "Any message."),
        _ => ("Do this with other agents", "Anything in it."),
    };
    bound_to(what, "Agent", agent, free)
}

fn of_server(detail: &str) -> Scope {
    let mut words = detail.splitn(4, ' ');
    let mut next = || words.next().unwrap_or_default().to_owned();
    let (mark, server, tool, arguments) = (next(), next(), next(), next());
    let mut bound = vec![("Server", server), ("Tool", tool), ("Mark", mark)];
    let free = if arguments.is_empty() {
        "Any arguments."
    } else {
        bound.push(("Arguments", arguments));
        ""
    };
    Scope {
        what: "Call this tool of an MCP server",
        bound,
        free,
    }
}

fn plain(tool: &str, detail: &str) -> Scope {
    let (what, name, free) = match tool {
        "view" => ("Read this file or folder", "Path", ""),
        "glob" => ("Find files in this folder", "Folder", "Any pattern."),
        "grep" => ("Search files in this folder", "Folder", "Any pattern."),
        "create_file" => ("Write this file whole", "File", "Any content."),
        "append_file" => ("Append to this file", "File", "Any text."),
        "str_replace" | "str_replace_all" | "insert_at" | "replace_lines" => {
            ("Change this file", "File", "Any change.")
        }
        "send_file" => (
            "Post this file in its channel",
            "File",
            "Whatever it holds by then, with any caption.",
        ),
        "web_fetch" => (
            "Read this web page",
            "Address",
            "Whatever it shows by then.",
        ),
        "web_search" => ("Search the web", "For", ""),
        "add_process_hooks" => (
            "Add hooks to this task",
            "Task",
            "Any instructions for the hooks, and any model for the turns they start.",
        ),
        "stop_task" => ("Stop this task", "Task", ""),
        "read_task_output" => ("Read what this task printed", "Task", ""),
        "tool_output" => ("Read this kept output", "Output", ""),
        "ask_person" => ("Ask people this question", "Question", "Any options."),
        "list_tasks" => ("List its tasks", "", ""),
        "find_tools" => ("Look for tools", "Words", ""),
        "list_models" => ("List the models", "Containing", ""),
        _ => {
            let mut scope = bound_to(
                "Use this tool",
                "With",
                detail,
                "Any other arguments of the tool.",
            );
            scope.bound.insert(0, ("Tool", tool.to_owned()));
            return scope;
        }
    };
    bound_to(what, name, detail, free)
}

fn bound_to(what: &'static str, name: &'static str, value: &str, free: &'static str) -> Scope {
    let bound = if name.is_empty() || value.is_empty() {
        Vec::new()
    } else {
        vec![(name, value.to_owned())]
    };
    Scope { what, bound, free }
}
