//! Cron expressions of five fields, by croner. It gives only wall-clock times; a [`crate::Zone`] turns them into
//! instants.

use chrono::{DateTime, NaiveDateTime, Utc};
use croner::parser::{CronParser, Seconds, Year};

/// A cron expression that matches some time.
#[derive(Debug, Clone)]
pub(crate) struct Cron {
    text: String,
    pattern: croner::Cron,
}

/// Why a cron expression is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BadCron {
    /// Six fields.
    Seconds,
    /// It has this number of fields.
    Fields(usize),
    /// It matches no time.
    Never,
    /// A field cannot be read; croner says which.
    Field(String),
    /// `@yearly` and the like.
    Nickname,
}

impl Cron {
    /// Returns whether a text is meant as a cron expression. `24 December 2026 at 18:00` has five words and is not one.
    pub(crate) fn is_meant(text: &str) -> bool {
        let of_cron = |field: &str| {
            field
                .chars()
                .all(|letter| letter.is_ascii_digit() || "*,-/?".contains(letter))
        };
        let mut fields = text.split_whitespace();
        text.starts_with('@')
            || (text.split_whitespace().count() >= 4
                && fields.next().is_some_and(of_cron)
                && fields.next().is_some_and(of_cron))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, BadCron> {
        let spelled = match text {
            "@hourly" => "0 * * * *",
            "@daily" => "0 0 * * *",
            "@weekly" => "0 0 * * 0",
            "@monthly" => "0 0 1 * *",
            _ if text.starts_with('@') => return Err(BadCron::Nickname),
            _ => text,
        };
        match spelled.split_whitespace().count() {
            5 => {}
            6 => return Err(BadCron::Seconds),
            fields => return Err(BadCron::Fields(fields)),
        }
        let parser = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .year(Year::Disallowed)
            .build();
        let pattern = parser
            .parse(spelled)
            .map_err(|error| BadCron::Field(error.to_string()))?;
        let cron = Self {
            text: text.to_owned(),
            pattern,
        };
        // A leap day is at most eight years away.
        let begin = DateTime::UNIX_EPOCH.naive_utc();
        cron.next(begin).map(|_| ()).ok_or(BadCron::Never)?;
        Ok(cron)
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the first time after `after`.
    pub(crate) fn next(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        let after: DateTime<Utc> = after.and_utc();
        self.pattern
            .find_next_occurrence(&after, false)
            .ok()
            .map(|found| found.naive_utc())
    }

    pub(crate) fn in_words(&self) -> String {
        let words = self.pattern.describe();
        let words = words.trim_end_matches('.');
        let mut letters = words.chars();
        let first = letters.next().map(|letter| letter.to_ascii_lowercase());
        format!(
            "{} (`{}`)",
            first.into_iter().chain(letters).collect::<String>(),
            self.text
        )
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
