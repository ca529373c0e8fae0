//! What stands before a block in its lines: marks of the quotes and blanks of the lists that it is in.

/// What each further line of a block that begins at `start` begins with.
pub(super) fn prefix_of(text: &str, start: usize) -> String {
    let before = text[line_start(text, start)..start].chars();
    before.map(|c| if c == '>' { '>' } else { ' ' }).collect()
}

/// Where the line begins that `place` lies in.
pub(super) fn line_start(text: &str, place: usize) -> usize {
    text[..place].rfind('\n').map_or(0, |at| at + 1)
}

/// `block` with `prefix` before each of its lines but the first, whose prefix is in the text already.
pub(super) fn indented(block: &str, prefix: &str) -> String {
    if prefix.is_empty() {
        block.to_owned()
    } else {
        block.replace('\n', &format!("\n{prefix}"))
    }
}

/// Whether `text` is blank but for marks of quotes.
pub(super) fn is_margin(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'>'))
}
