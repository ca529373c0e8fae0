//! `docs/maintaining/way-of-a-message.md` is true: each function stands in a file that its line names. And the way does not
//! grow: what it takes to answer a message is what a newcomer must read first.

use std::collections::BTreeSet;
use std::fs;

use super::{code_of, root};

/// Files on the way of a plain message.
const FILES: usize = 30;

/// Functions on the way.
const FUNCTIONS: usize = 70;

/// Queues between tasks on the way.
const QUEUES: usize = 6;

#[test]
fn the_way_of_a_message_is_as_it_is_written_and_does_not_grow() {
    let page = fs::read_to_string(root().join("docs/maintaining/way-of-a-message.md")).unwrap();
    let mut files = BTreeSet::new();
    let mut functions = BTreeSet::new();
    let mut missing = Vec::new();
    for line in page.split("\n- ").skip(1) {
        let line = line.split("\n## ").next().unwrap();
        let named = sources_in(line);
        for function in functions_in(line) {
            let declared = |file: &&String| declares(file, &function);
            match named.iter().find(declared) {
                Some(file) => drop(functions.insert((file.clone(), function))),
                None => missing.push(format!("`{function}()` is not in {named:?}")),
            }
        }
        files.extend(named);
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    let queues = page.matches("\n## ").count() - 1;
    assert!(files.len() <= FILES, "{} files: {files:#?}", files.len());
    assert!(
        functions.len() <= FUNCTIONS,
        "{} functions: {functions:#?}",
        functions.len()
    );
    assert!(queues <= QUEUES, "{queues} queues");
}

/// The source files that a line links.
fn sources_in(line: &str) -> Vec<String> {
    let links = line.split("](../../").skip(1);
    let paths = links.filter_map(|link| Some(link.split_once(')')?.0.to_owned()));
    paths.filter(|path| path.ends_with(".rs")).collect()
}

/// The functions that a line names, written as `name()`.
fn functions_in(line: &str) -> Vec<String> {
    let spans = line.split('`').skip(1).step_by(2);
    spans
        .filter_map(|span| Some(span.strip_suffix("()")?.to_owned()))
        .collect()
}

fn declares(file: &str, function: &str) -> bool {
    let source = fs::read_to_string(root().join(file)).unwrap_or_default();
    let code = code_of(&source);
    [format!("fn {function}("), format!("fn {function}<")]
        .iter()
        .any(|head| code.contains(head))
}
