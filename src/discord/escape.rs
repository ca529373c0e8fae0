//! Makes names and other foreign text harmless in Discord's Markdown. Pure.

/// Characters that mean something in Markdown, or begin a mention, an emoji or a link.
const SPECIAL: &str = r"\*_~`|>#-[]()<:@.+!";

/// `text` as one line that shows as it is written: no formatting, no mention, no link, nothing hidden.
///
/// For names of people and channels, which their owners choose.
pub fn name(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_invisible(c) {
            continue;
        }
        if SPECIAL.contains(c) {
            safe.push('\\');
        }
        safe.push(c);
    }
    match safe.trim() {
        "" => "(no name)".to_owned(),
        shown => shown.to_owned(),
    }
}

/// `text` as one line of plain words: no formatting, no mention, no link. Signs that only mean something in the
/// company of others stay as they are, so that sentences, paths and ids read well.
pub fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if c.is_control() => safe.push(' '),
            c if is_invisible(c) => {}
            '\\' | '*' | '_' | '~' | '`' | '|' | '<' | '@' | '[' => {
                safe.push('\\');
                safe.push(c);
            }
            c => safe.push(c),
        }
    }
    safe.replace("://", r":\//")
}

/// `text` as an inline code span on one line; whatever backticks are in it stay inside.
pub fn code(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match line.starts_with('`') || line.ends_with('`') {
        true => format!("{fence} {line} {fence}"),
        false if line.is_empty() => "` `".to_owned(),
        false => format!("{fence}{line}{fence}"),
    }
}

/// Marks of direction and width that change how the text around them shows.
const fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{AD}')
}
