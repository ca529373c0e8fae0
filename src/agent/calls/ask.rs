//! Asks people whether calls may run (D4), and runs exactly what they were shown (D5).
//!
//! The calls of one step that need a person are asked about together, in one message. Each is decided by itself, and runs in
//! the order of the calls.

use std::time::Duration;

use futures_util::future::select_all;
use serde_json::{Value, json};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::mpsc::{self, Receiver};
use tokio::time::Instant;
use tracing::warn;

use super::execute::{leads, refuse, tool_context, with_change};
use super::judge::Runnable;
use super::{Call, Calls};
use crate::agent::event::{Answer, AskedCall, Choice, Event, Presses, Question, QuestionEnd};
use crate::agent::stop::StopSignal;
use crate::clock;
use crate::domain::{AgentConfig, ToolResult, UserId, size_of_fields};
use crate::permission::{Action, Effort, Group, Stack, binding_hash};
use crate::store::{
    AttachedRows, AuditDecision, Decision as Stored, NewQuestion, Settled, StoreError,
};
use crate::text::{self, long};
use crate::tools::Prepared;

/// Characters of the model's own words that are shown as the reason of a question.
const WHY: usize = 300;

/// What is said about a call whose approval is no longer valid.
const CHANGED: &str = "what was approved changed before it could run; ask again";

/// Answers about one call: what somebody allowed, and a denial that overrules it.
const ANSWERS: usize = 2;

/// Longest wait for presses that have arrived: each takes a look at a file.
const SETTLES_WITHIN: Duration = Duration::from_secs(10);

/// A call that people are to be asked about.
pub(super) struct ToAsk<'a> {
    /// Its place among the calls of the step.
    pub(super) at: usize,
    pub(super) call: &'a Call,
    pub(super) prepared: &'a Prepared,
    /// Why a person is asked.
    pub(super) reason: &'a str,
}

/// Calls that people were asked about together.
pub(super) struct Asking {
    waiting: Vec<Waiting>,
    presses: Presses,
    /// When silence means no.
    expires: Instant,
}

/// One of them.
struct Waiting {
    at: usize,
    approval: i64,
    prepared: Prepared,
    /// A hash of what was shown; `None` where no profile could be read.
    binding: Option<String>,
    answered: Receiver<Answer>,
    decided: Option<Decided>,
}

/// How a call was decided.
#[derive(Clone)]
pub(super) struct Decided {
    approval: i64,
    binding: Option<String>,
    by: Option<UserId>,
    always: bool,
    /// How the audit log has it.
    word: AuditDecision,
    /// Why it does not run, for the model.
    refusal: Option<String>,
}

/// How a question ended.
enum Ended {
    Answered(Answer),
    Expired,
    Stopped,
}

impl Ended {
    /// Whether a person allowed it.
    const fn allows(&self) -> bool {
        match self {
            Self::Answered(answer) => !matches!(answer.choice, Choice::Deny),
            Self::Expired | Self::Stopped => false,
        }
    }

    const fn answered_by(&self) -> Option<UserId> {
        match self {
            Self::Answered(answer) => Some(answer.by),
            Self::Expired | Self::Stopped => None,
        }
    }
}

/// What is waited for.
enum Next {
    Answer(usize, Option<Answer>),
    Expired,
    Stopped,
}

impl Asking {
    fn of(&self, at: usize) -> Option<&Waiting> {
        self.waiting.iter().find(|waiting| waiting.at == at)
    }

    /// Indices of the calls that nobody has decided yet.
    fn open(&self) -> Vec<usize> {
        let all = self.waiting.iter().enumerate();
        all.filter(|(_, waiting)| waiting.decided.is_none())
            .map(|(index, _)| index)
            .collect()
    }

