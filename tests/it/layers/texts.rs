//! The texts in the code: each literal of a source file that is words; and the register of all texts that people can see,
//! `docs/maintaining/texts.md`, to be read in one go.
//!
//! Commands come from their registration, the command line from its help, all other texts from the code itself: each literal of
//! the modules that speak to people, with `{}` where a value goes. The file is written by command. The test holds it loosely, so that a change of
//! a few words need not change it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{NoCode, no_code, root, rust_files};
use chorus::discord::registered_commands;

/// The register, below the project's folder.
const REGISTER: &str = "docs/maintaining/texts.md";

/// Writes the register instead of comparing it.
const WRITE: &str = "CHORUS_WRITE_TEXTS";

/// Of a hundred texts, so many may have changed since the register was written.
const MOST_CHANGED: usize = 15;

/// Folders and files whose texts reach people in Discord, in a terminal or in an error.
const SPEAKING: [&str; 15] = [
    "discord",
    "manager",
    "agent",
    "cli",
    "config",
    "daemon",
    "charter",
    "exec/sandbox",
    "permission/words",
    "permission/profile",
    "llm/failure",
    "llm/discovery",
    "store/error",
    "store/lock",
    "text",
];

/// What of these says nothing to people: instructions to models, wire formats, names of fields.
const SILENT: [&str; 10] = [
    "agent/auxiliary/instructions.rs",
    "agent/auxiliary/refine.rs",
    "agent/turn/prompt.rs",
    "charter/builtin.rs",
    "discord/gateway/event.rs",
    "discord/gateway/context.rs",
    "discord/rest/route.rs",
    "discord/rest/request.rs",
    "drawing/usage_chart.rs",
    "text/dialect.rs",
];

/// The texts of a source file, in order, without those of comments.
pub(super) fn literals(source: &str) -> Vec<String> {
    let all = literals_in_code(source).into_iter();
    all.map(|(text, _)| text).collect()
}

/// The same, each with the code of its statement before it.
fn literals_in_code(source: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut code = String::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let Some((what, length)) = no_code(rest) else {
            if matches!(c, ';' | '{' | '}') {
                code.clear();
            } else {
                code.push(c);
            }
            rest = &rest[c.len_utf8()..];
            continue;
        };
        let body = &rest[..length];
        match what {
            NoCode::RawText => {
                let body = body.trim_start_matches('r').trim_matches('#');
                found.push((body.trim_matches('"').to_owned(), code.clone()));
            }
            NoCode::Text => {
                let body = &body[1..];
                let text = unescaped(body.strip_suffix('"').unwrap_or(body));
                found.push((text, code.clone()));
            }
            NoCode::Comment | NoCode::Quote => {}
        }
        rest = &rest[length..];
    }
    found
}

/// A text as it is shown: its escapes read, its continued lines joined.
fn unescaped(body: &str) -> String {
    let mut text = String::new();
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                Some(other) => text.push(other),
                None => {}
            },
            c => text.push(c),
        }
    }
    text
}

/// Whether it is words, as opposed to a key, a path or a piece of a format.
pub(super) fn is_words(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| {
        let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_word = |c: char| c.is_alphabetic() || "'’-".contains(c);
        letters.chars().count() > 1 && letters.chars().all(is_word)
    });
    words.count() >= 2
}

/// The texts of a file that people can see: those of logs and of lints are left out.
fn said(source: &str) -> Vec<String> {
    let logs = ["trace!(", "debug!(", "info!(", "warn!(", "error!("];
    let is_said = |text: &str, code: &str| {
        let is_sql = ["SELECT ", "INSERT ", "UPDATE "]
            .iter()
            .any(|verb| text.starts_with(verb));
        let is_logged = logs.iter().any(|log| code.contains(log));
        is_words(text) && !is_sql && !is_logged && !code.trim_end().ends_with("reason =")
    };
    let all = literals_in_code(source).into_iter();
    let said = all.filter(|(text, code)| is_said(text, code));
    said.map(|(text, _)| text).collect()
}

