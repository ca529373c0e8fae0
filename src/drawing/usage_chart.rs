//! The picture of `/usage`: a bar for each day, a colour for each model, light on dark, readable on a phone.
//!
//! It shows dollars if every price is known, and tokens otherwise: a sum of only some prices would be wrong.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};
use plotters::coord::Shift;
use plotters::prelude::*;

use super::letters::{BACKGROUND, LINES, NoPicture, letters, picture, plain};

/// Size of the picture in pixels. A phone held upright shows it 360 points wide, three eighths as large: every letter and
/// every bar is drawn for that.
const SIZE: (u32, u32) = (960, 720);

/// Height of the title's line in pixels; 19 points on a phone.
const TITLE: u32 = 50;

/// Height of all other lines in pixels; 15 points on a phone, 9 of them for a capital letter.
const LETTERS: u32 = 40;

/// Approximate width of such a letter in pixels.
const LETTER: i32 = 18;

/// Distance between two lines of the legend, in pixels.
const LINE: i32 = 52;

/// Most dates below the bars.
const NAMES: u64 = 5;

/// Models with a separate colour; the others share the last one.
const MAX_MODELS: usize = 7;

/// Most days in one picture: narrower bars cannot be distinguished.
const MAX_DAYS: u64 = 92;

/// Highest value that one row counts.
const MOST: f64 = 1e15;

/// The smallest value that gives a picture.
const LEAST: f64 = 1e-6;

/// Longest name of a model in the legend, in characters.
const MAX_NAME: usize = 22;

/// People with red-green blindness can also distinguish these (after Okabe and Ito, lightened); the last is for the
/// others.
const COLOURS: [RGBColor; MAX_MODELS + 1] = [
    RGBColor(0x56, 0xb4, 0xe9),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x2f, 0xc9, 0x9b),
    RGBColor(0xf0, 0xe4, 0x42),
    RGBColor(0xd9, 0x8a, 0xc0),
    RGBColor(0x4f, 0x8f, 0xff),
    RGBColor(0xee, 0x7d, 0x45),
    RGBColor(0x9a, 0xa0, 0xa6),
];

/// The use of one model on one day.
#[derive(Clone, Debug, PartialEq)]
pub struct DayUsage {
    /// In UTC.
    pub day: NaiveDate,
    pub model: String,
    /// Tokens in and out.
    pub tokens: u64,
    /// US dollars; `None` if the price is not known.
    pub usd: Option<f64>,
}

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum ChartError {
    #[error("nothing was used")]
    Empty,
    /// The picture could not be drawn or written.
    #[error("the chart could not be drawn: {0}")]
    Drawing(String),
}

/// Draws `usage` as a PNG. Rows may come in any order, and there may be several for one day and model.
///
/// # Errors
///
/// Fails if there is nothing to draw.
pub fn usage_chart(usage: &[DayUsage]) -> Result<Vec<u8>, ChartError> {
    let bars = Bars::of(usage).ok_or(ChartError::Empty)?;
    picture(SIZE, |area| draw(&bars, area)).map_err(|NoPicture(why)| ChartError::Drawing(why))
}

/// The content of the picture.
struct Bars {
    first: NaiveDate,
    days: u64,
    /// Largest first; beyond [`MAX_MODELS`] one entry for all others.
    models: Vec<Model>,
    unit: Unit,
    highest: f64,
}

struct Model {
    name: String,
    /// By day, counted from the first.
    values: BTreeMap<u64, f64>,
    total: f64,
}

#[derive(Clone, Copy)]
enum Unit {
    Dollars,
    Tokens,
}

impl Bars {
    fn of(usage: &[DayUsage]) -> Option<Self> {
        let last = usage.iter().map(|row| row.day).max()?;
        let oldest = last
            .checked_sub_days(Days::new(MAX_DAYS - 1))
            .unwrap_or(NaiveDate::MIN);
        let first = usage
            .iter()
            .map(|row| row.day)
            .filter(|day| *day >= oldest)
            .min()?;
        let rows: Vec<&DayUsage> = usage.iter().filter(|row| row.day >= first).collect();
        let unit = if rows.iter().all(|row| row.usd.is_some())
            && rows.iter().any(|row| row.usd > Some(0.0))
        {
            Unit::Dollars
        } else {
            Unit::Tokens
        };
        let mut by_model: BTreeMap<&str, BTreeMap<u64, f64>> = BTreeMap::new();
        for row in rows {
            let day = (row.day - first).num_days().unsigned_abs();
            let value = match unit {
                Unit::Dollars => row.usd.unwrap_or_default(),
                Unit::Tokens => row.tokens as f64,
            };
            // Above this the axis cannot be divided; real costs are far smaller.
            let value = if value.is_finite() {
                value.clamp(0.0, MOST)
            } else {
                0.0
            };
            *by_model
                .entry(&row.model)
                .or_default()
                .entry(day)
                .or_default() += value;
        }
        let mut models: Vec<Model> = by_model
            .into_iter()
            .map(|(name, values)| Model::new(name.to_owned(), values))
            .collect();
        models.retain(|model| model.total > 0.0);
        models.sort_by(|a, b| b.total.total_cmp(&a.total));
        let models = with_others_together(models);
        let days = (last - first).num_days().unsigned_abs() + 1;
        let sum_of = |day: u64| {
            models
                .iter()
                .filter_map(|model| model.values.get(&day))
                .sum::<f64>()
        };
        let highest = (0..days).map(sum_of).fold(0.0, f64::max);
        (highest > LEAST).then_some(Self {
            first,
            days,
            models,
            unit,
            highest,
        })
    }
}

