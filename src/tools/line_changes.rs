//! Counts the lines that a change of a file added and removed, for receipts.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use crate::domain::FileChange;
use crate::workspace::{Jail, WorkspacePath};

/// Largest text, in bytes, that is compared line by line.
const MOST_COUNTED: u64 = 1 << 20;

/// Time after which the rest of two texts counts as different.
const COMPARES_FOR: Duration = Duration::from_millis(50);

/// Returns the text of a file; `None` if there is none, or it is not counted.
pub(super) fn text_at(jail: &Jail, path: &WorkspacePath) -> Option<String> {
    let contents = jail.read(path, MOST_COUNTED).ok()?;
    String::from_utf8(contents.bytes).ok()
}

/// Counts the changes in the file at `path`. A missing text has no lines.
pub(super) fn between(
    path: &WorkspacePath,
    before: Option<&str>,
    after: Option<&str>,
) -> FileChange {
    let lines = |text: Option<&'_ str>| -> Vec<String> {
        let lines = text.unwrap_or_default().lines();
        lines.map(str::to_owned).collect()
    };
    let (old, new) = (lines(before), lines(after));
    let deadline = Some(Instant::now() + COMPARES_FOR);
    let (mut added, mut removed) = (0, 0);
    for op in capture_diff_slices_deadline(Algorithm::Myers, &old, &new, deadline) {
        if !matches!(op, DiffOp::Equal { .. }) {
            removed += op.old_range().len() as u64;
            added += op.new_range().len() as u64;
        }
    }
    FileChange {
        path: path.to_string(),
        // A file that cannot be read afterwards is too large to be counted.
        added: if after.is_some() { added } else { 0 },
        removed: if after.is_some() { removed } else { 0 },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn counted(before: Option<&str>, after: Option<&str>) -> (u64, u64) {
        let path = WorkspacePath::parse("a.txt").unwrap();
        let change = between(&path, before, after);
        (change.added, change.removed)
    }

    #[test]
    fn lines_are_counted_as_a_patch_counts_them() {
        assert_eq!(counted(None, Some("a\nb\n")), (2, 0));
        assert_eq!(counted(Some("a\nb\nc\n"), Some("a\nx\ny\nc\n")), (2, 1));
        assert_eq!(counted(Some("a\nb\n"), Some("a\nb\n")), (0, 0));
        assert_eq!(counted(Some("a\nb\nc\nd\n"), Some("x\na\nb\nc\n")), (1, 1));
        assert_eq!(counted(Some("a\n"), None), (0, 0));
    }

    #[test]
    fn texts_without_a_common_line_end_in_time() {
        let text = |letter: char| -> String {
            let lines = (0..60_000).map(|line| format!("{letter}{line}\n"));
            lines.collect()
        };
        let began = Instant::now();
        let (added, removed) = counted(Some(&text('a')), Some(&text('b')));
        assert_eq!((added, removed), (60_000, 60_000));
        assert!(began.elapsed() < Duration::from_secs(5));
    }
}
