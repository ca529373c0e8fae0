//! Short forms: one line of a longer text, sizes, slugs, the nearest known word.

use unicode_segmentation::UnicodeSegmentation;

#[cfg(test)]
mod tests;

/// Most bytes that are read of a character, including its marks.
const MOST_BYTES: usize = 16;

/// Most bytes of blanks that are read in addition.
const MOST_BLANK: usize = 4 << 10;

/// Returns `text` on one line in at most `max` characters; an ellipsis marks a cut.
///
/// Runs of blanks, tabs and line ends become one blank; a character is never cut in two, even one of several code points.
pub fn one_line(text: &str, max: usize) -> String {
    let whole = text.len();
    // A megabyte of blanks, or of marks on one letter, is not searched for the text after it.
    let most = max.saturating_mul(MOST_BYTES).saturating_add(MOST_BLANK);
    let text = &text[..text.floor_char_boundary(most)];
    let is_cut = text.len() < whole;
    let mut line = String::new();
    let mut chars = 0;
    let mut graphemes = text.graphemes(true).peekable();
    let mut blank = false;
    while let Some(grapheme) = graphemes.next() {
        if matches!(grapheme, " " | "\t" | "\n" | "\r\n") {
            blank = !line.is_empty();
            continue;
        }
        let size = grapheme.chars().count() + usize::from(blank);
        let is_last = !is_cut && graphemes.peek().is_none();
        let room = max.saturating_sub(usize::from(!is_last));
        if chars + size > room {
            line.push('…');
            return line;
        }
        if blank {
            line.push(' ');
            blank = false;
        }
        line.push_str(grapheme);
        chars += size;
    }
    if is_cut {
        line.push('…');
    }
    line
}

/// Returns `text` with a full stop at its end, unless it already ends a sentence, perhaps inside quotation marks.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let words = text.trim_end_matches(['"', '”', '’', '\'', ')', '*', '_', '`']);
    if words.ends_with(['.', '!', '?', '…']) {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// Returns `count` things, in the singular for one: `1 model`, `2 models`.
pub fn count(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// Formats a number of bytes for people: `512 bytes`, `1.5 KiB`, `3.0 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return match count {
            1 => "1 byte".to_owned(),
            _ => format!("{count} bytes"),
        };
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would print as 1024.0 of the smaller unit.
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// Returns `text` as part of a file name: lower-case letters and digits joined by single hyphens, at most `max` bytes.
///
/// Empty if no character of it is allowed.
pub fn slug(text: &str, max: usize) -> String {
    let mut slug = String::new();
    for word in text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
    {
        let joint = usize::from(!slug.is_empty());
        let room = max.saturating_sub(slug.len() + joint);
        if word.len() > room && !slug.is_empty() {
            break;
        }
        if joint == 1 {
            slug.push('-');
        }
        slug.extend(word.chars().take(room).map(|c| c.to_ascii_lowercase()));
    }
    slug
}

/// Returns the candidate that `word` was probably meant to be, if one is similar enough.
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    /// Below this, a suggestion confuses more than it helps.
    const LIKENESS: f64 = 0.8;
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            (
                strsim::jaro_winkler(&word, &candidate.to_lowercase()),
                candidate,
            )
        })
        .filter(|(likeness, _)| *likeness >= LIKENESS)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
