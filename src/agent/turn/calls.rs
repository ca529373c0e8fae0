//! Runs the tool calls of one answer: judged, asked about, started, run, and each closed with exactly one result.

use std::collections::HashSet;
use std::ops::Deref;
use std::time::Instant;

use futures_util::future::join_all;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::agent::modes;
use crate::agent::stop::cancelled_after;
use crate::agent::stuck::Stuck;
use crate::domain::{Assistant, CALL_TOOL, CallId, Participant, ToolCall, ToolResult, UserId};
use crate::permission::{Decision, ProfileError, Stack, Verdict};
use crate::store::{AttachedRows, AttemptRow, AuditDecision, AuditRow, Starting, StoreError};
use crate::text::{self, long};
use crate::tools::{Caller, Prepared, ToolContext, guard};

use super::Turn;
use super::children::BegunChild;
use super::offer::{Assignment, NotCalled};
use super::question::ToAsk;

/// What the model is told of a call that a stop kept from running.
const STOPPED: &str = "it did not run: the turn was stopped";
/// What the model is told of a call that came after the turn's working time.
const TOO_LATE: &str = "it did not run: the working time of this turn is over";

/// Characters of a failure that the ledger keeps where the model is told something else.
const KEPT_FAILURE: usize = 2_000;

/// A call that may run, as far as is known.
#[derive(Clone)]
pub(super) struct Runnable {
    pub(super) prepared: Prepared,
    /// What it has a role do.
    pub(super) assignment: Option<Assignment>,
    /// Who allowed it, where somebody was asked.
    pub(super) allowed_by: Option<UserId>,
    /// The child turn that does it, once that is in the ledger.
    child: Option<BegunChild>,
}

impl Runnable {
    /// What a child turn does of it.
    fn for_child(&self) -> Option<&Assignment> {
        self.assignment.as_ref().filter(|one| one.waits)
    }
}

/// A call after it was looked at.
#[derive(Clone)]
enum Looked {
    Run(Runnable),
    /// It may run, and its start is in the ledger.
    Started(Runnable),
    /// A person decides.
    Ask(Runnable, String),
    /// It does not run.
    Refused {
        action: String,
        reason: String,
    },
}

impl Looked {
    fn has_child(&self) -> bool {
        match self {
            Self::Run(one) | Self::Started(one) | Self::Ask(one, _) => one.for_child().is_some(),
            Self::Refused { .. } => false,
        }
    }
}

/// A call of an answer. Everything goes by what it means; only the history has what the model wrote.
pub(super) struct Call {
    /// The call of the tool that runs.
    pub(super) meant: ToolCall,
    /// The name that the model wrote, by which its result is told.
    pub(super) written: String,
}

impl Call {
    pub(super) fn of(call: &ToolCall) -> Self {
        Self {
            meant: call.meant(),
            written: call.name.clone(),
        }
    }
}

impl Deref for Call {
    type Target = ToolCall;

    fn deref(&self) -> &ToolCall {
        &self.meant
    }
}

