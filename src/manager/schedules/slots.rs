//! Which slots of a schedule are due, and which of them run. Pure.

use std::str::FromStr as _;
use std::time::Duration;

use chorus_schedule::missed::{Fate, Missed};
use chorus_schedule::{Rule, Zone, start_delay};
use chrono::{DateTime, TimeDelta, Timelike as _, Utc};

use crate::store::{ScheduleKind, ScheduleRow, TakenSlot};

/// A run that begins later than this was missed, even by a daemon that runs: the machine slept, or its clock was set.
const LATE: TimeDelta = TimeDelta::seconds(60);
/// Slots before that have no row: rows are kept for 30 days.
const FORGOTTEN: TimeDelta = TimeDelta::days(30);
/// Slots of one schedule that are taken at once; of more, the oldest have no row.
const MOST: usize = 1_000;

/// A schedule as it is planned.
pub(super) struct Plan {
    pub(super) id: i64,
    pub(super) kind: ScheduleKind,
    pub(super) rule: Rule,
    pub(super) zone: Zone,
    pub(super) missed: Missed,
}

/// Slots that are due, and the slot after them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) slots: Vec<TakenSlot>,
    pub(super) next: Option<DateTime<Utc>>,
}

/// Returns a stored schedule as it is planned; `None` where its rule or its zone cannot be read.
pub(super) fn plan(row: &ScheduleRow) -> Option<Plan> {
    Some(Plan {
        id: row.id,
        kind: row.schedule.kind,
        rule: Rule::from_str(&row.schedule.rule).ok()?,
        zone: Zone::named(&row.schedule.timezone).ok()?,
        missed: Missed::from_str(&row.schedule.missed).unwrap_or_default(),
    })
}

impl Plan {
    /// Returns the slots from `first` up to `now`. What was to begin before `started` was missed.
    pub(super) fn due(
        &self,
        first: DateTime<Utc>,
        now: DateTime<Utc>,
        started: DateTime<Utc>,
    ) -> Due {
        let mut slots = Vec::new();
        let long_ago = now - FORGOTTEN;
        let mut next = if first < long_ago && self.rule.recurs() {
            self.rule.next_after(long_ago, &self.zone)
        } else {
            Some(first)
        };
        while let Some(slot) = next.filter(|slot| *slot <= now) {
            slots.push(slot);
            next = self.rule.next_after(slot, &self.zone);
        }
        slots.drain(..slots.len().saturating_sub(MOST));
        let is_missed = |slot: &DateTime<Utc>| was_away(self.begins(*slot), now, started);
        let missed = slots.iter().filter(|slot| is_missed(slot)).count();
        let (missed, timely) = slots.split_at(missed);
        let fates = self.fates(missed, now);
        let fates = fates.into_iter().chain(timely.iter().map(|_| Fate::Run));
        let slots = slots.iter().zip(fates);
        Due {
            slots: slots.map(|(slot, fate)| self.taken(*slot, fate)).collect(),
            next,
        }
    }

    /// A single time and the latest of a reminder's are never skipped, however old they are.
    fn fates(&self, missed: &[DateTime<Utc>], now: DateTime<Utc>) -> Vec<Fate> {
        let mut fates = self.missed.fates(missed, now);
        if (!self.rule.recurs() || self.kind == ScheduleKind::Reminder)
            && let Some(latest) = fates.last_mut()
        {
            *latest = Fate::Run;
        }
        fates
    }

    fn taken(&self, slot: DateTime<Utc>, fate: Fate) -> TakenSlot {
        TakenSlot {
            slot,
            due_at: self.begins(slot),
            skipped: (fate == Fate::Skip).then_some("missed"),
        }
    }

    /// When the run of a slot begins.
    fn begins(&self, slot: DateTime<Utc>) -> DateTime<Utc> {
        let is_spread = self.kind == ScheduleKind::Turn && self.rule.recurs() && slot.minute() == 0;
        let delay = if is_spread {
            start_delay(self.id)
        } else {
            Duration::ZERO
        };
        slot + delay
    }
}

