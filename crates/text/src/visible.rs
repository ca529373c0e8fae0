//! Makes invisible characters visible.
//!
//! A person who approves a command must be able to read exactly what runs. So characters that print nothing, or change
//! the direction of the text after them, are shown by their number.

use std::borrow::Cow;

#[cfg(test)]
mod tests;

/// Returns whether `c` is invisible or changes how its neighbours are shown. Line feed and tab do not count.
pub const fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        // Controls of ASCII and Latin-1.
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' => true,
        // Soft hyphen, joiners, Arabic and Syriac number and verse marks.
        '\u{AD}'
        | '\u{34F}'
        | '\u{600}'..='\u{605}'
        | '\u{61C}'
        | '\u{6DD}'
        | '\u{70F}'
        | '\u{890}'..='\u{891}'
        | '\u{8E2}' => true,
        // Fillers of Hangul and Khmer, Mongolian selectors.
        '\u{115F}'..='\u{1160}'
        | '\u{17B4}'..='\u{17B5}'
        | '\u{180B}'..='\u{180F}'
        | '\u{3164}'
        | '\u{FFA0}' => true,
        // Blanks other than the normal one, zero-width characters, marks and embeddings of direction.
        '\u{A0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200F}'
        | '\u{2028}'..='\u{202F}'
        | '\u{205F}'..='\u{206F}'
        | '\u{3000}'
        | '\u{2800}' => true,
        // Variation selectors, byte order mark, annotations, not-a-characters, private use.
        '\u{FE00}'..='\u{FE0F}'
        | '\u{FEFF}'
        | '\u{FFF0}'..='\u{FFFB}'
        | '\u{FFFE}'..='\u{FFFF}'
        | '\u{FDD0}'..='\u{FDEF}'
        | '\u{E000}'..='\u{F8FF}' => true,
        // Format characters of other planes, tags, and everything from plane 14 up.
        '\u{110BD}'
        | '\u{110CD}'
        | '\u{13430}'..='\u{1343F}'
        | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}'
        | '\u{E0000}'..='\u{10FFFF}' => true,
        _ => false,
    }
}

/// Returns `text` with each hidden character written as `\u{202E}`, and whether there was any.
///
/// If there was one, a `\u{` of the text itself is written as `\u{5C}u{`, so that the result stands for exactly one text.
pub fn visible(text: &str) -> (String, bool) {
    if text.contains(is_hidden) {
        (written_out(text, |_, c| is_hidden(c)), true)
    } else {
        (text.to_owned(), false)
    }
}

/// Returns `text` with the characters for which `is_odd` is true, by position and character, written by their number. A
/// `\u{` in the text itself is escaped.
pub fn written_out(text: &str, is_odd: impl Fn(usize, char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len() + 16);
    for (index, c) in text.char_indices() {
        if is_odd(index, c) || text[index..].starts_with("\\u{") {
            push_number(&mut shown, c);
        } else {
            shown.push(c);
        }
    }
    shown
}

fn push_number(shown: &mut String, c: char) {
    shown.push_str(&format!("\\u{{{:X}}}", u32::from(c)));
}

/// Returns equivalent JSON, with each hidden character in its strings escaped: a reader sees it, and a terminal shows
/// it.
pub fn visible_json(json: &str) -> Cow<'_, str> {
    if !json.contains(is_hidden) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if is_hidden(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                shown.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Returns `text` as prose, with invisible characters written by their number.
///
/// Unlike [`visible`] it keeps characters that prose in human languages and in emoji needs: blanks that print as
/// blanks, joiners between letters that join and within emoji, marks of direction next to letters that run from right
/// to left. A line end of two characters becomes one.
pub fn prose(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut before = None;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let flag = FLAGS.iter().find(|flag| rest.starts_with(**flag));
        let length = flag.map_or(c.len_utf8(), |flag| flag.len());
        let (taken, after) = rest.split_at(length);
        match (flag, c) {
            (None, '\r') if after.starts_with('\n') => {}
            (None, c) if is_hidden(c) && !belongs(before, c, after.chars().next()) => {
                push_number(&mut shown, c);
            }
            _ => shown.push_str(taken),
        }
        before = Some(c);
        rest = after;
    }
    Cow::Owned(shown)
}

/// The flags that are spelled with invisible tags: England, Scotland, Wales.
const FLAGS: [&str; 3] = [
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
    "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}",
];

/// Returns whether a hidden character is used properly in prose between its neighbours.
fn belongs(before: Option<char>, c: char, after: Option<char>) -> bool {
    let both = |is: fn(char) -> bool| before.is_some_and(is) && after.is_some_and(is);
    let either = |is: fn(char) -> bool| before.is_some_and(is) || after.is_some_and(is);
    match c {
        // Blanks that print as blanks, the blank of Braille pictures, letters of icon fonts.
        '\u{A0}'
        | '\u{1680}'
        | '\u{2000}'..='\u{200A}'
        | '\u{202F}'
        | '\u{205F}'
        | '\u{2800}'
        | '\u{3000}'
        | '\u{E000}'..='\u{F8FF}'
        | '\u{F0000}'..='\u{FFFFD}'
        | '\u{100000}'..='\u{10FFFD}' => true,
        // Signs of Arabic and Syriac that print, selectors of Mongolian letters.
        '\u{600}'..='\u{605}' | '\u{6DD}' | '\u{70F}' | '\u{890}'..='\u{891}' | '\u{8E2}' => true,
        '\u{180B}'..='\u{180F}' => before.is_some_and(|c| matches!(c, '\u{1800}'..='\u{18AF}')),
        '\u{200D}' => both(is_emoji) || both(joins),
        '\u{200C}' => both(joins),
        '\u{200E}' | '\u{200F}' | '\u{61C}' => either(runs_leftwards),
        // After a symbol or a digit it chooses between a letter and a picture.
        '\u{FE0E}' | '\u{FE0F}' => {
            before.is_some_and(|c| c.is_ascii_digit() || (!c.is_alphanumeric() && !is_hidden(c)))
        }
        _ => false,
    }
}

/// Returns whether `c` may be part of an emoji that a joiner holds together.
const fn is_emoji(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2BFF}' | '\u{FE0F}' | '\u{1F000}'..='\u{1FAFF}')
}

/// Returns whether `c` is a letter of a script with joining letters, such as Arabic and those of India.
const fn joins(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{DFF}'
        | '\u{1000}'..='\u{109F}'
        | '\u{1780}'..='\u{18AF}'
        | '\u{FB50}'..='\u{FDCF}'
        | '\u{FDF0}'..='\u{FDFF}'
        | '\u{FE70}'..='\u{FEFE}')
}

/// Returns whether `c` is a letter that runs from right to left: Hebrew, Arabic, Syriac and related scripts.
const fn runs_leftwards(c: char) -> bool {
    matches!(c,
        '\u{590}'..='\u{8FF}'
        | '\u{FB1D}'..='\u{FDCF}'
        | '\u{FDF0}'..='\u{FDFF}'
        | '\u{FE70}'..='\u{FEFE}')
}
