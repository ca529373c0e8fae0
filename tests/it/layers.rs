//! Modules form layers: none names a module above it or beside it, and every file keeps the rules of the project.

mod agent;
mod bounded_work;
mod discord;
mod errors;
mod parts;
mod sql_words;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// The modules, bottom up. A module may name itself and modules of earlier lines.
const LAYERS: [&[&str]; 12] = [
    &["text"],
    &["permission", "drawing"],
    &["config"],
    &["charter"],
    &["store", "llm", "workspace", "exec"],
    &["mcp", "team"],
    &["tools"],
    &["agent"],
    &["manager"],
    &["discord"],
    &["daemon"],
    &["cli"],
];

/// What `src/lib.rs` takes from crates below: cargo lets none of these name a module, and each module may name all.
const BELOW: [&str; 2] = ["clock", "domain"];

/// Longest file, in lines: beyond it a file has more than one subject.
const LONGEST: usize = 600;

#[test]
fn no_module_names_one_above_or_beside_it() {
    let mut wrong = Vec::new();
    for path in rust_files(&root().join("src")) {
        let Some(module) = module_of(&path) else {
            continue;
        };
        for named in modules_named(&code_of(&fs::read_to_string(&path).unwrap())) {
            let may = named == module
                || BELOW.contains(&named.as_str())
                || layer(&named) < layer(&module);
            if !may {
                wrong.push(format!("{}: {module} names {named}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_playground_is_named_by_cli() {
    for path in rust_files(&root().join("src")) {
        let code = code_of(&fs::read_to_string(&path).unwrap());
        let may = module_of(&path).is_some_and(|module| module == "cli");
        let path = path.display();
        assert!(
            may || !code.contains("chorus_playground"),
            "{path} names it"
        );
    }
}

#[test]
fn the_program_is_built_without_what_only_tests_use() {
    let tree = |edges: &str| {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["tree", "--offline", "--locked", "--prefix=none"]);
        cargo.args(["-i", "chorus-playground", "-e", edges]);
        let outcome = cargo.current_dir(root()).output().unwrap();
        assert!(outcome.status.success(), "{outcome:?}");
        String::from_utf8(outcome.stdout).unwrap()
    };
    let testing = "chorus-playground feature \"testing\"";
    assert!(tree("normal,build,dev,features").contains(testing));
    assert!(!tree("normal,build,features").contains(testing));
}

#[test]
fn every_module_has_its_line() {
    let declared = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let declared: Vec<&str> = declared
        .lines()
        .filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'))
        .collect();
    let mut listed: Vec<&str> = LAYERS.concat();
    let mut sorted = declared.clone();
    listed.sort_unstable();
    sorted.sort_unstable();
    assert_eq!(sorted, listed);
}

#[test]
fn every_file_says_what_it_is_for_and_stays_short() {
    let mut wrong = Vec::new();
    for path in sources()
        .into_iter()
        .chain(rust_files(&root().join("tests/it")))
        .chain(rust_files(&root().join("tests/bench")))
    {
        let text = fs::read_to_string(&path).unwrap();
        if !text.starts_with("//!") {
            wrong.push(format!("{} does not open with `//!`", path.display()));
        }
        if text.lines().count() > LONGEST {
            wrong.push(format!("{} is longer than {LONGEST} lines", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn unit_tests_stand_at_the_end_of_their_file() {
    for path in rust_files(&root().join("src")) {
        let text = fs::read_to_string(&path).unwrap();
        let code = code_of(text.split("\n#[cfg(test)]\nmod tests {").next().unwrap());
        for sign in ["cfg(test)", "#[test]", "tokio::test"] {
            assert!(!code.contains(sign), "{} holds {sign}", path.display());
        }
        assert_ne!(path.file_name().unwrap(), "mod.rs", "{}", path.display());
    }
}

#[test]
fn the_check_sees_paths_trees_and_aliases_but_no_comments_or_texts() {
    let code = code_of(
        r##"
        use crate::{config::{Env, Paths}, domain, tools as t};
        //! [`crate::daemon`] in a comment
        /* crate::cli */ let a = "crate::manager"; let b = r#"crate::discord "quoted""#;
        let c = '"'; crate::store::open(); pub(crate) fn f<'a>() {} let d = crate :: text::split;
        "##,
    );
    assert_eq!(
        modules_named(&code),
        ["config", "domain", "tools", "store", "text"]
    );
}

fn layer(module: &str) -> usize {
    let position = LAYERS.iter().position(|layer| layer.contains(&module));
    position.unwrap_or_else(|| panic!("`crate::{module}` is no module of the library"))
}

/// The module a file belongs to; `lib.rs` and `main.rs` stand outside.
fn module_of(path: &Path) -> Option<String> {
    let inside = path.strip_prefix(root().join("src")).unwrap();
    let first = inside
        .components()
        .next()
        .unwrap()
        .as_os_str()
        .to_str()
        .unwrap();
    let module = first.strip_suffix(".rs").unwrap_or(first);
    (module != "lib" && module != "main").then(|| module.to_owned())
}

/// The modules that `crate::…` paths and `use crate::{…}` trees in `code` begin with, in order.
fn modules_named(code: &str) -> Vec<String> {
    names_after("crate::", code)
}

/// The names that paths and `use` trees in `code` have right after `prefix`, in order.
fn names_after(prefix: &str, code: &str) -> Vec<String> {
    let compact: String = {
        let words = code.split_whitespace().collect::<Vec<_>>().join(" ");
        words.replace(" :: ", "::").replace(":: ", "::")
    };
    let mut names = Vec::new();
    for (start, _) in compact.match_indices(prefix) {
        let before = &compact[..start];
        let is_longer_word = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        if is_longer_word || before.ends_with("super::") {
            continue;
        }
        let rest = &compact[start + prefix.len()..];
        match rest.strip_prefix('{') {
            Some(tree) => names.extend(branches(tree)),
            None => names.push(word(rest)),
        }
    }
    names
}

/// First words of the branches of a `{…}` tree whose opening brace has been taken.
fn branches(tree: &str) -> Vec<String> {
    let mut depth = 0;
    let mut words = vec![word(tree)];
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => words.push(word(&tree[at + 1..])),
            _ => {}
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn word(text: &str) -> String {
    let is_word = |c: &char| c.is_alphanumeric() || *c == '_';
    text.trim_start().chars().take_while(is_word).collect()
}

/// `source` without comments and with its texts emptied.
fn code_of(source: &str) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let length = match no_code(rest) {
            Some((_, length)) => {
                code.push(' ');
                length
            }
            None => {
                code.push(c);
                c.len_utf8()
            }
        };
        rest = &rest[length..];
    }
    code
}

/// A part of a source file that is not code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NoCode {
    Comment,
    Text,
    RawText,
    /// The character `"`, which would look like the beginning of a text.
    Quote,
}

/// Whether `rest` begins with something that is not code, and the length of it.
fn no_code(rest: &str) -> Option<(NoCode, usize)> {
    if rest.starts_with("//") {
        let length = rest.find('\n').unwrap_or(rest.len());
        Some((NoCode::Comment, length))
    } else if rest.starts_with("/*") {
        let length = rest.find("*/").map_or(rest.len(), |end| end + 2);
        Some((NoCode::Comment, length))
    } else if let Some(length) = raw_text(rest) {
        Some((NoCode::RawText, length))
    } else if rest.starts_with('"') {
        Some((NoCode::Text, text_length(rest)))
    } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
        Some((NoCode::Quote, rest[1..].find('\'').unwrap() + 2))
    } else {
        None
    }
}

/// Length of a `"…"` text, its quotes included.
fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Length of an `r"…"` or `r#"…"#` text, when one begins here.
fn raw_text(rest: &str) -> Option<usize> {
    let after = rest.strip_prefix('r')?;
    let hashes = after.bytes().take_while(|byte| *byte == b'#').count();
    after[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let body = 1 + hashes + 1;
    Some(
        rest[body..]
            .find(&end)
            .map_or(rest.len(), |at| body + at + end.len()),
    )
}

/// Every file of the program and of the crates it is made of, without the crates' own tests.
fn sources() -> Vec<PathBuf> {
    let mut files = rust_files(&root().join("src"));
    let crates = rust_files(&root().join("crates")).into_iter();
    files.extend(crates.filter(|path| !is_test(path)));
    files
}

/// Whether the file lies in a `tests` folder or is a `tests.rs` beside the code it tests.
fn is_test(path: &Path) -> bool {
    let names = path.with_extension("");
    names.iter().any(|name| name == "tests")
}

#[test]
fn no_test_says_in_its_own_words_that_it_was_not_run() {
    // The rule is in `not_run.rs`.
    let own = Regex::new(r#"print(ln)?!\(\s*"(not run|skipped)\b"#).unwrap();
    let found: Vec<_> = rust_files(&root().join("tests"))
        .into_iter()
        .filter(|path| own.is_match(&fs::read_to_string(path).unwrap()))
        .collect();
    assert!(found.is_empty(), "not by not_run(): {found:?}");
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}
