//! Every thread beside the async ones is written down with what bounds it, every task of the runtime with its owner, and
//! every queue without a bound with its reason, in `docs/maintaining/bounded-work.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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

/// How often each file makes one of these calls.
fn calls_of(calls: &[&str]) -> BTreeMap<String, usize> {
    let count = |path: &PathBuf| {
        let code = code_of(&fs::read_to_string(path).unwrap());
        let made = calls.iter().map(|call| code.matches(call).count()).sum();
        (shown(path), made)
    };
    let files = sources();
    let counted = files.iter().map(count).filter(|(_, made)| *made > 0);
    counted.collect()
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
        .filter(|path| code_of(&fs::read_to_string(path).unwrap()).contains("unbounded_channel("))
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
