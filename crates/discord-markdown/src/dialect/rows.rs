//! Rows of tables with more cells than their table has columns. CommonMark's readers drop the surplus; here it becomes
//! part of the last cell, and a pipe in code is code.

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag};

use super::options;
use crate::code;

/// Returns `text` with the pipes escaped that divide no cells.
pub(super) fn with_all_cells(text: &str) -> Cow<'_, str> {
    if !text.contains('|') {
        return Cow::Borrowed(text);
    }
    let mut pipes = Vec::new();
    let mut columns = 0;
    for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::Table(alignments)) => columns = alignments.len(),
            Event::Start(Tag::TableHead | Tag::TableRow) => {
                let row = &text[range.clone()];
                let surplus = surplus(row, columns);
                pipes.extend(surplus.into_iter().map(|at| range.start + at));
            }
            _ => {}
        }
    }
    if pipes.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut written = String::with_capacity(text.len() + pipes.len());
    let mut from = 0;
    for pipe in pipes {
        written.push_str(&text[from..pipe]);
        written.push('\\');
        from = pipe;
    }
    written.push_str(&text[from..]);
    Cow::Owned(written)
}

/// Returns the positions of a row's pipes that divide none of its table's columns.
fn surplus(row: &str, columns: usize) -> Vec<usize> {
    let dividers = dividers(row);
    if dividers.len() < columns {
        return Vec::new();
    }
    let codes: Vec<Range<usize>> = code::codes(row)
        .filter_map(|code| Some(code.start..code.end?))
        .collect();
    let is_code = |at: &usize| {
        let next = codes.partition_point(|code| code.end <= *at);
        codes.get(next).is_some_and(|code| code.start < *at)
    };
    let (in_code, outside): (Vec<usize>, Vec<usize>) = dividers.iter().partition(|at| is_code(at));
    // Backticks in two cells are not code: without the pipes between them there would be too few cells.
    let (mut surplus, dividers) = if outside.len() + 1 < columns {
        (Vec::new(), dividers)
    } else {
        (in_code, outside)
    };
    surplus.extend(dividers.iter().skip(columns.saturating_sub(1)));
    surplus.sort_unstable();
    surplus
}

/// Returns the pipes between the cells of a row.
fn dividers(row: &str) -> Vec<usize> {
    let row = row.trim_end();
    let first = row.len() - row.trim_start_matches([' ', '\t', '>']).len();
    let pipes = row.match_indices('|').map(|(at, _)| at);
    let pipes = pipes.filter(|at| !code::is_escaped(row, *at));
    pipes
        .filter(|at| *at != first && *at + 1 != row.len())
        .collect()
}
