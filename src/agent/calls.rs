//! Runs the tool calls of one answer: judged, asked about, started, run, and each closed with exactly one result.
//!
//! It does not know how a sub-agent works: whoever surrounds the turn answers for that ([`SubAgents`]).

mod ask;
mod execute;
mod judge;
mod person;
pub(super) mod task;

use std::collections::VecDeque;
use std::ops::Deref;

use async_trait::async_trait;
use futures_util::future::join_all;
use serde_json::Value;

use self::execute::audit_allowed;
use self::judge::{Checked, Looked, Runnable, side_by_side, to_ask};
use self::task::{Assignment, BegunChild, NotCalled};
use super::turn::Turn;
use super::turn::last_words::LastWords;
use crate::domain::{Assistant, Author, ToolCall, ToolResult};
use crate::permission::{Effort, ProfileError, Stack};
use crate::store::{AttachedRows, AuditDecision, Starting, StoreError};
use crate::text::long;
use crate::tools::{Delegation, ResultRoom};

pub(super) use self::execute::{refuse, tool_context};

/// What the model is told about a call that a stop prevented.
const STOPPED: &str = "it did not run: the turn was stopped";
/// What the model is told about a call that came after the turn's working time.
const TOO_LATE: &str = "it did not run: the working time of this turn is over";

/// A call of an answer. Everything works with `meant`; only the history has what the model wrote.
pub(in crate::agent) struct Call {
    /// The call of the tool that actually runs.
    pub(in crate::agent) meant: ToolCall,
    /// The tool name that the model wrote, which its result carries.
    pub(in crate::agent) written: String,
}

impl Call {
    pub(in crate::agent) fn of(call: &ToolCall) -> Self {
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

/// The sub-agents that the calls of a turn may start.
#[async_trait]
pub(super) trait SubAgents: Send + Sync {
    /// Reads again which roles the turn may call.
    async fn look(&mut self, turn: &Turn);

    /// Checks a call of a role.
    ///
    /// # Errors
    ///
    /// When no role may be called.
    fn assign(&self, turn: &Turn, call: &Delegation) -> Result<Assignment, NotCalled>;

    /// Runs the sub-agent that answers a call, to its end. Its report shares `room` with the results of the other calls.
    async fn run(
        &self,
        turn: &Turn,
        call: &Call,
        begun: BegunChild,
        room: Option<ResultRoom>,
    ) -> Result<ToolResult, StoreError>;

    /// Waits until the turn may work again, now that its calls have ended.
    async fn have_ended(&self, turn: &Turn);
}

/// Says why a call may not run, before anything else of it is looked at.
pub(super) type Refuses<'a> = &'a (dyn Fn(&Call) -> Option<String> + Sync);

/// The calls of an answer in the order in which they run: questions to people come last.
struct Ordered {
    calls: Vec<Call>,
    looked: Vec<Looked>,
    /// The place of each among those that the model wrote.
    places: Vec<usize>,
    /// How many of them put no question.
    before_questions: usize,
}

impl Ordered {
    fn of(calls: Vec<Call>, looked: Vec<Looked>) -> Self {
        let mut all: Vec<_> = calls.into_iter().zip(looked).enumerate().collect();
        all.sort_by_key(|(_, (_, looked))| looked.asks_person());
        let asks = all.iter().filter(|(_, (_, looked))| looked.asks_person());
        let before_questions = all.len() - asks.count();
        let mut ordered = Self {
            calls: Vec::with_capacity(all.len()),
            looked: Vec::with_capacity(all.len()),
            places: Vec::with_capacity(all.len()),
            before_questions,
        };
        for (place, (call, looked)) in all {
            ordered.calls.push(call);
            ordered.looked.push(looked);
            ordered.places.push(place);
        }
        ordered
    }
}

/// The calls of one step.
pub(super) struct Calls<'a> {
    turn: &'a mut Turn,
    sub_agents: &'a mut dyn SubAgents,
    /// What their results share; `None` with a single call that no sub-agent answers.
    results: Option<ResultRoom>,
    /// Whether a person has them run again: they are of no answer of this turn.
    runs_again: bool,
}

impl<'a> Calls<'a> {
    pub(super) fn new(turn: &'a mut Turn, sub_agents: &'a mut dyn SubAgents) -> Self {
        Self {
            turn,
            sub_agents,
            results: None,
            runs_again: false,
        }
    }

