//! No file imports one that imports it, straight or by others.
//!
//! A name is looked for where it is defined: a file that hands on what lies below it is passed through, but not by
//! files that lie below it themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::LazyLock;

use regex::Regex;

use super::{code_of, root, sources};

/// A path of modules and a name, such as `agent`, `turn`, `Seed`.
type Name = Vec<String>;

/// What a file imports and hands on.
#[derive(Default)]
struct File {
    /// Every name of this crate that it uses, as written.
    uses: Vec<Name>,
    /// What it hands on, by the name it has here.
    hands_on: BTreeMap<String, Name>,
}

static IMPORT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);").unwrap());
static PATH: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)+").unwrap());

#[test]
fn no_file_imports_one_that_imports_it() {
    let codes: BTreeMap<Name, String> = sources().iter().map(|path| module(path)).collect();
    let files: BTreeMap<&Name, File> = codes
        .iter()
        .map(|(module, code)| (module, read(module, code, &codes)))
        .collect();
    let mut below: BTreeMap<&Name, BTreeSet<&Name>> = BTreeMap::new();
    for (module, file) in &files {
        let found = file
            .uses
            .iter()
            .filter_map(|name| home(name, module, &files));
        let others = found.filter(|found| found != module);
        below.insert(module, others.collect());
    }
    // Whoever imports nothing that is left stands above nothing in a circle.
    loop {
        let left: BTreeSet<&Name> = below.keys().copied().collect();
        let before = below.len();
        below.retain(|_, others| others.iter().any(|other| left.contains(other)));
        if below.len() == before {
            break;
        }
    }
    assert!(below.is_empty(), "in a circle: {}", circle(&below));
}

/// One circle of those that are left, for people.
fn circle(below: &BTreeMap<&Name, BTreeSet<&Name>>) -> String {
    let mut way: Vec<&Name> = below.keys().copied().take(1).collect();
    loop {
        let others = &below[way.last().unwrap()];
        let next = others.iter().find(|other| below.contains_key(*other));
        let next = *next.unwrap();
        if let Some(at) = way.iter().position(|seen| *seen == next) {
            way.push(next);
            let names: Vec<String> = way[at..].iter().map(|file| file.join("/")).collect();
            return names.join(" → ");
        }
        way.push(next);
    }
}

/// The module that a file is, and its code.
fn module(path: &std::path::Path) -> (Name, String) {
    let inside = path.strip_prefix(root().join("src")).unwrap();
    let module = inside.with_extension("");
    let module = module.to_str().unwrap().split('/').map(str::to_owned);
    (
        module.filter(|name| name != "lib").collect(),
        code_of(&fs::read_to_string(path).unwrap()),
    )
}

fn read(module: &Name, code: &str, all: &BTreeMap<Name, String>) -> File {
    let mut file = File::default();
    let mut known = BTreeMap::new();
    for import in IMPORT.captures_iter(code) {
        for (path, own) in leaves(&import[2]) {
            let Some(name) = absolute(module, &path, &known, all) else {
                continue;
            };
            if import.get(1).is_some() {
                file.hands_on.insert(own.clone(), name.clone());
            }
            known.insert(own, name.clone());
            file.uses.push(name);
        }
    }
    let body = IMPORT.replace_all(code, "");
    for path in PATH.find_iter(&body) {
        let path: Name = segments(path.as_str());
        file.uses.extend(absolute(module, &path, &known, all));
    }
    file
}

/// The paths in what stands behind `use`, each with the name that it gets.
fn leaves(tree: &str) -> Vec<(Name, String)> {
    let tree = tree.trim();
    if let Some((before, inside)) = tree.split_once('{') {
        let inside = &inside[..inside.rfind('}').unwrap_or(inside.len())];
        let before = segments(before);
        return branches(inside)
            .into_iter()
            .map(|branch| match branch.trim() {
                // The module itself, beside names in it.
                "self" => before.join("::"),
                branch => format!("{}::{branch}", before.join("::")),
            })
            .flat_map(|branch| leaves(&branch))
            .collect();
    }
    let (path, own) = tree.split_once(" as ").unwrap_or((tree, ""));
    let path = segments(path);
    let own = match own.trim() {
        "" => path.last().cloned().unwrap_or_default(),
        own => own.to_owned(),
    };
    vec![(path, own)]
}

/// What stands between the commas of a tree, inner braces untouched.
fn branches(tree: &str) -> Vec<&str> {
    let (mut depth, mut start) = (0, 0);
    let mut found = Vec::new();
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(&tree[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(&tree[start..]);
    found.retain(|branch| !branch.trim().is_empty());
    found
}

fn segments(path: &str) -> Name {
    let parts = path.split("::").map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A path as it is from the crate's root; none for one that leads out of the crate.
fn absolute(
    module: &Name,
    path: &[String],
    known: &BTreeMap<String, Name>,
    all: &BTreeMap<Name, String>,
) -> Option<Name> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            let above = &module[..module.len().checked_sub(ups)?];
            Some([above, &path[ups..]].concat())
        }
        _ => match known.get(first) {
            Some(name) => Some([name, rest].concat()),
            None => {
                let child = [module.clone(), vec![first.clone()]].concat();
                all.contains_key(&child).then(|| [module, path].concat())
            }
        },
    }
}

/// The file that a name is taken from by `user`; none for a bare module and for what no file defines.
fn home<'a>(name: &Name, user: &Name, files: &BTreeMap<&'a Name, File>) -> Option<&'a Name> {
    let mut name = name.clone();
    loop {
        let at = (0..=name.len())
            .rev()
            .find(|end| files.contains_key(&name[..*end].to_vec()))?;
        let (module, file) = files.get_key_value(&name[..at].to_vec())?;
        let own = name.get(at)?;
        let is_above = user.len() > at && user.starts_with(module);
        match file.hands_on.get(own) {
            Some(further) if !is_above => name = [further.as_slice(), &name[at + 1..]].concat(),
            _ => return (!module.is_empty()).then_some(*module),
        }
    }
}
