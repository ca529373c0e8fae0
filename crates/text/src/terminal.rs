//! Programs' output as a terminal would finally show it: progress lines in their last state, no control sequences.

use anstyle_parse::{Params, Parser, Perform};

/// Returns what a terminal shows of `output` after its last character.
///
/// A line that was written several times appears in its last state. Colours, titles, links and other control sequences
/// are removed; the text of a link stays. A sequence ends with its line at the latest, so that none hides what follows.
/// Line ends stay as they are.
pub fn as_a_terminal_shows(output: &str) -> String {
    let mut shown = String::with_capacity(output.len());
    for line in output.split_inclusive('\n') {
        let (line, end) = match (line.strip_suffix("\r\n"), line.strip_suffix('\n')) {
            (Some(line), _) => (line, "\r\n"),
            (None, Some(line)) => (line, "\n"),
            (None, None) => (line, ""),
        };
        if line.contains(is_for_terminals) {
            let mut row = Row::default();
            let mut parser = Parser::<anstyle_parse::DefaultCharAccumulator>::new();
            for byte in line.bytes() {
                parser.advance(&mut row, byte);
            }
            shown.extend(row.characters);
        } else {
            shown.push_str(line);
        }
        shown.push_str(end);
    }
    shown
}

/// Returns whether a character controls a terminal instead of being shown. Tabs and zeros are data.
fn is_for_terminals(character: char) -> bool {
    character.is_control() && !matches!(character, '\t' | '\0')
}

/// One row of a terminal that is as wide as needed.
#[derive(Default)]
struct Row {
    characters: Vec<char>,
    column: usize,
}

impl Row {
    fn put(&mut self, character: char) {
        match self.characters.get_mut(self.column) {
            Some(old) => *old = character,
            None => self.characters.push(character),
        }
        self.column += 1;
    }
}

impl Perform for Row {
    fn print(&mut self, character: char) {
        // The parser treats DEL as a printed character.
        if character != '\u{7f}' {
            self.put(character);
        }
    }

    fn execute(&mut self, byte: u8) {
        match byte {
            b'\r' => self.column = 0,
            0x08 => self.column = self.column.saturating_sub(1),
            // Separators of records are data, as in the formats of git.
            b'\t' | 0 | 0x1c..=0x1f => self.put(char::from(byte)),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, _: &[u8], _: bool, action: u8) {
        let first = params
            .iter()
            .next()
            .and_then(|values| values.first().copied());
        let first = first.unwrap_or_default();
        let end = self.characters.len();
        match (action, first) {
            // Erases to the end of the row, to its beginning, or all of it.
            (b'K' | b'J', 0) => self.characters.truncate(self.column),
            // Erases what was scrolled away.
            (b'J', 3) => {}
            (b'K' | b'J', 1) => self.characters[..self.column.min(end)].fill(' '),
            (b'K' | b'J', _) => self.characters[..].fill(' '),
            // Moves to a column, counted from 1.
            (b'G', _) => self.column = usize::from(first.max(1) - 1).min(end),
            (b'D', _) => self.column = self.column.saturating_sub(usize::from(first.max(1))),
            (b'C', _) => self.column = (self.column + usize::from(first.max(1))).min(end),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::as_a_terminal_shows;

    #[test]
    fn a_progress_line_has_its_last_state() {
        let steps: String = (1..=400).map(|n| format!("\rDownloading {n}%")).collect();
        for (output, shown) in [
            (format!("{steps}\ndone\n"), "Downloading 400%\ndone\n"),
            ("50%\r100%".to_owned(), "100%"),
            ("a long line\r\x1b[Kshort\n".to_owned(), "short\n"),
            ("|\x08/\x08-\x08ok\n".to_owned(), "ok\n"),
            (
                "\x1b[2K\x1b[1G7 of 9\x1b[2K\x1b[1G9 of 9\n".to_owned(),
                "9 of 9\n",
            ),
            ("N\x08NA\x08AM\x08ME\x08E\n".to_owned(), "NAME\n"),
        ] {
            assert_eq!(as_a_terminal_shows(&output), shown, "{output:?}");
        }
    }

    #[test]
    fn control_sequences_go_and_text_stays() {
        for (output, shown) in [
            ("\x1b[1;31merror\x1b[0m: no\n", "error: no\n"),
            ("\x1b]8;;https://e.org\x1b\\link\x1b]8;;\x1b\\\n", "link\n"),
            ("\x1b]8;;https://e.org\x07link\x1b]8;;\x07\n", "link\n"),
            ("\x1b]0;title\x07$ ls\n", "$ ls\n"),
            ("\x1b(B\x1b[m\x1b[?25hGrüße 世界 🌍\n", "Grüße 世界 🌍\n"),
            ("\x07bell\x0e\x0f\n", "bell\n"),
        ] {
            assert_eq!(as_a_terminal_shows(output), shown, "{output:?}");
        }
    }

    #[test]
    fn a_sequence_without_an_end_hides_its_own_line_only() {
        for begin in ["\x1b]0;", "\x1bP", "\x1b[12;", "\x1bX", "\x1b_"] {
            let shown = as_a_terminal_shows(&format!("{begin}hidden\nseen\n"));
            assert!(shown.ends_with("\nseen\n"), "{begin:?}: {shown:?}");
        }
    }

    #[test]
    fn plain_output_stays_byte_for_byte() {
        for output in ["", "a\r\nb\r\n", "a\tb\n\nc", "one\0two\0", "ünï\u{301}\n"] {
            assert_eq!(as_a_terminal_shows(output), output);
        }
    }
}
