//! Agent files in the manner of other programs: each gives exactly the tools that it means, or is refused with a reason.

use std::collections::BTreeSet;

use chorus::charter::Role;
use chorus::domain::ProfileRef;
use chorus::tools::Registry;

use super::{notes, ours, theirs};

/// What a file comes to.
enum Comes {
    /// These tools and no others.
    Only(&'static [&'static str]),
    /// All tools but these.
    Without(&'static [&'static str]),
    /// All tools, and of them only those that look at something may run.
    Locked,
    /// No role, with these words in the reason.
    Refused(&'static str),
}

use Comes::{Locked, Only, Refused, Without};

const WRITE: &str = "append_file create_file insert_at replace_lines str_replace str_replace_all";
const SHELL: &str = "bash list_tasks read_task_output run_concurrent stop_task";
const LATER: &str = "run_background";

/// The front matter besides the description, and what it comes to.
const CASES: &[(&str, Comes)] = &[
    // Claude Code
    ("tools: Read, Grep, Glob", Only(&["view grep glob"])),
    ("tools: [Read, Grep]", Only(&["view grep"])),
    ("tools:\n  - Read\n  - Bash", Only(&["view", SHELL])),
    ("tools: Read Grep Glob", Only(&["view grep glob"])),
    ("tools: Read Bash(git diff *)", Only(&["view bash"])),
    ("tools: \"Read, Edit, Write\"", Only(&["view", WRITE])),
    (
        "tools: Read, WebFetch, WebSearch, TodoWrite",
        Only(&["view web_fetch web_search"]),
    ),
    ("tools: Read, mcp__github__list_issues", Only(&["view"])),
    (
        "tools: mcp__github__list_issues",
        // Tools of a server, if the agent has it.
        Only(&["find_tools"]),
    ),
    ("tools: Task(explore), Read", Only(&["sub_agent view"])),
    ("tools: '*'", Without(&[])),
    ("tools: []", Only(&[])),
    ("tools:", Without(&[])),
    ("color: blue\nmodel: inherit", Without(&[])),
    ("disallowedTools: Write, Edit", Without(&[WRITE])),
    ("disallowedTools: [Bash]", Without(&[SHELL, LATER])),
    (
        "disallowedTools: Bash Write",
        Without(&[SHELL, LATER, WRITE]),
    ),
    ("disallowedTools: Bash(rm *)", Without(&[SHELL, LATER])),
    (
        "disallowedTools: Frobnicate",
        Refused("no tool `Frobnicate`"),
    ),
    ("permissionMode: plan", Locked),
    ("permissionMode: bypassPermissions", Without(&[])),
    ("allowed-tools: Read, Grep", Only(&["view grep"])),
    ("allowed_tools: [Read, Grep]", Only(&["view grep"])),
    ("allowedTools: Read", Only(&["view"])),
    ("Allowed_Tools: Read", Only(&["view"])),
    ("Tools: Read", Only(&["view"])),
    ("TOOLS: Read, Grep\nModel: inherit", Only(&["view grep"])),
    ("tools: Read, Bash\nallowed-tools: [Read]", Only(&["view"])),
    (
        "memory: project\nhooks: {Stop: []}\nisolation: worktree",
        Without(&[]),
    ),
    ("disallowed-tools: Write", Without(&[WRITE])),
    ("denied_tools: [Bash]", Without(&[SHELL, LATER])),
    (
        "disallowed: [Bash]",
        Refused("line 4: disallowed: this speaks of tools or rights"),
    ),
    ("deny: [Bash]", Refused("line 4: deny: ")),
    ("forbid-bash: true", Refused("line 4: forbid-bash: ")),
    ("tools_allowed: Read", Refused("line 4: tools_allowed: ")),
    ("toolz: Read", Refused("did you mean `tools`?")),
    ("restrictedTo: [docs]", Refused("line 4: restrictedTo: ")),
    ("no_network: true", Refused("line 4: no_network: ")),
    ("canWrite: false", Refused("line 4: canWrite: ")),
    ("sandboxMode: strict", Refused("line 4: sandboxMode: ")),
    ("access: read", Refused("line 4: access: ")),
    ("capabilities: [read]", Refused("line 4: capabilities: ")),
    ("sparkle: yes\ncopyright: me", Without(&[])),
    // Copilot and Visual Studio Code
    ("tools: ['read', 'search']", Only(&["view grep glob"])),
    (
        "tools: [\"read\", \"edit\", \"execute\"]",
        Only(&["view", WRITE, SHELL]),
    ),
    (
        "tools: ['codebase', 'usages', 'fetch']",
        Only(&["grep glob web_fetch"]),
    ),
    (
        "tools: ['search/codebase', 'edit/editFiles']",
        Only(&["grep glob", WRITE]),
    ),
    ("tools: ['read/readFile', 'github/*']", Only(&["view"])),
    (
        "tools: ['runCommands', 'runTasks', 'problems']",
        Only(&[SHELL]),
    ),
    ("tools: ['changes']", Only(&["git_status git_diff"])),
    ("tools: ['vscodeAPI']", Refused("`vscodeAPI`")),
    (
        "tools: ['agent', 'read']\nagents: ['explore']",
        Only(&["sub_agent view"]),
    ),
    ("tools: [view, create, bash]", Only(&["view", WRITE, SHELL])),
    ("tools: [str_replace_editor]", Only(&["view", WRITE])),
    ("tools: [powershell, report_intent]", Only(&[SHELL])),
    (
        "target: vscode\nargument-hint: what to do\nhandoffs: []",
        Without(&[]),
    ),
    (
        "mcp-servers:\n  a:\n    command: x\ntools: ['a/*', 'read']",
        Only(&["view"]),
    ),
    ("excludedTools: ['execute']", Without(&[SHELL, LATER])),
    // Cursor
    ("readonly: true", Locked),
    ("readonly: false", Without(&[])),
    ("read_only: true", Locked),
    ("readOnly: yes", Locked),
    ("readonly: mostly", Refused("line 4: readonly: ")),
    ("is_background: true\nreadonly: true", Locked),
    (
        "tools: [codebase_search, read_file, list_dir]",
        Only(&["grep glob view"]),
    ),
    (
        "tools: [edit_file, run_terminal_cmd]",
        Only(&[WRITE, SHELL]),
    ),
    ("tools: [read_file, delete_file]", Only(&["view"])),
    ("tools: [grep_search, file_search]", Only(&["grep glob"])),
    // OpenCode
    ("tools:\n  write: false\n  edit: false", Without(&[WRITE])),
    ("tools:\n  bash: false", Without(&[SHELL, LATER])),
    (
        "tools: {write: true, bash: false}",
        Without(&[SHELL, LATER]),
    ),
    (
        "tools:\n  \"*\": false\n  read: true\n  grep: true",
        Only(&["view grep"]),
    ),
    ("tools:\n  github_*: false", Refused("no tool `github_*`")),
    ("tools:\n  write: maybe", Refused("line 5: tools: ")),
    ("permission:\n  edit: deny", Without(&[WRITE])),
    (
        "permission:\n  edit: deny\n  bash: deny\n  webfetch: deny",
        Without(&[WRITE, SHELL, LATER, "web_fetch"]),
    ),
    ("permission:\n  bash: ask", Refused("line 5: permission: ")),
    (
        "permission:\n  bash:\n    \"git *\": allow\n    \"*\": deny",
        Refused("line 5: permission: "),
    ),
    ("permission: deny", Refused("line 4: permission: ")),
    ("permission:\n  edit: allow", Without(&[])),
    ("temperature: 0.1\ntop_p: 0.9", Without(&[])),
    (
        "disable: true",
        Refused("line 4: disable: the file turns its agent off"),
    ),
    ("disable: false", Without(&[])),
    (
        "tools: [list, patch, todoread, question]",
        Only(&["view", WRITE]),
    ),
    // Gemini and Qwen
    ("tools: [read_file, glob]", Only(&["view glob"])),
    (
        "kind: local\ntools:\n  - read_many_files\n  - search_file_content",
        Only(&["view grep"]),
    ),
    (
        "tools: [write_file, replace, run_shell_command]",
        Only(&[WRITE, SHELL]),
    ),
    ("tools: [run_shell_command(git status)]", Only(&["bash"])),
    (
        "tools: [google_web_search, web_fetch]",
        Only(&["web_search web_fetch"]),
    ),
    (
        "tools: [list_directory, save_memory, activate_skill]",
        Only(&["view"]),
    ),
    ("approvalMode: plan", Locked),
    ("approvalMode: yolo", Without(&[])),
    ("tools: [mcp_github_search]", Refused("`mcp_github_search`")),
    (
        "tools: [grep_search, ask_user_question, exit_plan_mode]",
        Only(&["grep"]),
    ),
    ("tools: [todo_write]", Only(&[])),
    // Factory and others
    ("tools: read-only", Only(&["view grep glob"])),
    (
        "tools: [Read, LS, Grep, Glob, Create, ApplyPatch]",
        Only(&["view grep glob", WRITE]),
    ),
    (
        "tools: [Execute, FetchUrl, WebSearch]",
        Only(&[SHELL, "web_fetch web_search"]),
    ),
    (
        "toolsSettings:\n  shell:\n    allowedCommands: [ls]",
        Refused("line 4: toolsSettings: "),
    ),
    ("groups: [read, edit]", Refused("line 4: groups: ")),
    ("whitelist: [src]", Refused("line 4: whitelist: ")),
    (
        "trustedCommands: [ls]",
        Refused("line 4: trustedCommands: "),
    ),
    ("auto_approve: true", Refused("line 4: auto_approve: ")),
];