impl Model {
    fn new(name: String, values: BTreeMap<u64, f64>) -> Self {
        let total = values.values().sum();
        Self {
            name,
            values,
            total,
        }
    }
}

fn with_others_together(mut models: Vec<Model>) -> Vec<Model> {
    if models.len() <= MAX_MODELS + 1 {
        return models;
    }
    let mut values: BTreeMap<u64, f64> = BTreeMap::new();
    let others = models.split_off(MAX_MODELS);
    for (day, value) in others.iter().flat_map(|model| &model.values) {
        *values.entry(*day).or_default() += value;
    }
    models.push(Model::new(format!("{} others", others.len()), values));
    models
}

impl Unit {
    fn title(self) -> &'static str {
        match self {
            Self::Dollars => "US dollars a day",
            Self::Tokens => "Tokens a day",
        }
    }

    fn label(self, value: f64) -> String {
        match self {
            Self::Dollars if value >= 100.0 => format!("${value:.0}"),
            Self::Dollars if value < 0.1 && value > 0.0 => format!("${value:.3}"),
            Self::Dollars => format!("${value:.2}"),
            Self::Tokens if value >= 1e9 => format!("{:.1}G", value / 1e9),
            Self::Tokens if value >= 1e6 => format!("{:.1}M", value / 1e6),
            Self::Tokens if value >= 1e3 => format!("{:.0}k", value / 1e3),
            Self::Tokens => format!("{value:.0}"),
        }
    }
}

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
type DrawingError<'a> = DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>;

fn draw<'a>(bars: &Bars, area: &Area<'a>) -> Result<(), DrawingError<'a>> {
    let rows = bars.models.len().div_ceil(2) as i32;
    let (head, body) = area.split_vertically(92 + rows * LINE);
    draw_head(bars, &head)?;
    draw_bars(bars, &body)
}

fn draw_head<'a>(bars: &Bars, head: &Area<'a>) -> Result<(), DrawingError<'a>> {
    let total: f64 = bars.models.iter().map(|model| model.total).sum();
    let title = format!("{}, {} in all", bars.unit.title(), bars.unit.label(total));
    head.draw(&Text::new(title, (24, 18), letters(TITLE)))?;
    for (index, model) in bars.models.iter().enumerate() {
        let (column, row) = ((index % 2) as i32, (index / 2) as i32);
        let (x, y) = (24 + column * 468, 92 + row * LINE);
        head.draw(&Rectangle::new(
            [(x, y - 5), (x + 28, y + 23)],
            COLOURS[index].filled(),
        ))?;
        head.draw(&Text::new(
            short(&model.name),
            (x + 42, y),
            letters(LETTERS),
        ))?;
    }
    Ok(())
}

fn draw_bars<'a>(bars: &Bars, body: &Area<'a>) -> Result<(), DrawingError<'a>> {
    let days = bars.days as f64;
    let mut chart = ChartBuilder::on(body)
        .margin_top(20)
        .margin_right(24)
        .x_label_area_size(72)
        .y_label_area_size(140)
        .build_cartesian_2d(0.0..days, 0.0..bars.highest * 1.05)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(0)
        .y_labels(5)
        .y_label_formatter(&|value| bars.unit.label(*value))
        .label_style(letters(LETTERS))
        .bold_line_style(LINES)
        .light_line_style(BACKGROUND)
        .axis_style(LINES)
        .draw()?;
    let gap = if bars.days > 1 { 0.12 } else { 0.4 };
    let mut floors = vec![0.0; bars.days as usize];
    for (model, colour) in bars.models.iter().zip(COLOURS) {
        let blocks = model.values.iter().map(|(day, value)| {
            let floor = floors[*day as usize];
            floors[*day as usize] = floor + value;
            let left = *day as f64;
            Rectangle::new(
                [(left + gap, floor), (left + 1.0 - gap, floor + value)],
                colour.filled(),
            )
        });
        chart.draw_series(blocks.collect::<Vec<_>>())?;
    }
    let every = bars.days.div_ceil(NAMES).max(1);
    for day in (0..bars.days).step_by(every as usize) {
        let name = bars.first + Days::new(day);
        let (x, y) = chart.backend_coord(&(day as f64 + 0.5, 0.0));
        let label = name.format("%b %-d").to_string();
        // Half a label's width to the left.
        let left = x - label.len() as i32 * LETTER / 2;
        let (_, top) = body.get_base_pixel();
        body.draw(&Text::new(label, (left, y - top + 16), letters(LETTERS)))?;
    }
    Ok(())
}

/// Returns the name without its vendor, up to a bound, with characters that the font does not have replaced.
fn short(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or(name);
    plain(name, MAX_NAME)
}
