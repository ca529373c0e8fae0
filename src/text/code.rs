//! Code in Discord's Markdown.
//!
//! Discord's own rules, not CommonMark's: a block of code begins with three backticks anywhere in a line and ends with the
//! next three; there are no longer fences, and no fences of tildes. A span of code within a line has marks of one or two
//! backticks.

use std::borrow::Cow;
use std::ops::Range;

use super::short::one_line;
use super::visible::{is_hidden, visible, written_out};

/// Opens and closes a block.
pub(super) const FENCE: &str = "```";

/// Whether `text` contains what would end a block: three backticks in a row.
pub fn holds_fence(text: &str) -> bool {
    text.contains(FENCE)
}

/// `code` in a block that nothing inside can end.
///
/// Invisible characters are written by number (`\u{202E}`), and so is each backtick where three or more meet (`\u{60}`).
pub fn fenced(code: &str, language: &str) -> String {
    let code = without_runs(code, FENCE.len());
    // A block of line feeds alone would reach to the next fence of the message.
    let code = match code.trim_matches('\n') {
        "" => " ",
        _ => &code,
    };
    let end = if code.ends_with('\n') { "" } else { "\n" };
    format!("{FENCE}{language}\n{code}{end}{FENCE}")
}

/// The beginning of `code` in a block, at most `max` characters with its fences.
pub fn fenced_head(code: &str, language: &str, max: usize) -> String {
    let count = code.chars().count();
    within(count, max, |kept| {
        let head: String = code.chars().take(kept).collect();
        let cut = if kept < count { "…" } else { "" };
        fenced(&format!("{head}{cut}"), language)
    })
}

/// The end of `code` in a block, at most `max` characters with its fences.
pub fn fenced_tail(code: &str, language: &str, max: usize) -> String {
    let count = code.chars().count();
    within(count, max, |kept| {
        let tail: String = code.chars().skip(count - kept).collect();
        let cut = if kept < count { "…" } else { "" };
        fenced(&format!("{cut}{tail}"), language)
    })
}

/// `text` as a span of code on one line.
///
/// Invisible characters are written by number, and so is each backtick where two or more meet.
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

/// `text` on one line as a span of at most `max` characters with its marks.
pub fn span_within(text: &str, max: usize) -> String {
    within(max, max, |kept| span(&one_line(text, kept)))
}

/// The longest of what `make` makes of up to `count` characters that has at most `max`.
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

/// `code` with all invisible characters written out, and each backtick where at least `least` meet.
fn without_runs(code: &str, least: usize) -> String {
    let runs = runs(code, least);
    if runs.is_empty() {
        return visible(code).0;
    }
    written_out(code, |index, c| is_hidden(c) || is_within(&runs, index))
}

/// `code` in a block that nothing inside can end; invisible characters are written out already.
pub(super) fn block(code: &str) -> String {
    let runs = runs(code, FENCE.len());
    if runs.is_empty() {
        return format!("{FENCE}\n{}\n{FENCE}", code.trim_end_matches('\n'));
    }
    let code = written_out(code, |index, _| is_within(&runs, index));
    format!("{FENCE}\n{}\n{FENCE}", code.trim_end_matches('\n'))
}

/// Where at least `least` backticks meet.
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

/// How many backticks `text` begins with.
pub(super) fn run_length(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// At most `max` characters of a Markdown text; an ellipsis replaces what is left out, and code that the cut would leave
/// open is closed.
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
    if head.len() > open.at + open.mark.len() {
        format!("{}{closing}", head.trim_end_matches('`'))
    } else {
        format!("{}…", &text[..open.at])
    }
}

/// A Markdown text with its block of code closed, where the text ends within one: what follows is not code.
pub fn close_code(text: &str) -> Cow<'_, str> {
    match open_code(text) {
        Some(open) if open.mark == FENCE => format!("{text}\n{FENCE}").into(),
        Some(_) | None => text.into(),
    }
}

/// The end of a Markdown text in at most `max` characters; an ellipsis replaces what is left out, and code that the cut
/// falls into is opened again.
pub fn tail_markdown(text: &str, max: usize) -> String {
    let count = text.chars().count();
    if count <= max {
        return text.to_owned();
    }
    let opening = format!("…\n{FENCE}\n");
    let skipped = count - max + opening.chars().count();
    let start = text.char_indices().nth(skipped).map_or(0, |(at, _)| at);
    let start = text[start..]
        .find('\n')
        .map_or(start, |line| start + line + 1);
    let (before, rest) = text.split_at(start);
    match open_code(before) {
        // The fence that would close the block is not part of its tail.
        Some(open) if open.mark == FENCE && rest.trim() != FENCE => format!("{opening}{rest}"),
        Some(open) if open.mark == FENCE => "…".to_owned(),
        _ => format!("…\n{rest}"),
    }
}

/// A mark of code that is never closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Open<'a> {
    pub(super) at: usize,
    pub(super) mark: &'a str,
}

/// The first mark of code in `text` that is not closed.
pub(super) fn open_code(text: &str) -> Option<Open<'_>> {
    let mut at = 0;
    let mut unclosed = None;
    // Marks of which none closes anything from here on: to look again for each would take the square of the length.
    let mut is_absent = [false; FENCE.len() + 1];
    while let Some(found) = text[at..].find(['`', '\\']) {
        let start = at + found;
        if text[start..].starts_with('\\') {
            let escaped = text[start + 1..].chars().next();
            at = start + 1 + escaped.map_or(0, char::len_utf8);
            continue;
        }
        // A long run is looked at three by three, and not counted to its end each time.
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
        match end {
            Some(end) => at = end,
            None if mark == FENCE => return Some(Open { at: start, mark }),
            None => {
                unclosed = unclosed.or(Some(Open { at: start, mark }));
                at = behind;
            }
        }
    }
    unclosed
}

/// The end of the code whose opening `mark` ends at `from`.
fn end_of_code(text: &str, from: usize, mark: &str) -> Option<usize> {
    if mark == FENCE {
        // There is at least one character inside.
        let first = text[from..].chars().next()?.len_utf8();
        let end = text[from + first..].find(FENCE)?;
        return Some(from + first + end + FENCE.len());
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
