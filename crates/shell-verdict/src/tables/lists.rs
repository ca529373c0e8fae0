//! Reads lists from a table: sections that begin with `[name]` and end at an empty line.

/// Names of programs, and the words that belong to them; blanks separate the words of both.
pub(crate) type Pair = (&'static str, &'static str);

/// Returns the section `name` of `table`, without its head. A name that the table does not have fails the build.
pub(super) const fn section(table: &'static str, name: &str) -> &'static str {
    let bytes = table.as_bytes();
    let found = head(bytes, name.as_bytes());
    assert!(found.is_some(), "the table has no section of this name");
    let start = match found {
        Some(start) => start,
        None => 0,
    };
    let mut end = start;
    while end < bytes.len() && !(bytes[end] == b'\n' && is_line_end(bytes, end + 1)) {
        end += 1;
    }
    let (before_end, _) = table.split_at(end);
    let (_, section) = before_end.split_at(start);
    section
}

/// Returns where the line after `[name]` begins.
const fn head(table: &[u8], name: &[u8]) -> Option<usize> {
    let mut at = 0;
    while at < table.len() {
        if table[at] == b'[' && (at == 0 || table[at - 1] == b'\n') {
            let close = at + 1 + name.len();
            if begins(table, at + 1, name) && begins(table, close, b"]\n") {
                return Some(close + 2);
            }
        }
        at += 1;
    }
    None
}

const fn begins(table: &[u8], at: usize, with: &[u8]) -> bool {
    let mut index = 0;
    while index < with.len() {
        if at + index >= table.len() || table[at + index] != with[index] {
            return false;
        }
        index += 1;
    }
    true
}

const fn is_line_end(table: &[u8], at: usize) -> bool {
    at >= table.len() || table[at] == b'\n'
}

/// Returns the words of a section with lines grouped by comments.
pub(super) fn flat(section: &'static str) -> Vec<&'static str> {
    let lines = section.lines().filter(|line| !line.starts_with("# "));
    lines.flat_map(str::split_whitespace).collect()
}

/// Returns the pairs of a section: `programs = words` in each line.
pub(super) fn pairs(section: &'static str) -> Vec<Pair> {
    let lines = section.lines();
    lines.filter_map(|line| line.split_once(" = ")).collect()
}
