//! Headings: Discord draws three sizes, and does not know underlined headings.

use std::ops::Range;

use pulldown_cmark::HeadingLevel;

use super::{Edit, RULE, Translation};

/// Longest line that an underline of hyphens makes a heading; under a longer one they are a rule.
const MAX_UNDERLINED: usize = 120;

/// A heading that is being read.
pub(super) struct Heading {
    level: HeadingLevel,
    range: Range<usize>,
    is_underlined: bool,
    pub(super) has_words: bool,
    pub(super) lines: usize,
    /// The number of edits before it.
    edits: usize,
}

impl Heading {
    /// Returns whether it is deeper than the three sizes that Discord draws.
    pub(super) fn is_deep(&self) -> bool {
        self.level > HeadingLevel::H3
    }
}

impl Translation<'_> {
    pub(super) fn begin_heading(&mut self, level: HeadingLevel, range: Range<usize>) {
        let raw = &self.text[range.clone()];
        let marks = raw.bytes().take_while(|byte| *byte == b'#').count();
        let rest = &raw[marks..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let heading = Heading {
            level,
            is_underlined: marks == 0,
            has_words: false,
            lines: 1,
            edits: self.edits.len(),
            range: range.clone(),
        };
        self.read_to = range.start + marks + blank;
        if heading.is_deep() {
            self.edits.push(Edit::new(range.start..self.read_to, "**"));
        }
        self.heading = Some(heading);
    }

    pub(super) fn end_heading(&mut self) {
        let Some(heading) = self.heading.take() else {
            return;
        };
        let raw = &self.text[heading.range.clone()];
        let end = heading.range.start + raw.trim_end().len();
        let tail = self.read_to.min(end)..end;
        if heading.is_underlined {
            return self.underlined(&heading, tail);
        }
        if !heading.has_words {
            // An empty heading shows nothing, and its marks would be visible.
            self.edits.truncate(heading.edits);
            self.edits.push(Edit::new(heading.range.start..end, ""));
        } else if heading.is_deep() {
            self.edits.push(Edit::new(tail, "**"));
        } else if self.text[tail.clone()].contains('#') {
            self.edits.push(Edit::new(tail, ""));
        }
    }

    /// Handles a heading by the line under it, which Discord does not know: it becomes one with `#`, unless people
    /// would not see it as a heading.
    fn underlined(&mut self, heading: &Heading, tail: Range<usize>) {
        let mark = self.text[tail.clone()].trim();
        // A single hyphen begins an item that is still being written.
        if mark.len() < 3 {
            return;
        }
        let is_long = heading.lines > 1 || tail.start - heading.range.start > MAX_UNDERLINED;
        match (is_long, heading.level) {
            (false, level) => {
                let mark = if level == HeadingLevel::H1 {
                    "# "
                } else {
                    "## "
                };
                let start = heading.range.start;
                // Before the edits inside it.
                self.edits
                    .insert(heading.edits, Edit::new(start..start, mark));
                self.edits.push(Edit::new(tail, ""));
            }
            (true, HeadingLevel::H1) => self.edits.push(Edit::new(tail, "")),
            (true, _) => {
                let start = tail.end - mark.len();
                self.edits.push(Edit::new(start..tail.end, RULE));
            }
        }
    }
}
