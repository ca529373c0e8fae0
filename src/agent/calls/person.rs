//! Asks people a question of the model (Q1), and waits for its end (Q2). The wait is no working time.
//!
//! A stop of the daemon leaves the question open: the turn goes on with the answer after the next start.

use std::time::Duration;

use tokio::time::Instant;

use super::judge::Runnable;
use super::{Call, Calls};
use crate::agent::deps::questions::{Attended, PersonEnd, card};
use crate::agent::event::Event;
use crate::agent::stop::Stopper;
use crate::clock;
use crate::domain::{AskedOfPeople, PersonOption, PersonQuestion, ToolResult, UserId};
use crate::store::{
    AttachedRows, AuditRow, CallEnd, MOST_QUESTIONS, NewPersonQuestion, PersonAsked, StoreError,
};
use crate::text;

/// What the history says of a question that the daemon's stop left open.
const STAYS_OPEN: &str = "the daemon stopped while the question was open";

/// What is waited for.
enum Next {
    Ended,
    Expired,
    Stopped,
}

impl Calls<'_> {
    /// Asks, waits, and stores the result (D7).
    pub(super) async fn ask_person(
        &self,
        call: &Call,
        question: &PersonQuestion,
        runnable: &Runnable,
        audit: AuditRow,
    ) -> Result<ToolResult, StoreError> {
        let context = &self.turn.context;
        let action = runnable.prepared.action.to_string();
        let body = self.asked_of_people(question);
        if let Some(why) = shown_labels(&body.asked).problems().first() {
            return self
                .deny(call, &action, &format!("as people see it, {why}"))
                .await;
        }
        let time = self.time_of_questions();
        let to = card::Addressed {
            mention: self.owner_of_unattended(),
            reply_to: context.reference.reply_to,
            expires_at: clock::now() + time,
        };
        let expires = Instant::now() + time;
        let new = NewPersonQuestion {
            turn: context.id(),
            call: call.id.clone(),
            channel: context.reference.channel,
            body: body.clone(),
            expires_at: to.expires_at,
        };
        let attached = AttachedRows {
            audit: vec![audit],
            ..AttachedRows::default()
        };
        let store = &context.deps.store;
        let asked = store.ask_person(new, attached, move |id| card::open(id, &body, to));
        let id = match asked.await? {
            PersonAsked::Now(id) => id,
            PersonAsked::AlreadyOpen => {
                return self.deny(call, &action, "a question is already open").await;
            }
            PersonAsked::TooMany => {
                let why = format!("this turn has asked {MOST_QUESTIONS} questions");
                return self.deny(call, &action, &why).await;
            }
        };
        self.turn.doing("Waiting for an answer");
        self.turn.live.asks(true);
        let answered = self.wait_for_end(id, expires).await?;
        self.turn.live.asks(false);
        let (content, end) = match answered {
            Some(answer) => (answer, CallEnd::Finished),
            None => (STAYS_OPEN.to_owned(), CallEnd::Interrupted),
        };
        let result = ToolResult {
            call_id: call.id.clone(),
            name: call.written.clone(),
            is_error: end == CallEnd::Interrupted,
            content,
            images: Vec::new(),
        };
        let ran = AttachedRows {
            // People took the time, not the turn.
            attempts: vec![context.tool_row(&result, Duration::ZERO)],
            ..AttachedRows::default()
        };
        store
            .finish_call_as(context.id(), &result, end, ran)
            .await?;
        self.tell_end(runnable.approval, None);
        Ok(result)
    }

    /// Waits for the end of a question that was stored. Returns what the model is told; `None` where the question stays open.
    async fn wait_for_end(&self, id: i64, expires: Instant) -> Result<Option<String>, StoreError> {
        let context = &self.turn.context;
        let (deps, stop) = (&context.deps, &context.stop);
        let missing = || StoreError::NotFound(format!("question {id}"));
        let question = deps.store.person_question(id).await?.ok_or_else(missing)?;
        deps.questions.put(&question);
        deps.emit(Event::Outbox(question.channel));
        // It may have been posted, and even answered, before it could be found here.
        let now = deps.store.person_question(id).await?.ok_or_else(missing)?;
        if let Some(card) = now.message {
            deps.questions.posted(id, card);
        }
        if now.outcome.is_none() {
            let next = self.turn.clock.off(async {
                tokio::select! {
                    biased;
                    () = stop.now().cancelled() => Next::Stopped,
                    () = deps.questions.ends(id) => Next::Ended,
                    () = tokio::time::sleep_until(expires) => Next::Expired,
                }
            });
            match (next.await, stop.by()) {
                (Next::Ended, _) => {}
                (Next::Expired, _) => {
                    deps.end_question(&question, &PersonEnd::Expired).await?;
                }
                (Next::Stopped, Stopper::Shutdown) => {
                    let question = deps.store.person_question(id).await?;
                    if question.is_some_and(|one| one.outcome.is_none()) {
                        return Ok(None);
                    }
                }
                (Next::Stopped, by) => {
                    deps.end_question(&question, &PersonEnd::Stopped(by))
                        .await?;
                }
            }
        }
        deps.questions.closed(id);
        let ended = deps.store.person_question(id).await?.ok_or_else(missing)?;
        if let Some(by) = ended.answered_by {
            context.run.joined_by(by);
        }
        Ok(Some(ended.answer.unwrap_or_default()))
    }

    /// How long a question of this turn stays open.
    fn time_of_questions(&self) -> Duration {
        let deps = &self.turn.context.deps;
        let usual = deps.config.load().question_timeout.get();
        deps.asks_for(self.attended(), usual)
    }

    /// How long an approval of this turn stays open.
    pub(super) fn time_of_approvals(&self) -> Duration {
        let usual = self.turn.limits().approval;
        self.turn.context.deps.asks_for(self.attended(), usual)
    }

    fn attended(&self) -> Attended {
        if self.turn.context.run.payer.is_unattended {
            Attended::No
        } else {
            Attended::Yes
        }
    }

    /// The owner of the agent, where no person began the turn: they are mentioned.
    fn owner_of_unattended(&self) -> Option<UserId> {
        let config = &self.turn.setup.payer().config;
        config.owner_id.filter(|_| self.attended() == Attended::No)
    }

    /// The question as it is stored and shown, without secrets.
    fn asked_of_people(&self, question: &PersonQuestion) -> AskedOfPeople {
        let context = &self.turn.context;
        let redactor = &context.deps.services.redactor;
        let clean = |text: &String| redactor.redact(text).into_owned();
        let options = question.options.iter().map(|option| PersonOption {
            label: clean(&option.label),
            description: option.description.as_ref().map(clean),
        });
        AskedOfPeople {
            asked: PersonQuestion {
                question: clean(&question.question),
                options: options.collect(),
                several: question.several,
            },
            asker: context.path.replace('/', " ▸ "),
            agents: context.agents().iter().map(|agent| agent.id).collect(),
        }
    }
}

/// The options with the labels that people see: without secrets, and with hidden characters written out.
fn shown_labels(asked: &PersonQuestion) -> PersonQuestion {
    let options = asked.options.iter().map(|option| PersonOption {
        label: text::prose(&option.label).into_owned(),
        description: None,
    });
    PersonQuestion {
        question: "?".to_owned(),
        options: options.collect(),
        several: asked.several,
    }
}
