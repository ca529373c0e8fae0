//! Budgets of a day that people hear of before they are used up, and can raise until the day ends.

use std::collections::HashMap;
use std::sync::Arc;

use chrono::{DateTime, Days, NaiveTime, Utc};
use parking_lot::Mutex;

use crate::store::{BudgetDay, BudgetKind, BudgetOfDay, NewPart, PartButton, Store, StoreError};

/// The share of a budget at which people hear of it.
pub(super) const NEAR: f64 = 0.8;

/// Presses that count for one budget in one day.
pub const MOST_RAISES: u32 = 10;

/// What one press adds, in US dollars.
const RAISES: [u32; 2] = [1, 5];

/// The first word of the ids of these buttons.
const BUTTON: &str = "budget";

/// Budgets of today as the ledger has them, so that a request reads them once. Clones share their state.
#[derive(Clone, Debug, Default)]
pub(super) struct BudgetDays(Arc<Mutex<HashMap<BudgetOfDay, BudgetDay>>>);

impl BudgetDays {
    pub(super) async fn of(
        &self,
        store: &Store,
        budget: &BudgetOfDay,
    ) -> Result<BudgetDay, StoreError> {
        if let Some(known) = self.0.lock().get(budget) {
            return Ok(*known);
        }
        let read = store.budget_day(budget).await?;
        let mut known = self.0.lock();
        // Other days are over.
        known.retain(|other, _| other.day == budget.day);
        // A raise that was stored meanwhile is newer than what was read.
        Ok(*known.entry(budget.clone()).or_insert(read))
    }

    pub(super) fn put(&self, budget: &BudgetOfDay, day: BudgetDay) {
        self.0.lock().insert(budget.clone(), day);
    }

    pub(super) fn told(&self, budget: &BudgetOfDay) {
        self.0.lock().entry(budget.clone()).or_default().is_told = true;
    }
}

/// A budget of which most is used.
#[derive(Clone, Debug, PartialEq)]
pub struct NearLimit {
    pub budget: BudgetOfDay,
    /// In US dollars.
    pub used: f64,
    /// With what people added to it.
    pub limit: f64,
}

impl NearLimit {
    /// What people are told.
    pub(in crate::agent) fn notice(&self) -> NewPart {
        let (used, limit) = (amount(self.used), amount(self.limit));
        let of = match self.budget.kind {
            BudgetKind::AgentDay => "today are used",
            BudgetKind::Month => "this month are used",
            BudgetKind::UnattendedDay | BudgetKind::UnattendedOver => {
                "today are used by turns that no person began"
            }
        };
        with_buttons(
            NewPart::notice(format!("{used} of {limit} USD of {of}.")),
            &self.budget,
        )
    }
}

/// Puts the buttons that raise a budget under a part.
pub(in crate::agent) fn with_buttons(mut part: NewPart, budget: &BudgetOfDay) -> NewPart {
    part.body.further_buttons = buttons(budget);
    part
}

/// The buttons that raise a budget. Their ids hold all that a press needs.
pub(in crate::agent) fn buttons(budget: &BudgetOfDay) -> Vec<PartButton> {
    let BudgetOfDay { day, kind, scope } = budget;
    let button = |usd: u32| {
        let id = format!("{BUTTON}:{usd}:{}:{scope}:{day}", kind.as_str());
        PartButton::new(id, &format!("+{usd} USD today"))
    };
    RAISES.into_iter().map(button).collect()
}

/// Reads what follows the first word of a button's id: what it adds, and to which budget.
pub fn read_button(id: &str) -> Option<(u32, BudgetOfDay)> {
    let mut words = id.split(':');
    let usd = words.next()?.parse().ok()?;
    let kind = words.next()?.parse().ok()?;
    let scope = words.next()?.to_owned();
    let day = words.next()?.parse().ok()?;
    let is_offered = RAISES.contains(&usd) && kind != BudgetKind::UnattendedOver;
    (is_offered && words.next().is_none()).then_some((usd, BudgetOfDay { day, kind, scope }))
}

/// Whether a sum of prices has reached a limit. Sums of fractions are rounded, by far less than anything costs.
pub(in crate::agent) fn reaches(used: f64, limit: f64) -> bool {
    used + 1e-9 >= limit
}

/// A sum in US dollars without their sign, with as many digits as are needed to see it.
pub fn amount(usd: f64) -> String {
    match usd {
        usd if usd == 0.0 || usd >= 0.1 => format!("{usd:.2}"),
        usd if usd >= 0.001 => format!("{usd:.4}"),
        usd => format!("{usd:.6}"),
    }
}

/// When the day (UTC) of `now` ends.
pub fn end_of_day(now: DateTime<Utc>) -> DateTime<Utc> {
    let next = now.date_naive().checked_add_days(Days::new(1));
    next.map_or(now, |day| day.and_time(NaiveTime::MIN).and_utc())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::domain::AgentId;

    fn budget() -> BudgetOfDay {
        let now = "2026-11-26T23:59:59Z".parse().unwrap();
        BudgetOfDay::of_agent(BudgetKind::UnattendedDay, AgentId::random(), now)
    }

    #[test]
    fn a_button_says_all_that_its_press_needs() {
        let budget = budget();
        for (usd, button) in RAISES.into_iter().zip(buttons(&budget)) {
            assert!(button.id.len() <= 100, "{}", button.id);
            let rest = button.id.strip_prefix("budget:").unwrap();
            assert_eq!(read_button(rest), Some((usd, budget.clone())));
        }
    }

    #[test]
    fn other_sums_and_words_are_no_button() {
        for id in [
            "",
            "1",
            "1:agent_day",
            "100:agent_day:x:2026-11-26",
            "-1:agent_day:x:2026-11-26",
            "1:unattended_over:x:2026-11-26",
            "1:agent_day:x:2026-13-26",
            "1:agent_day:x:2026-11-26:more",
        ] {
            assert_eq!(read_button(id), None, "{id}");
        }
    }

    #[test]
    fn eight_tenths_are_eight_tenths() {
        let sum: f64 = std::iter::repeat_n(0.1, 8).sum();
        assert!(sum < 0.8, "{sum}");
        assert!(reaches(sum, 0.8));
        assert!(!reaches(0.799_999, 0.8));
    }

    #[test]
    fn a_day_ends_at_midnight() {
        let now: DateTime<Utc> = "2026-12-31T23:59:59Z".parse().unwrap();
        assert_eq!(end_of_day(now).to_rfc3339(), "2027-01-01T00:00:00+00:00");
    }
}
