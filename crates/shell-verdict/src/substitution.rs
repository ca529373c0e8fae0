//! Commands inside others that bash runs although the parser sees plain text.
//!
//! The grammar has no substitutions in the patterns of `[[ … =~ … ]]`, in most of `${…}`, and no backticks in
//! here-documents. So each place where one could begin must be a node of the tree, or a place where bash runs nothing.

use std::collections::HashSet;
use std::ops::Range;

use tree_sitter::Node;

/// The tree's information about places in the text.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// Beginnings and ends of substitutions that are nodes.
    known: HashSet<usize>,
    /// Ranges that bash takes literally.
    literal: Vec<Range<usize>>,
    /// Ranges where only `<(` and `>(` are literal: double quotes and here-documents.
    quoted: Vec<Range<usize>>,
}

impl Places {
    /// Records the ranges of `node`.
    pub(super) fn note(&mut self, node: Node<'_>, text: &str) {
        let range = node.byte_range();
        match node.kind() {
            "command_substitution" | "process_substitution" | "arithmetic_expansion" => {
                // Between two of them in one string, the blank belongs to the second one's node.
                let node = text.get(range.clone()).unwrap_or_default();
                let blanks = node.len() - node.trim_start().len();
                self.known.insert(range.start + blanks);
                self.known.insert(range.end.saturating_sub(1));
            }
            "raw_string" | "ansi_c_string" if is_word(node) => self.literal.push(range),
            "comment" => self.literal.push(range),
            "heredoc_body" if is_quoted(node, text) => self.literal.push(range),
            "heredoc_body" if node.child_count() == 0 => self.quoted.push(range),
            "heredoc_content" | "string_content" => self.quoted.push(range),
            _ => {}
        }
    }

    /// Returns the places in `text` that may run something but are not nodes, each up to its end.
    pub(super) fn unseen(mut self, text: &str) -> Vec<Range<usize>> {
        self.literal.sort_by_key(|range| range.start);
        self.quoted.sort_by_key(|range| range.start);
        let bytes = text.as_bytes();
        let mut unseen = Vec::new();
        let mut position = 0;
        while let Some(byte) = bytes.get(position).copied() {
            let next = bytes.get(position + 1).copied().unwrap_or_default();
            let begins = match (byte, next) {
                // Nothing after a backslash is special. In literal text a backslash is not special, and neither is anything
                // else.
                (b'\\', _) if !covers(&self.literal, position) => {
                    position += 2;
                    continue;
                }
                (b'`', _) | (b'$', b'(') => !self.known.contains(&position),
                (b'<' | b'>', b'(') => {
                    !self.known.contains(&position) && !covers(&self.quoted, position)
                }
                // Newer shells run the content of `${ …; }`.
                (b'$', b'{') => bytes
                    .get(position + 2)
                    .is_some_and(|third| b" \t\n|".contains(third)),
                _ => false,
            };
            if begins && !covers(&self.literal, position) {
                unseen.push(position..end(bytes, position));
            }
            position += 1;
        }
        unseen
    }
}

/// Returns whether quotes around a word quote it: inside `"${…}"`, arithmetic and here-documents they do not.
fn is_word(node: Node<'_>) -> bool {
    let mut parent = node.parent();
    while let Some(outer) = parent.filter(|outer| outer.kind() == "concatenation") {
        parent = outer.parent();
    }
    parent.is_some_and(|parent| {
        matches!(
            parent.kind(),
            "command"
                | "command_name"
                | "variable_assignment"
                | "array"
                | "declaration_command"
                | "unset_command"
                | "file_redirect"
                | "herestring_redirect"
                | "for_statement"
                | "case_statement"
                | "case_item"
        )
    })
}

/// Returns whether the delimiter of a here-document is quoted, so that its body is plain text.
fn is_quoted(body: Node<'_>, text: &str) -> bool {
    let Some(redirect) = body.parent() else {
        return false;
    };
    let start = redirect
        .children(&mut redirect.walk())
        .find(|child| child.kind() == "heredoc_start");
    start
        .and_then(|start| text.get(start.byte_range()))
        .is_some_and(|start| start.starts_with(['\'', '"', '\\']))
}

/// Returns whether one of `ranges`, which are sorted and do not overlap, contains `position`.
fn covers(ranges: &[Range<usize>], position: usize) -> bool {
    let behind = ranges.partition_point(|range| range.start <= position);
    ranges
        .get(..behind)
        .and_then(<[_]>::last)
        .is_some_and(|range| range.contains(&position))
}

/// Returns the approximate end of a substitution that begins at `start`.
fn end(bytes: &[u8], start: usize) -> usize {
    let rest = bytes.get(start + 1..).unwrap_or_default();
    let mut open = 0_usize;
    let is_end = |byte: &u8| {
        match byte {
            b'(' | b'{' => open += 1,
            b')' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        match bytes.get(start) {
            Some(b'`') => *byte == b'`',
            _ => open == 0,
        }
    };
    let length = rest.iter().position(is_end);
    length.map_or(bytes.len(), |length| start + length + 2)
}
