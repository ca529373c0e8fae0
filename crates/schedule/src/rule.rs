//! A rule: which wall-clock times or instants it names, how it is stored, and how people read it.

use std::fmt;
use std::str::FromStr;

use chrono::{
    DateTime, Datelike as _, Days, Months, NaiveDateTime, NaiveTime, SecondsFormat, TimeDelta, Utc,
};

use crate::cron::Cron;
use crate::day::{DayOfMonth, Weekdays, listed};
use crate::zone::Zone;

/// The times at which something is due.
///
/// Its text (`Display`, `FromStr`) is one line that means the same in any later version.
#[derive(Debug, Clone, PartialEq)]
pub struct Rule(pub(crate) Form);

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Form {
    Cron(Box<Cron>),
    Interval {
        seconds: u32,
        from: DateTime<Utc>,
    },
    Weekly {
        days: Weekdays,
        times: Vec<NaiveTime>,
    },
    Monthly {
        day: DayOfMonth,
        times: Vec<NaiveTime>,
    },
    Once(DateTime<Utc>),
}

/// A stored text that is not a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadRule;

/// Slots that are compared with each other, to find how close two of them can be.
const COMPARED: usize = 5_000;

impl Rule {
    /// Returns the first slot after `after`; `None` if there is none.
    pub fn next_after(&self, after: DateTime<Utc>, zone: &Zone) -> Option<DateTime<Utc>> {
        match &self.0 {
            Form::Once(at) => (*at > after).then_some(*at),
            Form::Interval { seconds, from } => {
                let seconds = i64::from(*seconds);
                let passed = (after - *from)
                    .num_milliseconds()
                    .div_euclid(1000 * seconds)
                    .max(0);
                from.checked_add_signed(TimeDelta::try_seconds(
                    seconds.checked_mul(passed.checked_add(1)?)?,
                )?)
            }
            Form::Cron(_) | Form::Weekly { .. } | Form::Monthly { .. } => {
                // Instants grow with wall-clock times, so no earlier time can be due later.
                let mut time = zone.wall_clock(after);
                loop {
                    time = self.next_time(time)?;
                    let instant = zone.instant(time)?;
                    if instant > after {
                        return Some(instant);
                    }
                }
            }
        }
    }

    /// Returns the next `count` slots after `after`.
    pub fn upcoming(&self, after: DateTime<Utc>, zone: &Zone, count: usize) -> Vec<DateTime<Utc>> {
        std::iter::successors(self.next_after(after, zone), |slot| {
            self.next_after(*slot, zone)
        })
        .take(count)
        .collect()
    }

    /// Says whether it has more than one slot.
    pub fn recurs(&self) -> bool {
        !matches!(self.0, Form::Once(_))
    }

    /// Says whether two of its slots can be closer than `seconds`.
    pub fn is_closer_than(&self, seconds: u32) -> bool {
        match &self.0 {
            Form::Once(_) => false,
            Form::Interval { seconds: every, .. } => *every < seconds,
            Form::Cron(_) | Form::Weekly { .. } | Form::Monthly { .. } => {
                let limit = TimeDelta::seconds(i64::from(seconds));
                let mut before = None;
                let mut time = DateTime::UNIX_EPOCH.naive_utc();
                for _ in 0..COMPARED {
                    let Some(next) = self.next_time(time) else {
                        return false;
                    };
                    if before.is_some_and(|before| next - before < limit) {
                        return true;
                    }
                    before = Some(next);
                    time = next;
                }
                false
            }
        }
    }

    /// Returns the rule with its beginning at `at`. Only an interval has one: its first slot is one interval later.
    #[must_use]
    pub fn beginning_at(self, at: DateTime<Utc>) -> Self {
        match self.0 {
            Form::Interval { seconds, .. } => Self(Form::Interval {
                seconds,
                from: whole_second(at),
            }),
            other => Self(other),
        }
    }

    /// Returns the rule as people read it: `every weekday at 07:00`.
    pub fn in_words(&self) -> String {
        match &self.0 {
            Form::Cron(cron) => cron.in_words(),
            Form::Interval { seconds, .. } => format!("every {}", length(*seconds)),
            Form::Weekly { days, times } => {
                format!("every {} at {}", days.in_words(), clock_times(times))
            }
            Form::Monthly { day, times } => format!(
                "on the {} of the month at {}",
                day.in_words(),
                clock_times(times)
            ),
            Form::Once(_) => "once".to_owned(),
        }
    }

