//! Every thread beside the async ones is written down with what bounds it, every task of the runtime with its owner, and
//! every queue without a bound with its reason, in `docs/maintaining/bounded-work.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use super::{code_of, root, sources};

/// What makes a thread, or holds one up.
const CALLS: [&str; 5] = [
    "spawn_blocking(",
    "block_in_place(",
    "thread::spawn(",
    "thread::scope(",
    "thread::Builder::new(",
];

#[test]
fn every_thread_is_written_down_with_its_bound() {
    assert_eq!(
        calls_of(&CALLS),
        rows_of("Threads"),
        "src and crates against docs/maintaining/bounded-work.md"
    );
}

#[test]
fn every_task_of_the_runtime_has_an_owner() {
    assert_eq!(
        calls_of(&["tokio::spawn(", "task::spawn(", "Handle::current("]),
        rows_of("Tasks"),
        "src and crates against docs/maintaining/bounded-work.md"
    );
}

/// Calls that wait for the disk or for a process.
const BLOCKING: &str = r"(?x)(?:^|[^\w:])(?:std::)?fs::\w+\( | (?:^|[^\w:])File::(?:open|create)\( | tempfile::tempfile(?:_in)?\( | \
    tempfile::tempdir\( | (?:OpenOptions|DirBuilder)::new\( | \.(?:symlink_metadata|exists|sync_all|sync_data|tempdir)\( | \
    std::process::Command::new\( | Workspace::open\( | thread::sleep\( | (?:folder|agent_file)::(?:read|rewrite|complete|remove|rename)\(";

#[test]
fn nothing_waits_for_the_disk_on_an_async_thread() {
    let count = |path: &PathBuf| (shown(path), waits(&program(path)).len());
    let counted: BTreeMap<String, usize> = sources()
        .iter()
        .map(count)
        .filter(|(path, waits)| *waits > 0 && !path.starts_with("cli/"))
        .collect();
    assert_eq!(
        counted,
        rows_of("Waiting on the async threads"),
        "src and crates against docs/maintaining/bounded-work.md"
    );
}

#[test]
fn the_check_sees_what_async_code_calls_itself_and_in_its_own_file() {
    let code = "async fn a() { fs::read(path)?; spawn_blocking(move || fs::read(path)).await; tokio::fs::read(path).await; }\n\
        fn look() -> bool { path.exists() } fn b() { fs::read(path); let later = async move { look() }; }\n\
        async fn c() { File::open(path).await?; self.look(); overlook(); }";
    assert_eq!(waits(code), ["fs::read(", "look(", "look("]);
}

/// What the async bodies of a file wait for, outside of threads of their own.
fn waits(source: &str) -> Vec<String> {
    let code = without_threads(&code_of(source));
    let (mut bodies, mut helpers) = (Vec::new(), vec![BLOCKING.to_owned()]);
    let blocking = Regex::new(BLOCKING).unwrap();
    for (at, word) in code
        .match_indices("async ")
        .chain(code.match_indices("fn "))
    {
        let Some(head) = code[at..].find(['{', ';']) else {
            continue;
        };
        let body = between(&code[at + head..], '{', '}');
        let signature = &code[at + word.len()..at + head];
        if word == "async " {
            bodies.push(body);
        } else if !code[..at].ends_with("async ")
            && !calls(body, &blocking).is_empty()
            && !body.contains("async ")
        {
            let name = signature.split(['(', '<']).next().unwrap();
            helpers.push(format!(r"\b{name}\("));
        }
    }
    let all = Regex::new(&helpers.join("|")).unwrap();
    bodies.iter().flat_map(|body| calls(body, &all)).collect()
}

/// What of `sought` is called in `body` without being awaited.
fn calls(body: &str, sought: &Regex) -> Vec<String> {
    let made = sought.find_iter(body).filter(|call| {
        let opened = call.end() - 1;
        let after = &body[opened + between(&body[opened..], '(', ')').len()..];
        !after.trim_start().starts_with(".await") && !body[..call.start()].ends_with("fn ")
    });
    let names = made.map(|call| {
        call.as_str()
            .trim_start_matches(|c: char| !c.is_alphanumeric())
    });
    names.map(str::to_owned).collect()
}

/// What hands work to a thread of its own: tokio's function, and ours around it.
const BESIDE: [&str; 4] = ["blocking(", "on_disk(", "on_own_thread(", "off_thread("];

/// `code` without what is handed to a thread of its own.
fn without_threads(code: &str) -> String {
    let mut left = String::new();
    let mut rest = code;
    while let Some((at, call)) = BESIDE
        .iter()
        .filter_map(|call| Some((rest.find(call)?, call)))
        .min()
    {
        let opened = at + call.len() - 1;
        left.push_str(&rest[..opened]);
        rest = &rest[opened + between(&rest[opened..], '(', ')').len()..];
    }
    left + rest
}

/// From an opening bracket to the one that closes it.
fn between(text: &str, open: char, close: char) -> &str {
    let mut depth = 0;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth <= 0 {
                return &text[..=at];
            }
        }
    }
    text
}

/// How often each file makes one of these calls.
fn calls_of(calls: &[&str]) -> BTreeMap<String, usize> {
    let count = |path: &PathBuf| {
        let code = code_of(&program(path));
        let made = calls.iter().map(|call| code.matches(call).count()).sum();
        (shown(path), made)
    };
    let files = sources();
    let counted = files.iter().map(count).filter(|(_, made)| *made > 0);
    counted.collect()
}

/// A source file without its unit tests.
fn program(path: &Path) -> String {
    let source = fs::read_to_string(path).unwrap();
    let program = source.split("\n#[cfg(test)]\nmod tests {").next();
    program.unwrap().to_owned()
}

/// A file as the page names it.
fn shown(path: &Path) -> String {
    let path = path.strip_prefix(root()).unwrap();
    let below = path.strip_prefix("src").or(path.strip_prefix("crates"));
    below.unwrap().display().to_string()
}

/// A section of the page.
fn section(name: &str) -> String {
    let page = fs::read_to_string(root().join("docs/maintaining/bounded-work.md")).unwrap();
    let mut sections = page.split("\n## ");
    let section = sections.find(|section| section.starts_with(name));
    section.unwrap().to_owned()
}

/// The files of a section's table, with the count that each row gives.
fn rows_of(name: &str) -> BTreeMap<String, usize> {
    let section = section(name);
    let rows = section.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let path = cells.next()?.strip_suffix('`')?;
        let calls = cells.next()?.parse().ok()?;
        let bound = cells.nth(1)?;
        (path.ends_with(".rs") && !bound.is_empty()).then(|| (path.to_owned(), calls))
    });
    rows.collect()
}

#[test]
fn every_queue_without_a_bound_is_written_down_with_its_reason() {
    let made: BTreeSet<String> = sources()
        .into_iter()
        .filter(|path| code_of(&program(path)).contains("unbounded_channel("))
        .map(|path| shown(&path))
        .collect();
    let queues = section("Queues");
    let rows = queues.lines().filter_map(|line| {
        let (path, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        rest.contains(" | ").then(|| path.to_owned())
    });
    assert_eq!(
        made,
        rows.collect(),
        "src and crates against docs/maintaining/bounded-work.md"
    );
}