/// Says whether what was to begin at `due_at` begins late because nobody was there.
pub(super) fn was_away(due_at: DateTime<Utc>, now: DateTime<Utc>, started: DateTime<Utc>) -> bool {
    due_at < started || now - due_at >= LATE
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn at(text: &str) -> DateTime<Utc> {
        format!("2026-11-26T{text}Z").parse().unwrap()
    }

    fn plan(kind: ScheduleKind, rule: &str, missed: Missed) -> Plan {
        Plan {
            id: 1,
            kind,
            rule: rule.parse().unwrap(),
            zone: Zone::utc(),
            missed,
        }
    }

    fn runs(due: &Due) -> Vec<(DateTime<Utc>, bool)> {
        let runs = due.slots.iter();
        runs.map(|slot| (slot.slot, slot.skipped.is_none()))
            .collect()
    }

    const HOURLY: &str = "cron 30 * * * *";

    #[test]
    fn a_slot_runs_at_its_time_and_the_next_follows() {
        let plan = plan(ScheduleKind::Turn, HOURLY, Missed::Skip);
        let due = plan.due(at("06:30:00"), at("06:30:00"), at("00:00:00"));
        assert_eq!(runs(&due), [(at("06:30:00"), true)]);
        assert_eq!(due.next, Some(at("07:30:00")));
    }

    #[test]
    fn missed_slots_obey_what_the_schedule_says() {
        let first = at("06:30:00");
        let due = |missed| {
            plan(ScheduleKind::Turn, HOURLY, missed).due(first, at("09:00:00"), at("09:00:00"))
        };
        let slots = ["06:30:00", "07:30:00", "08:30:00"].map(at);
        let with = |runs: [bool; 3]| slots.into_iter().zip(runs).collect::<Vec<_>>();
        assert_eq!(runs(&due(Missed::Once)), with([false, false, true]));
        assert_eq!(runs(&due(Missed::Skip)), with([false, false, false]));
        assert_eq!(runs(&due(Missed::All)), with([true, true, true]));
    }

    #[test]
    fn a_clock_set_forwards_makes_slots_missed_but_loses_none() {
        let plan = plan(ScheduleKind::Turn, HOURLY, Missed::Once);
        let due = plan.due(at("06:30:00"), at("08:30:10"), at("00:00:00"));
        assert_eq!(due.slots.len(), 3);
        // The last is on time, and the latest missed one runs too.
        let runs: Vec<bool> = runs(&due).iter().map(|(_, runs)| *runs).collect();
        assert_eq!(runs, [false, true, true]);
    }

    #[test]
    fn a_reminder_of_long_ago_runs() {
        let once = "once 2026-01-01T00:00:00Z";
        let plan = plan(ScheduleKind::Reminder, once, Missed::Once);
        let first = "2026-01-01T00:00:00Z".parse().unwrap();
        let due = plan.due(first, at("06:00:00"), at("06:00:00"));
        assert_eq!(runs(&due), [(first, true)]);
        assert_eq!(due.next, None);
    }

    #[test]
    fn a_year_of_missed_slots_is_bounded() {
        let plan = plan(ScheduleKind::Post, "cron * * * * *", Missed::All);
        let first = "2025-11-26T00:00:00Z".parse().unwrap();
        let due = plan.due(first, at("06:00:00"), at("06:00:00"));
        assert_eq!(due.slots.len(), MOST);
        assert_eq!(due.next, Some(at("06:01:00")));
    }

    #[test]
    fn turns_of_a_full_hour_are_spread_and_others_are_not() {
        let begins = |kind, rule: &str| plan(kind, rule, Missed::Once).begins(at("06:00:00"));
        assert!(begins(ScheduleKind::Turn, "cron 0 * * * *") > at("06:00:00"));
        assert!(begins(ScheduleKind::Turn, "cron 0 * * * *") < at("06:01:00"));
        for (kind, rule) in [
            (ScheduleKind::Turn, "once 2026-11-26T06:00:00Z"),
            (ScheduleKind::Reminder, "cron 0 * * * *"),
        ] {
            assert_eq!(begins(kind, rule), at("06:00:00"));
        }
    }
}
