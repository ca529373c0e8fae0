//! How a child turn ends: with its report, which is stored together with the result of the call that it answers (C2).

use serde_json::Value;

use super::child::{Child, Reported};
use super::child_thread::last_in_thread;
use crate::agent::calls::tool_context;
use crate::agent::deps::unstored::Tally;
use crate::agent::event::Event;
use crate::agent::stop::Stopper;
use crate::agent::turn::Outcome;
use crate::agent::turn::context::{AnsweredCall, ChildSide};
use crate::agent::turn::end::heading::Heading;
use crate::agent::turn::end::{CUT_BY_STOP, EndReason, last_line, reply};
use crate::domain::{Assistant, ChannelId, Item, ToolResult, apart};
use crate::store::{FinishedTurn, FirstPart, StoreError, ToldOfEnd};
use crate::text::{self, escape};
use crate::tools::{ToolContext, guard};

impl Child {
    /// Ends it with its report, which is its parent's from then on (C2).
    pub(super) async fn report(&mut self, outcome: Outcome) -> Result<Reported, StoreError> {
        let exit = outcome.exit();
        if exit == EndReason::Interrupted {
            self.turn.add_note(CUT_BY_STOP).await?;
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
        let child = self.turn.context.child.clone();
        let Some(ChildSide {
            parent,
            answers:
                Some(AnsweredCall {
                    id: call,
                    written,
                    room,
                }),
            parent_agent,
            title,
            ..
        }) = child
        else {
            return Err(StoreError::NotFound("call of a child turn".to_owned()));
        };
        let heading = self.heading(exit);
        let told = format!("{heading}\n{text}");
        let stop = self.turn.context.stop.hard().clone();
        let mut context = ToolContext {
            room,
            ..tool_context(&self.turn, call.clone(), Vec::new(), stop)
        };
        // What is too long is kept where its parent can read it.
        context.caller.name = parent_agent;
        let id = self.turn.context.id().short();
        let result = ToolResult {
            call_id: call,
            name: written,
            content: guard::presented_report(&told, id, &context).await,
            is_error,
            images: Vec::new(),
        };
        let people = ToldOfEnd {
            elsewhere: self.notice_elsewhere(&title),
            in_thread: last_in_thread(&self.turn, &heading, &text),
        };
        let has_answer = answer.is_some();
        let end = self.end(exit, answer);
        let store = &self.turn.context.deps.store;
        let elsewhere = people.elsewhere.as_ref().map(|(channel, _)| *channel);
        store
            .finish_child(self.turn.context.id(), &end, parent, &result, people)
            .await?;
        self.turn.accounting.stored();
        if let Some(channel) = elsewhere {
            self.turn.context.deps.emit(Event::Outbox(channel));
        }
        last_line::log(&self.turn, exit, has_answer, end.report.as_ref());
        Ok(Reported {
            result,
            exit,
            own: self.turn.accounting.tally,
            below: *self.turn.below.lock(),
        })
    }

    pub(super) fn end(&mut self, exit: EndReason, answer: Option<Assistant>) -> FinishedTurn {
        FinishedTurn {
            answer,
            exit,
            steps: self.turn.accounting.tally.steps,
            usage: self.turn.accounting.tally.usage,
            cost: self.turn.accounting.tally.cost,
            parts: Vec::new(),
            may_go_on: false,
            first: FirstPart::Waits,
            attached: self.turn.accounting.hand_over(),
            report: self.around.owed.row.clone(),
            planned: None,
        }
    }

    /// What the channel of another agent is told about its work in this run; `None` where the child works as the run's own
    /// agent.
    fn notice_elsewhere(&self, title: &str) -> Option<(ChannelId, String)> {
        let called = self.turn.context.lineage.last()?.name.starts_with('@');
        if !called {
            return None;
        }
        let Tally { steps, cost, .. } = self.turn.whole();
        let money = cost.usd().filter(|usd| *usd > 0.0);
        let money = money.map_or_else(String::new, |usd| format!(" · {}", text::dollars(usd)));
        let about = match self.turn.context.shown_title(title) {
            "" => String::new(),
            title => format!(": “{}”", escape::text(&text::visible(title).0)),
        };
        let line = format!(
            "-# Worked for `{}` in <#{}>{about} · {}{money} · run {}",
            self.turn.context.payer().name,
            self.turn.context.reference.channel,
            text::count(steps as usize, "step", "steps"),
            self.turn.context.run.root.short()
        );
        Some((self.turn.context.agent.channel, line))
    }

    /// The line above a report.
    fn heading(&self, exit: EndReason) -> String {
        let Tally { steps, usage, cost } = self.turn.whole();
        let is_own = self.turn.context.stop.is_own();
        let by_person = matches!(self.turn.context.stop.by(), Stopper::Person(_));
        let exit = match exit {
            EndReason::Stopped | EndReason::Aborted if is_own && by_person => {
                "stopped by a person".to_owned()
            }
            exit => exit.words(),
        };
        let heading = Heading {
            role: self
                .turn
                .context
                .lineage
                .last()
                .map_or("", |role| &role.name),
            turn: self.turn.context.id(),
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
            let value = self.around.owed.row.as_ref()?.get(name)?;
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
            self.turn.context.id().short()
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
            self.turn.context.id().short()
        ));
        lines.join("\n")
    }

    /// The last thing that its model said.
    fn last_words(&self) -> String {
        let items = self.turn.transcript.items.iter().rev();
        let mut answers = items.filter_map(|item| match item {
            Item::Assistant(answer) => Some(answer.text.trim()),
            Item::User(_) | Item::ToolResult(_) => None,
        });
        let words = answers.find(|words| !words.is_empty());
        text::one_line(words.unwrap_or_default(), 500)
    }
}
