//! The marks in brackets by which the daemon speaks to a model, and how text of others is kept from imitating them.

use std::borrow::Cow;

/// What stands behind the bracket of a mark, in lower case.
const MARKS: [&str; 6] = [
    "data",
    "meta",
    "note",
    "attached file",
    "in reply to",
    "task_",
];

/// Everything that ends a line, by Unicode.
pub(super) const LINE_ENDS: [char; 7] = [
    '\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}',
];

/// Characters of a line that are looked at: the longest mark is shorter.
const LOOKED_AT: usize = 200;

/// Returns `text` with a backslash before each bracket that begins a line as a mark of the daemon does: `[data]`, `[meta]`,
/// `[note]`, the head of a task's report and that of a sub-agent's. Text without such a line is returned unchanged.
pub fn unmarked(text: &str) -> Cow<'_, str> {
    if !text.contains(['[', '［']) {
        return Cow::Borrowed(text);
    }
    let mut marked: Vec<usize> = Vec::new();
    let mut begins = true;
    for (at, letter) in text.char_indices() {
        match letter {
            letter if LINE_ENDS.contains(&letter) => begins = true,
            '[' | '［' if begins => {
                if is_mark(&text[at + letter.len_utf8()..]) {
                    marked.push(at);
                }
                begins = false;
            }
            letter if is_blank(letter) => {}
            _ => begins = false,
        }
    }
    if marked.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut unmarked = String::with_capacity(text.len() + marked.len());
    let mut from = 0;
    for at in marked {
        unmarked.push_str(&text[from..at]);
        unmarked.push('\\');
        from = at;
    }
    unmarked.push_str(&text[from..]);
    Cow::Owned(unmarked)
}

/// Whether what follows a bracket makes it a mark.
fn is_mark(behind: &str) -> bool {
    let line: String = behind
        .chars()
        .take_while(|letter| !LINE_ENDS.contains(letter))
        .filter(|letter| !is_invisible(*letter))
        .take(LOOKED_AT)
        .flat_map(char::to_lowercase)
        .collect();
    let line = line.trim_start();
    let is_word = MARKS.iter().any(|mark| {
        let behind = line.strip_prefix(mark);
        behind.is_some_and(|behind| {
            mark.ends_with('_') || !behind.starts_with(|next: char| next.is_alphanumeric())
        })
    });
    is_word || is_heading(line)
}

/// Whether a line goes on as the heading of a sub-agent's report does: `reviewer · c1f3a9e2 · …`.
fn is_heading(line: &str) -> bool {
    let mut parts = line.split('·').map(str::trim);
    let id = parts.nth(1);
    id.is_some_and(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Whether a letter before a bracket leaves the bracket at the beginning of its line.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || is_invisible(letter)
}

/// Letters that are not seen.
const fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{e0000}'..='\u{e0fff}'
    )
}
