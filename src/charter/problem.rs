//! Problems and notes about a charter.

use std::fmt;

use serde::Serialize;

/// Most problems that are listed; the rest is only counted.
const MOST: usize = 20;

/// One mistake, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// Counted from 1; 0 for the whole file.
    pub line: usize,
    /// The key it is about; empty for the whole file.
    pub key: String,
    pub message: String,
    pub instead: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; {}", self.message, self.instead)
    }
}

/// An entry that was ignored or read otherwise than written; the role works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Counted from 1; 0 for the whole file.
    pub line: usize,
    pub message: String,
}

/// Why a charter gives no role: at least one problem, in the order of lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Creates the problem of a file that is not read at all.
    pub fn of_file(message: impl Into<String>, instead: impl Into<String>) -> Self {
        Self::one(0, message, instead)
    }

    pub(super) fn one(line: usize, message: impl Into<String>, instead: impl Into<String>) -> Self {
        Self(vec![Problem {
            line,
            key: String::new(),
            message: message.into(),
            instead: instead.into(),
        }])
    }

    /// Returns the problems in order, at most 20; `None` if there are none.
    pub(super) fn of(mut found: Vec<Problem>) -> Option<Self> {
        found.sort_by_key(|problem| problem.line);
        if found.len() > MOST {
            let more = found.len() - MOST + 1;
            found.truncate(MOST - 1);
            found.push(Problem {
                line: 0,
                key: String::new(),
                message: format!("there are {more} more problems"),
                instead: "fix these first".to_owned(),
            });
        }
        (!found.is_empty()).then_some(Self(found))
    }

    /// Returns one line for each problem, after the name of the file.
    pub fn of_file_named(&self, file: &str) -> String {
        let lines = self.0.iter().map(|problem| {
            let between = if problem.line > 0 { ", " } else { ": " };
            format!("{file}{between}{problem}")
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub fn as_slice(&self) -> &[Problem] {
        &self.0
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}
