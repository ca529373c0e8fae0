//! The most that one agent may spend in one day, with the default limit.

use super::keys::Budgets;
use super::units::Usd;

/// Default limit for the money that one agent may spend in one day, in US dollars.
pub const DEFAULT_DAY_USD: f64 = 20.0;

/// Default limit for the tokens of models without a known price that one agent may use in one day.
pub const DEFAULT_DAY_TOKENS: u64 = 20_000_000;

/// Default limit for the money that the unattended turns of one agent may cost in one day.
pub(super) const DEFAULT_UNATTENDED_DAY: Usd = Usd::FIVE;

/// The most that the turns of one agent that no person began may use in one day (UTC).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UnattendedDay {
    /// Money in US dollars; 0 means that no such turn begins.
    pub usd: f64,
    /// Tokens of models without a known price.
    pub unpriced: u64,
}

impl UnattendedDay {
    /// Reads the limits that the operator set.
    pub fn of(budgets: &Budgets) -> Self {
        Self {
            usd: budgets.unattended_day.get(),
            unpriced: u64::from(budgets.unattended_day_tokens.get()),
        }
    }

    /// Returns whether no unattended turn begins at all.
    pub fn is_off(&self) -> bool {
        self.usd <= 0.0
    }
}

/// The most that one agent may spend in one day (UTC); the default has no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DayBudget {
    /// Money in US dollars; `None` means no limit.
    pub usd: Option<f64>,
    /// Tokens of models without a known price; `None` means no limit.
    pub unpriced: Option<u64>,
    /// The source of the money limit.
    pub set: DaySet,
}

/// The source of a day's money limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DaySet {
    /// The operator, or a person for the agent.
    #[default]
    ByPeople,
    /// The default.
    ByDefault,
}

impl DayBudget {
    /// Returns the limit of an agent with its own limit `own`. Zero means no limit, in either place.
    pub fn of(own: Option<f64>, budgets: &Budgets) -> Self {
        let whole = budgets.agent_day.map(Usd::get);
        let usd = own.or(whole);
        Self {
            usd: match usd {
                None => Some(DEFAULT_DAY_USD),
                Some(usd) => (usd > 0.0).then_some(usd),
            },
            unpriced: match (own, whole) {
                (Some(0.0), _) | (_, Some(_)) => None,
                (_, None) => Some(DEFAULT_DAY_TOKENS),
            },
            set: match usd {
                None => DaySet::ByDefault,
                Some(_) => DaySet::ByPeople,
            },
        }
    }

    /// Returns whether `own`, an agent's own limit, allows more than this one.
    pub fn is_lifted_by(&self, own: Option<f64>) -> bool {
        match own {
            None => false,
            Some(0.0) => self.usd.is_some() || self.unpriced.is_some(),
            Some(own) => self.usd.is_some_and(|usd| own > usd),
        }
    }
}
