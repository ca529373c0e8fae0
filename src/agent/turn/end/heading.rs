//! The line above a sub-agent's report.

use crate::domain::{Cost, TurnId, Usage};
use crate::text;

/// The heading of a sub-agent's report.
pub(in crate::agent) struct Heading<'a> {
    pub(in crate::agent) role: &'a str,
    pub(in crate::agent) turn: TurnId,
    pub(in crate::agent) exit: &'a str,
    pub(in crate::agent) steps: u32,
    pub(in crate::agent) usage: Usage,
    pub(in crate::agent) cost: Cost,
}

impl Heading<'_> {
    /// `[reviewer · c1f3a9e2 · answered · 4 steps · 12.3k tokens · $0.021]`
    pub(in crate::agent) fn line(&self) -> String {
        let mut parts = vec![
            self.role.to_owned(),
            self.turn.short(),
            self.exit.to_owned(),
            text::count(self.steps as usize, "step", "steps"),
            text::tokens_in_short(self.usage.input_total() + self.usage.output),
        ];
        if let Cost::Usd(usd) = self.cost
            && usd > 0.0
        {
            parts.push(format!("${usd:.3}"));
        }
        format!("[{}]", parts.join(" · "))
    }
}
