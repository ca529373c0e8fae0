//! Gives each fence a line of its own, as CommonMark requires and as the author and Discord mean it.
//!
//! Models write `Run this: ```sh` and ` ``` which prints x`. CommonMark sees no fence there, so the code of the former
//! and the words after the latter change places: it reads words as code and code as words. Fences that already have a
//! line of their own are not changed.

use std::borrow::Cow;
use std::ops::Range;

use super::fences::names_language;
use super::lines::{is_margin, line_start, prefix_of};
use crate::code::{self, FENCE, run_length};

/// Most lines read after a fence that may end a block, to find out whether another one does.
const MAX_AHEAD: usize = 300;

/// Returns `text` with line feeds beside the fences that share their line with words.
pub(crate) fn on_own_lines(text: &str) -> Cow<'_, str> {
    if !text.contains(FENCE) {
        return Cow::Borrowed(text);
    }
    let mut reader = Reader {
        text,
        at: 0,
        edits: Vec::new(),
        unclosed: false,
    };
    while reader.at < text.len() {
        reader.read_line();
    }
    if reader.edits.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + 2 * reader.edits.len());
    let mut from = 0;
    for (range, by) in &reader.edits {
        written.push_str(&text[from..range.start]);
        written.push_str(by);
        from = range.end;
    }
    written.push_str(&text[from..]);
    Cow::Owned(written)
}

struct Reader<'a> {
    text: &'a str,
    /// The position to read from next, at the beginning of a line or after a fence.
    at: usize,
    /// Blanks before fences, and their replacements: a line feed and the prefix of the fence's line.
    edits: Vec<(Range<usize>, String)>,
    /// Whether no remaining line closes a fence.
    unclosed: bool,
}

/// A fence that ends a block of code.
#[derive(Clone, Copy)]
struct Closing {
    /// Where the fence is.
    fence: usize,
    /// Whether it is the only text on its line.
    is_alone: bool,
}

impl Reader<'_> {
    fn read_line(&mut self) {
        let line = line_at(self.text, self.at);
        let next = self.at + line.len() + 1;
        let margin = margin_with_marks(line);
        let body = &line[margin..];
        let mark = opening_mark(body);
        if !mark.is_empty() && mark != FENCE {
            self.at = self.end_of_long_fence(next, mark);
            return;
        }
        let opening = if mark == FENCE {
            Some(0)
        } else {
            open_behind_words(body)
        };
        let opening = opening.map(|at| self.at + margin + at);
        match opening.and_then(|fence| Some((fence, self.closing(next)?))) {
            Some((fence, closing)) => self.block(fence, next, closing),
            None => self.at = next,
        }
    }

    /// Gives both fences of a block a line of their own, indented no deeper than its code, and continues after it.
    fn block(&mut self, opening: usize, inside: usize, closing: Closing) {
        let fence = closing.fence;
        let typed = prefix_of_line(self.text, opening);
        let outer = self.least_prefix(inside, fence);
        let is_deep = outer.len() < typed.len() && quotes(&outer) == quotes(&typed);
        let prefix = if is_deep { &outer } else { &typed };
        self.own_line(opening, prefix, is_deep);
        self.own_line(fence, prefix, is_deep);
        let behind = fence + FENCE.len();
        let rest = line_at(self.text, behind);
        if closing.is_alone || rest.trim().is_empty() {
            self.at = behind + rest.len() + 1;
        } else {
            let words = behind + blanks(rest);
            self.edits.push((behind..words, format!("\n{prefix}")));
            self.at = words;
        }
    }

    /// Puts the fence at `place` on a line of its own that begins with `prefix`.
    fn own_line(&mut self, place: usize, prefix: &str, is_deep: bool) {
        let start = line_start(self.text, place);
        let before = &self.text[start..place];
        if is_margin(before) {
            if is_deep {
                self.edits.push((start..place, prefix.to_owned()));
            }
        } else if is_deep || before.len() > margin_with_marks(line_at(self.text, start)) {
            let blank = before.len() - before.trim_end_matches([' ', '\t']).len();
            self.edits
                .push((place - blank..place, format!("\n{prefix}")));
        }
    }

    /// Returns the shortest prefix of the lines of code and of the fence that ends them.
    fn least_prefix(&self, inside: usize, fence: usize) -> String {
        let mut least = &self.text[inside..inside];
        let mut at = inside;
        while at <= fence {
            let line = line_at(self.text, at);
            let prefix = &line[..margin(line)];
            let is_first = at == inside;
            if is_first || (!line.trim().is_empty() && prefix.len() < least.len()) {
                least = prefix;
            }
            at += line.len() + 1;
        }
        least.to_owned()
    }

    /// Returns the fence that ends the block with code from `inside` on, by CommonMark or by the author's intention.
    fn closing(&mut self, inside: usize) -> Option<Closing> {
        if self.unclosed {
            return None;
        }
        let quoted = quotes(line_at(self.text, line_start(self.text, inside - 1)));
        let (mut alone, mut alone_count) = (None, 0_usize);
        let mut behind_code = None;
        let mut at = inside;
        let mut ahead = 0;
        while at < self.text.len() && ahead < MAX_AHEAD {
            let line = line_at(self.text, at);
            if quoted > 0 && quotes(line) < quoted {
                return chosen(alone, alone_count, behind_code);
            }
            let closing = closing_of(line).map(|(found, is_alone)| Closing {
                fence: at + found,
                is_alone,
            });
            match (closing, behind_code) {
                _ if opens_in_language(line) => return chosen(alone, alone_count, behind_code),
                (Some(closing), None) if closing.is_alone => return Some(closing),
                (Some(closing), Some(_)) if closing.is_alone => {
                    alone = alone.or(Some(closing));
                    alone_count += 1;
                }
                (Some(closing), None) if is_margin(&self.text[at..closing.fence]) => {
                    return Some(closing);
                }
                (Some(closing), None) => behind_code = Some(closing),
                (Some(_), Some(_)) | (None, _) => {}
            }
            at += line.len() + 1;
            ahead += usize::from(behind_code.is_some());
        }
        self.unclosed = behind_code.is_none();
        chosen(alone, alone_count, behind_code)
    }

    /// Returns the beginning of the line after a block whose fence is `mark`, which is longer than Discord's or made of
    /// tildes.
    fn end_of_long_fence(&self, inside: usize, mark: &str) -> usize {
        let mut at = inside;
        while at < self.text.len() {
            let line = line_at(self.text, at);
            let body = line[margin(line)..].trim_end();
            at += line.len() + 1;
            let sign = &mark[..1];
            if body.len() >= mark.len() && body.trim_start_matches(sign).is_empty() {
                break;
            }
        }
        at
    }
}

