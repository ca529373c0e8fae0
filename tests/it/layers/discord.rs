//! The parts of `src/discord` form layers too. The three that serve people do not know each other.

use std::fs;
use std::path::Path;

use super::{code_of, names_after, root, sources};

/// The parts, bottom up. A part may name itself and parts of earlier lines.
const PARTS: [&[&str]; 7] = [
    &["error"],
    &["rest"],
    &["render", "people", "gateway"],
    &["bot"],
    &["inbound", "interactions", "outbound"],
    &["hub"],
    &["run"],
];

#[test]
fn no_part_of_discord_names_one_above_or_beside_it() {
    let mut wrong = Vec::new();
    let mut seen = Vec::new();
    for path in sources() {
        let Some(module) = module_below_discord(&path) else {
            continue;
        };
        let part = &module[0];
        let code = code_of(&fs::read_to_string(&path).unwrap());
        for named in parts_named(&code, module.len()) {
            if named != *part && layer(&named) >= layer(part) {
                wrong.push(format!("{}: {part} names {named}", path.display()));
            }
        }
        seen.push(part.clone());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    seen.sort_unstable();
    seen.dedup();
    let mut listed = PARTS.concat();
    listed.sort_unstable();
    assert_eq!(seen, listed);
}

#[test]
fn the_check_sees_paths_from_the_crate_and_from_the_file() {
    let code =
        "use crate::discord::{bot::Bot, rest}; use super::super::hub::Ends; use super::responder;";
    assert_eq!(parts_named(code, 2), ["bot", "rest", "hub"]);
    assert_eq!(
        parts_named("use super::{gateway, run};", 1),
        ["gateway", "run"]
    );
}

/// The parts that `code` names, in a file that lies `depth` modules below `discord`.
fn parts_named(code: &str, depth: usize) -> Vec<String> {
    let mut named = names_after("crate::discord::", code);
    named.extend(names_after(&"super::".repeat(depth), code));
    // What `discord` hands on is named by its types, and a longer chain of `super` ends in a part's own folder.
    named.retain(|name| PARTS.concat().contains(&name.as_str()));
    named
}

fn layer(part: &str) -> usize {
    let position = PARTS.iter().position(|layer| layer.contains(&part));
    position.unwrap_or_else(|| panic!("`discord::{part}` is in no layer"))
}

/// The module of a file below `src/discord/`: its part first.
fn module_below_discord(path: &Path) -> Option<Vec<String>> {
    let inside = path.strip_prefix(root().join("src/discord")).ok()?;
    let module = inside.with_extension("");
    Some(
        module
            .iter()
            .map(|name| name.to_string_lossy().into_owned())
            .collect(),
    )
}
