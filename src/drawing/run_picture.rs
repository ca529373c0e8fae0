//! A run as a picture: a time line with a row for each turn.

use chrono::{DateTime, Utc};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::letters::{LINES, NoPicture, letters, picture, plain, within};
use super::run_lines::run_line;
use super::timeline::{Bar, Timeline, time};
use crate::domain::{OpKind, Run};

/// Width of the picture in pixels.
const WIDTH: u32 = 1_600;

/// Where the bars begin and end, in pixels from the left.
const BARS: (i32, i32) = (470, 1_570);

/// Height of a turn's row in pixels.
const ROW: i32 = 44;

/// Above the first row: the title, the legend, and the times.
const HEAD: i32 = 150;

/// Below the last row.
const FOOT: i32 = 30;

/// Height of the title's letters in pixels, and of all others.
const TITLE: u32 = 32;
const LETTERS: u32 = 26;

/// Characters of the title: as many as fit if all are as wide as the widest common letter.
const TITLE_CHARS: usize = 92;

/// Most characters of a narrow label.
const LABEL_CHARS: usize = 60;

/// Most gaps that are named, and most characters of one.
const MOST_GAPS: usize = 10;
const GAP_CHARS: usize = 200;

/// Space between a label and its bars, in pixels.
const GAP: u32 = 12;

/// Width in pixels of the narrowest visible bar.
const NARROWEST: i32 = 3;

/// Lines with a time above them.
const TIMES: i32 = 5;

/// The meaning of the colours, which people with red-green blindness can also distinguish.
const COLOURS: [(OpKind, &str, RGBColor); 5] = [
    (OpKind::Model, "asking a model", RGBColor(0x56, 0xb4, 0xe9)),
    (OpKind::Tool, "tools", RGBColor(0xe6, 0x9f, 0x00)),
    (
        OpKind::Question,
        "waiting for people",
        RGBColor(0xd9, 0x8a, 0xc0),
    ),
    (
        OpKind::Queue,
        "waiting for a place",
        RGBColor(0xf0, 0xe4, 0x42),
    ),
    (OpKind::Compaction, "summing up", RGBColor(0x2f, 0xc9, 0x9b)),
];

/// A turn at work, without its operations.
const AT_WORK: RGBColor = RGBColor(0x5a, 0x5d, 0x66);

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
type DrawingError<'a> = DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>;

/// Draws a run as a PNG, as of `now`. A large run takes too long for an async thread.
///
/// # Errors
///
/// Fails if it cannot be drawn.
pub fn run_picture(run: &Run, now: DateTime<Utc>) -> Result<Vec<u8>, NoPicture> {
    let timeline = Timeline::of(run, now);
    let rows = timeline.rows.len() as i32 + i32::from(timeline.left_out > 0);
    let gaps = gaps(run);
    let height = (HEAD + (rows + gaps.len() as i32) * ROW + FOOT).unsigned_abs();
    let title = run_line(run, now, str::to_owned);
    picture((WIDTH, height), |area| {
        area.draw(&Text::new(
            plain(&title, TITLE_CHARS),
            (24, 18),
            letters(TITLE),
        ))?;
        legend(&timeline, area)?;
        times(&timeline, rows, area)?;
        draw_rows(&timeline, area)?;
        for (at, gap) in (rows..).zip(&gaps) {
            let y = HEAD + at * ROW + 8;
            area.draw(&Text::new(gap.as_str(), (24, y), letters(LETTERS)))?;
        }
        Ok(())
    })
}

/// Returns the missing parts of the run, one line each.
fn gaps(run: &Run) -> Vec<String> {
    let shown = run.gaps.iter().take(MOST_GAPS);
    let room = WIDTH - 2 * 24;
    let mut lines: Vec<String> = shown
        .map(|gap| within(&plain(&format!("Gap: {gap}"), GAP_CHARS), LETTERS, room))
        .collect();
    if run.gaps.len() > MOST_GAPS {
        lines.push(format!("… and {} more gaps", run.gaps.len() - MOST_GAPS));
    }
    lines
}

/// Draws a legend of the colours that occur.
fn legend<'a>(timeline: &Timeline, area: &Area<'a>) -> Result<(), DrawingError<'a>> {
    let mut x = 24;
    for (kind, name, colour) in COLOURS {
        let is_there = timeline
            .rows
            .iter()
            .flat_map(|row| &row.parts)
            .any(|(part, _)| *part == kind);
        if is_there {
            area.draw(&Rectangle::new([(x, 66), (x + 24, 90)], colour.filled()))?;
            area.draw(&Text::new(name, (x + 36, 70), letters(LETTERS)))?;
            x += 36 + 14 * name.len() as i32 + 40;
        }
    }
    Ok(())
}

fn times<'a>(timeline: &Timeline, rows: i32, area: &Area<'a>) -> Result<(), DrawingError<'a>> {
    for at in 0..TIMES {
        let x = BARS.0 + (BARS.1 - BARS.0) * at / TIMES;
        let line = [(x, HEAD - 8), (x, HEAD + rows * ROW)];
        area.draw(&PathElement::new(line, LINES.stroke_width(1)))?;
        let millis = timeline.millis * i64::from(at) / i64::from(TIMES);
        area.draw(&Text::new(
            time(millis),
            (x + 4, HEAD - 40),
            letters(LETTERS),
        ))?;
    }
    Ok(())
}

fn draw_rows<'a>(timeline: &Timeline, area: &Area<'a>) -> Result<(), DrawingError<'a>> {
    for (at, row) in timeline.rows.iter().enumerate() {
        let y = HEAD + at as i32 * ROW;
        let indent = 22 * row.depth.min(6);
        let room = BARS.0.unsigned_abs() - 24 - indent as u32 - GAP;
        let label = within(&plain(&row.label, LABEL_CHARS), LETTERS, room);
        area.draw(&Text::new(
            label,
            (24 + indent as i32, y + 10),
            letters(LETTERS),
        ))?;
        if let Some(span) = &row.span {
            area.draw(&bar(span, (y + 16, y + 28), AT_WORK))?;
        }
        for (kind, part) in &row.parts {
            let colour = COLOURS.iter().find(|(one, ..)| one == kind);
            if let Some((.., colour)) = colour {
                area.draw(&bar(part, (y + 8, y + 36), *colour))?;
            }
        }
    }
    if timeline.left_out > 0 {
        let y = HEAD + timeline.rows.len() as i32 * ROW;
        let more = format!("… and {} more", timeline.left_out);
        area.draw(&Text::new(more, (24, y + 8), letters(LETTERS)))?;
    }
    Ok(())
}

fn bar(bar: &Bar, (top, bottom): (i32, i32), colour: RGBColor) -> Rectangle<(i32, i32)> {
    let x = |part: f64| BARS.0 + (f64::from(BARS.1 - BARS.0) * part) as i32;
    let (from, to) = (x(bar.from), x(bar.to));
    Rectangle::new(
        [(from, top), (to.max(from + NARROWEST), bottom)],
        colour.filled(),
    )
}
