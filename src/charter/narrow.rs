//! Profiles that a list of tools implies.

use std::collections::BTreeSet;

use regex::escape;
use serde_json::json;

use crate::domain::ProfileRef;

/// Returns the pattern of commands that `Bash(…)` means: `git:*` and `git *` are `git` with any arguments.
fn commands(inside: &str) -> String {
    let head = inside
        .strip_suffix(":*")
        .or_else(|| inside.strip_suffix(" *"));
    match head {
        Some(head) => format!("tool:bash:{}( .*)?", escape(head)),
        None => format!("tool:bash:{}", escape(inside)),
    }
}

/// Returns a profile with `bash` limited to the commands of these entries; it has no rule for other tools.
pub(super) fn to_commands(entries: &BTreeSet<&str>, known: &[&str]) -> ProfileRef {
    let others = known.iter().filter(|name| **name != "bash");
    let others: Vec<String> = others.map(|name| escape(name)).collect();
    let allow: Vec<String> = entries
        .iter()
        .map(|entry| commands(entry))
        .chain([format!("tool:(?:{}):.*", others.join("|"))])
        .collect();
    let lists = json!({ "allow": allow, "ask": [], "deny": [] });
    ProfileRef::Custom(lists.as_object().cloned().unwrap_or_default())
}
