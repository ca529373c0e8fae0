//! The picture of `/usage`.

use chorus::drawing::usage_chart::{ChartError, DayUsage, usage_chart};
use chrono::{Days, NaiveDate};
use std::io::Cursor;

fn row(day: u64, model: &str, tokens: u64, usd: Option<f64>) -> DayUsage {
    let first = NaiveDate::from_ymd_opt(2026, 11, 1).unwrap();
    DayUsage {
        day: first + Days::new(day),
        model: model.into(),
        tokens,
        usd,
    }
}

/// A month as an agent's owner might see it, always the same.
fn month() -> Vec<DayUsage> {
    let models = [
        ("claude-sonnet-4-6", 3.1),
        ("claude-haiku-4-5", 1.2),
        ("gpt-5", 2.0),
        ("gemini-2.5-flash", 0.6),
    ];
    let days = (0..30_u64).filter(|day| day % 7 != 6);
    let wave = |day: u64, shift: u64| ((day * 37 + shift * 53) % 29) as f64 / 29.0;
    days.flat_map(|day| {
        models.iter().zip(0..).map(move |((model, weight), shift)| {
            let share = wave(day, shift);
            row(
                day,
                model,
                (share * weight * 1e6) as u64,
                Some(share * weight),
            )
        })
    })
    .collect()
}

fn pixels(png: &[u8]) -> (u32, u32, Vec<u8>) {
    let mut reader = png::Decoder::new(Cursor::new(png)).read_info().unwrap();
    let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
    let frame = reader.next_frame(&mut bytes).unwrap();
    (frame.width, frame.height, bytes)
}

fn share_of(bytes: &[u8], colour: [u8; 3]) -> f64 {
    let same = bytes.chunks(3).filter(|pixel| *pixel == colour).count();
    same as f64 / (bytes.len() / 3) as f64
}

/// The picture in the documentation is this one: `CHORUS_UPDATE_IMAGES=1 cargo nextest run usage_chart` writes it anew.
#[test]
fn a_month_is_a_picture_light_on_dark() {
    let png = usage_chart(&month()).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/images/usage.png");
    if std::env::var_os("CHORUS_UPDATE_IMAGES").is_some() {
        std::fs::write(path, &png).unwrap();
    }
    let (width, height, bytes) = pixels(&png);
    assert_eq!((width, height), (960, 720));
    assert!(
        share_of(&bytes, [0x1e, 0x1f, 0x22]) > 0.5,
        "the background is dark"
    );
    for colour in [
        [0x56, 0xb4, 0xe9],
        [0xe6, 0x9f, 0x00],
        [0x2f, 0xc9, 0x9b],
        [0xf0, 0xe4, 0x42],
    ] {
        assert!(share_of(&bytes, colour) > 0.004, "{colour:?} is seen");
    }
    assert_eq!(
        pixels(&std::fs::read(path).unwrap()).2,
        bytes,
        "docs/images/usage.png shows what is drawn now"
    );
}

/// A phone shows the picture 360 points wide. Its smallest letters must be 9 points high there, without what hangs below
/// the line: the first row of pixels of the names of days to the last.
#[test]
fn letters_can_be_read_on_a_phone() {
    let (width, height, bytes) = pixels(&usage_chart(&month()).unwrap());
    let is_letter = |pixel: &[u8]| pixel == [0xe6, 0xe8, 0xeb];
    let line = width as usize * 3;
    let written: Vec<bool> = bytes
        .chunks(line)
        .map(|row| row.chunks(3).any(is_letter))
        .collect();
    let from_below = written.iter().rev().skip_while(|written| !**written);
    let high = from_below.take_while(|written| **written).count();
    let points = high as f64 * 360.0 / f64::from(width);
    assert!(points >= 9.0, "{points} points, {width}x{height}");
}

#[test]
fn a_higher_bar_has_more_of_its_colour() {
    let of = |tokens| {
        pixels(&usage_chart(&[row(0, "a", 1_000, None), row(1, "b", tokens, None)]).unwrap()).2
    };
    let second = [0xe6, 0x9f, 0x00];
    assert!(share_of(&of(900), second) > 2.0 * share_of(&of(300), second));
}

#[test]
fn where_one_price_is_unknown_tokens_are_shown() {
    let known = usage_chart(&[row(0, "a", 1_000, Some(2.0)), row(0, "b", 10, Some(3.0))]).unwrap();
    let unknown = usage_chart(&[row(0, "a", 1_000, Some(2.0)), row(0, "b", 10, None)]).unwrap();
    // In dollars b is the larger and has the first colour; in tokens it is hardly seen.
    let first_is_larger = |png: &[u8]| {
        share_of(&pixels(png).2, [0x56, 0xb4, 0xe9])
            > 5.0 * share_of(&pixels(png).2, [0xe6, 0x9f, 0x00])
    };
    assert!(!first_is_larger(&known) && first_is_larger(&unknown));
}

#[test]
fn nothing_is_no_picture_and_much_is_one() {
    assert!(matches!(usage_chart(&[]), Err(ChartError::Empty)));
    assert!(matches!(
        usage_chart(&[row(0, "a", 0, None)]),
        Err(ChartError::Empty)
    ));
    let many: Vec<_> = (0..400)
        .map(|day| {
            row(
                day,
                &format!("vendor/a-model-with-a-very-long-name-{}-ü", day % 20),
                day,
                None,
            )
        })
        .collect();
    assert_eq!(pixels(&usage_chart(&many).unwrap()).0, 960);
    let huge = [
        row(0, "", u64::MAX, Some(f64::MAX)),
        row(0, "b", u64::MAX, Some(f64::INFINITY)),
    ];
    assert!(usage_chart(&huge).is_ok());
    assert!(usage_chart(&[row(0, "a", 5, Some(f64::NAN))]).is_ok());
    assert!(matches!(
        usage_chart(&[row(0, "a", 5, Some(1e-12))]),
        Err(ChartError::Empty)
    ));
}