    /// The next answer to an open call; waits for ever when there is none.
    async fn next_answer(&mut self) -> (usize, Option<Answer>) {
        let open = self.open();
        let waiting = self.waiting.iter_mut();
        let answers: Vec<_> = waiting
            .filter(|waiting| waiting.decided.is_none())
            .map(|waiting| Box::pin(waiting.answered.recv()))
            .collect();
        if answers.is_empty() {
            return std::future::pending().await;
        }
        let (answer, which, _) = select_all(answers).await;
        (open.get(which).copied().unwrap_or_default(), answer)
    }
}

impl Calls<'_> {
    /// Asks people about calls of one step, which these profiles judged. `said` is what the model said before them.
    pub(super) async fn ask_people(
        &mut self,
        said: &str,
        asked: &[ToAsk<'_>],
        profiles: Option<&Stack>,
    ) -> Result<Asking, StoreError> {
        let time = self.time_of_approvals();
        let expires_at = clock::now() + time;
        let expires = Instant::now() + time;
        let size: usize = asked.iter().map(|one| one.call.size()).sum();
        let mut questions = Vec::with_capacity(asked.len());
        let mut bindings = Vec::with_capacity(asked.len());
        for one in asked {
            let binding =
                profiles.map(|profiles| long::work_on(size, || self.bound(one.prepared, profiles)));
            questions.push(NewQuestion {
                turn: self.turn.context.id(),
                call: one.call.id.clone(),
                channel: self.turn.context.reference.channel,
                action: one.prepared.action.to_string(),
                binding: binding.clone().unwrap_or_default(),
                expires_at,
            });
            bindings.push(binding);
        }
        let approvals = self
            .turn
            .context
            .deps
            .store
            .open_questions(questions)
            .await?;
        let mut waiting = Vec::with_capacity(asked.len());
        let mut calls = Vec::with_capacity(asked.len());
        let effort = Effort::default();
        for ((one, approval), binding) in asked.iter().zip(approvals).zip(bindings) {
            let (answer, answered) = mpsc::channel(ANSWERS);
            calls.push(AskedCall {
                approval,
                call: one.call.id.clone(),
                tool: one.prepared.name().to_owned(),
                action: one.prepared.action.to_string(),
                reached: one
                    .prepared
                    .action
                    .reached()
                    .filter(|_| one.prepared.info.group != Group::Schedule)
                    .map(Action::to_string),
                preview: self.preview_of(one).await,
                address: one.prepared.address.clone(),
                reason: one.reason.to_owned(),
                arguments: long::work_on(size, || pretty(one.prepared)),
                sandbox: self.sandbox_of(one).await,
                may_be_kept: one.prepared.info.group != Group::Schedule
                    && self.turn.context.working_for.is_none()
                    && profiles.is_none_or(|profiles| {
                        let action = &one.prepared.action;
                        long::work_on(size, || profiles.asks_alone(action, &effort))
                    }),
                answer,
            });
            waiting.push(Waiting {
                at: one.at,
                approval,
                prepared: one.prepared.clone(),
                binding,
                answered,
                decided: None,
            });
        }
        let tools: Vec<&str> = calls.iter().map(|call| call.tool.as_str()).collect();
        self.turn
            .doing(format!("Waiting for approval: {}", tools.join(", ")));
        self.turn.live.asks(true);
        // What a role may still change is shown to nobody.
        let said = if self.turn.context.run.hides_words() {
            ""
        } else {
            said
        };
        let why = self.turn.context.deps.services.redactor.redact(said);
        let presses = Presses::default();
        self.turn
            .context
            .deps
            .emit(Event::Question(Box::new(Question {
                turn: self.turn.context.reference.clone(),
                why: text::one_line(&why, WHY),
                calls,
                requesters: requesters(
                    &self.turn.context.run.people(),
                    &self.turn.setup.payer().config,
                ),
                agents: self
                    .turn
                    .context
                    .agents()
                    .iter()
                    .map(|agent| agent.id)
                    .collect(),
                presses: presses.clone(),
                child: self.turn.context.asked_by(),
                expires_at,
            })));
        Ok(Asking {
            waiting,
            presses,
            expires,
        })
    }

    /// The decision on the call at this place, as soon as there is one. Decisions on other calls that come meanwhile are
    /// kept.
    pub(super) async fn decision(
        &mut self,
        asking: &mut Asking,
        at: usize,
    ) -> Result<Decided, StoreError> {
        loop {
            let decided = asking.of(at).and_then(|waiting| waiting.decided.clone());
            if let Some(decided) = decided {
                if asking.open().is_empty() {
                    self.turn.live.asks(false);
                }
                return Ok(decided);
            }
            let stop = self.turn.context.stop.clone();
            let expires = asking.expires;
            let next = self
                .turn
                .clock
                .off(async {
                    tokio::select! {
                        biased;
                        () = stop.now().cancelled() => Next::Stopped,
                        (which, answer) = asking.next_answer() => Next::Answer(which, answer),
                        () = tokio::time::sleep_until(expires) => Next::Expired,
                    }
                })
                .await;
            match next {
                Next::Answer(which, answer) => {
                    let ended = answer.map_or(Ended::Expired, Ended::Answered);
                    self.close_question(asking, which, ended).await?;
                    self.close_answered(asking).await?;
                }
                Next::Expired => {
                    for which in asking.open() {
                        self.close_question(asking, which, Ended::Expired).await?;
                    }
                }
                Next::Stopped => {
                    for which in asking.open() {
                        self.close_question(asking, which, Ended::Stopped).await?;
                    }
                }
            }
        }
    }

    /// Stores what else was decided by the same press.
    async fn close_answered(&mut self, asking: &mut Asking) -> Result<(), StoreError> {
        for which in asking.open() {
            let Some(waiting) = asking.waiting.get_mut(which) else {
                continue;
            };
            let ended = match waiting.answered.try_recv() {
                Ok(answer) => Ended::Answered(answer),
                Err(TryRecvError::Disconnected) => Ended::Expired,
                Err(TryRecvError::Empty) => continue,
            };
            self.close_question(asking, which, ended).await?;
        }
        Ok(())
    }

    /// Returns who is behind the turn from now on: a person who gave a reason, because the model reads it.
    fn words_of(&self, ended: &Ended) -> AttachedRows {
        let speaks = match ended {
            Ended::Answered(answer) if answer.reason.is_some() => {
                Some((self.turn.context.id(), answer.by))
            }
            _ => None,
        };
        AttachedRows {
            speaks,
            ..AttachedRows::default()
        }
    }

    /// Stores how a question ended (D5), and has its message updated.
    async fn close_question(
        &mut self,
        asking: &mut Asking,
        which: usize,
        ended: Ended,
    ) -> Result<(), StoreError> {
        let Some(approval) = asking.waiting.get(which).map(|one| one.approval) else {
            return Ok(());
        };
        let decided = judged(&ended, &self.turn.context.stop);
        let store = &self.turn.context.deps.store;
        let settled = store
            .decide_question(
                approval,
                decided.stored,
                ended.answered_by(),
                self.words_of(&ended),
            )
            .await?;
        let denial = self.denial_since(asking, which, &ended).await;
        let (ended, decided) = match denial {
            Some(denial) if settled == Settled::Now => {
                let store = &self.turn.context.deps.store;
                let (by, ended) = (denial.by, Ended::Answered(denial));
                let words = self.words_of(&ended);
                store.overrule_question(approval, by, words).await?;
                let decided = judged(&ended, &self.turn.context.stop);
                (ended, decided)
            }
            Some(_) | None => (ended, decided),
        };
        if let Some((_, by)) = self.words_of(&ended).speaks {
            self.turn.context.run.speaks(by);
        }
        let Some(waiting) = asking.waiting.get_mut(which) else {
            return Ok(());
        };
        let is_same = self.binding(&waiting.prepared).await == waiting.binding;
        let is_changed = decided.refusal.is_none() && !(settled == Settled::Now && is_same);
        self.turn.context.deps.emit(Event::QuestionClosed {
            approval,
            end: match (is_changed, decided.by) {
                (true, Some(by)) => QuestionEnd::Changed { by },
                _ => end_of(ended, &self.turn.context.stop),
            },
        });
        waiting.decided = Some(Decided {
            approval,
            binding: waiting.binding.clone(),
            by: decided.by,
            always: decided.stored == Stored::AlwaysAllow,
            word: if is_changed {
                AuditDecision::Deny
            } else {
                decided.word
            },
            refusal: decided
                .refusal
                .or_else(|| is_changed.then(|| CHANGED.to_owned())),
        });
        Ok(())
    }

    /// Takes no further answer about a call, once all presses that have arrived are judged. Returns the denial among them that
    /// overrules `ended`, where that allows the call: who denies in the same moment does not want it to run.
    async fn denial_since(
        &self,
        asking: &mut Asking,
        which: usize,
        ended: &Ended,
    ) -> Option<Answer> {
        if ended.allows() {
            let settles = self.turn.clock.off(asking.presses.settle());
            let stop = self.turn.context.stop.now();
            let settled = stop.run_until_cancelled(tokio::time::timeout(SETTLES_WITHIN, settles));
            if let Some(Err(_)) = settled.await {
                warn!(turn.id = %self.turn.context.id(), "a press on a question was not judged in time; what was decided before counts");
            }
        }
        let answered = &mut asking.waiting.get_mut(which)?.answered;
        answered.close();
        let mut since = std::iter::from_fn(|| answered.try_recv().ok());
        since.find(|answer| ended.allows() && answer.choice == Choice::Deny)
    }

    /// Runs a call that people were asked about, or closes it.
    pub(super) async fn run_decided(
        &mut self,
        call: &Call,
        mut runnable: Runnable,
        decided: Decided,
    ) -> Result<ToolResult, StoreError> {
        let action = runnable.prepared.action.to_string();
        let Decided {
            approval,
            binding,
            by,
            always,
            word,
            refusal,
        } = decided;
        if let Some(refusal) = refusal {
            return refuse(self.turn, call, &action, &refusal, word, by).await;
        }
        // What runs must be what was shown: any change in between makes the approval void.
        if self.binding(&runnable.prepared).await != binding {
            if let Some(by) = by {
                let end = QuestionEnd::Changed { by };
                let closed = Event::QuestionClosed { approval, end };
                self.turn.context.deps.emit(closed);
            }
            self.tell_end(Some(approval), None);
            let denied = AuditDecision::Deny;
            return refuse(self.turn, call, &action, CHANGED, denied, by).await;
        }
        // The agent that it means may have been destroyed while people were asked.
        if let Some(assignment) = &mut runnable.assignment
            && let Err(why) = assignment.find_whom(self.turn).await?
        {
            self.tell_end(Some(approval), None);
            let (why, denied) = (why.to_string(), AuditDecision::Deny);
            return refuse(self.turn, call, &action, &why, denied, by).await;
        }
        if always {
            self.turn
                .context
                .deps
                .always_allow(&self.turn.context.agent, runnable.prepared.action.kept_as())
                .await;
        }
        runnable.allowed_by = by;
        runnable.approval = Some(approval);
        self.turn.shows_call(call);
        let mut detail = json!({ "approval": approval, "always": always });
        if let (Some(detail), Value::Object(led)) =
            (detail.as_object_mut(), leads(&runnable.prepared))
        {
            detail.extend(led);
        }
        let audit = self.turn.context.audit_row(call, &action, word, by, detail);
        let audit = with_change(self.turn, call, &runnable.prepared, audit).await;
        self.run_one(call, runnable, audit).await
    }

    /// What an approval of this call is bound to, by the profiles that apply now.
    async fn binding(&self, prepared: &Prepared) -> Option<String> {
        let deps = &self.turn.context.deps;
        let profiles = deps.profiles_of(&self.turn.context.setup().await);
        let profiles = profiles.ok()?;
        let size = size_of_fields(&prepared.arguments);
        Some(long::work_on(size, || self.bound(prepared, &profiles)))
    }

    fn bound(&self, prepared: &Prepared, profiles: &Stack) -> String {
        let turn = self.turn.context.id();
        binding_hash(prepared.name(), &prepared.arguments, profiles, turn)
    }

    /// What people are shown of the effect of a call besides its arguments.
    async fn preview_of(&self, asked: &ToAsk<'_>) -> Option<String> {
        if asked.prepared.info.group != Group::Schedule {
            return None;
        }
        let people = self.turn.context.people_now().await.ok()?;
        let stop = self.turn.context.stop.now().clone();
        let context = tool_context(self.turn, asked.call.id.clone(), people, stop);
        asked.prepared.preview(&context).await
    }

    /// How the command of a call is confined, in words; `None` where it runs no command.
    async fn sandbox_of(&self, asked: &ToAsk<'_>) -> Option<String> {
        asked.prepared.action.script()?;
        let stop = self.turn.context.stop.now().clone();
        let context = tool_context(self.turn, asked.call.id.clone(), Vec::new(), stop);
        let shell = context.services.shell().ok()?;
        let policy = shell.rules.of(&context).policy;
        let sandbox = shell.sandbox.sandbox().await.ok()?;
        Some(sandbox.in_words(policy).to_owned())
    }
}