impl Turn {
    /// Stores `answer` and runs its calls; their results are in the ledger and the conversation, in the order of the calls.
    pub(super) async fn run_calls(
        &mut self,
        answer: Assistant,
    ) -> Result<Option<Stuck>, StoreError> {
        let size = answer.tool_calls.iter().map(ToolCall::size).sum();
        let calls: Vec<Call> =
            long::work_on(size, || answer.tool_calls.iter().map(Call::of).collect());
        let profiles = self.context.deps.profiles_of(&self.setup);
        let most = self.limits().calls;
        if calls.iter().any(|call| call.name == "sub_agent") {
            self.look_for_roles().await;
        }
        let look = |(at, call): (usize, &Call)| {
            if at < most {
                self.look(call, profiles.as_ref())
            } else {
                Looked::Refused {
                    action: call.name.clone(),
                    reason: format!(
                        "over the limit of {most} calls in one step; call it again in the next"
                    ),
                }
            }
        };
        let looked: Vec<Looked> =
            long::work_on(size, || calls.iter().enumerate().map(look).collect());
        let looked = self.with_former(looked).await?;
        let assignments = looked.iter().filter(|looked| looked.has_child()).count();
        // Of what was paid for must be told.
        let _last_words = (assignments > 0).then(|| self.hold_last_words(assignments));
        let together = side_by_side(&looked);
        let at_once = match (self.context.stop.asked(), together) {
            (Some(_), _) => 0,
            (None, true) => calls.len(),
            (None, false) => 1,
        };
        let said = answer.text.clone();
        let looked = self
            .record_with_calls(answer, &calls, looked, at_once)
            .await?;
        self.results = (calls.len() > 1).then(|| self.room_of_results());
        let results = if together {
            self.run_together(&calls, looked).await?
        } else {
            let profiles = profiles.as_ref().ok();
            self.run_in_turn(&said, &calls, looked, profiles).await?
        };
        self.take_place_again().await;
        self.count_what_was_read();
        let meant = calls.into_iter().map(|call| call.meant);
        let step: Vec<_> = meant.zip(results).collect();
        let stuck = long::work_on(size, || self.stuck.record_step(&step));
        for (_, result) in step {
            self.transcript
                .push(crate::domain::Item::ToolResult(result));
        }
        self.context.deps.activity(self.context.payer());
        Ok(stuck)
    }

    /// Stores the answer, and as started those of its first `at_once` calls that may run: one wait for the disk.
    async fn record_with_calls(
        &mut self,
        answer: Assistant,
        calls: &[Call],
        mut looked: Vec<Looked>,
        at_once: usize,
    ) -> Result<Vec<Looked>, StoreError> {
        let mut starting = Starting::default();
        for (call, looked) in calls.iter().zip(&mut looked).take(at_once) {
            if let Looked::Run(runnable) = looked {
                let audit = self.audit_allowed(call, &runnable.prepared).await;
                self.accounting.attached.audit.push(audit);
                starting.calls.push(call.id.clone());
                if let Some(assignment) = runnable.for_child() {
                    starting
                        .children
                        .push(self.new_child(Some(call.id.clone()), assignment).await);
                }
                *looked = Looked::Started(runnable.clone());
            }
        }
        let mut children = starting.children.clone().into_iter();
        let mut conversations = self.record_and_start(answer, starting).await?.into_iter();
        for looked in &mut looked {
            if let Looked::Started(runnable) = looked
                && runnable.for_child().is_some()
                && let (Some(new), Some(conversation)) = (children.next(), conversations.next())
            {
                runnable.child = Some(BegunChild { new, conversation });
            }
        }
        Ok(looked)
    }

    /// Checks and judges a call. Nothing of it has run.
    fn look(&self, call: &Call, profiles: Result<&Stack, &ProfileError>) -> Looked {
        if call.name != CALL_TOOL
            && let Err(refusal) = self.setup.has_tool(&call.name)
        {
            return Looked::Refused {
                action: call.name.clone(),
                reason: refusal.to_string(),
            };
        }
        let prepared = match self.context.deps.tools.prepare(&call.name, &call.arguments) {
            Ok(prepared) => prepared,
            Err(invalid) => {
                return Looked::Refused {
                    action: call.name.clone(),
                    reason: invalid.to_string(),
                };
            }
        };
        if !modes::has_tool(self.mode(), prepared.info.name) {
            return Looked::Refused {
                action: prepared.action.to_string(),
                reason: modes::has_not(self.mode()),
            };
        }
        let Verdict { decision, reason } = match profiles {
            Ok(profiles) => {
                profiles.decide(&prepared.action, &self.setup.payer().config.always_allow)
            }
            Err(invalid) => Verdict::deny(invalid.to_string()),
        };
        let assignment = prepared
            .delegation
            .as_ref()
            .filter(|_| decision != Decision::Deny);
        let assignment = match assignment
            .map(|delegation| self.assignment(delegation))
            .transpose()
        {
            Ok(assignment) => assignment,
            Err(why) => {
                return Looked::Refused {
                    action: prepared.action.to_string(),
                    reason: why.to_string(),
                };
            }
        };
        let runnable = Runnable {
            prepared,
            assignment,
            allowed_by: None,
            child: None,
        };
        match decision {
            Decision::Allow => Looked::Run(runnable),
            Decision::Ask => Looked::Ask(runnable, reason),
            Decision::Deny => Looked::Refused {
                action: runnable.prepared.action.to_string(),
                reason: format!("not permitted: {reason}"),
            },
        }
    }

