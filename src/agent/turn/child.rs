//! A child turn: a turn in a conversation of its own, whose outcome goes to the turn that started it.
//!
//! It runs the same loop as any other. This file has what differs: its limits, and its end, which is stored together with
//! the result of the call that it answers (C2).

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use tracing::{Span, info_span};

use super::accounting::Below;
use super::child_thread::Says;
use super::children::TIME_OF_STAGE;
use super::context::TurnContext;
use super::end_reason::EndReason;
use super::finish::CUT_BY_STOP;
use super::heading::Heading;
use super::{Outcome, Turn, reply};
use crate::agent::deps::Limits;
use crate::agent::deps::unstored::Tally;
use crate::agent::event::{AskingChild, Event};
use crate::agent::setup::modes;
use crate::agent::stop::Stopper;
use crate::agent::stop::work_clock::TimeAbove;
use crate::domain::{AgentName, Assistant, CallId, ChannelId, ToolResult, TurnId, apart};
use crate::store::{ChildKind, EndedBelow, FinishedTurn, FirstPart, StoreError, ToldOfEnd};
use crate::text::{self, escape};
use crate::tools::{ResultRoom, ToolContext, guard};

/// What a child turn answers, and within which limits it works.
#[derive(Clone, Debug)]
pub(super) struct ChildSide {
    pub(super) parent: TurnId,
    /// `None` where it answers in its parent's place.
    pub(super) answers: Option<AnsweredCall>,
    /// Whose files the parent uses.
    pub(super) parent_agent: AgentName,
    pub(super) kind: ChildKind,
    pub(super) title: String,
    /// Working time that its parent leaves it.
    pub(super) time: TimeOfChild,
    /// What its report shares with the results of the calls beside it.
    pub(super) room: Option<ResultRoom>,
    /// Its thread, where the agent has one for each child.
    pub(super) thread: Option<Says>,
}

/// Working time that a parent leaves a child turn.
#[derive(Clone, Debug)]
pub(super) enum TimeOfChild {
    /// What the parent has left itself, less what it keeps, as its clock goes on.
    Shared(TimeAbove),
    /// So much, whatever the parent has left.
    Own(Duration),
}

impl TimeOfChild {
    /// What the clocks above allow, where they do at all.
    pub(super) fn above(&self) -> Option<&TimeAbove> {
        match self {
            Self::Shared(above) => Some(above),
            Self::Own(_) => None,
        }
    }
}

/// The call that a child turn answers.
#[derive(Clone, Debug)]
pub(super) struct AnsweredCall {
    pub(super) id: CallId,
    /// The name that the parent's model wrote for the tool.
    pub(super) written: String,
}

/// A child turn whose end is stored together with what its parent makes from it.
pub(super) struct EndedChild {
    pub(super) below: EndedBelow,
    /// The turn itself; `None` where its task panicked.
    pub(super) turn: Option<Box<Turn>>,
}

/// The outcome of a child turn.
pub(super) struct Reported {
    pub(super) result: ToolResult,
    pub(super) exit: EndReason,
    pub(super) own: Tally,
    pub(super) below: Below,
}

/// Runs a child turn to its end. Its future is boxed, because a child may start a child too.
pub(super) fn run(turn: Box<Turn>) -> BoxFuture<'static, Result<Reported, StoreError>> {
    Box::pin(async move {
        let mut turn = turn;
        let outcome = turn.work_as_child().await?;
        let reported = turn.report(outcome).await?;
        let strays = turn.context.run.strays.clone();
        for late in turn.inbox.close(None) {
            // Without the actor nobody answers these before the next start.
            let _ = strays.send(Box::new(late));
        }
        Ok(reported)
    })
}

/// Runs a child turn that answers in its parent's place. Nothing of its end is stored yet.
pub(super) fn run_in_place(
    mut turn: Box<Turn>,
) -> BoxFuture<'static, Result<(Box<Turn>, Outcome), StoreError>> {
    Box::pin(async move {
        let outcome = turn.work_as_child().await?;
        if outcome.exit() == EndReason::Interrupted {
            turn.add_note(CUT_BY_STOP).await?;
        }
        // It waits for others to be stored, and gives its place up meanwhile.
        drop(turn.place.lock().take());
        turn.live.node = None;
        Ok((turn, outcome))
    })
}

impl Turn {
    async fn work_as_child(&mut self) -> Result<Outcome, StoreError> {
        self.context.log_init();
        self.take_place().await;
        self.look_for_roles_at_first();
        let outcome = self.work().await;
        self.end_summary().await;
        self.accounting.count_beside();
        self.end_tasks().await;
        outcome
    }

    pub(super) fn span(&self) -> Span {
        let role = self.context.lineage.last().map_or("", |role| &role.name);
        info_span!(
            "turn",
            otel.name = %format_args!("invoke_agent {role}"),
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.id = %self.context.agent.id,
            gen_ai.agent.name = role,
            turn.id = %self.context.id(),
        )
    }

