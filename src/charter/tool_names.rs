//! The tools of other programs, and their names here.

use super::key_names::plain;

/// The meaning of an entry of a list of tools.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meant<'a> {
    These(&'static [&'static str]),
    /// One of ours, by its own name.
    Ours(&'a str),
    /// Every tool.
    All,
    /// `bash` for commands of one pattern.
    Bash(&'a str),
    /// Calling roles; the named ones, if any are named.
    Agents(Vec<&'a str>),
    /// No tool here, without any loss.
    Nothing,
    /// An MCP server or one of its tools, if the agent has it.
    Server,
    /// No tool here, and the reader of the charter should know.
    Foreign,
    Unknown,
}

const LOOKING: &[&str] = &["view", "grep", "glob"];
const WRITING: &[&str] = &[
    "create_file",
    "append_file",
    "str_replace",
    "str_replace_all",
    "insert_at",
    "replace_lines",
];
pub(super) const SHELL: &[&str] = &[
    "bash",
    "run_concurrent",
    "list_tasks",
    "read_task_output",
    "stop_task",
];

/// Names in other programs, in lower case, and our equivalent tools.
const ALIASES: &[(&str, &[&str])] = &[
    ("read", &["view"]),
    ("notebookread", &["view"]),
    ("ls", &["view"]),
    ("write", WRITING),
    ("edit", WRITING),
    ("multiedit", WRITING),
    ("notebookedit", WRITING),
    ("grep", &["grep"]),
    ("glob", &["glob"]),
    ("search", &["grep", "glob"]),
    ("bash", SHELL),
    ("bashoutput", SHELL),
    ("killshell", SHELL),
    ("killbash", SHELL),
    ("execute", SHELL),
    ("shell", SHELL),
    ("webfetch", &["web_fetch"]),
    ("websearch", &["web_search"]),
    ("web_search", &["web_search"]),
    ("web", &["web_fetch", "web_search"]),
    // Visual Studio Code's, which its agent files name by themselves or after their set.
    ("readfile", &["view"]),
    ("editfiles", WRITING),
    ("createfile", WRITING),
    ("createdirectory", WRITING),
    ("editnotebook", WRITING),
    ("codebase", &["grep", "glob"]),
    ("textsearch", &["grep"]),
    ("filesearch", &["glob"]),
    ("listdirectory", &["view"]),
    ("usages", &["grep"]),
    ("searchresults", &["grep", "glob"]),
    ("findtestfiles", &["grep", "glob"]),
    ("runcommands", SHELL),
    ("runinterminal", SHELL),
    ("getterminaloutput", SHELL),
    ("fetch", &["web_fetch"]),
    // Gemini's and Qwen's, whose names have underscores.
    ("readmanyfiles", &["view"]),
    ("writefile", WRITING),
    ("replace", WRITING),
    ("searchfilecontent", &["grep"]),
    ("grepsearch", &["grep"]),
    ("ripgrep", &["grep"]),
    ("runshellcommand", SHELL),
    ("googlewebsearch", &["web_search"]),
    // Cursor's and Factory's.
    ("listdir", &["view"]),
    ("codebasesearch", &["grep", "glob"]),
    ("globfilesearch", &["glob"]),
    ("editfile", WRITING),
    ("searchreplace", WRITING),
    ("runterminalcmd", SHELL),
    ("create", WRITING),
    ("applypatch", WRITING),
    ("fetchurl", &["web_fetch"]),
    ("readonly", LOOKING),
    // OpenCode's and Copilot's.
    ("list", &["view"]),
    ("patch", WRITING),
    ("powershell", SHELL),
    ("readbash", SHELL),
    ("writebash", SHELL),
    ("stopbash", SHELL),
    (
        "strreplaceeditor",
        &[
            "view",
            "create_file",
            "append_file",
            "str_replace",
            "str_replace_all",
            "insert_at",
            "replace_lines",
        ],
    ),
    ("changes", &["git_status", "git_diff"]),
];

/// Visual Studio Code's sets of tools. After any other name and a slash comes the tool of an MCP server.
const SETS: &[&str] = &[
    "read", "edit", "search", "execute", "web", "agent", "vscode",
];

/// Names in other programs for things that are not tools here.
const NOTHING: &[&str] = &[
    "todowrite",
    "todo",
    "todos",
    "skill",
    "slashcommand",
    "askuserquestion",
    "enterplanmode",
    "exitplanmode",
    "lsp",
    "sendmessage",
    "taskcreate",
    "taskget",
    "tasklist",
    "taskupdate",
    "toolsearch",
    "todoread",
    "writetodos",
    "updatetodo",
    "updateplan",
    "managetodolist",
    "question",
    "askuser",
    "askuserquestions",
    "activateskill",
    "savememory",
    "storememory",
    "reportintent",
    "think",
    "thinking",
    "problems",
    "readlints",
];

/// Names of tools of other programs without an equivalent here.
const ELSEWHERE: &[&str] = &[
    "codesearch",
    "computer",
    "createpullrequest",
    "deletefile",
    "extensions",
    "githubrepo",
    "installextension",
    "kill",
    "mcp",
    "movefile",
    "new",
    "newworkspace",
    "opensimplebrowser",
    "renderimage",
    "runnotebooks",
    "runtask",
    "runtasks",
    "runtests",
    "terminallastcommand",
    "terminalselection",
    "testfailure",
    "vscodeapi",
];

/// Returns the meaning of `entry`; `known` are our own names.
pub(super) fn meant<'a>(entry: &'a str, known: &[&str]) -> Meant<'a> {
    if entry == "*" || matches!(entry.to_lowercase().as_str(), "all" | "all tools") {
        return Meant::All;
    }
    if let Some((name, inside)) = entry
        .strip_suffix(')')
        .and_then(|entry| entry.split_once('('))
    {
        if inside.trim() == "*" {
            return meant(name.trim(), known);
        }
        if name.trim().contains(char::is_whitespace) {
            return Meant::Unknown;
        }
        return match plain(name).as_str() {
            name if alias(name) == Some(SHELL) => Meant::Bash(inside.trim()),
            "agent" | "task" => Meant::Agents(inside.split(',').map(str::trim).collect()),
            _ => Meant::Unknown,
        };
    }
    let lower = entry.to_lowercase();
    // `search/codebase` is `codebase` of a set; `github/search_code` is the tool of an MCP server.
    let in_set = lower
        .split_once('/')
        .filter(|(set, _)| SETS.contains(set))
        .map(|(_, name)| name);
    let is_in_set = in_set.is_some();
    let lower = in_set.map_or(lower.clone(), str::to_owned);
    if let Some(tools) = alias(&lower) {
        return Meant::These(tools);
    }
    if known.contains(&entry) {
        return Meant::Ours(entry);
    }
    let name = plain(&lower);
    if let Some(tools) = alias(&name).filter(|_| !lower.contains('/')) {
        return Meant::These(tools);
    }
    match name.as_str() {
        "task" | "agent" | "subagent" | "runsubagent" => Meant::Agents(Vec::new()),
        name if NOTHING.contains(&name) => Meant::Nothing,
        _ if !is_in_set && is_of_server(entry) => Meant::Server,
        _ if is_in_set || lower.starts_with("mcp_") || lower.contains('/') => Meant::Foreign,
        name if ELSEWHERE.contains(&name) => Meant::Foreign,
        _ => Meant::Unknown,
    }
}

/// Returns whether an entry names an MCP server or a tool of one.
fn is_of_server(entry: &str) -> bool {
    if let Some(rest) = entry.strip_prefix("mcp__") {
        return !rest.is_empty();
    }
    let parts = entry.split_once('/');
    parts.is_some_and(|(server, tool)| {
        chorus_mcp::is_server_name(server) && !tool.is_empty() && !tool.contains('/')
    })
}

/// Returns our tools that are equivalent to a tool of another program; `name` is in lower case.
fn alias(name: &str) -> Option<&'static [&'static str]> {
    let found = ALIASES.iter().find(|(alias, _)| *alias == name);
    found.map(|(_, tools)| *tools)
}
