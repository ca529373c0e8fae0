//! What is known of programs: data, to be read and checked by people.
//!
//! Nothing here decides; the modules beside this one do. A list of names is a text with blanks between them, so that
//! a line holds many and a change shows as one word.

pub(super) mod elsewhere;
pub(super) mod options;
pub(super) mod programs;

/// Whether `word` is one of the `names`.
pub(super) fn has(names: &str, word: &str) -> bool {
    names.split_whitespace().any(|name| name == word)
}