fn compiles_to(text: &str, path: &str) -> Result<Role, String> {
    theirs(path, text).map_err(|problems| problems.to_string())
}

fn fault(role: &Result<Role, String>, comes: &Comes) -> Option<String> {
    let registry = Registry::standard();
    let all: BTreeSet<&str> = registry.infos().map(|info| info.name).collect();
    let set = |lists: &[&'static str]| -> BTreeSet<&'static str> {
        lists.iter().flat_map(|list| list.split(' ')).collect()
    };
    let expected = match (comes, role) {
        (Refused(why), Err(said)) if said.contains(why) => return None,
        (Refused(why), Err(said)) => return Some(format!("{said:?} does not say {why:?}")),
        (_, Err(said)) => return Some(said.clone()),
        (Refused(_), Ok(_)) => return Some("it is a role".to_owned()),
        (Only([]), Ok(_)) => BTreeSet::new(),
        // With any tool, a role can read what its tools returned and look for those on the shelf.
        (Only(names), Ok(_)) => &(&set(names) | &set(&["find_tools tool_output"])) & &all,
        (Without(names), Ok(_)) => &all - &set(names),
        (Locked, Ok(_)) => all.clone(),
    };
    let role = role.as_ref().ok()?;
    let has: BTreeSet<&str> = all
        .iter()
        .copied()
        .filter(|name| role.has_tool(name))
        .collect();
    let is_locked = role
        .permissions
        .contains(&ProfileRef::Named("locked".to_owned()));
    let is_right = has == expected && is_locked == matches!(comes, Locked);
    (!is_right).then(|| format!("it has {has:?}, locked: {is_locked}, not {expected:?}"))
}

#[test]
fn files_of_other_programs_give_exactly_the_tools_they_mean() {
    assert!(CASES.len() >= 100, "{}", CASES.len());
    let mut faults = Vec::new();
    for (front, comes) in CASES {
        let text = format!(
            "---\nname: reviewer\ndescription: Reviews changes.\n{front}\n---\nYou review.\n"
        );
        for path in [
            ".claude/agents/reviewer.md",
            ".github/agents/reviewer.agent.md",
        ] {
            let role = compiles_to(&text, path);
            faults.extend(fault(&role, comes).map(|fault| format!("{front:?} in {path}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn front_matter_is_found_however_it_is_framed() {
    let entries = "name: a\ndescription: b\ntools: Read";
    for text in [
        format!("\n\n---\n{entries}\n---\nc"),
        format!("<!-- made by hand -->\n---\n{entries}\n---\nc"),
        format!("<!--\nmade\nby hand\n-->\n\n---\n{entries}\n---\nc"),
        format!("# made by hand\n---\n{entries}\n---\nc"),
        format!("---\n{entries}\n...\nc"),
        format!("--- \r\n{}\r\n---\r\nc", entries.replace('\n', "\r\n")),
        format!("\u{feff}\n---\n{entries}\n---\nc"),
        "---\nName: a\nDESCRIPTION: b\nTools: Read\n---\nc".to_owned(),
        "---\nname: a\ndescription: Use when: b\nTools: Read\n---\nc".to_owned(),
    ] {
        let role = compiles_to(&text, ".claude/agents/a.md");
        assert_eq!(fault(&role, &Only(&["view"])), None, "{text:?}");
        assert_eq!(role.unwrap().prompt, "c", "{text:?}");
    }
}

#[test]
fn a_right_in_front_matter_that_is_not_yaml_is_not_lost() {
    for line in [
        "readonly: true",
        "allowed_tools: [Read]",
        "disallowed: [Bash]",
    ] {
        let text = format!("---\nname: a\ndescription: Use when: tests fail\n{line}\n---\nc");
        let role = compiles_to(&text, ".claude/agents/a.md");
        let is_narrow = role.is_err_and(|said| said.contains("line 4"))
            || theirs(".claude/agents/a.md", &text)
                .is_ok_and(|role| role.tools.is_some() || !role.permissions.is_empty());
        assert!(is_narrow, "{line}");
    }
}

#[test]
fn lines_are_those_of_the_file() {
    let said = compiles_to(
        "<!-- x -->\n\n---\nname: a\ndescription: b\ndeny: [x]\n---\nc",
        ".claude/agents/a.md",
    );
    assert!(
        said.as_ref().unwrap_err().starts_with("line 6: deny: "),
        "{said:?}"
    );
    let open = compiles_to("\n---\nname: a\n", ".claude/agents/a.md");
    assert!(
        open.as_ref().unwrap_err().starts_with("line 2: "),
        "{open:?}"
    );
}

#[test]
fn a_key_that_stands_twice_is_named() {
    for (lines, said) in [
        (
            "model: a\nmodel: b",
            "the key `model` twice, first on line 4",
        ),
        (
            "model: sonnet\nModel: haiku",
            "line 5: model: the file says this twice, first on line 4",
        ),
        (
            "max_steps: 3\nmaxTurns: 4",
            "line 5: maxTurns: the file says this twice",
        ),
    ] {
        let text = format!("---\nname: a\ndescription: b\n{lines}\n---\nc");
        let found = ours(&text).unwrap_err().to_string();
        assert!(found.contains(said), "{found}");
    }
}

#[test]
fn names_of_roles_keep_their_letters_without_accents() {
    for (written, name) in [
        ("Prüfer", "prufer"),
        ("Größe", "grosse"),
        ("naïve Tester", "naive-tester"),
        ("Łukasz", "lukasz"),
    ] {
        let role = ours(&format!("---\nname: {written}\ndescription: b\n---\nc")).unwrap();
        assert_eq!(role.name, name);
        assert!(notes(&role).is_empty());
    }
}