/// One line for each command of Discord and each of its options.
fn commands() -> String {
    fn add(lines: &mut String, command: &Value, above: &str) {
        let name = format!("{above}{}", command["name"].as_str().unwrap());
        let described = command["description"].as_str().unwrap_or_default();
        let _ = writeln!(lines, "- `{name}` {described}");
        for option in command["options"].as_array().into_iter().flatten() {
            if matches!(option["type"].as_u64(), Some(1 | 2)) {
                add(lines, option, &format!("{name} "));
                continue;
            }
            let name = option["name"].as_str().unwrap();
            let described = option["description"].as_str().unwrap_or_default();
            let _ = writeln!(lines, "  - `{name}` {described}");
        }
    }
    let mut lines = String::new();
    for command in registered_commands().as_array().unwrap() {
        let above = if command["type"] == 3 { "" } else { "/" };
        add(&mut lines, command, above);
    }
    lines
}

/// The help of each subcommand of the program.
fn help() -> String {
    fn add(pages: &mut String, command: &clap::Command, above: &str) {
        let name = format!("{above}{}", command.get_name());
        let shown = command.clone().bin_name(&name).term_width(100);
        let mut shown = shown.mut_args(|argument| argument.hide_env_values(true));
        let help = shown.render_long_help().to_string();
        let help: Vec<&str> = help.trim().lines().map(str::trim_end).collect();
        let _ = write!(pages, "### {name}\n\n```text\n{}\n```\n\n", help.join("\n"));
        for sub in command.get_subcommands() {
            add(pages, sub, &format!("{name} "));
        }
    }
    let mut pages = String::new();
    add(&mut pages, &chorus::cli::command(), "");
    pages
}

/// The texts of the code, file by file.
fn notices() -> String {
    let src = root().join("src");
    let mut files = rust_files(&src);
    files.sort();
    let mut page = String::new();
    for path in files {
        let name = path.strip_prefix(&src).unwrap().to_str().unwrap();
        let is_in = |place: &&str| {
            Path::new(name).starts_with(place) || name.strip_suffix(".rs") == Some(*place)
        };
        if !SPEAKING.iter().any(is_in) || SILENT.contains(&name) {
            continue;
        }
        let texts = said(&fs::read_to_string(&path).unwrap()).into_iter();
        let lines: Vec<String> = texts
            .map(|text| format!("- {}", text.trim().replace('\n', " ⏎ ")))
            .collect();
        if !lines.is_empty() {
            let _ = write!(page, "### {name}\n\n{}\n\n", lines.join("\n"));
        }
    }
    page
}

#[test]
fn all_texts_for_people_are_in_one_file() {
    let page = format!(
        "# All texts that people can see\n\n\
         Written by `{WRITE}=1 cargo nextest run -E 'test(/^layers::texts/)'`, to be read in one go before a release. `{{}}` and\n\
         `{{name}}` are where a value goes, ` ⏎ ` is where a line ends. What goes to the log or to a model alone is not here. The rules are in\n\
         [words](words.md).\n\n\
         ## Commands in Discord\n\n{}\n## The command line\n\n{}## Cards, notices, answers and errors\n\n{}",
        commands(),
        help(),
        notices()
    );
    let page = format!("{}\n", page.trim_end());
    let path = root().join(REGISTER);
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    let lines = |page: &str| -> BTreeSet<String> { page.lines().map(str::to_owned).collect() };
    let (kept, now) = (lines(&kept), lines(&page));
    assert!(now.len() > 1_500, "only {} lines", now.len());
    let missing: Vec<&String> = now.difference(&kept).collect();
    assert!(
        missing.len() * 100 <= now.len() * MOST_CHANGED,
        "{} of {} texts are not in {REGISTER}; write it again with {WRITE}=1 and read the difference",
        missing.len(),
        now.len()
    );
}
