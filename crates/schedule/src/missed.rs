//! Decides what happens to slots that passed while the daemon was not running.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};

/// What a schedule does with slots that it missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// The latest one runs, if it is younger than 24 hours.
    #[default]
    Once,
    /// None runs.
    Skip,
    /// The latest 24 run, in order.
    All,
}

/// How a missed slot ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It runs, late.
    Run,
    /// It is skipped.
    Skip,
}

/// Most slots of `missed:all` that run.
pub const MOST: usize = 24;

impl Missed {
    /// Returns the fate of each missed slot, in their order. `slots` are in order of time.
    pub fn fates(self, slots: &[DateTime<Utc>], now: DateTime<Utc>) -> Vec<Fate> {
        let runs = |index: usize, slot: DateTime<Utc>| match self {
            Self::Once => index + 1 == slots.len() && now - slot < TimeDelta::hours(24),
            Self::Skip => false,
            Self::All => index + MOST >= slots.len(),
        };
        let fate = |runs: bool| if runs { Fate::Run } else { Fate::Skip };
        slots
            .iter()
            .enumerate()
            .map(|(index, slot)| fate(runs(index, *slot)))
            .collect()
    }

    /// Returns its word: `once`, `skip`, `all`.
    pub fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Skip => "skip",
            Self::All => "all",
        }
    }
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for Missed {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        [Self::Once, Self::Skip, Self::All]
            .into_iter()
            .find(|missed| missed.word() == word)
            .ok_or(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours_ago(hours: &[i64]) -> (Vec<DateTime<Utc>>, DateTime<Utc>) {
        let now: DateTime<Utc> = "2026-11-26T12:00:00Z".parse().unwrap();
        (
            hours
                .iter()
                .map(|hours| now - TimeDelta::hours(*hours))
                .collect(),
            now,
        )
    }

    #[test]
    fn once_runs_the_latest_unless_it_is_a_day_old() {
        let (slots, now) = hours_ago(&[5, 3, 1]);
        assert_eq!(
            Missed::Once.fates(&slots, now),
            [Fate::Skip, Fate::Skip, Fate::Run]
        );
        let (slots, now) = hours_ago(&[48, 24]);
        assert_eq!(Missed::Once.fates(&slots, now), [Fate::Skip, Fate::Skip]);
    }

    #[test]
    fn skip_runs_none_and_all_runs_the_latest_24() {
        let (slots, now) = hours_ago(&[5, 3, 1]);
        assert_eq!(Missed::Skip.fates(&slots, now), [Fate::Skip; 3]);
        assert_eq!(Missed::All.fates(&slots, now), [Fate::Run; 3]);
        let (slots, now) = hours_ago(&(1..=30).rev().collect::<Vec<_>>());
        let fates = Missed::All.fates(&slots, now);
        assert_eq!(
            fates.iter().filter(|fate| **fate == Fate::Run).count(),
            MOST
        );
        assert_eq!((fates[5], fates[6]), (Fate::Skip, Fate::Run));
    }
}
