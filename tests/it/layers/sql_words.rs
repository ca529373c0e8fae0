//! A word that stands in SQL is a word of the column's type. It stands there as itself and is not bound, for SQLite uses a
//! partial index (`… WHERE state = 'running'`) only where the statement says the same.

use std::collections::BTreeSet;
use std::fs;

use chorus::domain::{AgentStatus, AttemptKind, SaveTrigger};
use regex::Regex;

use super::{root, rust_files};

#[test]
fn each_word_in_sql_is_one_that_a_type_or_a_table_knows() {
    let files = rust_files(&root().join("src/store"));
    // That one reads another program's database.
    let files = files.iter().filter(|path| !path.ends_with("original.rs"));
    let sources: Vec<String> = files
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let known: BTreeSet<String> = [
        AgentStatus::Destroyed.as_str(),
        SaveTrigger::Shutdown.as_str(),
        AttemptKind::Queue.as_str(),
        AttemptKind::Model.as_str(),
    ]
    .map(str::to_owned)
    .into_iter()
    .chain(sources.iter().flat_map(|source| of_types(source)))
    .chain(of_tables())
    .collect();
    assert!(known.len() > 40, "types and tables were read: {known:?}");
    let used: BTreeSet<String> = sources.iter().flat_map(|source| in_sql(source)).collect();
    assert!(used.len() > 10, "statements were read: {used:?}");
    let unknown: Vec<&String> = used.difference(&known).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

/// The words of the types that `words!` makes.
fn of_types(source: &str) -> Vec<String> {
    let blocks = source.split("\nwords! {").skip(1);
    let blocks = blocks.filter_map(|rest| Some(rest.split_once("\n}")?.0));
    blocks
        .flat_map(|block| found(r#"= "([a-z_]+)","#, block))
        .collect()
}

/// The words that the tables take, by their own checks.
fn of_tables() -> Vec<String> {
    let migrations = fs::read_dir(root().join("migrations")).unwrap();
    let texts = migrations.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    let checks = texts.flat_map(|text| found(r"CHECK \(\w+ IN \(([^)]*)\)", &text));
    checks.flat_map(|words| in_sql(&words)).collect()
}

fn in_sql(source: &str) -> Vec<String> {
    let lines = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines
        .flat_map(|line| found("'([a-z_]{3,})'", line))
        .collect()
}

/// What the first group of `pattern` matches in `text`.
fn found(pattern: &str, text: &str) -> Vec<String> {
    let pattern = Regex::new(pattern).unwrap();
    pattern
        .captures_iter(text)
        .map(|found| found[1].to_owned())
        .collect()
}
