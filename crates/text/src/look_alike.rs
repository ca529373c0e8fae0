//! Letters that look like others.
//!
//! `gіthub.com` with a Cyrillic letter leads elsewhere, and `ɡit` is another program: a person who approves a command
//! needs a warning.

use std::collections::HashMap;
use std::sync::LazyLock;

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::skeleton;

use super::visible::is_hidden;

#[cfg(test)]
mod tests;

/// Most words that are named; these are enough of a warning.
const MOST: usize = 5;

/// Signs that have a meaning in bash, paths and addresses.
const SIGNS: &str = r"/\:;|&$<>()=#!~*.%@?,+{}";

/// Returns the words in `texts` that contain letters or signs which look like ASCII but are not, and the ASCII they
/// look like.
///
/// Words of another script that could not be mistaken for ASCII do not count, and neither do accents that are part of
/// their letter.
pub fn look_alikes<'a>(texts: impl IntoIterator<Item = &'a str>) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for text in texts.into_iter().filter(|text| !text.is_ascii()) {
        for token in text.split(|c: char| c.is_whitespace() || is_hidden(c)) {
            let known = |word: &str| found.iter().any(|(known, _)| known == word);
            if token.is_ascii() || known(token) || !is_suspicious(token) {
                continue;
            }
            found.push((token.to_owned(), plain(token)));
            if found.len() == MOST {
                return found;
            }
        }
    }
    found
}

/// Returns a token as it reads at a glance.
fn plain(token: &str) -> String {
    token
        .nfd()
        .filter(|c| !is_mark(*c))
        .map(|c| looks_like(c).unwrap_or(c))
        .collect()
}

fn is_suspicious(token: &str) -> bool {
    // Computed once: a token of marks only has as many words as letters.
    let is_technical = token.contains(['-', '/', '.', '=', ':']);
    token.chars().any(is_mark_below)
        || token.nfc().any(is_mark)
        || has_false_sign(token)
        || token
            .split(|c: char| !c.is_alphanumeric())
            .any(|word| is_false_word(word, is_technical))
}

/// Returns whether a word mixes letters of ASCII with others that look like them, or could be read as ASCII throughout.
/// It `is_technical` in an option or a path.
fn is_false_word(word: &str, is_technical: bool) -> bool {
    let looks = word.chars().filter(|c| looks_like(*c).is_some()).count();
    let ascii = word.chars().filter(char::is_ascii_alphanumeric).count();
    let count = word.chars().count();
    // A letter that is a word by itself belongs to a language.
    let stands_alone = count == 1 && !is_technical;
    looks > 0 && (ascii > 0 || looks == count) && !stands_alone
}

fn has_false_sign(token: &str) -> bool {
    let mut chars = token.chars().peekable();
    let mut is_first = true;
    while let Some(c) = chars.next() {
        let begins_word = is_first && chars.peek().is_some_and(|next| next.is_alphanumeric());
        is_first = false;
        if c.is_ascii() || c.is_alphanumeric() || is_drawing(c) {
            continue;
        }
        match looks_like(c) {
            // Dashes are everywhere in prose; before a word they look like an option.
            Some('-') if begins_word => return true,
            // The tables have one shape for the bar, the letter l and the number one.
            Some(sign) if SIGNS.contains(sign) || sign == 'l' => return true,
            _ => {}
        }
    }
    false
}

/// Returns the ASCII character that `c` looks like, if `c` is none itself.
fn looks_like(c: char) -> Option<char> {
    static ASCII: LazyLock<HashMap<String, char>> = LazyLock::new(|| {
        let preferred = (' '..='~').filter(|c| !c.is_ascii_alphanumeric());
        let letters = ('0'..='9').chain('A'..='Z').chain('a'..='z');
        let all = preferred.chain(letters);
        all.map(|c| (skeleton(c.encode_utf8(&mut [0; 4])).collect(), c))
            .collect()
    });
    if c.is_ascii() {
        return None;
    }
    // Full-width forms of all signs; the tables of look-alikes have only some of them.
    if let '\u{FF01}'..='\u{FF5E}' = c {
        return char::from_u32(u32::from(c) - 0xFEE0);
    }
    if let '\u{2010}'..='\u{2015}' | '\u{2212}' = c {
        return Some('-');
    }
    let shape: String = skeleton(c.encode_utf8(&mut [0; 4])).collect();
    ASCII.get(&shape).copied()
}

/// Returns whether `c` is a mark on the letter before it. Accents that languages use become part of their letter when
/// it is composed.
const fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}'
        | '\u{1AB0}'..='\u{1AFF}'
        | '\u{1DC0}'..='\u{1DFF}'
        | '\u{20D0}'..='\u{20FF}'
        | '\u{FE20}'..='\u{FE2F}')
}

/// Returns whether `c` is a mark below or through its letter, which is easily overlooked.
const fn is_mark_below(c: char) -> bool {
    matches!(c, '\u{316}'..='\u{326}' | '\u{329}'..='\u{338}')
}

/// Returns whether `c` is a line or box that draws trees and tables.
const fn is_drawing(c: char) -> bool {
    matches!(c, '\u{2500}'..='\u{25FF}')
}
