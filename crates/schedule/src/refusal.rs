//! Why a text is refused, with three texts that would be accepted.

use std::fmt;

use chrono::{DateTime, Datelike as _, Utc};

/// Why a text names no time, and what could have been meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// One sentence without a full stop.
    pub reason: String,
    /// Three texts that are accepted at the time of the refusal, most similar first.
    pub nearest: [String; 3],
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second, third] = &self.nearest;
        write!(
            f,
            "{}. For example: `{first}`, `{second}`, `{third}`",
            self.reason
        )
    }
}

impl std::error::Error for Refusal {}

/// Returns the three accepted texts that are most similar to `text`. Those in `meant` come first: they fit better than
/// any similarity of letters.
pub(crate) fn nearest(text: &str, meant: Vec<String>, now: DateTime<Utc>) -> [String; 3] {
    let mut others = accepted(now);
    others.sort_by_cached_key(|example| std::cmp::Reverse(similarity(text, example)));
    let mut texts = meant;
    texts.extend(others);
    let mut seen: Vec<String> = Vec::new();
    for text in texts {
        if !seen.contains(&text) {
            seen.push(text);
        }
    }
    let mut seen = seen.into_iter();
    [(); 3].map(|()| seen.next().unwrap_or_default())
}

/// Returns one or two texts of each form. None of them depends on the hour.
fn accepted(now: DateTime<Utc>) -> Vec<String> {
    let year = now.year() + 1;
    let mut texts: Vec<String> = [
        "every 10 minutes",
        "every hour",
        "every 2 weeks",
        "every day at 18:00",
        "every weekday at 7:00",
        "every monday and friday at 9am",
        "every weekend at noon",
        "every sunday at 20:00",
        "daily at 9:00, 18:00",
        "daily at 7:00",
        "on the 15th day of the month at 8:00",
        "on the first monday of the month at 9:00",
        "on the last friday of the month at 17:00",
        "on the last day of the month at noon",
        "in 20 minutes",
        "in 2 hours",
        "in 3 days",
        "at 18:00",
        "at 9am",
        "tomorrow at 9am",
        "tomorrow at noon",
        "friday at 18:00",
        "on monday at 9:00",
        "24 December at 18:00",
        "0 7 * * 1-5",
        "*/15 * * * *",
        "0 8 1 * *",
        "@daily",
        "@hourly",
    ]
    .map(str::to_owned)
    .into();
    texts.extend([
        format!("{year}-12-24 18:00"),
        format!("24 December {year} at 18:00"),
        format!("24.12.{year} 18:00"),
    ]);
    texts
}

/// Returns the similarity in thousandths: of the letters, and of the words that both have.
fn similarity(text: &str, example: &str) -> u32 {
    let text: String = text.chars().take(200).collect::<String>().to_lowercase();
    let example = example.to_lowercase();
    let words: Vec<&str> = text.split_whitespace().collect();
    let shared = example
        .split_whitespace()
        .filter(|word| words.contains(word))
        .count();
    let shared = u32::try_from(shared).unwrap_or(0) * 250;
    // Between 0 and 1, so nothing is lost or negative.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let letters = (strsim::normalized_damerau_levenshtein(&text, &example) * 1000.0) as u32;
    letters + shared
}
