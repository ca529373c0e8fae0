//! Tables for people: columns of equal width, with a head.

use std::io::{self, Write as _};

use unicode_width::UnicodeWidthStr as _;

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    /// For numbers.
    Right,
}

/// Prints `rows` below the heads of their columns. The last column has no fixed width.
pub(super) fn print<const N: usize>(
    heads: [(&str, Side); N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.width()).max().unwrap_or_default();
        heads
            .get(column)
            .map_or(0, |head| head.0.width())
            .max(widest)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let names = heads.map(|(name, _)| name.to_owned());
    for row in std::iter::once(&names).chain(rows) {
        let mut line = String::new();
        for ((cell, (_, side)), width) in row.iter().zip(heads).zip(&widths) {
            let blank = " ".repeat(width.saturating_sub(cell.width()));
            match side {
                Side::Left => line.push_str(&format!("{cell}{blank}  ")),
                Side::Right => line.push_str(&format!("{blank}{cell}  ")),
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    out.flush()
}