    /// Stores `answer` and runs its calls. Returns them with their results, which the ledger has, in the order of the calls.
    pub(super) async fn run(
        mut self,
        answer: Assistant,
        refuses: Refuses<'_>,
    ) -> Result<Vec<(ToolCall, ToolResult)>, StoreError> {
        let size = answer.tool_calls.iter().map(ToolCall::size).sum();
        let calls: Vec<Call> =
            long::work_on(size, || answer.tool_calls.iter().map(Call::of).collect());
        let profiles = self.turn.context.deps.profiles_of(&self.turn.setup);
        if calls.iter().any(|call| call.name == "sub_agent") {
            self.sub_agents.look(self.turn).await;
        }
        let looked = self
            .judged(&calls, refuses, profiles.as_ref(), size)
            .await?;
        let has_children = looked.iter().any(Looked::has_child);
        let Ordered {
            calls,
            looked,
            places,
            before_questions,
        } = Ordered::of(calls, looked);
        let (first, _) = looked.split_at(before_questions);
        let together = side_by_side(first);
        let at_once = match (self.turn.context.stop.asked(), together) {
            (Some(_), _) => 0,
            (None, true) => before_questions,
            (None, false) => 1,
        };
        let said = answer.text.clone();
        let mut looked = self
            .record_with_calls(answer, &calls, looked, at_once)
            .await?;
        // The parent must be able to report what it paid for. None of its children has asked anything yet.
        let last_words = if has_children {
            LastWords::reserve(self.turn, calls.len()).await
        } else {
            None
        };
        self.results = self.turn.room_of_results(calls.len(), last_words.clone());
        let profiles = profiles.as_ref().ok();
        let results = if together {
            let questions = looked.split_off(before_questions);
            let (first, last) = calls.split_at(before_questions);
            let mut results = self.run_together(first, looked).await?;
            let answers = self.run_in_turn(&said, last, questions, profiles);
            results.extend(answers.await?);
            results
        } else {
            self.run_in_turn(&said, &calls, looked, profiles).await?
        };
        LastWords::keep(last_words, self.turn).await;
        self.sub_agents.have_ended(self.turn).await;
        self.turn.accounting.count_beside();
        let meant = calls.into_iter().map(|call| call.meant);
        let mut ran: Vec<_> = places.into_iter().zip(meant.zip(results)).collect();
        ran.sort_by_key(|(place, _)| *place);
        Ok(ran.into_iter().map(|(_, ran)| ran).collect())
    }

    /// Runs calls again that a restart had interrupted, in order: a person allowed each. Returns what each came to; those that
    /// are not permitted any more do not run.
    pub(super) async fn run_again(
        mut self,
        calls: &[ToolCall],
        by: &Author,
    ) -> Result<Vec<ToolResult>, StoreError> {
        self.runs_again = true;
        let calls: Vec<Call> = calls.iter().map(Call::of).collect();
        let size = calls.iter().map(|call| call.size()).sum();
        let profiles = self.turn.context.deps.profiles_of(&self.turn.setup);
        let looked = self.judged(&calls, &|_| None, profiles.as_ref(), size);
        let mut results = Vec::with_capacity(calls.len());
        for ((position, call), looked) in (0..).zip(&calls).zip(looked.await?) {
            let runnable = match (looked, self.prevented()) {
                (_, Some(why)) => Err(why.to_owned()),
                (Looked::Refused { reason, .. }, None) => Err(reason),
                (Looked::Run(one) | Looked::Ask(one, _), None) => Ok(one),
            };
            results.push(match runnable {
                Ok(runnable) => self.run_one_again(position, call, runnable, by).await?,
                Err(reason) => ToolResult {
                    call_id: call.id.clone(),
                    name: call.written.clone(),
                    content: format!("Error: {reason}"),
                    is_error: true,
                    images: Vec::new(),
                },
            });
        }
        Ok(results)
    }

    /// Starts a call again (D6), runs it, and stores its end (D7).
    async fn run_one_again(
        &self,
        position: u32,
        call: &Call,
        mut runnable: Runnable,
        by: &Author,
    ) -> Result<ToolResult, StoreError> {
        self.turn.shows_call(call);
        runnable.allowed_by = Some(by.id);
        let context = &self.turn.context;
        let action = runnable.prepared.action.to_string();
        let decision = AuditDecision::ResumeRerun;
        let row = context.audit_row(call, &action, decision, Some(by.id), Value::Null);
        let attached = AttachedRows {
            audit: vec![row],
            ..AttachedRows::default()
        };
        let started = (&call.id, call.name.as_str(), position);
        let store = &context.deps.store;
        store.start_again(context.id(), started, attached).await?;
        Box::pin(self.carry_out(call, runnable)).await
    }