    /// Looks up the former sub-agents that calls go on with, and the agents that they name.
    async fn with_former(&self, looked: Vec<Looked>) -> Result<Vec<Looked>, StoreError> {
        let mut found = Vec::with_capacity(looked.len());
        let mut going_on = HashSet::new();
        for mut one in looked {
            if let Looked::Run(runnable) | Looked::Ask(runnable, _) = &mut one
                && let Some(assignment) = &mut runnable.assignment
                && let Err(why) = self.find_whom(assignment).await?.and_then(|()| {
                    // Two of one step would write in one conversation.
                    let is_free = assignment
                        .former
                        .is_none_or(|former| going_on.insert(former));
                    is_free.then_some(()).ok_or(NotCalled::AtWork)
                })
            {
                one = Looked::Refused {
                    action: runnable.prepared.action.to_string(),
                    reason: why.to_string(),
                };
            }
            found.push(one);
        }
        Ok(found)
    }

    /// All at once: nobody is asked, and no two write the same path.
    async fn run_together(
        &mut self,
        calls: &[Call],
        looked: Vec<Looked>,
    ) -> Result<Vec<ToolResult>, StoreError> {
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        self.doing(format!("Running {}", names.join(", ")));
        for call in calls {
            self.note_recent(call);
        }
        let this: &Self = self;
        let running = calls.iter().zip(looked).map(|(call, looked)| async move {
            let _counted = this.clock.call();
            match looked {
                Looked::Started(runnable) => this.carry_out(call, runnable).await,
                Looked::Run(runnable) => {
                    let audit = this.audit_allowed(call, &runnable.prepared).await;
                    this.run_one(call, runnable, audit).await
                }
                Looked::Refused { action, reason } => {
                    this.refuse(call, &action, &reason, AuditDecision::Deny, None)
                        .await
                }
                Looked::Ask(runnable, reason) => {
                    this.refuse(
                        call,
                        &runnable.prepared.action.to_string(),
                        &reason,
                        AuditDecision::Deny,
                        None,
                    )
                    .await
                }
            }
        });
        join_all(running).await.into_iter().collect()
    }

    /// One after the other, asking where a person decides.
    async fn run_in_turn(
        &mut self,
        said: &str,
        calls: &[Call],
        looked: Vec<Looked>,
        profiles: Option<&Stack>,
    ) -> Result<Vec<ToolResult>, StoreError> {
        let mut results = Vec::with_capacity(calls.len());
        let mut asking = None;
        for (at, call) in calls.iter().enumerate() {
            let Some(looked_at) = looked.get(at) else {
                break;
            };
            let result = match (looked_at.clone(), &mut asking) {
                (Looked::Ask(runnable, _), Some(asking)) => {
                    let decided = self.decision(asking, at).await?;
                    self.run_decided(call, runnable, decided).await?
                }
                (this, _) => match this {
                    Looked::Started(runnable) => {
                        self.shows_call(call);
                        self.carry_out(call, runnable).await?
                    }
                    _ if self.context.stop.asked().is_some() => {
                        self.refuse(call, &call.name, STOPPED, AuditDecision::Deny, None)
                            .await?
                    }
                    _ if self.time_left().is_zero() => {
                        self.refuse(call, &call.name, TOO_LATE, AuditDecision::Deny, None)
                            .await?
                    }
                    Looked::Run(runnable) => {
                        self.shows_call(call);
                        let audit = self.audit_allowed(call, &runnable.prepared).await;
                        self.run_one(call, runnable, audit).await?
                    }
                    Looked::Ask(runnable, _) => {
                        let to_ask = to_ask(at, calls, &looked);
                        let mut asked = self.ask_people(said, &to_ask, profiles).await?;
                        let decided = self.decision(&mut asked, at).await?;
                        asking = Some(asked);
                        self.run_decided(call, runnable, decided).await?
                    }
                    Looked::Refused { action, reason } => {
                        self.refuse(call, &action, &reason, AuditDecision::Deny, None)
                            .await?
                    }
                },
            };
            results.push(result);
        }
        Ok(results)
    }

