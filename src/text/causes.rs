//! An error with what caused it: a library's outermost words are often the least telling.

use std::error::Error;

/// `error` and its causes, outermost first, each said once.
pub fn with_causes(error: &dyn Error) -> String {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !said.contains(&words) {
            said.push_str(": ");
            said.push_str(&words);
        }
        next = cause.source();
    }
    said
}
