//! One mistake in a file, and its place.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
pub struct Problem {
    pub path: PathBuf,
    /// Line, counted from 1; 0 for the whole file.
    pub line: usize,
    /// Column, counted from 1; 0 for the whole line.
    pub column: usize,
    /// The mistake, and its correction.
    pub reason: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        write!(f, ": {}", self.reason)
    }
}
