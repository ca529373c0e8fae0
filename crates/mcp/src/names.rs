//! The names under which a model calls the tools of a server.

use std::collections::{HashMap, HashSet};

use super::sha256;

/// Longest name in bytes that every provider takes.
pub const MAX_MODEL_NAME: usize = 64;

/// Digits of the hash that tell apart two names; as many again where they are equal.
const DIGITS: usize = 6;

/// Most of them: full names that agree in so many are the same name.
const MAX_DIGITS: usize = 48;

/// Returns a name for each of `tools`, which differ from each other, in their order: `mcp__<server>__<tool>` in letters that every
/// provider takes.
///
/// A name that is too long, and names that would be equal, end in digits of the hash of their full name.
pub fn model_names<'a>(server: &str, tools: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let full: Vec<String> = tools
        .into_iter()
        .map(|tool| format!("mcp__{server}__{tool}"))
        .collect();
    let plain: Vec<String> = full.iter().map(|name| spelt(name)).collect();
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for name in &plain {
        *seen.entry(name).or_default() += 1;
    }
    let is_taken = |name: &String| seen.get(name.as_str()).is_some_and(|count| *count > 1);
    let mut used = HashSet::new();
    let mut names = Vec::new();
    for (name, full) in plain.iter().zip(&full) {
        let mut found = name.clone();
        let mut digits = 0;
        // A server can make names whose digits are equal, too.
        while digits < MAX_DIGITS
            && (found.len() > MAX_MODEL_NAME || is_taken(&found) || used.contains(&found))
        {
            digits += DIGITS;
            found = marked(name, full, digits);
        }
        used.insert(found.clone());
        names.push(found);
    }
    names
}

fn spelt(name: &str) -> String {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars()
        .map(|c| if known(c) { c } else { '_' })
        .collect()
}

fn marked(name: &str, full: &str, digits: usize) -> String {
    let hash = sha256(full);
    let room = MAX_MODEL_NAME - digits - 1;
    // It is ASCII by now.
    format!("{}_{}", &name[..name.len().min(room)], &hash[..digits])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_short_and_different() {
        assert_eq!(
            model_names("git", ["git_log", "a.b", "größe"]),
            ["mcp__git__git_log", "mcp__git__a_b", "mcp__git__gr__e"]
        );
        let twins = model_names("x", ["a.b", "a/b", "c"]);
        assert_ne!(twins[0], twins[1]);
        assert!(twins[0].starts_with("mcp__x__a_b_") && twins[1].starts_with("mcp__x__a_b_"));
        assert_eq!(twins[2], "mcp__x__c");
        let long = format!("{}1", "y".repeat(100));
        let other = format!("{}2", "y".repeat(100));
        let names = model_names("x", [long.as_str(), other.as_str()]);
        assert_ne!(names[0], names[1]);
        assert!(names.iter().all(|name| name.len() == MAX_MODEL_NAME));
    }
}
