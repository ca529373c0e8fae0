//! Reads the five forms of a time: cron, interval, weekly, monthly, once.
//!
//! Every word is used, or the text is refused: an ignored word could have changed the meaning.

use chrono::{
    DateTime, Datelike as _, Days, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc, Weekday,
};

use crate::cron::{BadCron, Cron};
use crate::day::{DayOfMonth, Weekdays};
use crate::refusal::{Refusal, nearest};
use crate::rule::{Form, Rule, whole_second};
use crate::words::{TimeOfDay, Words, date, month, number, ordinal, unit, weekday};
use crate::zone::Zone;

/// Most characters of a text that are read.
const LONGEST: usize = 200;
/// Times of a day that one rule may name.
const TIMES: usize = 24;
/// Ten years, in seconds.
const FURTHEST: u32 = 315_360_000;

/// Reads `text` in the sense it has at `now` in `zone`.
///
/// # Errors
///
/// Fails if it does not understand a word, if the text can be read in two ways, or if it names no time to come.
pub fn parse(text: &str, now: DateTime<Utc>, zone: &Zone) -> Result<Rule, Refusal> {
    let refused = |why: Why| Refusal {
        nearest: nearest(text, why.meant, now),
        reason: why.reason,
    };
    let text = text.trim();
    if text.is_empty() {
        return Err(refused(Why::new("no time is given")));
    }
    if text.chars().count() > LONGEST {
        return Err(refused(Why::new(format!(
            "a time has at most {LONGEST} characters"
        ))));
    }
    let reader = Reader {
        words: Words::new(text),
        now: whole_second(now),
        zone,
    };
    let form = if Cron::is_meant(text) {
        cron(text)
    } else {
        reader.form()
    };
    let rule = Rule(form.map_err(refused)?);
    match rule.next_after(now, zone) {
        Some(_) => Ok(rule),
        None => Err(refused(Why::new("this time has passed"))),
    }
}

/// A reason, and texts that may be meant.
struct Why {
    reason: String,
    meant: Vec<String>,
}

impl Why {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            meant: Vec::new(),
        }
    }

    fn meant(mut self, texts: impl IntoIterator<Item = String>) -> Self {
        self.meant.extend(texts);
        self
    }
}

fn cron(text: &str) -> Result<Form, Why> {
    Cron::parse(
        &text
            .to_lowercase()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    )
    .map(|cron| Form::Cron(Box::new(cron)))
    .map_err(|bad| match bad {
        BadCron::Seconds => {
            let without = text
                .split_whitespace()
                .skip(1)
                .collect::<Vec<_>>()
                .join(" ");
            Why::new("seconds are not supported: a cron has five fields")
                .meant(Cron::parse(&without).is_ok().then_some(without))
        }
        BadCron::Fields(fields) => {
            Why::new(format!("a cron has five fields, and this has {fields}"))
        }
        BadCron::Never => Why::new("this never happens"),
        BadCron::Field(which) => Why::new(format!(
            "this cron cannot be read: {}",
            which.trim_end_matches('.')
        )),
        BadCron::Nickname => {
            Why::new("of these, only `@hourly`, `@daily`, `@weekly` and `@monthly` are known")
                .meant(["@daily", "@weekly", "@monthly"].map(str::to_owned))
        }
    })
}

struct Reader<'a> {
    words: Words,
    now: DateTime<Utc>,
    zone: &'a Zone,
}

