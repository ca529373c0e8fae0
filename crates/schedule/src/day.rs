//! Days as rules name them: weekdays of a week, and the days of a month.

use chrono::{Datelike as _, Days, NaiveDate, Weekday};

/// A set of weekdays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Weekdays(u8);

/// Which day of each month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DayOfMonth {
    /// The day with this number. A month without it has no slot.
    Day(u8),
    /// The last day, whichever number it has.
    LastDay,
    /// The first to fifth of a weekday. A month without a fifth has no slot.
    Weekday(u8, Weekday),
    /// The last of a weekday.
    LastWeekday(Weekday),
}

pub(crate) const WEEK: [Weekday; 7] = [
    Weekday::Mon,
    Weekday::Tue,
    Weekday::Wed,
    Weekday::Thu,
    Weekday::Fri,
    Weekday::Sat,
    Weekday::Sun,
];

impl Weekdays {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const ALL: Self = Self(0b111_1111);
    pub(crate) const WORKING: Self = Self(0b001_1111);
    pub(crate) const WEEKEND: Self = Self(0b110_0000);

    pub(crate) fn one(day: Weekday) -> Self {
        Self(1 << day.num_days_from_monday())
    }

    pub(crate) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn has(self, day: Weekday) -> bool {
        self.0 & Self::one(day).0 != 0
    }

    /// Returns the digits 1 (Monday) to 7 of its days.
    pub(crate) fn digits(self) -> String {
        WEEK.iter()
            .filter(|day| self.has(**day))
            .map(|day| day.number_from_monday().to_string())
            .collect()
    }

    pub(crate) fn from_digits(text: &str) -> Option<Self> {
        let mut days = Self::NONE;
        for digit in text.chars() {
            let number = usize::try_from(digit.to_digit(10)?).ok()?;
            days = days.with(Self::one(*WEEK.get(number.checked_sub(1)?)?));
        }
        (days != Self::NONE).then_some(days)
    }

    pub(crate) fn in_words(self) -> String {
        match self {
            Self::ALL => "day".to_owned(),
            Self::WORKING => "weekday".to_owned(),
            Self::WEEKEND => "weekend".to_owned(),
            _ => listed(
                WEEK.iter()
                    .filter(|day| self.has(**day))
                    .map(|day| full_name(*day).to_owned())
                    .collect(),
            ),
        }
    }
}

impl DayOfMonth {
    /// Returns the day of the month that begins with `first`, if the month has it.
    pub(crate) fn of_month(self, first: NaiveDate) -> Option<NaiveDate> {
        let last = last_of_month(first)?;
        match self {
            Self::Day(day) => first.with_day(day.into()),
            Self::LastDay => Some(last),
            Self::Weekday(nth, day) => {
                NaiveDate::from_weekday_of_month_opt(first.year(), first.month(), day, nth)
            }
            Self::LastWeekday(day) => last.checked_sub_days(Days::new(u64::from(
                (last.weekday().num_days_from_monday() + 7 - day.num_days_from_monday()) % 7,
            ))),
        }
    }

    /// Returns its code: `15`, `last`, `2fri`, `lastfri`.
    pub(crate) fn code(self) -> String {
        match self {
            Self::Day(day) => day.to_string(),
            Self::LastDay => "last".to_owned(),
            Self::Weekday(nth, day) => format!("{nth}{}", short_name(day)),
            Self::LastWeekday(day) => format!("last{}", short_name(day)),
        }
    }

    pub(crate) fn from_code(code: &str) -> Option<Self> {
        if code == "last" {
            return Some(Self::LastDay);
        }
        if let Some(day) = code.strip_prefix("last") {
            return day.parse().ok().map(Self::LastWeekday);
        }
        let split = code
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(code.len());
        let number: u8 = code.get(..split)?.parse().ok()?;
        match code.get(split..)? {
            "" => (1..=31).contains(&number).then_some(Self::Day(number)),
            day => (1..=5)
                .contains(&number)
                .then_some(Self::Weekday(number, day.parse().ok()?)),
        }
    }

    pub(crate) fn in_words(self) -> String {
        match self {
            Self::Day(day) => format!("{} day", ordinal(day)),
            Self::LastDay => "last day".to_owned(),
            Self::Weekday(nth, day) => format!("{} {}", ordinal(nth), full_name(day)),
            Self::LastWeekday(day) => format!("last {}", full_name(day)),
        }
    }
}

/// Joins the words: `a`, `a and b`, `a, b and c`.
pub(crate) fn listed(mut words: Vec<String>) -> String {
    let Some(last) = words.pop() else {
        return String::new();
    };
    if words.is_empty() {
        return last;
    }
    format!("{} and {last}", words.join(", "))
}

pub(crate) fn full_name(day: Weekday) -> &'static str {
    match day {
        Weekday::Mon => "Monday",
        Weekday::Tue => "Tuesday",
        Weekday::Wed => "Wednesday",
        Weekday::Thu => "Thursday",
        Weekday::Fri => "Friday",
        Weekday::Sat => "Saturday",
        Weekday::Sun => "Sunday",
    }
}

fn short_name(day: Weekday) -> String {
    day.to_string().to_ascii_lowercase()
}

fn ordinal(number: u8) -> String {
    let ending = match (number % 10, number % 100) {
        (1, tens) if tens != 11 => "st",
        (2, tens) if tens != 12 => "nd",
        (3, tens) if tens != 13 => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

fn last_of_month(first: NaiveDate) -> Option<NaiveDate> {
    first
        .with_day(1)?
        .checked_add_months(chrono::Months::new(1))?
        .pred_opt()
}