/// Chooses the fence that ends a block: one after code, unless that would leave a fence on its own line without a
/// partner.
fn chosen(
    alone: Option<Closing>,
    alone_count: usize,
    behind_code: Option<Closing>,
) -> Option<Closing> {
    alone.filter(|_| alone_count % 2 == 1).or(behind_code)
}

/// Returns the position of a fence in the line that may end a block, and whether the line has nothing else.
fn closing_of(line: &str) -> Option<(usize, bool)> {
    let margin = margin(line);
    let body = &line[margin..];
    if !body.starts_with(FENCE) {
        return closes_behind_code(body).map(|at| (margin + at, false));
    }
    let run = run_length(body);
    let rest = &body[run..];
    if rest.trim().is_empty() {
        return Some((margin, true));
    }
    (run == FENCE.len() && !is_span(rest)).then_some((margin, false))
}

/// Returns whether a line opens a block of code in a language that its fence names.
fn opens_in_language(line: &str) -> bool {
    let body = &line[margin_with_marks(line)..];
    let mark = opening_mark(body);
    match open_behind_words(body) {
        _ if mark == FENCE => names_language(&body[FENCE.len()..]),
        Some(at) => names_language(&body[at + FENCE.len()..]),
        None => false,
    }
}

/// Returns how many quotes a line is in.
fn quotes(line: &str) -> usize {
    line[..margin(line)].matches('>').count()
}

/// Returns the prefix of the line that contains `place`: marks of quotes and blanks, with blanks for the marks of
/// lists.
fn prefix_of_line(text: &str, place: usize) -> String {
    let start = line_start(text, place);
    prefix_of(text, start + margin_with_marks(line_at(text, start)))
}

/// Returns the rest of the line, from `at` on.
fn line_at(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    rest.split('\n').next().unwrap_or_default()
}

fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// Returns the length of the quote's marks and the blanks before a line.
fn margin(line: &str) -> usize {
    line.len() - line.trim_start_matches([' ', '\t', '>']).len()
}

/// Returns the length of a line's margin, including the marks of list items.
fn margin_with_marks(line: &str) -> usize {
    let mut at = margin(line);
    loop {
        let rest = &line[at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let is_item = match rest.as_bytes().get(digits) {
            Some(b'-' | b'*' | b'+') if digits == 0 => true,
            Some(b'.' | b')') => (1..=9).contains(&digits),
            _ => false,
        };
        let blanks = rest.get(digits + 1..).map_or(0, margin);
        if !is_item || blanks == 0 {
            return at;
        }
        at += digits + 1 + blanks;
    }
}

/// Returns the fence that CommonMark sees at the beginning of `body`; empty if there is none.
fn opening_mark(body: &str) -> &str {
    let marks = match body.bytes().next() {
        Some(sign @ (b'`' | b'~')) => body.bytes().take_while(|byte| *byte == sign).count(),
        _ => 0,
    };
    let (mark, rest) = body.split_at(marks);
    let is_span = mark.starts_with('`') && rest.contains('`');
    if marks < FENCE.len() || is_span {
        ""
    } else {
        mark
    }
}

/// Returns whether the text after a fence makes both a span: code that a later fence ends.
fn is_span(rest: &str) -> bool {
    !rest.starts_with([' ', '\t']) && rest.contains(FENCE)
}

/// Returns the position of a fence after words that opens a block: only the name of a language follows it.
fn open_behind_words(body: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = body[at..].find('`') {
        let start = at + found;
        let run = run_length(&body[start..]);
        let behind = start + run;
        at = match end_of_span(&body[behind..], run) {
            _ if code::is_escaped(body, start) => start + 1,
            Some(end) => behind + end,
            None if run == FENCE.len() => {
                let language = body[behind..].trim();
                let is_open = language.is_empty() || names_language(language);
                return is_open.then_some(start);
            }
            None => behind,
        };
    }
    None
}

/// Returns the end of a span of CommonMark that a run of so many backticks opened before `rest`.
fn end_of_span(rest: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    loop {
        let start = at + rest[at..].find('`')?;
        let length = run_length(&rest[start..]);
        at = start + length;
        if length == run {
            return Some(at);
        }
    }
}

/// Returns the position of a fence after code that ends the block: directly after the code, or at the end of the line.
fn closes_behind_code(body: &str) -> Option<usize> {
    let at = body.find(FENCE)?;
    let rest = &body[at..];
    let is_fence = run_length(rest) == FENCE.len();
    let rest = &rest[run_length(rest)..];
    let is_close = !body[..at].ends_with([' ', '\t']);
    (is_fence && (is_close || rest.trim().is_empty())).then_some(at)
}
