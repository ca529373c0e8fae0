//! Translates a model's text into Discord's dialect of Markdown.
//!
//! Models write CommonMark and GitHub's additions to it. Discord renders a part of that and shows the rest as typed:
//! pipes of a table, `[ ]`, `####`, `![`, `&nbsp;`, `---`. Each of these becomes something that Discord renders: a
//! table becomes an aligned code block, or a list if it is too wide; an image a link; a deep heading a bold line. Code
//! is not changed except for its [`fences`]. Everything else stays as typed: the text is edited in places, not written
//! again.

mod fence_lines;
mod fences;
mod html;
mod lines;
mod links;
mod rows;
mod table;
mod translation;

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::Options;

pub(super) use self::fence_lines::on_own_lines;
use self::translation::Translation;
use super::code::run_length;
use chorus_text::prose;

#[cfg(test)]
mod tests;

/// Returns `markdown` in a form that Discord shows as its author meant, with invisible characters visible.
pub fn for_discord(markdown: &str) -> String {
    let text = prose(markdown);
    if !text.bytes().any(may_mean_something) && !text.contains("    ") {
        return text.into_owned();
    }
    let text = on_own_lines(&text);
    let text = html::as_markdown(&text);
    let text = rows::with_all_cells(&text);
    let edits = Translation::of(&text);
    rendered(&text, 0..text.len(), edits)
}

/// Does the same for a text that is still being written: the first lines of a possible table wait until it is one.
pub fn for_preview(markdown: &str) -> String {
    for_discord(table::without_half(markdown))
}

/// Returns whether CommonMark and Discord may read the byte differently.
const fn may_mean_something(byte: u8) -> bool {
    matches!(
        byte,
        b'`' | b'~'
            | b'|'
            | b'#'
            | b'+'
            | b'&'
            | b'['
            | b'<'
            | b'>'
            | b'\\'
            | b'-'
            | b'='
            | b'_'
            | b'*'
            | b')'
            | b'\t'
    )
}

/// Returns GitHub's additions that models use.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_GFM
}

/// A range of the text and its replacement; without one it is code that stays as it is.
struct Edit {
    range: Range<usize>,
    by: Option<Cow<'static, str>>,
}

impl Edit {
    fn new(range: Range<usize>, by: impl Into<Cow<'static, str>>) -> Self {
        Self {
            range,
            by: Some(by.into()),
        }
    }
}

/// Applies `edits` to the part of `text` in `range`. If one is inside another, the outer one is used.
fn rendered(text: &str, range: Range<usize>, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.range.start);
    let mut end = range.start;
    edits.retain(|edit| {
        let is_free = edit.range.start >= end && edit.range.end <= range.end;
        if is_free {
            end = edit.range.end;
        }
        is_free
    });
    escape_others(text, range.clone(), &mut edits);
    let mut written = String::with_capacity(range.len() + 64);
    let mut at = range.start;
    for edit in edits {
        written.push_str(&text[at..edit.range.start]);
        match edit.by {
            Some(by) => written.push_str(&by),
            None => written.push_str(&text[edit.range.clone()]),
        }
        at = edit.range.end;
    }
    written.push_str(&text[at..range.end]);
    written
}

/// Escapes backticks that do not open code here, but might in Discord.
fn escape_others(text: &str, range: Range<usize>, edits: &mut Vec<Edit>) {
    let mut escapes = Vec::new();
    let mut next = 0;
    let mut at = range.start;
    while let Some(found) = text[at..range.end].find('`') {
        let start = at + found;
        while edits.get(next).is_some_and(|edit| edit.range.end <= start) {
            next += 1;
        }
        let edit = edits.get(next).map(|edit| edit.range.clone());
        if let Some(edit) = edit.clone().filter(|edit| edit.start <= start) {
            at = edit.end;
            continue;
        }
        // Code may begin within the run: an escape affects only its first backtick.
        let run_end = start + run_length(&text[start..range.end]);
        let end = edit.map_or(run_end, |edit| run_end.min(edit.start));
        let before = text[range.start..start].bytes().rev();
        let is_escaped = before.take_while(|b| *b == b'\\').count() % 2 == 1;
        let marks = r"\`".repeat(end - start);
        let by = if is_escaped {
            marks[1..].to_owned()
        } else {
            marks
        };
        escapes.push(Edit::new(start..end, by));
        at = end;
    }
    edits.extend(escapes);
    edits.sort_by_key(|edit| edit.range.start);
}
