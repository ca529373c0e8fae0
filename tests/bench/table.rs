//! The table that is printed.

use std::time::Duration;

use super::bots;

/// One row.
pub(crate) struct Row {
    pub name: String,
    pub target: String,
    pub figure: String,
    pub null: String,
    pub ratio: String,
    pub verdict: &'static str,
}

/// How a figure is judged and printed.
#[derive(Clone, Copy)]
pub(crate) enum Unit {
    Ms,
    MiB,
    KiB,
    Percent,
    PerSecond,
    Bytes,
    Count,
}

impl Unit {
    fn print(self, value: f64) -> String {
        match self {
            Self::Ms => format!("{value:.2} ms"),
            Self::MiB => format!("{value:.1} MiB"),
            Self::KiB => format!("{value:.0} KiB"),
            Self::Percent => format!("{value:.3} %"),
            Self::PerSecond => format!("{value:.0} /s"),
            Self::Bytes => format!("{value:.0} B"),
            Self::Count => format!("{value:.2}"),
        }
    }
}

/// What is wished for.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    Below(f64),
    Above(f64),
    /// For comparison only.
    None,
}

impl Row {
    pub(crate) fn new(
        name: &str,
        unit: Unit,
        target: Target,
        figure: f64,
        null: Option<f64>,
    ) -> Self {
        let (words, verdict) = match target {
            Target::Below(most) => (format!("< {}", unit.print(most)), mark(figure < most)),
            Target::Above(least) => (format!("> {}", unit.print(least)), mark(figure > least)),
            Target::None => (String::new(), ""),
        };
        Self {
            name: name.to_owned(),
            target: words,
            figure: unit.print(figure),
            null: null.map_or(String::new(), |null| unit.print(null)),
            ratio: null.map_or(String::new(), |null| format!("{:.1}", figure / null)),
            verdict,
        }
    }
}

const fn mark(met: bool) -> &'static str {
    if met { "met" } else { "MISSED" }
}

pub(crate) fn ms(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}

pub(crate) fn print(rows: &[Row]) {
    let cells = |row: &Row| {
        [
            row.name.clone(),
            row.target.clone(),
            row.figure.clone(),
            row.null.clone(),
            row.ratio.clone(),
            row.verdict.to_owned(),
        ]
    };
    let other = bots::beside().map_or("null bot".to_owned(), |program| {
        let name = program.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    });
    let mut lines = vec![["figure", "target", "chorus", &other, "ratio", ""].map(str::to_owned)];
    lines.extend(rows.iter().map(cells));
    let widths: Vec<usize> = (0..6)
        .map(|column| {
            lines
                .iter()
                .map(|line| line[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for (number, line) in lines.iter().enumerate() {
        println!(
            "| {} |",
            (0..6)
                .map(|at| pad(&line[at], widths[at]))
                .collect::<Vec<_>>()
                .join(" | ")
        );
        if number == 0 {
            println!(
                "|-{}-|",
                widths
                    .iter()
                    .map(|width| "-".repeat(*width))
                    .collect::<Vec<_>>()
                    .join("-|-")
            );
        }
    }
}

fn pad(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width - text.chars().count()))
}
