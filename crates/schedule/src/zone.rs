//! Time zones by name, from the system's data: which instant a wall-clock time is, and the other way round.

use std::fmt;

use chrono::{DateTime, Datelike as _, NaiveDateTime, Timelike as _, Utc};
use jiff::Timestamp;
use jiff::civil;
use jiff::tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase};

/// A time zone with the name by which it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: String,
    rules: TimeZone,
}

/// A name of no zone, or a system without time zone data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnknownZone {
    /// The system has time zone data, and the name is not in it.
    Name {
        /// The name as given.
        name: String,
        /// The most similar name that exists.
        nearest: Option<String>,
    },
    /// The system has no time zone data: only UTC is known.
    NoData,
}

impl Zone {
    /// Returns Coordinated Universal Time, which needs no data.
    pub fn utc() -> Self {
        Self {
            name: "UTC".to_owned(),
            rules: TimeZone::UTC,
        }
    }

    /// Finds a zone by its IANA name, in any case: `Europe/Berlin`.
    ///
    /// # Errors
    ///
    /// Fails if no zone has this name, or if the system has no time zone data and the name is not `UTC`.
    pub fn named(name: &str) -> Result<Self, UnknownZone> {
        Self::named_in(jiff::tz::db(), name)
    }

    /// Returns the zone of this machine, or UTC if its zone has no name.
    pub fn of_machine() -> Self {
        let rules = TimeZone::try_system().unwrap_or(TimeZone::UTC);
        let name = rules.iana_name().map(str::to_owned);
        match name {
            Some(name) if name != "Etc/Unknown" => Self { name, rules },
            _ => Self::utc(),
        }
    }

    /// Says whether the system has time zone data. Without it, only UTC is known.
    pub fn has_data() -> bool {
        has_data(jiff::tz::db())
    }

    /// Returns the names of all zones that the system knows, in their order.
    pub fn known() -> Vec<String> {
        let mut names: Vec<String> = jiff::tz::db()
            .available()
            .map(|name| name.as_str().to_owned())
            .collect();
        names.sort();
        names
    }

    /// Returns the zone's name: `Europe/Berlin`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the wall-clock time at an instant.
    pub fn wall_clock(&self, instant: DateTime<Utc>) -> NaiveDateTime {
        let civil = self.rules.to_datetime(timestamp(instant));
        let date = chrono::NaiveDate::from_ymd_opt(
            civil.year().into(),
            civil.month().unsigned_abs().into(),
            civil.day().unsigned_abs().into(),
        );
        let time = chrono::NaiveTime::from_hms_nano_opt(
            civil.hour().unsigned_abs().into(),
            civil.minute().unsigned_abs().into(),
            civil.second().unsigned_abs().into(),
            civil.subsec_nanosecond().unsigned_abs(),
        );
        match (date, time) {
            (Some(date), Some(time)) => date.and_time(time),
            // Both libraries know the same days.
            _ => instant.naive_utc(),
        }
    }

