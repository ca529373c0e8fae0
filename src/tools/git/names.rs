//! Names of branches, remotes and commits, as a model may write them. Pure.

use crate::tools::error::ToolError;

/// Most characters of a name.
const LONGEST: usize = 200;

pub(in crate::tools) fn check_branch(name: &str) -> Result<(), ToolError> {
    let is_branch = is_reference(name)
        && git2::Branch::name_is_valid(name).unwrap_or(false)
        && !name.starts_with("refs/")
        && name != "HEAD";
    if is_branch {
        Ok(())
    } else {
        Err(refusal("branch", name))
    }
}

pub(in crate::tools) fn check_remote(name: &str) -> Result<(), ToolError> {
    if is_reference(name) && !name.contains('/') {
        Ok(())
    } else {
        Err(refusal("remote", name))
    }
}

/// Checks the name of a commit: a branch, a tag, a hash, `HEAD~2`.
pub(in crate::tools) fn check_revision(text: &str) -> Result<(), ToolError> {
    let name = text.trim_end_matches(|c: char| c == '~' || c == '^' || c.is_ascii_digit());
    // A name may itself end with digits: the trimmed part must begin with a mark.
    let steps = &text[name.len()..];
    let name = match steps.find(['~', '^']) {
        Some(mark) => &text[..name.len() + mark],
        None => text,
    };
    if is_reference(name) && text.len() <= LONGEST {
        Ok(())
    } else {
        Err(refusal("commit", text))
    }
}

/// Returns whether the name has only letters, digits and `._/-`, without anything that git or a program it starts reads
/// as an option or a range.
pub(super) fn is_reference(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
    (1..=LONGEST).contains(&name.len())
        && name.bytes().all(is_plain)
        && !name.starts_with(['-', '.', '/'])
        && !name.contains("..")
        && !name.contains("//")
        && !name.ends_with(['/', '.'])
        && !name.ends_with(".lock")
}

fn refusal(kind: &str, name: &str) -> ToolError {
    let shown = crate::text::one_line(&crate::text::visible(name).0, 60);
    ToolError::Rejected(format!(
        "`{shown}` cannot be the name of a {kind}: letters, digits and `._/-`, up to 200"
    ))
}
