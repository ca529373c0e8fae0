//! Tables of command lines, and the facts found in each.

use super::Script;

mod destructive;
mod elsewhere;
mod hiding;
mod limits;

/// Returns whether a deny of commands that begin with one of `denied` would match: one is in a form, may become one, or
/// something is hidden. `tokens` are the words that the deny spells.
fn may_run(command: &str, denied: &[&str], tokens: &[&str]) -> bool {
    let is_denied = |form: &str| denied.iter().any(|beginning| form.starts_with(beginning));
    let script = Script::parse(command);
    is_denied(command)
        || script.forms().any(is_denied)
        || script.hides().is_some()
        || script
            .guesses(tokens)
            .is_none_or(|guesses| guesses.iter().any(|guess| is_denied(guess)))
}
