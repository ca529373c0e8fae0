//! What a reader would not see, made visible.
//!
//! A person who approves a command must read what runs. Characters that print nothing, or turn the
//! direction of what follows, are therefore shown by their number.

/// Whether `c` shows nothing or changes how its neighbours show. Line feed and tab are not hidden.
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
        // Blanks that are not the blank, zero-width characters, marks and embeddings of direction.
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

/// `text` with each hidden character written as `\u{202E}`, and whether there was any.
pub fn visible(text: &str) -> (String, bool) {
    let mut shown = String::with_capacity(text.len());
    let mut flagged = false;
    for c in text.chars() {
        if is_hidden(c) {
            flagged = true;
            shown.push_str(&format!("\\u{{{:X}}}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    (shown, flagged)
}

/// `code` in a fence of its own that nothing inside can close.
///
/// The fence is one longer than the longest run of backticks inside, and at least three.
pub fn fenced(code: &str, language: &str) -> String {
    let longest = code
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat((longest + 1).max(3));
    let end = if code.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{code}{end}{fence}")
}