    /// Judges all calls, and finds the sub-agents that they mean.
    async fn judged(
        &self,
        calls: &[Call],
        refuses: Refuses<'_>,
        profiles: Result<&Stack, &ProfileError>,
        size: usize,
    ) -> Result<Vec<Looked>, StoreError> {
        let most = self.turn.limits().calls;
        let checked = self.prepare(calls, size).await;
        let effort = Effort::default();
        let look = |(at, (call, checked)): (usize, (&Call, Checked))| {
            if at >= most {
                return Looked::Refused {
                    action: call.name.clone(),
                    reason: format!(
                        "over the limit of {most} calls in one step; call it again in the next"
                    ),
                };
            }
            match refuses(call) {
                Some(reason) => Looked::Refused {
                    action: call.name.clone(),
                    reason,
                },
                None => self.look(call, checked, profiles, &effort),
            }
        };
        let looked: Vec<Looked> = long::work_on(size, || {
            calls.iter().zip(checked).enumerate().map(look).collect()
        });
        self.with_whom_they_mean(looked).await
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
                // A question starts when it is stored itself.
                && runnable.prepared.question.is_none()
            {
                let audit = audit_allowed(self.turn, call, &runnable.prepared).await;
                self.turn.accounting.attached.audit.push(audit);
                starting.calls.push(call.id.clone());
                if let Some(assignment) = runnable.for_child() {
                    let new = assignment.new_child(self.turn, Some(call.id.clone())).await;
                    starting.children.push(new);
                }
                runnable.is_started = true;
            }
        }
        let mut children = starting.children.clone().into_iter();
        let recorded = self.turn.record_and_start(answer, starting).await?;
        let mut conversations = recorded.into_iter();
        for looked in &mut looked {
            if let Looked::Run(runnable) = looked
                && runnable.is_started
                && runnable.for_child().is_some()
                && let (Some(new), Some(conversation)) = (children.next(), conversations.next())
            {
                runnable.begins(new, conversation);
            }
        }
        Ok(looked)
    }

    /// Runs all calls at once: none needs an approval, and no two write the same path.
    async fn run_together(
        &self,
        calls: &[Call],
        looked: Vec<Looked>,
    ) -> Result<Vec<ToolResult>, StoreError> {
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        self.turn.doing(format!("Running {}", names.join(", ")));
        for call in calls {
            self.turn.note_recent(call);
        }
        let running = calls.iter().zip(looked).map(|(call, looked)| async move {
            let _counted = self.turn.clock.call();
            match looked {
                Looked::Run(runnable) if runnable.is_started => {
                    Box::pin(self.carry_out(call, runnable)).await
                }
                Looked::Run(runnable) => {
                    let audit = audit_allowed(self.turn, call, &runnable.prepared).await;
                    Box::pin(self.run_one(call, runnable, audit)).await
                }
                Looked::Refused { action, reason } => self.deny(call, &action, &reason).await,
                Looked::Ask(runnable, reason) => {
                    let action = runnable.prepared.action.to_string();
                    self.deny(call, &action, &reason).await
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
        let mut looked = VecDeque::from(looked);
        let mut asking = None;
        for (at, call) in calls.iter().enumerate() {
            let prevented = self.prevented();
            let is_asked_about = matches!(looked.front(), Some(Looked::Ask(..)));
            if is_asked_about && asking.is_none() && prevented.is_none() {
                let to_ask = to_ask(at, calls, &looked);
                asking = Some(self.ask_people(said, &to_ask, profiles).await?);
            }
            let Some(this) = looked.pop_front() else {
                break;
            };
            let result = match (this, &mut asking, prevented) {
                (Looked::Ask(runnable, _), Some(asking), _) => {
                    let decided = self.decision(asking, at).await?;
                    self.run_decided(call, runnable, decided).await?
                }
                (Looked::Run(runnable), _, _) if runnable.is_started => {
                    self.turn.shows_call(call);
                    self.carry_out(call, runnable).await?
                }
                (_, _, Some(why)) => self.deny(call, &call.name, why).await?,
                (Looked::Run(runnable), _, None) => {
                    self.turn.shows_call(call);
                    let audit = audit_allowed(self.turn, call, &runnable.prepared).await;
                    self.run_one(call, runnable, audit).await?
                }
                (Looked::Ask(runnable, reason), None, None) => {
                    let action = runnable.prepared.action.to_string();
                    self.deny(call, &action, &reason).await?
                }
                (Looked::Refused { action, reason }, _, None) => {
                    self.deny(call, &action, &reason).await?
                }
            };
            results.push(result);
        }
        Ok(results)
    }

    /// Returns why no further call begins, for the model.
    fn prevented(&self) -> Option<&'static str> {
        if self.turn.context.is_stopping() {
            Some(STOPPED)
        } else if self.turn.time_left().is_zero() {
            Some(TOO_LATE)
        } else {
            None
        }
    }

    /// Closes a call that does not run.
    async fn deny(
        &self,
        call: &Call,
        action: &str,
        reason: &str,
    ) -> Result<ToolResult, StoreError> {
        let denied = AuditDecision::Deny;
        refuse(self.turn, call, action, reason, denied, None).await
    }
}