    /// Waits for a permit to work beside the other children of its run.
    pub(super) async fn take_place(&self) {
        self.doing("Waiting for its turn");
        let place = async {
            tokio::select! {
                biased;
                () = self.context.stop.now().cancelled() => None,
                place = self.context.run.place() => place,
            }
        };
        let place = self.clock.off(place).await;
        *self.place.lock() = place;
    }

    /// The limits of a child: those of its role, else of the configuration, and never wider than its parent's.
    pub(super) fn limits_of_child(&self, child: &ChildSide, limits: Limits) -> Limits {
        let defaults = self.orchestration();
        let own = self.setup.role.as_ref().map(|role| role.limits);
        let own = own.unwrap_or_default();
        let steps = own.max_steps.unwrap_or(defaults.child_steps.get());
        let work = own.timeout.unwrap_or(match child.kind {
            ChildKind::Advisor => TIME_OF_STAGE,
            ChildKind::SubAgent | ChildKind::Route | ChildKind::Handoff => {
                defaults.child_timeout.get()
            }
        });
        let most = match &child.time {
            TimeOfChild::Shared(above) => self.clock.worked() + above.left(),
            TimeOfChild::Own(time) => *time,
        };
        Limits {
            steps: steps.min(limits.steps),
            work: modes::work(self.mode(), work).min(most),
            ..limits
        }
    }

    /// The limits of a turn of a branch with a role: no longer than the role allows.
    pub(super) fn limits_of_branch(&self, limits: Limits) -> Limits {
        let most = self.context.lineage.last().map(|role| role.limits.timeout);
        let most = most.flatten().unwrap_or(limits.work);
        Limits {
            work: limits.work.min(most),
            ..limits
        }
    }

    /// Ends the commands that it left running.
    async fn end_tasks(&self) {
        let Ok(shell) = &self.context.deps.services.shell else {
            return;
        };
        let abort = self.context.stop.aborted();
        shell.tasks.stop_of_turns(&[self.context.id()], abort).await;
    }

    /// Ends it with its report, which is its parent's from then on (C2).
    async fn report(&mut self, outcome: Outcome) -> Result<Reported, StoreError> {
        let exit = outcome.exit();
        if exit == EndReason::Interrupted {
            self.add_note(CUT_BY_STOP).await?;
        }
        let last_words = self.last_words();
        let (answer, text, is_error) = match outcome {
            Outcome::Answer { answer, .. } if !answer.text.trim().is_empty() => {
                let text = self.with_fields(&answer.text);
                let kept = (exit != EndReason::Refused).then_some(answer);
                (kept, text, exit == EndReason::Refused)
            }
            Outcome::Answer { .. } | Outcome::Withheld { .. } => {
                (None, self.without_answer(exit, "", &last_words), true)
            }
            Outcome::Lacks {
                answer,
                missing,
                error,
                ..
            } => (None, self.lacking(&missing, &error, &apart(&answer)), true),
            Outcome::None { error, .. } => {
                (None, self.without_answer(exit, &error, &last_words), true)
            }
        };
        let child = self.context.child.clone();
        let Some(ChildSide {
            parent,
            answers: Some(AnsweredCall { id: call, written }),
            room,
            parent_agent,
            title,
            ..
        }) = child
        else {
            return Err(StoreError::NotFound("call of a child turn".to_owned()));
        };
        let heading = self.heading(exit);
        let told = format!("{heading}\n{text}");
        let mut context = ToolContext {
            room,
            ..self.tool_context(call.clone(), Vec::new(), self.context.stop.hard().clone())
        };
        // What is too long is kept where its parent can read it.
        context.caller.name = parent_agent;
        let id = self.context.id().short();
        let result = ToolResult {
            call_id: call,
            name: written,
            content: guard::presented_report(&told, id, &context).await,
            is_error,
            images: Vec::new(),
        };
        let people = ToldOfEnd {
            elsewhere: self.notice_elsewhere(&title),
            in_thread: self.last_in_thread(&heading, &text),
        };
        let has_answer = answer.is_some();
        let end = self.end_of_child(exit, answer);
        let store = &self.context.deps.store;
        let elsewhere = people.elsewhere.as_ref().map(|(channel, _)| *channel);
        store
            .finish_child(self.context.id(), &end, parent, &result, people)
            .await?;
        self.accounting.stored();
        if let Some(channel) = elsewhere {
            self.context.deps.emit(Event::Outbox(channel));
        }
        self.ended(exit, has_answer).log();
        Ok(Reported {
            result,
            exit,
            own: self.accounting.tally,
            below: *self.below.lock(),
        })
    }

