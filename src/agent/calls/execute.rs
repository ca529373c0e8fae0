//! Carries a call out: its start and its result are in the ledger, whether it succeeds or fails.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::judge::{NOT_PERMITTED, Runnable};
use super::task::NotCalled;
use super::{Call, Calls};
use crate::agent::event::Event;
use crate::agent::stop::{Stop, cancelled_after};
use crate::agent::turn::Turn;
use crate::agent::turn::reading::reader;
use crate::domain::{CallId, Effect, Participant, ToolCall, ToolResult, UserId};
use crate::permission::Breadth;
use crate::store::{AttachedRows, AttemptRow, AuditDecision, AuditRow, CallEnd, StoreError};
use crate::text;
use crate::tools::guard::{self, Ran};
use crate::tools::{Caller, OnlyLooks, Prepared, ToolContext, has_effects};

/// Characters of a failure that a card shows.
const SHOWN_FAILURE: usize = 200;

/// Characters of a failure that the ledger keeps where the model is told something else.
const KEPT_FAILURE: usize = 2_000;

impl Calls<'_> {
    /// Starts a call that may run (D6), runs it, and stores its result (D7).
    pub(super) async fn run_one(
        &self,
        call: &Call,
        mut runnable: Runnable,
        audit: AuditRow,
    ) -> Result<ToolResult, StoreError> {
        if let Some(question) = runnable.prepared.question.clone() {
            return Box::pin(self.ask_person(call, &question, &runnable, audit)).await;
        }
        let attached = AttachedRows {
            audit: vec![audit],
            ..AttachedRows::default()
        };
        let (store, turn) = (&self.turn.context.deps.store, self.turn.context.id());
        match runnable.for_child() {
            None => store.start_call(turn, &call.id, attached).await?,
            Some(assignment) => {
                let new = assignment.new_child(self.turn, Some(call.id.clone())).await;
                let begun = store.start_child(turn, &call.id, &new, attached).await;
                let conversation = match begun {
                    Err(StoreError::NotFound(_)) if new.goes_on.is_some() => {
                        let action = runnable.prepared.action.to_string();
                        let why = NotCalled::AtWork.to_string();
                        return self.deny(call, &action, &why).await;
                    }
                    begun => begun?,
                };
                runnable.begins(new, conversation);
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
        let Runnable {
            prepared,
            allowed_by,
            approval,
            breadth,
            child,
            ..
        } = runnable;
        if let Some(child) = child {
            let room = self.results.clone();
            let result = Box::pin(self.sub_agents.run(self.turn, call, child, room)).await;
            self.tell_end(approval, None);
            return result;
        }
        let people = if prepared.info.by_people {
            self.turn.context.people_now().await?
        } else {
            Vec::new()
        };
        // A tool ends with the turn's time.
        let stop = self.turn.context.stop.now().child_token();
        let _deadline = cancelled_after(&stop, self.turn.time_left());
        let mut context = tool_context(self.turn, call.id.clone(), people, stop);
        context.room = self.results.clone();
        context.allowed_by = allowed_by;
        context.breadth = breadth;
        context.reader = prepared.asks.then(|| reader(self.turn));
        context.progress = Some(self.turn.live.teller());
        let began = Instant::now();
        let (name, tool) = (prepared.name().to_owned(), prepared.info.name);
        let Ran { result, effect } = match self.still_permits(tool).await {
            Ok(()) => Box::pin(guard::run(prepared, &context)).await,
            Err(refusal) => Ran {
                result: ToolResult {
                    call_id: call.id.clone(),
                    name: call.written.clone(),
                    content: format!("Error: {refusal}"),
                    is_error: true,
                    images: Vec::new(),
                },
                effect: None,
            },
        };
        let took = began.elapsed();
        let (mut result, kept) = self.told_of_failure(result);
        let ran = AttachedRows {
            attempts: vec![AttemptRow {
                detail: kept.or_else(|| effect.as_ref().and_then(Effect::to_text)),
                ..self.turn.context.tool_row(&result, took)
            }],
            ..AttachedRows::default()
        };
        result.name.clone_from(&call.written);
        let store = &self.turn.context.deps.store;
        let end = self.end_of(&name);
        store
            .finish_call_as(self.turn.context.id(), &result, end, ran)
            .await?;
        if let Some(effect) = &effect {
            self.turn.context.run.receipt.lock().add(effect);
        }
        self.tell_end(approval, Some(outcome(&result, effect.as_ref(), took)));
        Ok(result)
    }

    /// How a call of this tool ended, as the ledger has it.
    fn end_of(&self, tool: &str) -> CallEnd {
        let context = &self.turn.context;
        if context.stop.asked() == Some(Stop::Shutdown) && has_effects(tool) {
            // It may have been done in this very moment: people are asked rather than told that it was not.
            context.run.cut();
            CallEnd::Interrupted
        } else if self.runs_again {
            CallEnd::RanAgain
        } else {
            CallEnd::Finished
        }
    }

    /// Tells how a call ended that people allowed, if they did.
    pub(super) fn tell_end(&self, approval: Option<i64>, outcome: Option<String>) {
        if let Some(approval) = approval {
            let ended = Event::CallEnded { approval, outcome };
            self.turn.context.deps.emit(ended);
        }
    }

    /// Checks once more that the operator allows the tool in the agent's folder: the call may have waited for people.
    async fn still_permits(&self, tool: &str) -> Result<(), OnlyLooks> {
        let context = &self.turn.context;
        let folder = context.deps.folder(&context.agent);
        context.deps.workspace_state(folder).await.permits(tool)
    }

    /// What the role tells the model in place of a tool's failure, and the failure itself, for the log and the ledger.
    fn told_of_failure(&self, result: ToolResult) -> (ToolResult, Option<String>) {
        let instead = self.turn.setup.error_for(&result.name);
        let Some(instead) = instead.filter(|_| result.is_error) else {
            return (result, None);
        };
        let redactor = &self.turn.context.deps.services.redactor;
        let kept = text::one_line(&redactor.redact(&result.content), KEPT_FAILURE);
        warn!(turn.id = %self.turn.context.id(), "failed to run {}: {kept}", result.name);
        let told = ToolResult {
            content: format!("Error: {instead}"),
            images: Vec::new(),
            ..result
        };
        (told, Some(kept))
    }
}

/// How a call ended, for its card.
fn outcome(result: &ToolResult, effect: Option<&Effect>, took: Duration) -> String {
    let done = || format!("done after {:.1} s", took.as_secs_f64());
    if result.is_error {
        let why = result.content.lines().next().unwrap_or_default();
        let why = why.strip_prefix("Error: ").unwrap_or(why);
        return format!("failed: {}", text::one_line(why, SHOWN_FAILURE));
    }
    let words = effect.map(Effect::words);
    words.filter(|words| !words.is_empty()).unwrap_or_else(done)
}

/// Closes a call that does not run, with one audit row.
pub(in crate::agent) async fn refuse(
    turn: &Turn,
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
        audit: vec![turn.context.audit_row(
            call,
            action,
            decision,
            by,
            json!({ "reason": reason }),
        )],
        ..AttachedRows::default()
    };
    turn.context
        .deps
        .store
        .refuse_call(turn.context.id(), &result, attached)
        .await?;
    let is_denied = match decision {
        AuditDecision::AskDenied | AuditDecision::AskExpired => true,
        AuditDecision::Deny => reason.starts_with(NOT_PERMITTED),
        _ => false,
    };
    if is_denied {
        turn.context.run.receipt.lock().deny();
    }
    Ok(result)
}

