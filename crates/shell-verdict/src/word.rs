//! One word of a command, with its quotes removed as bash does.

use std::ops::Range;

/// A word as the program would get it, as far as that is known before it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Its value; if only a part is known, the part before the first unknown one.
    pub(super) value: String,
    /// Whether the value is known only when the shell runs.
    pub(super) varies: bool,
    /// The part of it that bash rewrites: a glob, braces, a tilde, `$'…'`.
    pub(super) rewritten: Option<&'static str>,
    /// Its position in the text of its command; empty for a word derived from others.
    pub(super) place: Range<usize>,
    /// Whether it begins as a file with a command's output: `<(…)`.
    pub(super) is_printed: bool,
}

impl Word {
    /// Creates a word with a known value.
    pub(super) fn fixed(value: impl Into<String>) -> Self {
        Self {
            value: value.into(),
            varies: false,
            rewritten: None,
            place: 0..0,
            is_printed: false,
        }
    }

    /// Creates a word that could be anything.
    pub(super) fn unknown() -> Self {
        Self {
            value: String::new(),
            varies: true,
            rewritten: None,
            place: 0..0,
            is_printed: false,
        }
    }

    /// Returns its value, if that is known.
    pub(super) fn known(&self) -> Option<&str> {
        (!self.varies).then_some(self.value.as_str())
    }

    /// Returns its value, as far as it is known.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns its position in the text of its command.
    pub fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// Returns whether it is an option, as far as that can be known.
    pub fn is_option(&self) -> bool {
        self.value.starts_with('-') && self.value.len() > 1
    }

    /// Removes the quotes from `source`, one word as written, found at `place`.
    pub(super) fn read(source: &str, place: Range<usize>) -> Self {
        let rest: Vec<char> = source.chars().collect();
        let mut reader = Reader {
            multiplies_up_to: last_of_braces(&rest),
            rest,
            next: 0,
            word: Self::fixed(""),
        };
        reader.word.place = place;
        reader.word.is_printed = source.starts_with("<(");
        reader.unquoted();
        reader.word
    }
}

struct Reader {
    rest: Vec<char>,
    next: usize,
    word: Word,
    /// The last comma or pair of dots before the last closing brace: a `{` before it may begin a list or a range.
    multiplies_up_to: Option<usize>,
}

fn last_of_braces(text: &[char]) -> Option<usize> {
    let closing = text.iter().rposition(|c| *c == '}')?;
    let inside = text.get(..closing)?;
    let comma = inside.iter().rposition(|c| *c == ',');
    let dots = inside.windows(2).rposition(|pair| pair == ['.', '.']);
    comma.max(dots)
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.next).copied()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.next += 1;
        Some(c)
    }

    fn varies(&mut self) {
        self.word.varies = true;
        self.next = self.rest.len();
    }

    fn unquoted(&mut self) {
        let mut before = None;
        while let Some(c) = self.take() {
            // Bash replaces it with a home at the beginning of a word, and after `=` and `:` as in an assignment.
            if c == '~' && matches!(before, None | Some('=' | ':')) {
                self.word.rewritten = Some("a tilde");
            }
            before = Some(c);
            match c {
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '\\' => match self.take() {
                    Some('\n') | None => {}
                    Some(c) => self.word.value.push(c),
                },
                '$' if self.peek() == Some('\'') => {
                    self.next += 1;
                    self.word.rewritten = Some("`$'…'`");
                    self.ansi_quoted();
                }
                '$' if self.peek() == Some('"') => self.word.rewritten = Some("`$\"…\"`"),
                '$' if self.expands() => self.varies(),
                '`' => self.varies(),
                '<' | '>' if self.peek() == Some('(') => self.varies(),
                '*' | '?' | '[' => {
                    self.word.rewritten = Some("a glob");
                    self.word.varies = true;
                    self.word.value.push(c);
                }
                '{' => {
                    if self.braces() {
                        self.word.rewritten = Some("braces");
                        self.word.varies = true;
                    }
                    self.word.value.push(c);
                }
                c => self.word.value.push(c),
            }
        }
    }

    fn single_quoted(&mut self) {
        while let Some(c) = self.take() {
            if c == '\'' {
                return;
            }
            self.word.value.push(c);
        }
    }

    fn double_quoted(&mut self) {
        while let Some(c) = self.take() {
            match c {
                '"' => return,
                '\\' => match self.take() {
                    Some('\n') | None => {}
                    Some(c) if "$`\"\\".contains(c) => self.word.value.push(c),
                    Some(c) => self.word.value.extend(['\\', c]),
                },
                '$' if self.expands() => return self.varies(),
                '`' => return self.varies(),
                c => self.word.value.push(c),
            }
        }
    }

    /// Returns whether the `$` just taken begins an expansion, and is not a literal dollar.
    fn expands(&self) -> bool {
        self.peek()
            .is_some_and(|c| c.is_alphanumeric() || "_{([@*#?$!-".contains(c))
    }

    /// Returns whether the `{` just taken begins a list or a range that bash expands.
    fn braces(&self) -> bool {
        self.multiplies_up_to.is_some_and(|last| self.next <= last)
    }

    fn ansi_quoted(&mut self) {
        while let Some(c) = self.take() {
            match c {
                '\'' => return,
                '\\' => self.ansi_escape(),
                c => self.word.value.push(c),
            }
        }
    }

    fn ansi_escape(&mut self) {
        let Some(c) = self.take() else { return };
        let value = match c {
            'a' => Some('\u{7}'),
            'b' => Some('\u{8}'),
            'e' | 'E' => Some('\u{1B}'),
            'f' => Some('\u{C}'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\u{B}'),
            'x' => self.number(16, 2),
            'u' => self.number(16, 4),
            'U' => self.number(16, 8),
            '0'..='7' => {
                self.next -= 1;
                self.number(8, 3)
            }
            'c' => self.take().map(|c| char::from((c as u32 & 0x1F) as u8)),
            c => Some(c),
        };
        match value {
            Some(value) => self.word.value.push(value),
            None => self.word.varies = true,
        }
    }

    fn number(&mut self, radix: u32, digits: usize) -> Option<char> {
        let mut value = 0;
        let mut seen = 0;
        while let Some(digit) = self
            .peek()
            .and_then(|c| c.to_digit(radix))
            .filter(|_| seen < digits)
        {
            value = value * radix + digit;
            self.next += 1;
            seen += 1;
        }
        (seen > 0).then_some(value).and_then(char::from_u32)
    }
}
