//! An error with its causes: a library's outermost message often says the least.

use std::error::Error;

/// Returns `error` and its causes, outermost first, without repetitions.
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
