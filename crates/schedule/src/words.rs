//! The words of a text, taken one by one, and what single words mean.

use chrono::{NaiveDate, NaiveTime, Weekday};

/// The words of a text in lower case. A comma is a word.
#[derive(Debug)]
pub(crate) struct Words {
    words: Vec<String>,
    next: usize,
}

/// A time of day as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TimeOfDay {
    Clear(NaiveTime),
    /// `6`: in the morning or in the evening.
    Bare(u32),
}

impl Words {
    pub(crate) fn new(text: &str) -> Self {
        let spaced = text.to_lowercase().replace(',', " , ");
        Self {
            words: spaced.split_whitespace().map(str::to_owned).collect(),
            next: 0,
        }
    }

    pub(crate) fn peek(&self) -> Option<&str> {
        self.words.get(self.next).map(String::as_str)
    }

    pub(crate) fn take(&mut self) -> Option<String> {
        let word = self.words.get(self.next).cloned();
        self.next += usize::from(word.is_some());
        word
    }

    /// Takes the next word if it is `word`.
    pub(crate) fn accept(&mut self, word: &str) -> bool {
        let here = self.peek() == Some(word);
        self.next += usize::from(here);
        here
    }

    /// Takes the next word if `meaning` understands it.
    pub(crate) fn take_as<T>(&mut self, meaning: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        let meant = meaning(self.peek()?)?;
        self.next += 1;
        Some(meant)
    }

    /// Takes `,`, `and`, or both in this order.
    pub(crate) fn accept_separator(&mut self) -> bool {
        let comma = self.accept(",");
        self.accept("and") || comma
    }

    pub(crate) fn mark(&self) -> usize {
        self.next
    }

    pub(crate) fn back_to(&mut self, mark: usize) {
        self.next = mark;
    }

    /// Takes a time of day, also `9 am` in two words.
    pub(crate) fn time(&mut self) -> Option<TimeOfDay> {
        let word = self.peek()?.to_owned();
        if let Some(number) = word
            .parse::<u32>()
            .ok()
            .filter(|number| word.len() <= 2 && *number <= 24)
        {
            self.next += 1;
            return match self.take_as(|half| half_of_day(number, 0, half)) {
                Some(time) => Some(TimeOfDay::Clear(time)),
                None => Some(TimeOfDay::Bare(number)),
            };
        }
        self.next += 1;
        if let Some((hour, minute)) = hour_and_minute(&word)
            && let Some(time) = self.take_as(|half| half_of_day(hour, minute, half))
        {
            return Some(TimeOfDay::Clear(time));
        }
        let time = clock_time(&word);
        self.next -= usize::from(time.is_none());
        time.map(TimeOfDay::Clear)
    }
}

pub(crate) fn weekday(word: &str) -> Option<Weekday> {
    match word {
        "monday" | "mon" | "mondays" => Some(Weekday::Mon),
        "tuesday" | "tue" | "tues" | "tuesdays" => Some(Weekday::Tue),
        "wednesday" | "wed" | "wednesdays" => Some(Weekday::Wed),
        "thursday" | "thu" | "thur" | "thurs" | "thursdays" => Some(Weekday::Thu),
        "friday" | "fri" | "fridays" => Some(Weekday::Fri),
        "saturday" | "sat" | "saturdays" => Some(Weekday::Sat),
        "sunday" | "sun" | "sundays" => Some(Weekday::Sun),
        _ => None,
    }
}

/// Returns the seconds in a unit of time.
pub(crate) fn unit(word: &str) -> Option<u32> {
    match word {
        "minute" | "minutes" | "min" | "mins" => Some(60),
        "hour" | "hours" => Some(3_600),
        "day" | "days" => Some(86_400),
        "week" | "weeks" => Some(604_800),
        _ => None,
    }
}

/// Reads `1st` to `31st`, `first` to `fifth`.
pub(crate) fn ordinal(word: &str) -> Option<u8> {
    let spelled = ["first", "second", "third", "fourth", "fifth"]
        .iter()
        .position(|name| *name == word);
    if let Some(index) = spelled {
        return u8::try_from(index + 1).ok();
    }
    let digits = word
        .strip_suffix("st")
        .or(word.strip_suffix("nd"))
        .or(word.strip_suffix("rd"))
        .or(word.strip_suffix("th"))?;
    digits
        .parse()
        .ok()
        .filter(|number| (1..=31).contains(number) && !digits.starts_with(['+', '0']))
}

/// Reads `2026-12-24` or `24.12.2026`.
pub(crate) fn date(word: &str) -> Option<NaiveDate> {
    let parts = |separator: char| {
        let parts: Vec<u32> = word
            .split(separator)
            .map(|part| {
                part.parse()
                    .ok()
                    .filter(|_| part.chars().all(|letter| letter.is_ascii_digit()))
            })
            .collect::<Option<_>>()?;
        <[u32; 3]>::try_from(parts).ok()
    };
    let [year, month, day] = match parts('-') {
        Some(parts) => parts,
        None => parts('.').map(|[day, month, year]| [year, month, day])?,
    };
    NaiveDate::from_ymd_opt(
        i32::try_from(year)
            .ok()
            .filter(|year| (1000..=9999).contains(year))?,
        month,
        day,
    )
}

pub(crate) fn month(word: &str) -> Option<u32> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let found = MONTHS
        .iter()
        .position(|month| *month == word || (word.len() == 3 && month.starts_with(word)))?;
    u32::try_from(found + 1).ok()
}

/// Reads digits only, without a sign.
pub(crate) fn number(word: &str) -> Option<u32> {
    word.parse()
        .ok()
        .filter(|_| word.chars().all(|letter| letter.is_ascii_digit()))
}

fn clock_time(word: &str) -> Option<NaiveTime> {
    match word {
        "noon" => return NaiveTime::from_hms_opt(12, 0, 0),
        "midnight" => return NaiveTime::from_hms_opt(0, 0, 0),
        _ => {}
    }
    for half in ["am", "pm"] {
        let Some(digits) = word.strip_suffix(half) else {
            continue;
        };
        let (hour, minute) = match hour_and_minute(digits) {
            Some(parts) => parts,
            None => (number(digits)?, 0),
        };
        return half_of_day(hour, minute, half);
    }
    let (hour, minute) = hour_and_minute(word)?;
    NaiveTime::from_hms_opt(hour, minute, 0)
}

/// Reads `7:00`, `18:30`: one or two digits, a colon, two digits.
fn hour_and_minute(word: &str) -> Option<(u32, u32)> {
    let (hour, minute) = word.split_once(':')?;
    ((1..=2).contains(&hour.len()) && minute.len() == 2).then_some(())?;
    Some((number(hour)?, number(minute)?))
}

fn half_of_day(hour: u32, minute: u32, half: &str) -> Option<NaiveTime> {
    let afternoon = match half {
        "am" => 0,
        "pm" => 12,
        _ => return None,
    };
    (1..=12).contains(&hour).then_some(())?;
    NaiveTime::from_hms_opt(hour % 12 + afternoon, minute, 0)
}
