//! The helpers that every agent has: `general`, which does the same as its parent, and `explore`, which is read-only.

use super::compile::{Known, compile};
use super::file::{Charter, Trust};
use super::problem::Problems;
use super::role::Role;

/// Their names. A repository's role with such a name is ignored: it does not replace helpers that people know.
pub(super) const NAMES: [&str; 2] = ["general", "explore"];

/// Their source as shown to people.
const SOURCE: &str = "built in";

const GENERAL: &str = "---
name: general
description: Does a task of several steps by itself and reports the outcome.
disallowedTools: [sub_agent]
docs: true
---
You were given one task by another agent, who waits for your report and sees nothing else of what you do. Do the whole task. \
Then report what you did, what you found and what is left, with the names of files and the exact words that matter.
";

const EXPLORE: &str = "---
name: explore
description: Looks through files and reports what it found; changes nothing.
model: lightweight
tools: [view, glob, grep]
---
You were given one question by another agent, who waits for your report and sees nothing else of what you do. Look for the \
answer in the files, and change nothing. Report what you found with paths and line numbers, and say what you did not find.
";

/// Returns the text of a built-in role.
pub fn text(name: &str) -> Option<&'static str> {
    match name {
        "general" => Some(GENERAL),
        "explore" => Some(EXPLORE),
        _ => None,
    }
}

/// Returns both of them.
///
/// # Errors
///
/// Never fails if `known` has the tools of this program.
pub(super) fn roles(known: &Known<'_>) -> Result<[Role; 2], Problems> {
    Ok([role(GENERAL, known)?, role(EXPLORE, known)?])
}

fn role(text: &str, known: &Known<'_>) -> Result<Role, Problems> {
    let charter = Charter {
        path: SOURCE,
        bytes: text.as_bytes(),
        trust: Trust::People,
    };
    compile(&charter, known)
}