/// What a tool is called with.
pub(in crate::agent) fn tool_context(
    turn: &Turn,
    call: CallId,
    people: Vec<Participant>,
    stop: CancellationToken,
) -> ToolContext {
    let caller = Caller {
        agent: turn.context.agent.id,
        name: turn.context.agent.name.clone(),
        guild: turn.context.agent.guild,
        channel: turn.context.reference.channel,
        conversation: turn.context.conversation,
        turn: turn.context.id(),
        call,
        config: turn.setup.config.clone(),
        shelf: turn.shelf.clone(),
        people,
        allowed_by: None,
        breadth: Breadth::Narrow,
        has_message: !turn.context.run.people().is_empty(),
        depth: turn.context.run.hops(),
        most_hops: turn.context.deps.most_hops(),
        hides_words: turn.context.run.hides_words(),
        stop,
        abort: turn.context.stop.aborted().clone(),
    };
    ToolContext {
        caller,
        services: turn.context.deps.services.clone(),
        room: None,
        rights: Arc::new(turn.context.deps.rights_of(&turn.setup)),
        address: None,
        reader: None,
        progress: None,
    }
}

/// The audit row of a call that runs without a question.
pub(super) async fn audit_allowed(turn: &Turn, call: &ToolCall, prepared: &Prepared) -> AuditRow {
    let action = prepared.action.to_string();
    let allowed = AuditDecision::Allow;
    let led = leads(prepared);
    let audit = turn.context.audit_row(call, &action, allowed, None, led);
    with_change(turn, call, prepared, audit).await
}

/// Adds what the call would change in the agent's configuration.
pub(super) async fn with_change(
    turn: &Turn,
    call: &ToolCall,
    prepared: &Prepared,
    mut audit: AuditRow,
) -> AuditRow {
    let stop = turn.context.stop.now().clone();
    let context = tool_context(turn, call.id.clone(), Vec::new(), stop);
    if let Some(change) = prepared.change(&context).await {
        audit.detail = turn.context.deps.audit_change(&change);
    }
    audit
}

/// Where a call leads that does not say so itself, for its audit row; null where it leads nowhere else.
pub(super) fn leads(prepared: &Prepared) -> Value {
    let mut led = Map::new();
    if let Some(reached) = prepared.action.reached() {
        led.insert("reached".to_owned(), reached.to_string().into());
    }
    if let Some(address) = &prepared.address {
        led.insert("address".to_owned(), address.as_str().into());
    }
    if led.is_empty() {
        Value::Null
    } else {
        Value::Object(led)
    }
}
