//! Facts about programs: data, to be read and checked by people.
//!
//! Nothing here decides; the modules next to it do. A list of names is a text with blanks between them, so that a line
//! holds many and a change shows as one word.

mod building;
mod databases;
pub(super) mod elsewhere;
mod files;
pub(super) mod git_options;
mod interpreters;
mod network;
pub(super) mod options;
mod packages;
pub(super) mod programs;
mod system;
mod text;

/// Whether `word` is one of the `names`, which are separated by blanks.
pub(super) fn has(names: &str, word: &str) -> bool {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    if word.is_empty() || word.as_bytes().iter().any(is_blank) {
        return false;
    }
    names.match_indices(word).any(|(at, _)| {
        let (before, from) = names.as_bytes().split_at(at);
        before.last().is_none_or(is_blank) && from.get(word.len()).is_none_or(is_blank)
    })
}
