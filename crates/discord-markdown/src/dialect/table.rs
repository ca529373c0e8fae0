//! Tables, which Discord does not render. They become a code block with aligned columns, or a list of the rows if that
//! would be too wide.

use std::ops::Range;

use pulldown_cmark::Alignment;
use unicode_width::UnicodeWidthStr as _;

use crate::code::{self, FENCE, open_code};
use crate::escape;
use chorus_text::one_line;

/// Columns of text that fit into a code block on a desktop without wrapping, with some reserve.
const MAX_WIDTH: usize = 64;

/// Blanks between two columns.
const GAP: usize = 2;

/// Most characters of a block, so that one always fits into a message; the next block repeats the head.
const MAX_BLOCK: usize = 1_800;

/// Most characters of a head that is repeated before each cell of a list.
const MAX_LABEL: usize = 40;

/// How many times its own length a table may grow to, in addition to [`SPARE`]; beyond that it is shown as typed.
const MAX_GROWTH: usize = 8;

/// Length that any table may grow to.
const SPARE: usize = 8_192;

/// A table that is being read.
pub(super) struct Table {
    range: Range<usize>,
    alignments: Vec<Alignment>,
    /// Its rows, the head first.
    rows: Vec<Vec<Cell>>,
    /// Cells of the last row so far.
    columns: usize,
    open: Option<OpenCell>,
    /// Whether a block of code would hide the target of a link.
    pub(super) holds_links: bool,
}

/// A cell with content.
struct Cell {
    column: usize,
    /// Its lines without marks.
    plain: String,
    /// Its words as Discord renders them, on one line.
    rich: String,
}

/// A cell that is being read.
struct OpenCell {
    range: Range<usize>,
    /// The number of edits before it.
    edits: usize,
    said: String,
}

impl Table {
    pub(super) fn new(range: Range<usize>, alignments: Vec<Alignment>) -> Self {
        Self {
            range,
            alignments,
            rows: vec![Vec::new()],
            columns: 0,
            open: None,
            holds_links: false,
        }
    }

