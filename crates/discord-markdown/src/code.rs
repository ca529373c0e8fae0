//! Code in Discord's Markdown.
//!
//! Discord's own rules, not CommonMark's: three backticks anywhere in a line begin a block of code, and the next three
//! end it. There are no longer fences, and no fences of tildes. A span of code within a line has marks of one or two
//! backticks.

use std::borrow::Cow;
use std::ops::Range;

use chorus_text::one_line;
use chorus_text::{is_hidden, visible, written_out};

#[cfg(test)]
mod tests;

/// Longest name of a language.
const MAX_LANGUAGE: usize = 30;

/// Opens and closes a block.
pub(super) const FENCE: &str = "```";

/// Returns whether `text` contains three backticks in a row, which would end a block.
pub fn holds_fence(text: &str) -> bool {
    text.contains(FENCE)
}

/// Puts `code` into a block that nothing inside can end.
///
/// Invisible characters are written by number (`\u{202E}`), and so is each backtick in a run of three or more
/// (`\u{60}`).
pub fn fenced(code: &str, language: &str) -> String {
    let code = without_runs(code, FENCE.len());
    // A block of line feeds only would reach to the next fence of the message.
    let code = match code.trim_matches('\n') {
        "" => " ",
        _ => &code,
    };
    let end = if code.ends_with('\n') { "" } else { "\n" };
    format!("{FENCE}{language}\n{code}{end}{FENCE}")
}

/// Returns the beginning of `code` in a block, at most `max` characters with its fences.
pub fn fenced_head(code: &str, language: &str, max: usize) -> String {
    let count = code.chars().count();
    within(count, max, |kept| {
        let head: String = code.chars().take(kept).collect();
        let cut = if kept < count { "…" } else { "" };
        fenced(&format!("{head}{cut}"), language)
    })
}

/// Returns the end of `code` in a block, at most `max` characters with its fences.
pub fn fenced_tail(code: &str, language: &str, max: usize) -> String {
    let count = code.chars().count();
    within(count, max, |kept| {
        let tail: String = code.chars().skip(count - kept).collect();
        let cut = if kept < count { "…" } else { "" };
        fenced(&format!("{cut}{tail}"), language)
    })
}

/// Returns `text` as a code span on one line.
///
/// Invisible characters are written by number, and so is each backtick in a run of two or more.
pub fn span(text: &str) -> String {
    let line = without_runs(
        &text.replace("\r\n", " ").replace(['\n', '\t'], " "),
        LONGEST_MARK,
    );
    match line.contains('`') {
        true if line.starts_with('`') || line.ends_with('`') => format!("`` {line} ``"),
        true => format!("``{line}``"),
        false if line.is_empty() => "` `".to_owned(),
        false => format!("`{line}`"),
    }
}

/// Backticks in the longest mark of a span.
const LONGEST_MARK: usize = 2;

/// Returns `text` on one line as a span of at most `max` characters with its marks.
pub fn span_within(text: &str, max: usize) -> String {
    within(max, max, |kept| span(&one_line(text, kept)))
}

/// Returns the longest result of `make`, for up to `count` characters, that has at most `max` characters.
fn within(count: usize, max: usize, make: impl Fn(usize) -> String) -> String {
    let mut kept = count.min(max);
    loop {
        let made = make(kept);
        let over = made.chars().count().saturating_sub(max);
        if over == 0 || kept == 0 {
            return made;
        }
        // One character becomes at most ten, its number in braces.
        kept = kept.saturating_sub((over / 10).max(1));
    }
}

/// Returns `code` with all invisible characters written out, and each backtick in a run of at least `least`.
fn without_runs(code: &str, least: usize) -> String {
    let runs = runs(code, least);
    if runs.is_empty() {
        return visible(code).0;
    }
    written_out(code, |index, c| is_hidden(c) || is_within(&runs, index))
}

