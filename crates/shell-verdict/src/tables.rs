//! Facts about programs, from `tables/`: data for people to read and check.
//!
//! Nothing here decides; the modules next to it do.

pub(crate) mod elsewhere;
mod lists;
pub(crate) mod options;
pub(crate) mod programs;
#[cfg(test)]
mod tests;

/// Returns whether `word` is one of the `names`, which are separated by blanks.
pub(crate) fn has(names: &str, word: &str) -> bool {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace();
    if word.is_empty() || word.as_bytes().iter().any(is_blank) {
        return false;
    }
    names.match_indices(word).any(|(at, _)| {
        let (before, from) = names.as_bytes().split_at(at);
        before.last().is_none_or(is_blank) && from.get(word.len()).is_none_or(is_blank)
    })
}