    pub(super) fn end_of_child(
        &mut self,
        exit: EndReason,
        answer: Option<Assistant>,
    ) -> FinishedTurn {
        FinishedTurn {
            answer,
            exit,
            steps: self.accounting.tally.steps,
            usage: self.accounting.tally.usage,
            cost: self.accounting.tally.cost,
            parts: Vec::new(),
            first: FirstPart::Waits,
            attached: self.accounting.hand_over(),
            report: self.owed.row.clone(),
        }
    }

    /// What the channel of another agent is told about its work in this run; `None` where the child works as the run's own
    /// agent.
    fn notice_elsewhere(&self, title: &str) -> Option<(ChannelId, String)> {
        let called = self.context.lineage.last()?.name.starts_with('@');
        if !called {
            return None;
        }
        let Tally { steps, cost, .. } = self.whole();
        let money = cost.usd().filter(|usd| *usd > 0.0);
        let money = money.map_or_else(String::new, |usd| format!(" · {}", text::dollars(usd)));
        let about = match self.context.shown_title(title) {
            "" => String::new(),
            title => format!(": “{}”", escape::text(&text::visible(title).0)),
        };
        let line = format!(
            "-# Worked for `{}` in <#{}>{about} · {}{money} · run {}",
            self.context.payer().name,
            self.context.reference.channel,
            text::count(steps as usize, "step", "steps"),
            self.context.run.root.short()
        );
        Some((self.context.agent.channel, line))
    }

    /// The line above a report.
    fn heading(&self, exit: EndReason) -> String {
        let Tally { steps, usage, cost } = self.whole();
        let is_own = self.context.stop.is_own();
        let by_person = matches!(self.context.stop.by(), Stopper::Person(_));
        let exit = match exit {
            EndReason::Stopped | EndReason::Aborted if is_own && by_person => {
                "stopped by a person".to_owned()
            }
            exit => exit.words(),
        };
        let heading = Heading {
            role: self.context.lineage.last().map_or("", |role| &role.name),
            turn: self.context.id(),
            exit: &exit,
            steps,
            usage,
            cost,
        };
        heading.line()
    }

    /// A report as its parent gets it: its fields come first, and no line of the text can pass for one of them.
    fn with_fields(&self, answer: &str) -> String {
        let part = |name: &str| {
            let value = self.owed.row.as_ref()?.get(name)?;
            let is_something = match value {
                Value::Null => false,
                Value::Object(fields) => !fields.is_empty(),
                _ => true,
            };
            is_something.then(|| format!("[{name}] {value}\n"))
        };
        let parts: String = ["data", "meta"].into_iter().filter_map(part).collect();
        format!("{parts}{}", apart(answer))
    }

    /// What the parent is told about a report that lacks something.
    fn lacking(&self, missing: &[String], error: &str, answer: &str) -> String {
        format!(
            "Error: the answer lacks what it owes.\n{}\n\nGo on with `continue: \"{}\"`, or do it yourself.",
            reply::lacks(missing, error, answer),
            self.context.id().short()
        )
    }

    /// What the parent is told about a child that gave no answer, and what to do about it.
    fn without_answer(&self, exit: EndReason, error: &str, last_words: &str) -> String {
        let mut lines = vec![format!("Error: it gave no answer ({}).", exit.words())];
        if !error.is_empty() {
            let error = escape::sentence(&text::one_line(error, 500));
            lines.push(format!("Last error: {error}"));
        }
        if !last_words.is_empty() {
            lines.push(format!("Its last words: {last_words}"));
        }
        lines.push(format!(
            "Go on with `continue: \"{}\"`, or do it yourself.",
            self.context.id().short()
        ));
        lines.join("\n")
    }

    /// The last thing that its model said.
    fn last_words(&self) -> String {
        let items = self.transcript.items.iter().rev();
        let mut answers = items.filter_map(|item| match item {
            crate::domain::Item::Assistant(answer) => Some(answer.text.trim()),
            crate::domain::Item::User(_) | crate::domain::Item::ToolResult(_) => None,
        });
        let words = answers.find(|words| !words.is_empty());
        text::one_line(words.unwrap_or_default(), 500)
    }
}

impl TurnContext {
    /// The title of this child turn as people see it. A model's title for a task is words of its own: empty where those
    /// pass a role first.
    pub(super) fn shown_title<'a>(&self, title: &'a str) -> &'a str {
        let kind = self.child.as_ref().map(|child| child.kind);
        match kind {
            Some(ChildKind::SubAgent) if self.run.hides_words() => "",
            Some(_) | None => title,
        }
    }

    /// The child that asks; `None` where the agent itself does.
    pub(super) fn asked_by(&self) -> Option<AskingChild> {
        let child = self.child.as_ref()?;
        Some(AskingChild {
            path: self.path.replace('/', " ▸ "),
            title: self.shown_title(&child.title).to_owned(),
            elsewhere: self.working_for.is_some().then(|| self.agent.name.clone()),
        })
    }
}
