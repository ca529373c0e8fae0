//! Code: spans and fenced blocks of CommonMark, in the form that Discord reads.
//!
//! Discord knows only fences of three backticks, anywhere in a line, and the next three end the block whatever comes before
//! them. So a fence of tildes or of more backticks becomes one of three; a line of code that contains three backticks is
//! written as plain text between two blocks; unclosed code is closed.

use std::ops::Range;

use super::lines::prefix_of;
use crate::code::{self, FENCE, run_length};
use crate::escape;

/// A span whose mark is too long for Discord, with a shorter one.
pub(super) fn span(raw: &str, inside: &str) -> Option<String> {
    if run_length(raw) < FENCE.len() {
        return None;
    }
    let has_run = |length: usize| {
        let mut runs = inside.split(|c| c != '`').map(str::len);
        runs.any(|run| run == length)
    };
    Some(match (has_run(1), has_run(2)) {
        (_, false) => format!("`` {inside} ``"),
        (false, true) => format!("` {inside} `"),
        (true, true) => escape::lines(inside),
    })
}

/// A fenced block of CommonMark.
pub(super) struct Block<'a> {
    /// The prefix of each of its lines: marks of the quote and blanks of the list around it.
    prefix: String,
    mark: &'a str,
    language: &'a str,
    info: &'a str,
    /// Its lines between the fences, with their prefixes.
    lines: Vec<&'a str>,
    /// The fence that ends it, with its prefix.
    closing: Option<&'a str>,
    ends_line: bool,
}

impl<'a> Block<'a> {
    pub(super) fn of(text: &'a str, range: Range<usize>, info: &'a str) -> Self {
        let prefix = prefix_of(text, range.start);
        let raw = &text[range];
        let first = raw.chars().next().unwrap_or('`');
        let mark = &raw[..raw
            .bytes()
            .take_while(|byte| char::from(*byte) == first)
            .count()];
        let mut lines: Vec<&str> = raw.lines().skip(1).collect();
        let is_end = |line: &&str| {
            let marks = bare(line).trim_end();
            marks.len() >= mark.len() && marks.chars().all(|c| c == first)
        };
        let closing = lines.last().copied().filter(is_end);
        if closing.is_some() {
            lines.pop();
        }
        let word = info.split_whitespace().next().unwrap_or_default();
        Self {
            prefix,
            mark,
            language: if code::is_language(word) { word } else { "" },
            info,
            lines,
            closing,
            ends_line: raw.ends_with('\n'),
        }
    }

    /// The block as Discord reads it; `None` when no change is needed.
    pub(super) fn written(&self) -> Option<String> {
        let is_blank = self.lines.iter().all(|line| bare(line).is_empty());
        let is_so = self.mark == FENCE
            && self.language == self.info
            && self
                .closing
                .is_some_and(|line| bare(line).trim_end() == FENCE)
            && !self.lines.iter().any(|line| code::holds_fence(line))
            && !is_blank;
        if is_so {
            return None;
        }
        if is_blank && self.closing.is_none() {
            return Some(escape_backticks(self.mark));
        }
        let mut out = Vec::new();
        let mut part: Vec<&str> = Vec::new();
        for line in &self.lines {
            if code::holds_fence(line) {
                if !part.is_empty() {
                    self.push_part(&mut out, &part);
                    part.clear();
                }
                let body = bare(line);
                let before = &line[..line.len() - body.len()];
                out.push(format!("{before}{}", escape::text(body)));
            } else {
                part.push(line);
            }
        }
        if out.is_empty() || !part.is_empty() {
            self.push_part(&mut out, &part);
        }
        let mut written = out.join("\n");
        // The first line's prefix is in the text already.
        if let Some(rest) = written.strip_prefix(&self.prefix) {
            written = rest.to_owned();
        }
        if self.ends_line {
            written.push('\n');
        }
        Some(written)
    }

    fn push_part(&self, out: &mut Vec<String>, lines: &[&str]) {
        let is_blank = lines.iter().all(|line| bare(line).is_empty());
        if is_blank && !out.is_empty() {
            return;
        }
        out.push(format!("{}{FENCE}{}", self.prefix, self.language));
        if is_blank {
            out.push(format!("{} ", self.prefix))
        } else {
            out.extend(lines.iter().map(|line| (*line).to_owned()))
        }
        out.push(format!("{}{FENCE}", self.prefix));
    }
}

/// A line without the marks of quotes and the blanks before it.
fn bare(line: &str) -> &str {
    line.trim_start_matches([' ', '\t', '>'])
}

fn escape_backticks(mark: &str) -> String {
    if mark.starts_with('`') {
        r"\`".repeat(mark.len())
    } else {
        mark.to_owned()
    }
}