impl Reader<'_> {
    fn form(mut self) -> Result<Form, Why> {
        let form = match self.words.peek() {
            Some("every") => self.every(),
            Some("daily") => {
                self.words.take();
                Ok(Form::Weekly {
                    days: Weekdays::ALL,
                    times: self.times()?,
                })
            }
            Some("in") => self.relative(),
            _ => {
                let begin = self.words.mark();
                if self.words.accept("on") && self.words.accept("the") {
                    self.monthly()
                } else {
                    self.words.back_to(begin);
                    self.once()
                }
            }
        }?;
        match self.words.take() {
            None => Ok(form),
            Some(word) => Err(not_understood(&word)),
        }
    }

    /// Reads `every 10 minutes`, `every monday and friday at 9am`.
    fn every(&mut self) -> Result<Form, Why> {
        self.words.take();
        if self.words.peek() == Some("other") {
            return Err(Why::new("`every other` does not say when it begins")
                .meant(["every 2 weeks".to_owned(), "every 2 days".to_owned()]));
        }
        let begin = self.words.mark();
        let count = self.words.take_as(number);
        if let Some(seconds) = self.words.take_as(unit) {
            let seconds = count
                .unwrap_or(1)
                .checked_mul(seconds)
                .filter(|seconds| (1..=FURTHEST).contains(seconds));
            let Some(seconds) = seconds else {
                return Err(Why::new(
                    "an interval has at least one minute and at most ten years",
                ));
            };
            // `every day at 18:00` is not an interval.
            if self.words.peek().is_none() {
                return Ok(Form::Interval {
                    seconds,
                    from: self.now,
                });
            }
            if count.is_some() || seconds != 86_400 {
                return Err(Why::new(
                    "an interval has no time of day: it begins when it is confirmed",
                ));
            }
        } else if count.is_some() {
            return Err(match self.words.take() {
                Some(word) if word.starts_with("sec") => Why::new("seconds are not supported"),
                Some(word) => not_understood(&word),
                None => Why::new("the unit is missing: minutes, hours, days or weeks"),
            });
        }
        self.words.back_to(begin);
        let days = self.days()?;
        Ok(Form::Weekly {
            days,
            times: self.times()?,
        })
    }

    fn days(&mut self) -> Result<Weekdays, Why> {
        let named = |word: &str| match word {
            "day" => Some(Weekdays::ALL),
            "weekday" | "weekdays" => Some(Weekdays::WORKING),
            "weekend" | "weekends" => Some(Weekdays::WEEKEND),
            _ => weekday(word).map(Weekdays::one),
        };
        let mut days = Weekdays::NONE;
        loop {
            let Some(more) = self.words.take_as(named) else {
                return Err(self.unexpected("a day"));
            };
            days = days.with(more);
            if !self.words.accept_separator() {
                return Ok(days);
            }
        }
    }

    /// Reads `at 9:00`, `9:00, 18:00`, and returns the times sorted, each once.
    fn times(&mut self) -> Result<Vec<NaiveTime>, Why> {
        self.words.accept("at");
        let mut times = vec![self.time()?];
        while self.words.accept_separator() {
            times.push(self.time()?);
        }
        times.sort_unstable();
        times.dedup();
        if times.len() > TIMES {
            return Err(Why::new(format!("a day has at most {TIMES} times")));
        }
        Ok(times)
    }

    fn time(&mut self) -> Result<NaiveTime, Why> {
        match self.words.time() {
            Some(TimeOfDay::Clear(time)) => Ok(time),
            Some(TimeOfDay::Bare(hour @ 1..=12)) => Err(Why::new(format!(
                "`{hour}` may be in the morning or in the evening"
            ))
            .meant([
                format!("at {hour}am"),
                format!("at {hour}pm"),
                format!("at {hour}:00"),
            ])),
            Some(TimeOfDay::Bare(hour @ (0 | 13..=23))) => {
                Err(Why::new(format!("a time of day has minutes: `{hour}:00`"))
                    .meant([format!("at {hour}:00")]))
            }
            Some(TimeOfDay::Bare(_)) => Err(Why::new("a day ends at 23:59")),
            None => Err(self.unexpected("a time of day")),
        }
    }

    /// Reads `on the 15th day of the month at 8:00`, `on the last friday of the month at noon`.
    fn monthly(&mut self) -> Result<Form, Why> {
        let last = self.words.accept("last");
        let nth = if last {
            None
        } else {
            self.words.take_as(ordinal)
        };
        if !last && nth.is_none() {
            return Err(self.unexpected("a day such as `15th` or `last`"));
        }
        let day = match (self.words.accept("day"), nth) {
            (true, Some(nth)) => DayOfMonth::Day(nth),
            (true, None) => DayOfMonth::LastDay,
            (false, nth) => match (self.words.take_as(weekday), nth) {
                (Some(day), Some(nth @ 1..=5)) => DayOfMonth::Weekday(nth, day),
                (Some(_), Some(_)) => {
                    return Err(Why::new("no month has more than five of a weekday"));
                }
                (Some(day), None) => DayOfMonth::LastWeekday(day),
                (None, _) => return Err(self.unexpected("`day` or a weekday")),
            },
        };
        for word in ["of", "the", "month"] {
            if !self.words.accept(word) {
                return Err(self.unexpected("`of the month`"));
            }
        }
        Ok(Form::Monthly {
            day,
            times: self.times()?,
        })
    }

    /// Reads `in 20 minutes`.
    fn relative(&mut self) -> Result<Form, Why> {
        self.words.take();
        let one = |word: &str| ["a", "an", "one"].contains(&word).then_some(1);
        let Some(count) = self.words.take_as(|word| number(word).or(one(word))) else {
            return Err(self.unexpected("a number"));
        };
        let Some(size) = self.words.take_as(unit) else {
            return Err(self.unexpected("minutes, hours, days or weeks"));
        };
        match count
            .checked_mul(size)
            .filter(|seconds| (1..=FURTHEST).contains(seconds))
        {
            Some(seconds) => Ok(Form::Once(self.now + TimeDelta::seconds(seconds.into()))),
            None => Err(Why::new(
                "this is not between one minute and ten years away",
            )),
        }
    }

    /// Reads `tomorrow at 9am`, `2026-12-24 18:00`, `at 18:00`.
    fn once(&mut self) -> Result<Form, Why> {
        let on = self.words.accept("on");
        let today = self.zone.wall_clock(self.now).date();
        let day = match self.words.peek() {
            Some("today") if !on => Some(OnceDay::Fixed(today)),
            Some("tomorrow") if !on => today.succ_opt().map(OnceDay::Fixed),
            _ => None,
        };
        if day.is_some() {
            self.words.take();
        }
        let day = match day {
            Some(day) => Some(day),
            None => self.named_day()?,
        };
        if on && day.is_none() {
            return Err(self.unexpected("a weekday or a date"));
        }
        self.words.accept("at");
        let time = self.time()?;
        let found = match day {
            None => self.first_of(
                (0..=2).filter_map(|ahead| today.checked_add_days(Days::new(ahead))),
                time,
            ),
            Some(OnceDay::Weekday(day)) => {
                let days = (0..=14)
                    .filter_map(|ahead| today.checked_add_days(Days::new(ahead)))
                    .filter(|date| date.weekday() == day);
                self.first_of(days, time)
            }
            Some(OnceDay::EachYear { month, day }) => {
                let years = (0..=8)
                    .filter_map(|ahead| NaiveDate::from_ymd_opt(today.year() + ahead, month, day));
                self.first_of(years, time)
            }
            Some(OnceDay::Fixed(date)) => self.first_of(std::iter::once(date), time),
        };
        found
            .map(Form::Once)
            .ok_or_else(|| Why::new("this time has passed"))
    }

    fn named_day(&mut self) -> Result<Option<OnceDay>, Why> {
        if let Some(day) = self.words.take_as(weekday) {
            return Ok(Some(OnceDay::Weekday(day)));
        }
        if let Some(date) = self.words.take_as(date) {
            return Ok(Some(OnceDay::Fixed(date)));
        }
        if let Some(why) = self
            .words
            .peek()
            .and_then(|word| ambiguous_date(word, self.zone.wall_clock(self.now).date()))
        {
            return Err(why);
        }
        let begin = self.words.mark();
        let (Some(day), Some(month)) = (self.words.take_as(number), self.words.take_as(month))
        else {
            self.words.back_to(begin);
            return Ok(None);
        };
        // 2024 had a 29 February.
        if NaiveDate::from_ymd_opt(2024, month, day).is_none() {
            return Err(Why::new("no year has this day"));
        }
        match self
            .words
            .take_as(|word| number(word).filter(|_| word.len() == 4))
        {
            None => Ok(Some(OnceDay::EachYear { month, day })),
            Some(year) => match i32::try_from(year)
                .ok()
                .and_then(|year| NaiveDate::from_ymd_opt(year, month, day))
            {
                Some(date) => Ok(Some(OnceDay::Fixed(date))),
                None => Err(Why::new("that year does not have this day")),
            },
        }
    }

    /// Returns the first of the days on which this time is still in the future.
    fn first_of(
        &self,
        days: impl Iterator<Item = NaiveDate>,
        time: NaiveTime,
    ) -> Option<DateTime<Utc>> {
        days.filter_map(|date| self.zone.instant(NaiveDateTime::new(date, time)))
            .find(|instant| *instant > self.now)
    }

    fn unexpected(&self, wanted: &str) -> Why {
        match self.words.peek() {
            None => Why::new(format!("{wanted} is missing")),
            Some(word) => Why::new(format!(
                "instead of `{}`, {wanted} is needed",
                shortened(word)
            )),
        }
    }
}

enum OnceDay {
    Fixed(NaiveDate),
    Weekday(Weekday),
    /// A date without a year.
    EachYear {
        month: u32,
        day: u32,
    },
}

/// Refuses `3/4/2027`: the third of April or the fourth of March.
fn ambiguous_date(word: &str, today: NaiveDate) -> Option<Why> {
    let parts: Vec<u32> = word.split('/').map(number).collect::<Option<_>>()?;
    let [first, second, year] = <[u32; 3]>::try_from(parts).ok()?;
    let year = i32::try_from(year).ok()?;
    let both = [(first, second), (second, first)]
        .into_iter()
        .filter_map(|(day, month)| NaiveDate::from_ymd_opt(year, month, day));
    let meant: Vec<String> = both
        .filter(|date| *date > today)
        .map(|date| format!("{} at 9:00", date.format("%Y-%m-%d")))
        .collect();
    Some(Why::new("a date with slashes is ambiguous: write the year first").meant(meant))
}

fn not_understood(word: &str) -> Why {
    Why::new(format!("`{}` is not understood here", shortened(word)))
}

fn shortened(word: &str) -> String {
    word.chars()
        .filter(|letter| *letter != '`')
        .take(40)
        .collect()
}
