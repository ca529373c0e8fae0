//! The texts in the code: each literal of a source file that is words.

use super::{raw_text, text_length};

/// The texts of a source file, in order, without those of comments.
pub(super) fn literals(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_text(rest) {
            let body = rest[..length].trim_start_matches('r').trim_matches('#');
            found.push(body.trim_matches('"').to_owned());
            length
        } else if c == '"' {
            let length = text_length(rest);
            let body = &rest[1..length];
            found.push(unescaped(body.strip_suffix('"').unwrap_or(body)));
            length
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find('\'').unwrap() + 2
        } else {
            c.len_utf8()
        };
        rest = &rest[skipped..];
    }
    found
}

/// A text as it is shown: its escapes read, its continued lines joined.
fn unescaped(body: &str) -> String {
    let mut text = String::new();
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => text.push('\n'),
                Some('\n') => while chars.next_if(|c| c.is_whitespace()).is_some() {},
                Some(other) => text.push(other),
                None => {}
            },
            c => text.push(c),
        }
    }
    text
}

/// Whether it is words, as opposed to a key, a path or a piece of a format.
pub(super) fn is_words(text: &str) -> bool {
    let words = text.split_whitespace().filter(|word| {
        let letters = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_word = |c: char| c.is_alphabetic() || "'’-".contains(c);
        letters.chars().count() > 1 && letters.chars().all(is_word)
    });
    words.count() >= 2
}
