//! Carries a call out: its start and its result are in the ledger, whether it succeeds or fails.

use std::sync::Arc;
use std::time::Instant;

use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::Call;
use super::look::Runnable;
use crate::agent::stop::cancelled_after;
use crate::agent::turn::Turn;
use crate::agent::turn::children::BegunChild;
use crate::agent::turn::offer::NotCalled;
use crate::domain::{CallId, Participant, ToolResult, UserId};
use crate::permission::{Breadth, Rights};
use crate::store::{AttachedRows, AttemptRow, AuditDecision, AuditRow, StoreError};
use crate::text;
use crate::tools::{Caller, ToolContext, guard};

/// Characters of a failure that the ledger keeps where the model is told something else.
const KEPT_FAILURE: usize = 2_000;

impl Turn {
    /// Starts a call that may run (D6), runs it, and stores its result (D7).
    pub(in crate::agent::turn) async fn run_one(
        &self,
        call: &Call,
        mut runnable: Runnable,
        audit: AuditRow,
    ) -> Result<ToolResult, StoreError> {
        let attached = AttachedRows {
            audit: vec![audit],
            ..AttachedRows::default()
        };
        let (store, turn) = (&self.context.deps.store, self.context.id());
        match runnable.for_child() {
            None => store.start_call(turn, &call.id, attached).await?,
            Some(assignment) => {
                let new = self.new_child(Some(call.id.clone()), assignment).await;
                let begun = store.start_child(turn, &call.id, &new, attached).await;
                let conversation = match begun {
                    Err(StoreError::NotFound(_)) if new.goes_on.is_some() => {
                        let action = runnable.prepared.action.to_string();
                        let why = NotCalled::AtWork.to_string();
                        self.context.run.uncount_child();
                        return self
                            .refuse(call, &action, &why, AuditDecision::Deny, None)
                            .await;
                    }
                    begun => begun?,
                };
                runnable.child = Some(BegunChild { new, conversation });
            }
        }
        Box::pin(self.carry_out(call, runnable)).await
    }

    /// Runs a call whose start is in the ledger, and stores its result (D7).
    pub(super) async fn carry_out(
        &self,
        call: &Call,
        runnable: Runnable,
    ) -> Result<ToolResult, StoreError> {
        let (prepared, allowed_by, breadth) = match runnable {
            Runnable {
                child: Some(child),
                assignment: Some(assignment),
                ..
            } => return Box::pin(self.run_child(call, assignment, child)).await,
            Runnable {
                prepared,
                allowed_by,
                breadth,
                ..
            } => (prepared, allowed_by, breadth),
        };
        let people = if prepared.info.by_people {
            self.context.people_now().await?
        } else {
            Vec::new()
        };
        // A tool ends with the turn's time.
        let stop = self.context.stop.now().child_token();
        let _deadline = cancelled_after(&stop, self.time_left());
        let mut context = self.tool_context(call.id.clone(), people, stop);
        context.allowed_by = allowed_by;
        context.breadth = breadth;
        context.reader = prepared.asks.then(|| self.reader());
        let began = Instant::now();
        let result = Box::pin(guard::run(prepared, &context)).await;
        let (mut result, kept) = self.told_of_failure(result);
        let ran = AttachedRows {
            attempts: vec![AttemptRow {
                detail: kept,
                ..self.context.tool_row(&result, began.elapsed())
            }],
            ..AttachedRows::default()
        };
        result.name.clone_from(&call.written);
        self.context
            .deps
            .store
            .finish_call(self.context.id(), &result, ran)
            .await?;
        Ok(result)
    }

    /// What the role tells the model in place of a tool's failure, and the failure itself, for the log and the ledger.
    fn told_of_failure(&self, result: ToolResult) -> (ToolResult, Option<String>) {
        let instead = self.setup.error_for(&result.name);
        let Some(instead) = instead.filter(|_| result.is_error) else {
            return (result, None);
        };
        let redactor = &self.context.deps.services.redactor;
        let kept = text::one_line(&redactor.redact(&result.content), KEPT_FAILURE);
        warn!(turn.id = %self.context.id(), "failed to run {}: {kept}", result.name);
        let told = ToolResult {
            content: format!("Error: {instead}"),
            images: Vec::new(),
            ..result
        };
        (told, Some(kept))
    }

    /// Closes a call that does not run, with one audit row.
    pub(in crate::agent::turn) async fn refuse(
        &self,
        call: &Call,
        action: &str,
        reason: &str,
        decision: AuditDecision,
        by: Option<UserId>,
    ) -> Result<ToolResult, StoreError> {
        let result = ToolResult {
            call_id: call.id.clone(),
            name: call.written.clone(),
            content: format!("Error: {reason}"),
            is_error: true,
            images: Vec::new(),
        };
        let attached = AttachedRows {
            audit: vec![self.context.audit_row(
                call,
                action,
                decision,
                by,
                json!({ "reason": reason }),
            )],
            ..AttachedRows::default()
        };
        self.context
            .deps
            .store
            .refuse_call(self.context.id(), &result, attached)
            .await?;
        Ok(result)
    }

    /// What the turn may do by the profiles of this step.
    fn rights(&self) -> Rights {
        let profiles = self.context.deps.profiles_of(&self.setup);
        let always_allow = self.setup.payer().config.always_allow.clone();
        Rights::new(profiles, always_allow)
    }

    /// What a tool is called with.
    pub(in crate::agent::turn) fn tool_context(
        &self,
        call: CallId,
        people: Vec<Participant>,
        stop: CancellationToken,
    ) -> ToolContext {
        let caller = Caller {
            agent: self.context.agent.id,
            name: self.context.agent.name.clone(),
            guild: self.context.agent.guild,
            channel: self.context.reference.channel,
            conversation: self.context.conversation,
            turn: self.context.id(),
            call,
            config: self.setup.config.clone(),
            shelf: self.shelf.clone(),
            people,
            allowed_by: None,
            breadth: Breadth::Narrow,
            has_message: !self.context.run.people().is_empty(),
            depth: self.context.run.hops(),
            most_hops: self.context.deps.most_hops(),
            hides_words: self.context.run.hides_words(),
            stop,
            abort: self.context.stop.aborted().clone(),
        };
        ToolContext {
            caller,
            services: self.context.deps.services.clone(),
            room: self.results.clone(),
            rights: Arc::new(self.rights()),
            address: None,
            reader: None,
        }
    }
}