/// How the question ended, for its message and for late presses.
fn end_of(ended: Ended, stop: &StopSignal) -> QuestionEnd {
    match ended {
        Ended::Answered(Answer { choice, by, reason }) => {
            QuestionEnd::Decided { choice, by, reason }
        }
        Ended::Expired => QuestionEnd::Expired,
        Ended::Stopped => QuestionEnd::Cancelled(stop.by()),
    }
}

/// Whom the question is for: those whose messages are in the turn, else the agent's owner.
fn requesters(people: &[UserId], config: &AgentConfig) -> Vec<UserId> {
    if people.is_empty() {
        config.owner_id.into_iter().collect()
    } else {
        people.to_vec()
    }
}

/// The arguments as they will run, for people to read.
fn pretty(prepared: &Prepared) -> String {
    let arguments = Value::Object(prepared.arguments.clone());
    serde_json::to_string_pretty(&arguments).unwrap_or_else(|_| arguments.to_string())
}

/// What an ending means.
struct Judged {
    /// The decision to store.
    stored: Stored,
    /// Who decided, or stopped the turn, for the audit log.
    by: Option<UserId>,
    word: AuditDecision,
    /// Why it does not run, for the model.
    refusal: Option<String>,
}

/// Works out what an ending means.
fn judged(ended: &Ended, stop: &StopSignal) -> Judged {
    let refused = |why: &str| Some(why.to_owned());
    match ended {
        Ended::Answered(Answer { choice, by, reason }) => {
            let (stored, word, refusal) = match (choice, reason) {
                (Choice::Allow, _) => (Stored::Allow, AuditDecision::AskApproved, None),
                (Choice::AlwaysAllow, _) => (Stored::AlwaysAllow, AuditDecision::AskApproved, None),
                (Choice::Deny, None) => (
                    Stored::Deny,
                    AuditDecision::AskDenied,
                    refused(
                        "a person denied it; do not try the same again, ask what they want instead",
                    ),
                ),
                (Choice::Deny, Some(reason)) => (
                    Stored::Deny,
                    AuditDecision::AskDenied,
                    Some(format!(
                        "a person denied it and gave this reason: {reason}\nDo not try the same again; do what the reason asks for"
                    )),
                ),
            };
            Judged {
                stored,
                by: Some(*by),
                word,
                refusal,
            }
        }
        Ended::Expired => Judged {
            stored: Stored::Expired,
            by: None,
            word: AuditDecision::AskExpired,
            refusal: refused("nobody answered the question in time, so it was denied"),
        },
        Ended::Stopped => Judged {
            stored: Stored::Expired,
            by: stop.by().person(),
            word: AuditDecision::AskCancelled,
            refusal: refused("it did not run: the turn was stopped while a person was asked"),
        },
    }
}