    pub(super) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
        self.columns = 0;
    }

    pub(super) fn begin_cell(&mut self, range: Range<usize>, edits: usize) {
        self.open = Some(OpenCell {
            range,
            edits,
            said: String::new(),
        });
    }

    /// Adds words to the open cell.
    pub(super) fn push(&mut self, words: &str) {
        if let Some(cell) = &mut self.open {
            cell.said.push_str(words);
        }
    }

    /// Returns the range of the open cell, and the number of edits before it.
    pub(super) fn open_cell(&self) -> Option<(Range<usize>, usize)> {
        let cell = self.open.as_ref()?;
        Some((cell.range.clone(), cell.edits))
    }

    /// Ends the open cell, which Discord renders as `rich`.
    pub(super) fn end_cell(&mut self, rich: &str) {
        let column = self.columns;
        self.columns += 1;
        let said = self.open.take().map(|cell| cell.said).unwrap_or_default();
        let plain = said.trim();
        if let Some(row) = self.rows.last_mut().filter(|_| !plain.is_empty()) {
            row.push(Cell {
                column,
                plain: plain.to_owned(),
                rich: rich.to_owned(),
            });
        }
    }

    /// Returns the table as Discord renders it, without a final line feed; `raw` is the text as typed.
    pub(super) fn written(&self, raw: &str) -> String {
        let written = match self.widths() {
            Some(widths) => self.aligned(&widths),
            None => self.listed(),
        };
        if written.len() > MAX_GROWTH * raw.len() + SPARE {
            return code::block(raw);
        }
        written
    }

    /// Returns the width of each column; `None` if a line would be too long, or a link could not be followed.
    fn widths(&self) -> Option<Vec<usize>> {
        let columns = self.alignments.len();
        let gaps = GAP * columns.saturating_sub(1);
        if self.holds_links || columns + gaps > MAX_WIDTH {
            return None;
        }
        let mut widths = vec![1; columns];
        for cell in self.rows.iter().flatten() {
            let width = cell.plain.lines().map(|line| line.trim().width()).max();
            let widest = widths.get_mut(cell.column)?;
            *widest = width.unwrap_or_default().max(*widest);
        }
        (widths.iter().sum::<usize>() + gaps <= MAX_WIDTH).then_some(widths)
    }

    /// Returns code blocks with aligned columns.
    fn aligned(&self, widths: &[usize]) -> String {
        let mut head = String::new();
        let mut rows = self.rows.iter();
        if let Some(row) = rows.next().filter(|row| !row.is_empty()) {
            head = self.lines(row, widths);
            let lines: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
            head.push_str(&lines.join(&" ".repeat(GAP)));
            head.push('\n');
        }
        let mut blocks = Vec::new();
        let mut block = head.clone();
        for row in rows {
            let lines = self.lines(row, widths);
            let is_full = block.len() + lines.len() > MAX_BLOCK;
            if is_full && block.len() > head.len() {
                blocks.push(code::block(&block));
                block.clone_from(&head);
            }
            block.push_str(&lines);
        }
        blocks.push(code::block(&block));
        blocks.join("\n")
    }

    /// Returns the lines of one row.
    fn lines(&self, row: &[Cell], widths: &[usize]) -> String {
        let cells: Vec<Vec<&str>> = row
            .iter()
            .map(|cell| cell.plain.lines().collect())
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(1);
        let mut lines = String::new();
        for number in 0..height {
            let mut line = String::new();
            let mut taken = row.iter().zip(&cells).peekable();
            for (column, width) in widths.iter().enumerate() {
                let cell = taken.next_if(|(cell, _)| cell.column == column);
                let words = cell.and_then(|(_, lines)| lines.get(number).copied());
                let alignment = self.alignments.get(column).copied();
                push_aligned(
                    &mut line,
                    words.unwrap_or_default().trim(),
                    *width,
                    alignment,
                );
                line.push_str(&" ".repeat(GAP));
            }
            lines.push_str(line.trim_end());
            lines.push('\n');
        }
        lines
    }

    /// Returns a line of the heads, and a list of the rows: the first cell in bold, the others below it with their
    /// heads.
    fn listed(&self) -> String {
        let (head, rows) = match self.rows.split_first() {
            Some((head, [])) => (&[] as &[Cell], vec![head]),
            Some((head, rows)) => (head.as_slice(), rows.iter().collect()),
            None => return String::new(),
        };
        let mut lines = Vec::new();
        if !head.is_empty() {
            let labels: Vec<&str> = head.iter().map(|cell| cell.rich.as_str()).collect();
            lines.push(bold(&labels.join(" · ")));
        }
        for row in rows {
            let Some((first, others)) = row.split_first() else {
                continue;
            };
            let name = bold(&first.rich);
            if let ([other], 2) = (others, self.alignments.len()) {
                lines.push(format!("- {name}: {}", other.rich));
                continue;
            }
            lines.push(format!("- {name}"));
            lines.extend(others.iter().map(|cell| {
                let index = head.binary_search_by_key(&cell.column, |head| head.column);
                match index.ok().and_then(|index| head.get(index)) {
                    Some(head) => {
                        let label = one_line(&head.plain, MAX_LABEL);
                        format!("  - {}: {}", escape::text(&label), cell.rich)
                    }
                    None => format!("  - {}", cell.rich),
                }
            }));
        }
        lines.join("\n")
    }
}

/// Returns `rich` in bold, unless a part of it is already bold.
fn bold(rich: &str) -> String {
    if rich.contains("**") {
        rich.to_owned()
    } else {
        format!("**{rich}**")
    }
}

fn push_aligned(line: &mut String, words: &str, width: usize, alignment: Option<Alignment>) {
    let room = width.saturating_sub(words.width());
    let before = match alignment {
        Some(Alignment::Right) => room,
        Some(Alignment::Center) => room / 2,
        Some(Alignment::Left | Alignment::None) | None => 0,
    };
    line.push_str(&" ".repeat(before));
    line.push_str(words);
    line.push_str(&" ".repeat(room - before));
}

/// Returns `markdown` without the lines at its end that are not yet a table: a head, or a head and a part of the line
/// below it.
pub(super) fn without_half(markdown: &str) -> &str {
    let is_line = markdown.ends_with('\n');
    let lines = markdown.strip_suffix('\n').unwrap_or(markdown).rsplit('\n');
    let is_row = |line: &&str| line.trim_start().starts_with('|');
    let rows: Vec<&str> = lines.take(3).take_while(is_row).collect();
    let is_half = match rows.as_slice() {
        [_] => true,
        // Only a complete line below the head makes it a table.
        [below, _] => !is_line && below.bytes().all(|byte| b"|:- \t\r".contains(&byte)),
        _ => false,
    };
    if !is_half {
        return markdown;
    }
    let length = rows.iter().map(|row| row.len() + 1).sum::<usize>();
    let head = &markdown[..(markdown.len() + usize::from(!is_line)).saturating_sub(length)];
    match open_code(head) {
        Some(open) if open.mark == FENCE => markdown,
        Some(_) | None => head.trim_end(),
    }
}
