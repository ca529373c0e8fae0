//! Finds the prefix of a block's lines: marks of the quotes and blanks of the lists around it.

/// Returns the prefix of each further line of a block that begins at `start`.
pub(super) fn prefix_of(text: &str, start: usize) -> String {
    let before = text[line_start(text, start)..start].chars();
    before.map(|c| if c == '>' { '>' } else { ' ' }).collect()
}

/// Returns the beginning of the line that contains `place`.
pub(super) fn line_start(text: &str, place: usize) -> usize {
    text[..place].rfind('\n').map_or(0, |at| at + 1)
}

/// Returns `block` with `prefix` before each of its lines except the first, which already has it.
pub(super) fn indented(block: &str, prefix: &str) -> String {
    if prefix.is_empty() {
        block.to_owned()
    } else {
        block.replace('\n', &format!("\n{prefix}"))
    }
}

/// Returns whether `text` is blank except for marks of quotes.
pub(super) fn is_margin(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'>'))
}
