//! What a turn's calls leave in the books: who allowed what, and what it took.

use std::time::Duration;

use serde_json::Value;

use crate::clock;
use crate::domain::{Cost, ToolCall, ToolResult, Usage, UserId};
use crate::store::{AttemptRow, AuditRow, Outcome};
use crate::tools::Prepared;

use super::state::Turn;

impl Turn {
    /// The audit row of a call that runs without a question.
    pub(super) async fn audit_allowed(&self, call: &ToolCall, prepared: &Prepared) -> AuditRow {
        let action = prepared.action.to_string();
        let audit = self.audit_row(call, &action, "allow", None, Value::Null);
        self.with_change(call, prepared, audit).await
    }

    /// Adds what the call would change in the agent's configuration.
    pub(super) async fn with_change(
        &self,
        call: &ToolCall,
        prepared: &Prepared,
        mut audit: AuditRow,
    ) -> AuditRow {
        let context = self.context(call.id.clone(), Vec::new(), self.stop.now().clone());
        if let Some(change) = prepared.change(&context).await {
            audit.detail = self.deps.audit_change(&change);
        }
        audit
    }

    /// The audit row of a decision about a call's action, without secrets. What was allowed is about to start.
    pub(super) fn audit_row(
        &self,
        call: &ToolCall,
        action: &str,
        decision: &str,
        by: Option<UserId>,
        detail: Value,
    ) -> AuditRow {
        AuditRow {
            timestamp: clock::now(),
            guild: Some(self.agent.guild),
            agent: Some(self.agent.id),
            agent_name: self.agent.name.to_string(),
            turn: Some(self.turn_id()),
            call: Some(call.id.clone()),
            action: self.deps.services.redactor.redact(action).into_owned(),
            decision: decision.to_owned(),
            user: self.people.first().copied().or(self.asker),
            decided_by: by,
            outcome: Some(match decision {
                "allow" | "ask_approved" => Outcome::Started,
                "ask_expired" => Outcome::NotRun,
                _ => Outcome::Refused,
            }),
            detail: match detail {
                Value::Null => None,
                detail => Some(
                    self.deps
                        .services
                        .redactor
                        .redact(&detail.to_string())
                        .into_owned(),
                ),
            },
        }
    }

    /// A tool run as the books keep it: time, no money.
    pub(super) fn tool_row(&self, result: &ToolResult, took: Duration) -> AttemptRow {
        AttemptRow {
            at: clock::now() - took,
            guild: Some(self.agent.guild),
            agent: self.agent.id,
            turn: Some(self.turn_id()),
            parent: None,
            kind: "tool".to_owned(),
            provider: String::new(),
            model: result.name.clone(),
            outcome: if result.is_error { "error" } else { "ok" }.to_owned(),
            usage: Usage::default(),
            cost: Cost::Usd(0.0),
            duration: took,
            request_id: None,
            detail: None,
        }
    }
}
