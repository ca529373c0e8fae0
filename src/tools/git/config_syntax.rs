//! Reads git's notation for configuration: sections, quoted names and values, comments, and values over several lines.
//! Pure.
//!
//! It does not interpret the keys (see `config`).

use std::iter::Peekable;
use std::str::Chars;

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The line on which the key begins, from 1.
    pub(super) line: usize,
    /// In lower case, as git compares it.
    pub(super) section: String,
    /// The subsection as it is written; empty if there is none.
    pub(super) subsection: String,
    /// In lower case.
    pub(super) key: String,
    /// `None` if only the key is written, which means `true`.
    pub(super) value: Option<String>,
}

/// The line that is not in git's notation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed(pub(super) usize);

/// Reads all entries of `text`, in order.
pub(super) fn entries(text: &str) -> Result<Vec<Entry>, Malformed> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.replace("\r\n", "\n");
    let mut reader = Reader {
        rest: text.chars().peekable(),
        line: 1,
        section: None,
    };
    let mut entries = Vec::new();
    while let Some(c) = reader.rest.peek().copied() {
        match c {
            '#' | ';' => reader.comment(),
            '[' => reader.header()?,
            c if c.is_ascii_alphabetic() => entries.push(reader.entry()?),
            c if c.is_ascii_whitespace() => {
                reader.next();
            }
            _ => return Err(Malformed(reader.line)),
        }
    }
    Ok(entries)
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
    line: usize,
    section: Option<(String, String)>,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.next();
        self.line += usize::from(c == Some('\n'));
        c
    }

    fn comment(&mut self) {
        while self.rest.next_if(|c| *c != '\n').is_some() {}
    }

    fn blanks(&mut self) {
        while self.rest.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
    }

    fn word(&mut self, is_in: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some(c) = self.rest.next_if(|c| is_in(*c)) {
            word.push(c.to_ascii_lowercase());
        }
        word
    }

    /// Reads `[core]`, `[remote "origin"]`, or `[branch.main]` as in old files.
    fn header(&mut self) -> Result<(), Malformed> {
        let malformed = Malformed(self.line);
        self.next();
        let name = self.word(|c| c.is_ascii_alphanumeric() || c == '-' || c == '.');
        self.blanks();
        let mut quoted = None;
        if self.rest.next_if_eq(&'"').is_some() {
            quoted = Some(self.quoted_name().ok_or(malformed)?);
        }
        if self.next() != Some(']') || name.is_empty() {
            return Err(malformed);
        }
        self.section = Some(match (quoted, name.split_once('.')) {
            (Some(subsection), _) => (name, subsection),
            (None, Some((name, subsection))) => (name.to_owned(), subsection.to_owned()),
            (None, None) => (name, String::new()),
        });
        Ok(())
    }

    /// Returns the rest of a name after its first quotation mark.
    fn quoted_name(&mut self) -> Option<String> {
        let mut name = String::new();
        loop {
            match self.next()? {
                '"' => return Some(name),
                '\\' => name.push(self.next().filter(|c| *c != '\n')?),
                '\n' => return None,
                c => name.push(c),
            }
        }
    }

    fn entry(&mut self) -> Result<Entry, Malformed> {
        let line = self.line;
        let (section, subsection) = self.section.clone().ok_or(Malformed(line))?;
        let key = self.word(|c| c.is_ascii_alphanumeric() || c == '-');
        self.blanks();
        let value = match self.rest.peek() {
            None | Some('\n' | '#' | ';') => None,
            Some('=') => {
                self.next();
                Some(self.value().ok_or(Malformed(line))?)
            }
            Some(_) => return Err(Malformed(line)),
        };
        Ok(Entry {
            line,
            section,
            subsection,
            key,
            value,
        })
    }

    /// Returns a value without its quotation marks, escapes and comment; `None` if it is invalid.
    fn value(&mut self) -> Option<String> {
        self.blanks();
        let (mut value, mut is_quoted) = (String::new(), false);
        // Blanks at the end do not count, unless they are quoted.
        let mut kept = 0;
        loop {
            match self.rest.peek().copied() {
                None | Some('\n') if is_quoted => return None,
                None | Some('\n') => break,
                Some('#' | ';') if !is_quoted => {
                    self.comment();
                    break;
                }
                Some('\0') => return None,
                Some('"') => is_quoted = !is_quoted,
                Some('\\') => {
                    self.next();
                    match self.rest.peek().copied()? {
                        // The line continues.
                        '\n' => {}
                        'n' => value.push('\n'),
                        't' => value.push('\t'),
                        'b' => value.push('\u{8}'),
                        c @ ('"' | '\\') => value.push(c),
                        _ => return None,
                    }
                    kept = value.len();
                }
                Some(c) => {
                    value.push(c);
                    if is_quoted || !c.is_ascii_whitespace() {
                        kept = value.len();
                    }
                }
            }
            self.next();
        }
        value.truncate(kept);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::{Malformed, entries};

    fn read(text: &str) -> Vec<String> {
        let entries = entries(text).unwrap().into_iter();
        entries
            .map(|one| {
                let value = one.value.unwrap_or_else(|| "(true)".to_owned());
                format!(
                    "{} {}|{}|{}={value:?}",
                    one.line, one.section, one.subsection, one.key
                )
            })
            .collect()
    }

    #[test]
    fn each_notation_of_git_is_read() {
        let text = "\u{feff}# a\n[Core] bare = false ; b\r\n\tFileMode\n[remote \"o \\\"x\\\\\"]\n url = \"a b \" c \\\n  d # e\n[branch.Main]\nmerge=refs/heads/main  \n";
        assert_eq!(
            read(text),
            [
                "2 core||bare=\"false\"",
                "3 core||filemode=\"(true)\"",
                "5 remote|o \"x\\|url=\"a b  c   d\"",
                "8 branch|main|merge=\"refs/heads/main\"",
            ]
        );
    }

    #[test]
    fn what_git_does_not_read_is_malformed() {
        for (text, line) in [
            ("a = b", 1),
            ("[core\n", 1),
            ("[core]\na = \"b\n", 2),
            ("[core]\na = \\x\n", 2),
            ("[core]\n\n1a = b\n", 3),
            ("[core]\na b\n", 2),
            ("[core]\na = b\0c\n", 2),
            ("[]\n", 1),
        ] {
            assert_eq!(entries(text), Err(Malformed(line)), "{text:?}");
        }
    }
}