/// Puts `code`, with invisible characters already written out, into a block that nothing inside can end.
pub(super) fn block(code: &str) -> String {
    let runs = runs(code, FENCE.len());
    if runs.is_empty() {
        return format!("{FENCE}\n{}\n{FENCE}", code.trim_end_matches('\n'));
    }
    let code = written_out(code, |index, _| is_within(&runs, index));
    format!("{FENCE}\n{}\n{FENCE}", code.trim_end_matches('\n'))
}

/// Returns the runs of at least `least` backticks.
fn runs(code: &str, least: usize) -> Vec<Range<usize>> {
    let mut runs = Vec::new();
    let mut at = 0;
    while let Some(found) = code[at..].find('`') {
        let start = at + found;
        let length = run_length(&code[start..]);
        at = start + length;
        if length >= least {
            runs.push(start..at);
        }
    }
    runs
}

fn is_within(runs: &[Range<usize>], index: usize) -> bool {
    let next = runs.partition_point(|run| run.end <= index);
    runs.get(next).is_some_and(|run| run.start <= index)
}

/// Returns how many backticks `text` begins with.
pub(super) fn run_length(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// Returns at most `max` characters of a Markdown text. An ellipsis replaces the rest, and code that the cut would
/// leave open is closed.
pub fn clip_markdown(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let kept = |room: usize| -> &str {
        let end = text.char_indices().nth(room).map_or(0, |(end, _)| end);
        &text[..end]
    };
    let whole = kept(max.saturating_sub(1));
    let Some(open) = open_code(whole) else {
        return format!("{whole}…");
    };
    // Marks that are never closed are not code.
    if open.mark.len() < FENCE.len() && open_code(text) == Some(open) {
        return format!("{whole}…");
    }
    let line = if open.mark == FENCE { "\n" } else { "" };
    let closing = format!("…{line}{}", open.mark);
    let head = kept(max.saturating_sub(closing.chars().count()));
    if head.len() > open.start + open.mark.len() {
        format!("{}{closing}", head.trim_end_matches('`'))
    } else {
        format!("{}…", &text[..open.start])
    }
}

/// Closes the code block at the end of a Markdown text, so that text after it is not code.
pub fn close_code(text: &str) -> Cow<'_, str> {
    match open_code(text) {
        Some(open) if open.mark == FENCE => format!("{text}\n{FENCE}").into(),
        Some(_) | None => text.into(),
    }
}

/// Returns the end of a Markdown text in at most `max` characters. An ellipsis replaces the rest, and code that the cut
/// falls into is opened again.
pub fn tail_markdown(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let longest = format!("…\n{FENCE}\n");
    let skipped = count - max + longest.chars().count();
    let start = text.char_indices().nth(skipped).map_or(0, |(at, _)| at);
    let start = text[start..]
        .find('\n')
        .map_or(start, |line| start + line + 1);
    // The rest of a mark would be a different mark.
    let start = if text[..start].ends_with('`') {
        start + run_length(&text[start..])
    } else {
        start
    };
    let is_around = |(code, inside): &(Code<'_>, Range<usize>)| {
        code.start < start && start < inside.end + code.mark.len()
    };
    let mut around = codes(text).filter_map(|code| Some((code, code.inside(text)?)));
    let Some((Code { mark, .. }, inside)) = around.find(is_around) else {
        // Leaving out a backslash also leaves out the character after it.
        let escaped = text[start..].chars().next();
        let escaped = escaped.filter(|_| is_escaped(text, start));
        let rest = &text[start + escaped.map_or(0, char::len_utf8)..];
        return format!("…\n{rest}");
    };
    let left = text.get(start.max(inside.start)..inside.end);
    if left.is_none_or(|left| left.trim().is_empty()) {
        // Its last mark by itself would open code.
        let rest = text.get(inside.end + mark.len()..).unwrap_or_default();
        return format!("…\n{rest}").trim_end().to_owned();
    }
    let rest = &text[start.max(inside.start)..];
    format!("…\n{}{rest}", opening(mark, "", rest))
}

