//! Every thread beside the async ones is written down with what bounds it, and every queue without a bound with its reason, in `docs/maintaining/bounded-work.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

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
    let mut made = BTreeMap::new();
    for path in sources() {
        let code = code_of(&fs::read_to_string(&path).unwrap());
        let calls: usize = CALLS.iter().map(|call| code.matches(call).count()).sum();
        if calls > 0 {
            let path = path.strip_prefix(root()).unwrap();
            let path = path.strip_prefix("src").unwrap_or(path);
            made.insert(path.display().to_string(), calls);
        }
    }
    let page = fs::read_to_string(root().join("docs/maintaining/bounded-work.md")).unwrap();
    let rows = page.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split(" | ");
        let path = cells.next()?.strip_suffix('`')?;
        let calls = cells.next()?.parse().ok()?;
        let bound = cells.nth(1)?;
        (path.ends_with(".rs") && !bound.is_empty()).then(|| (path.to_owned(), calls))
    });
    let written: BTreeMap<String, usize> = rows.collect();
    assert_eq!(
        made, written,
        "src and crates against docs/maintaining/bounded-work.md"
    );
}

#[test]
fn every_queue_without_a_bound_is_written_down_with_its_reason() {
    let made: BTreeSet<String> = sources()
        .into_iter()
        .filter(|path| code_of(&fs::read_to_string(path).unwrap()).contains("unbounded_channel("))
        .map(|path| {
            let path = path.strip_prefix(root()).unwrap();
            let path = path.strip_prefix("src").or(path.strip_prefix("crates"));
            path.unwrap().display().to_string()
        })
        .collect();
    let page = fs::read_to_string(root().join("docs/maintaining/bounded-work.md")).unwrap();
    let queues = page.split("\n## ").find(|part| part.starts_with("Queues"));
    let rows = queues.unwrap().lines().filter_map(|line| {
        let (path, rest) = line.strip_prefix("| `")?.split_once("` | ")?;
        rest.contains(" | ").then(|| path.to_owned())
    });
    assert_eq!(
        made,
        rows.collect(),
        "src and crates against docs/maintaining/bounded-work.md"
    );
}