    /// Returns the one instant of a wall-clock time. A time in a gap becomes the first minute after the gap; a time
    /// that occurs twice is the first of the two.
    ///
    /// It grows with the time, so that slots computed from wall-clock times are in order. `None` beyond the year 9999.
    pub fn instant(&self, wall_clock: NaiveDateTime) -> Option<DateTime<Utc>> {
        let civil = civil::DateTime::new(
            i16::try_from(wall_clock.year()).ok()?,
            i8::try_from(wall_clock.month()).ok()?,
            i8::try_from(wall_clock.day()).ok()?,
            i8::try_from(wall_clock.hour()).ok()?,
            i8::try_from(wall_clock.minute()).ok()?,
            i8::try_from(wall_clock.second()).ok()?,
            0,
        )
        .ok()?;
        match self.rules.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset }
            | AmbiguousOffset::Fold { before: offset, .. } => {
                datetime(offset.to_timestamp(civil).ok()?)
            }
            AmbiguousOffset::Gap { before, .. } => {
                // Read with the offset before the gap, the time lies at the gap or after it.
                let beyond = before
                    .to_timestamp(civil)
                    .ok()?
                    .as_second()
                    .checked_add(1)?;
                let change = self
                    .rules
                    .preceding(Timestamp::from_second(beyond).ok()?)
                    .next()?;
                let second = change.timestamp().as_second();
                DateTime::from_timestamp(second.checked_add(59)?.div_euclid(60).checked_mul(60)?, 0)
            }
        }
    }

    fn named_in(data: &TimeZoneDatabase, name: &str) -> Result<Self, UnknownZone> {
        let name = name.trim();
        if ["utc", "etc/utc", "z"].contains(&name.to_ascii_lowercase().as_str()) {
            return Ok(Self::utc());
        }
        match data.get(name) {
            Ok(rules) => Ok(Self {
                name: rules.iana_name().unwrap_or(name).to_owned(),
                rules,
            }),
            Err(_) if has_data(data) => Err(UnknownZone::Name {
                name: name.to_owned(),
                nearest: nearest(data, name),
            }),
            Err(_) => Err(UnknownZone::NoData),
        }
    }
}

impl fmt::Display for UnknownZone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { nearest: Some(nearest), .. } => {
                write!(f, "no time zone has this name. Names look like `Europe/Berlin`; the most similar one is `{nearest}`")
            }
            Self::Name { nearest: None, .. } => f.write_str("no time zone has this name. Names look like `Europe/Berlin`"),
            Self::NoData => f.write_str(
                "this machine has no time zone data, so only `UTC` is known. Install the package `tzdata` (`apt install tzdata`, `apk add \
                 tzdata`)",
            ),
        }
    }
}

impl std::error::Error for UnknownZone {}

fn has_data(data: &TimeZoneDatabase) -> bool {
    data.get("Europe/London").is_ok()
}

fn nearest(data: &TimeZoneDatabase, name: &str) -> Option<String> {
    let wanted: String = name
        .chars()
        .take(60)
        .collect::<String>()
        .to_ascii_lowercase();
    let wanted = wanted.replace(' ', "_");
    let closeness = |known: &str| {
        let known = known.to_ascii_lowercase();
        let city = known.rsplit('/').next().unwrap_or(&known);
        strsim::jaro_winkler(&known, &wanted).max(strsim::jaro_winkler(city, &wanted))
    };
    data.available()
        .map(|known| (closeness(known.as_str()), known.as_str().to_owned()))
        .filter(|(similar, _)| *similar > 0.8)
        .max_by(|left, right| {
            left.0
                .total_cmp(&right.0)
                .then_with(|| right.1.cmp(&left.1))
        })
        .map(|(_, known)| known)
}

fn timestamp(instant: DateTime<Utc>) -> Timestamp {
    Timestamp::new(instant.timestamp(), 0).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn datetime(timestamp: Timestamp) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp(timestamp.as_second(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_data_only_utc_is_known() {
        let none = TimeZoneDatabase::none();
        assert_eq!(Zone::named_in(&none, "UTC").unwrap(), Zone::utc());
        let refused = Zone::named_in(&none, "Europe/Berlin").unwrap_err();
        assert_eq!(refused, UnknownZone::NoData);
        assert!(refused.to_string().contains("`tzdata`"));
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_most_similar_one() {
        let nearest = |name: &str| match Zone::named(name) {
            Err(UnknownZone::Name { nearest, .. }) => nearest,
            other => panic!("{other:?}"),
        };
        assert_eq!(nearest("Europe/Berln").as_deref(), Some("Europe/Berlin"));
        assert_eq!(nearest("Berlin").as_deref(), Some("Europe/Berlin"));
        assert_eq!(nearest("qqqq"), None);
    }

    #[test]
    fn a_name_is_found_in_any_case() {
        assert_eq!(
            Zone::named("europe/berlin").unwrap().name(),
            "Europe/Berlin"
        );
    }
}