    /// Starts a call that may run (D6), runs it, and stores what it gave (D7).
    pub(super) async fn run_one(
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
                let begun = store.start_child(turn, &call.id, &new, attached);
                let conversation = begun.await?;
                runnable.child = Some(BegunChild { new, conversation });
            }
        }
        self.carry_out(call, runnable).await
    }

    /// Runs a call whose start is in the ledger, and stores what it gave (D7).
    async fn carry_out(&self, call: &Call, runnable: Runnable) -> Result<ToolResult, StoreError> {
        let (prepared, allowed_by) = match runnable {
            Runnable {
                child: Some(child),
                assignment: Some(assignment),
                ..
            } => return self.run_child(call, assignment, child).await,
            Runnable {
                prepared,
                allowed_by,
                ..
            } => (prepared, allowed_by),
        };
        let people = if prepared.info.by_people {
            self.context.people_now().await?
        } else {
            Vec::new()
        };
        // A tool does not work on when the turn's time is over.
        let stop = self.context.stop.now().child_token();
        let _deadline = cancelled_after(&stop, self.time_left());
        let mut context = self.tool_context(call.id.clone(), people, stop);
        context.allowed_by = allowed_by;
        context.reader = prepared.asks.then(|| self.reader());
        let began = Instant::now();
        let result = guard::run(prepared, &context).await;
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

    /// What the role says in place of a tool's failure, and the failure itself, which goes to the log and the ledger.
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
    pub(super) async fn refuse(
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

    /// What a tool is called with.
    pub(super) fn tool_context(
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
            has_message: !self.context.run.people().is_empty(),
            depth: self.context.depth,
            stop,
            abort: self.context.stop.aborted().clone(),
        };
        ToolContext {
            caller,
            services: self.context.deps.services.clone(),
            room: self.results.clone(),
            reader: None,
        }
    }
}

/// The calls from `first` on that people are to be asked about.
fn to_ask<'a>(first: usize, calls: &'a [Call], looked: &'a [Looked]) -> Vec<ToAsk<'a>> {
    let all = calls.iter().zip(looked).enumerate().skip(first);
    all.filter_map(|(at, (call, looked))| match looked {
        Looked::Ask(runnable, reason) => Some(ToAsk {
            at,
            call,
            prepared: &runnable.prepared,
            reason,
        }),
        Looked::Run(_) | Looked::Started(_) | Looked::Refused { .. } => None,
    })
    .collect()
}

/// Whether the calls may run at once: nobody is asked, and no two write the same path.
fn side_by_side(looked: &[Looked]) -> bool {
    let mut written = HashSet::new();
    looked.len() > 1
        && looked.iter().all(|looked| match looked {
            Looked::Ask(..) => false,
            Looked::Refused { .. } => true,
            Looked::Run(one) | Looked::Started(one) => match &one.prepared.writes {
                Some(path) => written.insert(path.clone()),
                None => true,
            },
        })
}
