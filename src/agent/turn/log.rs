//! What the log says about a turn before its end: its beginning, and what decided its end. Other agent programs use the
//! same event names.
//!
//! None of it was written by people or models.

use tracing::{info, warn};

use super::context::TurnContext;
use super::end::EndReason;
use crate::domain::{Cost, TurnId, Usage};
use crate::llm::{DEMO, Target};

impl TurnContext {
    /// The first line of a turn.
    pub(in crate::agent) fn log_init(&self) {
        info!(event = "agent:init", agent.id = %self.agent.id, turn.id = %self.id(), run.id = %self.run.root, "{} began a turn", self.path);
    }

    /// A child turn begins for it.
    pub(in crate::agent) fn log_child(&self, child: TurnId, path: &str) {
        info!(event = "agent:child", turn.id = %child, turn.parent_id = %self.id(), "{} calls {path}", self.path);
    }

    /// The next step is its last.
    pub(in crate::agent) fn log_final_turn(&self, why: EndReason) {
        info!(event = "agent:final-turn", reason = why.as_str(), turn.id = %self.id(), "{} has one last step: {}", self.path, why.as_str());
    }

    /// Logs how full the window is when a summary begins.
    pub(in crate::agent) fn log_context(&self, used: u64, room: u64) {
        info!(event = "agent:context", turn.id = %self.id(), context.tokens = used, context.room = room, "{} sums up what was said", self.path);
    }

    /// Logs, once for each model, that tokens of unknown price were used: as a warning where somebody may send a bill,
    /// which a server of this network does not. The demo model is never logged.
    pub(in crate::agent) fn log_pricing(&self, target: &Target, usage: Usage, cost: Cost) {
        let is_unpriced = cost == Cost::Unknown && usage != Usage::default();
        let deps = &self.deps;
        if !is_unpriced
            || target.provider == DEMO
            || !deps.unpriced.lock().insert(target.to_string())
        {
            return;
        }
        let said = format!("the price of {target} is not known: what it costs is not counted");
        if deps.models.known().providers().is_local(&target.provider) {
            info!(event = "agent:pricing", model = %target, "{said}");
        } else {
            warn!(event = "agent:pricing", model = %target, "{said}");
        }
    }
}
