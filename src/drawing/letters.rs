//! Shared by all pictures: the font, the colours of background and text, and writing the file.

use std::sync::LazyLock;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};

const FONT_NAME: &str = "chorus";

pub(super) const BACKGROUND: RGBColor = RGBColor(0x1e, 0x1f, 0x22);
pub(super) const LINES: RGBColor = RGBColor(0x3f, 0x41, 0x47);
const TEXT: RGBColor = RGBColor(0xe6, 0xe8, 0xeb);

/// The letters, embedded: a server has no fonts. See `letters/font.LICENSE`.
static FONT: LazyLock<bool> = LazyLock::new(|| {
    let font = include_bytes!("letters/font.ttf");
    register_font(FONT_NAME, FontStyle::Normal, font).is_ok()
});

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[error("the picture could not be drawn: {0}")]
pub struct NoPicture(pub String);

type Area<'a> = DrawingArea<BitMapBackend<'a>, Shift>;
type DrawingError<'a> = DrawingAreaErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>;

/// Draws a PNG of this size in pixels with `draw`.
///
/// # Errors
///
/// Fails if the font cannot be read, or the drawing fails.
pub(super) fn picture(
    size: (u32, u32),
    draw: impl for<'a> FnOnce(&Area<'a>) -> Result<(), DrawingError<'a>>,
) -> Result<Vec<u8>, NoPicture> {
    if !*FONT {
        return Err(NoPicture("the font cannot be read".to_owned()));
    }
    let mut pixels = vec![0; size.0 as usize * size.1 as usize * 3];
    let drawn = (|| {
        let area = BitMapBackend::with_buffer(&mut pixels, size).into_drawing_area();
        area.fill(&BACKGROUND)?;
        draw(&area)?;
        area.present()
    })();
    drawn.map_err(|error| NoPicture(error.to_string()))?;
    png(&pixels, size).map_err(|error| NoPicture(error.to_string()))
}

/// Returns letters of this height in pixels.
pub(super) fn letters(height: u32) -> TextStyle<'static> {
    (FONT_NAME, height).into_font().color(&TEXT)
}

/// Returns at most `max` characters of a text, with characters that the font does not have replaced.
pub(super) fn plain(text: &str, max: usize) -> String {
    let known = |letter| if is_drawn(letter) { letter } else { '?' };
    if text.chars().count() > max {
        let kept = text.chars().take(max.saturating_sub(1)).map(known);
        kept.chain(['…']).collect()
    } else {
        text.chars().map(known).collect()
    }
}

/// Returns as much of a text as fits into this many pixels in letters of this height.
pub(super) fn within(text: &str, height: u32, pixels: u32) -> String {
    let font = letters(height).font;
    let fits = |text: &str| font.box_size(text).is_ok_and(|(width, _)| width <= pixels);
    if fits(text) {
        return text.to_owned();
    }
    let mut kept: Vec<char> = text.chars().collect();
    while kept.pop().is_some() {
        let shown: String = kept.iter().chain(&['…']).collect();
        if fits(&shown) {
            return shown;
        }
    }
    String::new()
}

/// Returns whether the font has this character.
const fn is_drawn(letter: char) -> bool {
    matches!(letter, ' '..='~' | '\u{A1}'..='\u{AC}' | '\u{AE}'..='\u{17F}' | '\u{384}'..='\u{3FF}' | '\u{400}'..='\u{45F}'
        | '–' | '—' | '\u{2018}'..='\u{201E}' | '…' | '€' | '▸')
}

fn png(pixels: &[u8], size: (u32, u32)) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.0, size.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Balanced);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}