/// Returns the text that opens code again before `rest`: a mark, and the first line of a block if that names a
/// `language`.
pub(super) fn opening(mark: &str, language: &str, rest: &str) -> String {
    let between = match mark {
        FENCE if language.is_empty() => "\n",
        FENCE => language,
        _ if rest.starts_with('`') => " ",
        _ => "",
    };
    format!("{mark}{between}")
}

/// Returns whether a word names a language for a block.
pub(super) fn is_language(word: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-.#".contains(&byte);
    (1..=MAX_LANGUAGE).contains(&word.len()) && word.bytes().all(is_plain)
}

/// Returns whether a backslash escapes the character at `at`.
pub(super) fn is_escaped(text: &str, at: usize) -> bool {
    let before = &text[..at];
    (before.len() - before.trim_end_matches('\\').len()) % 2 == 1
}

/// Code in a text, or a mark that is never closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code<'a> {
    /// Where its first mark begins.
    pub(super) start: usize,
    pub(super) mark: &'a str,
    /// Where its second mark ends, if there is one.
    pub(super) end: Option<usize>,
}

impl Code<'_> {
    /// Returns the range between its marks. A block that is never closed reaches to the end of its `text`; a span that
    /// is never closed has no inside.
    pub(super) fn inside(&self, text: &str) -> Option<Range<usize>> {
        let start = self.start + self.mark.len();
        match self.end {
            Some(end) => Some(start..end - self.mark.len()),
            None if self.mark == FENCE => Some(start..text.len()),
            None => None,
        }
    }
}

/// Returns the mark in `text` that is not closed: that of a block, or otherwise the first.
pub(super) fn open_code(text: &str) -> Option<Code<'_>> {
    let mut open = codes(text).filter(|code| code.end.is_none());
    let first = open.next()?;
    // Nothing follows an open block.
    let last = open.last().unwrap_or(first);
    Some(if last.mark == FENCE { last } else { first })
}

/// Returns all code in `text`, in order. Nothing follows a block that is never closed.
pub(super) fn codes(text: &str) -> impl Iterator<Item = Code<'_>> {
    let mut at = 0;
    // Marks that nothing closes from here on. Searching again for each would take quadratic time.
    let mut is_absent = [false; FENCE.len() + 1];
    std::iter::from_fn(move || {
        let start = next_mark(text, at)?;
        // A long run is read three at a time, and not counted to its end each time.
        let marks = text[start..].bytes().take(FENCE.len());
        let length = marks.take_while(|byte| *byte == b'`').count();
        let mark = &text[start..start + length];
        let behind = start + length;
        let end = if is_absent[length] {
            None
        } else {
            end_of_code(text, behind, mark)
        };
        is_absent[length] = end.is_none();
        let is_open_to_the_end = end.is_none() && mark == FENCE;
        at = if is_open_to_the_end {
            text.len()
        } else {
            end.unwrap_or(behind)
        };
        Some(Code { start, mark, end })
    })
}

/// Returns the first backtick after `at` that is not escaped.
fn next_mark(text: &str, mut at: usize) -> Option<usize> {
    loop {
        let found = at + text[at..].find(['`', '\\'])?;
        if text[found..].starts_with('`') {
            return Some(found);
        }
        let escaped = text[found + 1..].chars().next();
        at = found + 1 + escaped.map_or(0, char::len_utf8);
    }
}

/// Returns the end of the code whose opening `mark` ends at `from`.
fn end_of_code(text: &str, from: usize, mark: &str) -> Option<usize> {
    if mark == FENCE {
        // At least one character inside is not a line feed.
        let inside = text[from..].trim_start_matches('\n');
        let first = text.len() - inside.len() + inside.chars().next()?.len_utf8();
        let end = text[first..].find(FENCE)?;
        return Some(first + end + FENCE.len());
    }
    let mut at = from;
    loop {
        let start = at + text[at..].find('`')?;
        let length = run_length(&text[start..]);
        at = start + length;
        if length == mark.len() && start > from {
            return Some(at);
        }
    }
}
