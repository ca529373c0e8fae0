//! Reads the lines of a `.env` file, in the encodings that editors write.
//!
//! It does not decide whether the file may supply configuration; see `trust`.

use std::cell::Cell;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::EnvError;
use super::variables::filled;

/// Longest file that is read.
const LONGEST: u64 = 1 << 20;

/// The assignments of one file. Values may be secrets: never show them.
#[derive(Clone, Default)]
pub(super) struct Assignments {
    pub(super) values: HashMap<String, String>,
    pub(super) repeated: Vec<Repeated>,
}

/// A variable that one file assigns more than once: the last assignment that is not blank counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repeated {
    pub name: String,
    pub path: PathBuf,
    /// The line with the unused value, counted from 1.
    pub unused: usize,
    /// The line with the used value.
    pub used: usize,
}

impl fmt::Display for Repeated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            path,
            unused,
            used,
        } = self;
        let path = path.display();
        write!(
            f,
            "{path} sets {name} in line {unused} and again in line {used}: line {used} is used, delete line {unused}"
        )
    }
}

/// Why a `.env` file cannot be parsed. It never repeats a line, which may contain a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DotenvFault {
    #[error(
        ", line {0} is not an assignment: write NAME=value, and put a value with spaces in quotes"
    )]
    NoAssignment(usize),
    #[error(" is in UTF-16: save it as UTF-8")]
    Utf16,
    #[error(", line {0} is not UTF-8: save the file as UTF-8")]
    NotUtf8(usize),
    #[error(" is longer than 1 MiB: keep only assignments in it")]
    TooLong,
    #[error(" could not be read to its end: check the disk, then try again")]
    Unreadable,
}

impl Assignments {
    /// Reads the assignments of a file.
    pub(super) fn read(file: &File, path: &Path) -> Result<Self, EnvError> {
        let mut bytes = Vec::new();
        let assigned = file
            .take(LONGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|_| DotenvFault::Unreadable)
            .and_then(|_| Self::parse(&bytes, path));
        assigned.map_err(|fault| EnvError::Dotenv {
            path: path.to_owned(),
            fault,
        })
    }

    fn parse(bytes: &[u8], path: &Path) -> Result<Self, DotenvFault> {
        let text = decoded(bytes)?;
        let lines = Lines {
            rest: Cell::new(text.as_bytes()),
            given: Cell::new(0),
        };
        let mut assigned = Self::default();
        let mut holding: HashMap<String, usize> = HashMap::new();
        let mut assignments = dotenvy::from_read_iter(&lines);
        loop {
            let before = lines.given.get();
            let Some(assignment) = assignments.next() else {
                return Ok(assigned);
            };
            let line = first_filled_line(text, before);
            let (name, value) = assignment.map_err(|_| DotenvFault::NoAssignment(line))?;
            if filled(&value).is_none() {
                continue;
            }
            if let Some(unused) = holding.insert(name.clone(), line) {
                assigned.repeated.push(Repeated {
                    name: name.clone(),
                    path: path.to_owned(),
                    unused,
                    used: line,
                });
            }
            assigned.values.insert(name, value);
        }
    }
}

/// Returns the text of a file without a mark at its beginning.
fn decoded(bytes: &[u8]) -> Result<&str, DotenvFault> {
    if bytes.len() as u64 > LONGEST {
        return Err(DotenvFault::TooLong);
    }
    // Without a mark, the zeros in its Latin letters reveal UTF-16.
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") || bytes.contains(&0) {
        return Err(DotenvFault::Utf16);
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        let breaks = valid.iter().filter(|byte| **byte == b'\n').count();
        DotenvFault::NotUtf8(breaks + 1)
    })
}

/// Returns the number of the first line after the first `skipped` that is neither blank nor a comment.
fn first_filled_line(text: &str, skipped: usize) -> usize {
    let is_filled = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let mut after = text.lines().enumerate().skip(skipped);
    after
        .find(|(_, line)| is_filled(line))
        .map_or(skipped, |(index, _)| index)
        + 1
}

/// Gives at most one line for each read, to know how many lines a parser has taken.
struct Lines<'a> {
    rest: Cell<&'a [u8]>,
    given: Cell<usize>,
}

impl Read for &Lines<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.rest.get();
        let end = rest.iter().position(|byte| *byte == b'\n');
        let line = end.map_or(rest.len(), |at| at + 1);
        let given = line.min(buffer.len());
        let (now, later) = rest.split_at(given);
        buffer[..given].copy_from_slice(now);
        self.rest.set(later);
        if given == line && given > 0 {
            self.given.set(self.given.get() + 1);
        }
        Ok(given)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn parse(bytes: &[u8]) -> Result<Assignments, DotenvFault> {
        Assignments::parse(bytes, Path::new("/h/.env"))
    }

    #[test]
    fn a_mark_of_utf_8_is_no_part_of_the_first_name() {
        for text in ["\u{feff}A=1\nB=2\n", "\u{feff}A=1\r\nB=2\r\n", "A=1\nB=2"] {
            let read = parse(text.as_bytes()).unwrap().values;
            assert_eq!(read["A"], "1", "{text:?}");
            assert_eq!(read["B"], "2", "{text:?}");
        }
    }

    #[test]
    fn utf_16_is_named_with_and_without_its_mark() {
        let text = "A=1\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [&little, &big] {
            assert_eq!(parse(bytes).err(), Some(DotenvFault::Utf16));
        }
        for (mark, bytes) in [([0xff, 0xfe], &little), ([0xfe, 0xff], &big)] {
            let marked = [&mark[..], bytes].concat();
            assert_eq!(parse(&marked).err(), Some(DotenvFault::Utf16));
        }
    }

    #[test]
    fn a_wrong_line_is_named_by_its_number() {
        for (text, line) in [
            ("no assignment\n", 1),
            ("# one\n\nA=1\nno assignment\nB=2\n", 4),
            ("A='two\nlines'\nB=\"open\n", 3),
            ("A=1\r\n\r\nB=two words\r\n", 3),
        ] {
            let fault = parse(text.as_bytes()).err();
            assert_eq!(fault, Some(DotenvFault::NoAssignment(line)), "{text:?}");
        }
        assert_eq!(
            parse(b"A=1\nB=caf\xe9\n").err(),
            Some(DotenvFault::NotUtf8(2))
        );
    }

    #[test]
    fn the_last_assignment_that_is_not_blank_holds_and_the_others_are_named() {
        let read = parse(b"T=old\n# new\nexport T=new\nA='x\ny'\n\nA=z\nT=\n").unwrap();
        assert_eq!(read.values["T"], "new");
        assert_eq!(read.values["A"], "z");
        let lines = read
            .repeated
            .iter()
            .map(|one| (one.name.as_str(), one.unused, one.used));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines, [("T", 1, 3), ("A", 4, 7)]);
        let said = read.repeated[0].to_string();
        assert_eq!(
            said,
            "/h/.env sets T in line 1 and again in line 3: line 3 is used, delete line 1"
        );
    }
}