    /// Returns the first wall-clock time after `after`.
    fn next_time(&self, after: NaiveDateTime) -> Option<NaiveDateTime> {
        let later = |date: chrono::NaiveDate, times: &[NaiveTime]| {
            times
                .iter()
                .map(|time| date.and_time(*time))
                .find(|time| *time > after)
        };
        match &self.0 {
            Form::Cron(cron) => cron.next(after),
            Form::Weekly { days, times } => (0..=7)
                .filter_map(|ahead| after.date().checked_add_days(Days::new(ahead)))
                .filter(|date| days.has(date.weekday()))
                .find_map(|date| later(date, times)),
            // A 31st is at most two months away, a fifth of a weekday three.
            Form::Monthly { day, times } => (0..=12)
                .filter_map(|ahead| {
                    after
                        .date()
                        .with_day(1)?
                        .checked_add_months(Months::new(ahead))
                })
                .filter_map(|first| day.of_month(first))
                .find_map(|date| later(date, times)),
            Form::Interval { .. } | Form::Once(_) => None,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Cron(cron) => write!(f, "cron {}", cron.text()),
            Form::Interval { seconds, from } => write!(f, "interval {seconds} {}", stored(*from)),
            Form::Weekly { days, times } => {
                write!(f, "weekly {} {}", days.digits(), stored_times(times))
            }
            Form::Monthly { day, times } => {
                write!(f, "monthly {} {}", day.code(), stored_times(times))
            }
            Form::Once(at) => write!(f, "once {}", stored(*at)),
        }
    }
}

impl FromStr for Rule {
    type Err = BadRule;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        form(text).map(Self).ok_or(BadRule)
    }
}

impl fmt::Display for BadRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the stored rule of a schedule cannot be read")
    }
}

impl std::error::Error for BadRule {}

/// Cuts fractions of a second: slots are whole seconds.
pub(crate) fn whole_second(at: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp(at.timestamp(), 0).unwrap_or(at)
}

fn form(text: &str) -> Option<Form> {
    let (kind, rest) = text.split_once(' ')?;
    if kind == "cron" {
        return Cron::parse(rest)
            .ok()
            .map(|cron| Form::Cron(Box::new(cron)));
    }
    if kind == "once" {
        return rest.parse().ok().map(Form::Once);
    }
    let (first, second) = rest.split_once(' ')?;
    match kind {
        "interval" => Some(Form::Interval {
            seconds: first.parse().ok().filter(|seconds| *seconds > 0)?,
            from: second.parse().ok()?,
        }),
        "weekly" => Some(Form::Weekly {
            days: Weekdays::from_digits(first)?,
            times: read_times(second)?,
        }),
        "monthly" => Some(Form::Monthly {
            day: DayOfMonth::from_code(first)?,
            times: read_times(second)?,
        }),
        _ => None,
    }
}

fn stored(at: DateTime<Utc>) -> String {
    at.to_rfc3339_opts(SecondsFormat::Secs, true)
}

fn stored_times(times: &[NaiveTime]) -> String {
    times
        .iter()
        .map(|time| time.format("%H:%M").to_string())
        .collect::<Vec<_>>()
        .join(",")
}

fn read_times(text: &str) -> Option<Vec<NaiveTime>> {
    text.split(',')
        .map(|time| NaiveTime::parse_from_str(time, "%H:%M").ok())
        .collect()
}

fn clock_times(times: &[NaiveTime]) -> String {
    listed(
        times
            .iter()
            .map(|time| time.format("%H:%M").to_string())
            .collect(),
    )
}

/// Returns the length in words: `2 weeks`, `hour`, `90 minutes`.
fn length(seconds: u32) -> String {
    let units = [
        (604_800, "week"),
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    let (size, unit) = units
        .into_iter()
        .find(|(size, _)| seconds.is_multiple_of(*size))
        .unwrap_or((1, "second"));
    match seconds / size {
        1 => unit.to_owned(),
        count => format!("{count} {unit}s"),
    }
}
