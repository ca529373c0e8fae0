//! Runs the tool calls of one answer: judged, asked about, started, run, and each closed with exactly one result.

mod carry_out;
mod look;

use std::ops::Deref;

use futures_util::future::join_all;

use super::Turn;
use super::children::BegunChild;
use super::stuck::Stuck;
use crate::domain::{Assistant, ToolCall, ToolResult};
use crate::permission::{Effort, Stack};
use crate::store::{AuditDecision, Starting, StoreError};
use crate::text::long;

use self::look::{Checked, Looked, side_by_side, to_ask};

pub(super) use self::look::Runnable;

/// What the model is told about a call that a stop prevented.
const STOPPED: &str = "it did not run: the turn was stopped";
/// What the model is told about a call that came after the turn's working time.
const TOO_LATE: &str = "it did not run: the working time of this turn is over";

/// A call of an answer. Everything works with `meant`; only the history has what the model wrote.
pub(super) struct Call {
    /// The call of the tool that actually runs.
    pub(super) meant: ToolCall,
    /// The tool name that the model wrote, which its result carries.
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
    /// Stores `answer` and runs its calls; afterwards their results are in the ledger and the conversation, in the order of
    /// the calls.
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
        let checked = self.prepare(&calls, size).await;
        let effort = Effort::default();
        let look = |(at, (call, checked)): (usize, (&Call, Checked))| {
            if at < most {
                self.look(call, checked, profiles.as_ref(), &effort)
            } else {
                Looked::Refused {
                    action: call.name.clone(),
                    reason: format!(
                        "over the limit of {most} calls in one step; call it again in the next"
                    ),
                }
            }
        };
        let looked: Vec<Looked> = long::work_on(size, || {
            calls.iter().zip(checked).enumerate().map(look).collect()
        });
        let looked = self.with_former(looked).await?;
        let has_children = looked.iter().any(Looked::has_child);
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
        // The parent must be able to report what it paid for. None of its children has asked anything yet.
        let last_words = if has_children {
            self.reserve_last_words(calls.len()).await
        } else {
            None
        };
        self.results = self.room_of_results(calls.len(), last_words.clone());
        let results = if together {
            self.run_together(&calls, looked).await?
        } else {
            let profiles = profiles.as_ref().ok();
            self.run_in_turn(&said, &calls, looked, profiles).await?
        };
        self.keep_last_words(last_words).await;
        self.take_place_again().await;
        self.accounting.count_beside();
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

    /// Stores the answer together with the start of those of its first `at_once` calls that may run: one wait for the disk.
    async fn record_with_calls(
        &mut self,
        answer: Assistant,
        calls: &[Call],
        mut looked: Vec<Looked>,
        at_once: usize,
    ) -> Result<Vec<Looked>, StoreError> {
        let mut starting = Starting::default();
        for (call, looked) in calls.iter().zip(&mut looked).take(at_once) {
            // Whether the conversation of a former child is still free is known only when it is continued.
            if let Looked::Run(runnable) = looked
                && runnable.for_child().is_none_or(|one| one.former.is_none())
            {
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

    /// Runs all at once: nobody is asked, and no two write the same path.
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
                Looked::Started(runnable) => Box::pin(this.carry_out(call, runnable)).await,
                Looked::Run(runnable) => {
                    let audit = this.audit_allowed(call, &runnable.prepared).await;
                    Box::pin(this.run_one(call, runnable, audit)).await
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

    /// Runs one after the other, asking where a person decides.
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
}
