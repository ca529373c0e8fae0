//! The loop: ask, run the calls, append the results, ask again, until there is an answer or a reason to end.

use std::path::Path;

use super::context::ShownHere;
use super::end::{EndReason, reply};
use super::host::{Extras, Host, Taken, Whole};
use super::incoming::{item_of, quote_for};
use super::policy::{self, AfterFailure, Answered, Last, Meaning, Next, RetryCounters, Used};
use super::request::{Asked, Tools};
use super::{Outcome, Turn};
use crate::agent::event::Event;
use crate::agent::files::look::Wanted;
use crate::agent::setup::modes;
use crate::domain::{
    Assistant, ConversationId, Inbound, Item, Mode, StopReason, ToolCall, UserText,
};
use crate::llm::{Reply, TruncatedCall};
use crate::store::{NewPart, Part, PartState, Starting, StoreError};
use crate::text::long;

impl Turn {
    /// Works until there is an outcome.
    pub(in crate::agent) async fn work(
        &mut self,
        host: &mut dyn Host,
    ) -> Result<Outcome, StoreError> {
        let outcome = self.go_on(host).await;
        self.transcript.give_back_left_out();
        Ok(host.outcome(outcome?))
    }

    async fn go_on(&mut self, host: &mut dyn Host) -> Result<Outcome, StoreError> {
        let mut retries = RetryCounters::default();
        let mut last: Option<Last> = None;
        loop {
            if let Some(outcome) = policy::cut_short(self.context.stop.asked()) {
                return Ok(outcome);
            }
            let extras = self.get_ready(host, &mut last).await?;
            if last.is_none() && self.context.is_stopping() {
                // The note was added while room was made: there is no further step with tools.
                continue;
            }
            let asked = self.ask_once(&extras, last.as_ref()).await?;
            match self
                .follows(host, asked, last.as_ref(), &mut retries)
                .await?
            {
                Next::Again => {}
                Next::Last(reason) => last = Some(reason),
                Next::Over(outcome) => return Ok(outcome),
            }
        }
    }

    /// Takes in what people wrote and what files say now, and makes room. Where a limit is reached, the next step is the last,
    /// and the model is told.
    async fn get_ready(
        &mut self,
        host: &mut dyn Host,
        last: &mut Option<Last>,
    ) -> Result<Extras, StoreError> {
        self.take_steered(host).await?;
        self.read_files().await;
        if last.is_none() {
            *last = self.limit_reached();
        }
        if host.begins_step() && last.is_none() {
            *last = Some(Last::new(EndReason::Report, String::new()));
        }
        let extras = host.extras(self);
        self.tell_last(last.as_mut(), &extras).await?;
        if let Some(exit) = self.make_room(&extras).await?
            && last.is_none()
        {
            *last = Some(Last::new(exit, self.crowded()));
            self.tell_last(last.as_mut(), &extras).await?;
        }
        Ok(extras)
    }

    /// Makes the request of one step; the last has no tools.
    async fn ask_once(
        &mut self,
        extras: &Extras,
        last: Option<&Last>,
    ) -> Result<Asked, StoreError> {
        self.accounting.tally.steps += 1;
        self.doing("Thinking");
        let tools = match last {
            None => Tools::On,
            Some(_) => Tools::Off,
        };
        let mut asked = self.ask(tools, extras).await;
        if let Asked::Reply(reply) = &mut asked {
            self.transcript.tell_apart(&mut reply.assistant.tool_calls);
            if reply.stop != StopReason::ContextExceeded {
                self.keep_shortened().await?;
            }
        }
        Ok(asked)
    }

    /// Works out what the outcome of a request means.
    async fn follows(
        &mut self,
        host: &mut dyn Host,
        asked: Asked,
        last: Option<&Last>,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        Ok(match asked {
            Asked::Reply(reply) => match last {
                Some(last) => Box::pin(self.closing(host, *reply, last, retries)).await?,
                None => self.take_reply(host, *reply, retries).await?,
            },
            Asked::Stopped => policy::after_stop(self.context.stop.asked(), last),
            Asked::Failed { class, error } => {
                match policy::after_failure(class, error, last, retries) {
                    AfterFailure::Over(outcome) => Next::Over(outcome),
                    AfterFailure::MakeShorter(_) if self.make_shorter().await? => Next::Again,
                    AfterFailure::MakeShorter(error) => Next::Over(Outcome::None {
                        exit: EndReason::Window,
                        error,
                    }),
                }
            }
            Asked::OverBudget(over) => policy::after_budget(over, last),
        })
    }

    /// Reads the agent's files as they are now, in one go where it uses the same texts as in the step before. For its first
    /// step the turn has just read them.
    async fn read_files(&mut self) {
        if self.docs_now.is_some() {
            return;
        }
        let heard = self.hears();
        let read = heard
            .clone()
            .map(|hears| self.context.deps.docs_reader(hears));
        let also = move |folder: &Path| read.map(|read| read(folder));
        let look = self.context.look_at(Wanted::Itself, also).await;
        self.setup = look.setup;
        let hears_the_same = match (&heard, &self.hears()) {
            (Some(heard), Some(now)) => heard.is_same(now),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.docs_now = look
            .also
            .flatten()
            .and_then(Result::transpose)
            .filter(|_| hears_the_same)
            .map(|read| self.context.deps.docs_read(&self.context.agent, read));
    }

    /// Works out what a reply means.
    async fn take_reply(
        &mut self,
        host: &mut dyn Host,
        reply: Reply,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        let meaning = policy::meaning(&reply, retries);
        let Reply {
            mut assistant,
            stop,
            citations,
            truncated_calls,
            ..
        } = reply;
        retries.cite(citations);
        match meaning {
            Meaning::Whole => {}
            Meaning::Refused => {
                return Ok(Next::Over(Outcome::Answer {
                    answer: assistant,
                    exit: EndReason::Refused,
                    remark: None,
                    citations: retries.cited(),
                }));
            }
            Meaning::TooLong => {
                self.make_shorter().await?;
                return Ok(Next::Again);
            }
            Meaning::Full => {
                return Ok(Next::Last(Last::new(EndReason::Window, String::new())));
            }
            Meaning::Paused => {
                self.record(assistant).await?;
                return Ok(Next::Again);
            }
            Meaning::CallsCut => {
                return self
                    .calls_were_cut(assistant, &truncated_calls, retries)
                    .await;
            }
        }
        if self.mode() == Mode::Direct {
            // This step was offered no tools: calls that the model makes up lead to no second one.
            assistant.tool_calls.clear();
        }
        let whole = Whole {
            answer: assistant,
            stop,
            lacks_calls: !truncated_calls.is_empty(),
        };
        let answer = match host.takes(self, whole, None, retries).await? {
            Taken::Not(answer) => answer,
            Taken::Next(next) => return Ok(next),
        };
        if !answer.tool_calls.is_empty() {
            return self.run_calls(host, answer).await;
        }
        Ok(match policy::answered(answer, stop, retries) {
            Answered::Over(outcome) => Next::Over(outcome),
            Answered::Nudge(note) => {
                self.add_note(note).await?;
                Next::Again
            }
        })
    }

    /// Has the calls of an answer run; their results are part of the conversation then.
    async fn run_calls(
        &mut self,
        host: &mut dyn Host,
        answer: Assistant,
    ) -> Result<Next, StoreError> {
        let size = answer.tool_calls.iter().map(ToolCall::size).sum();
        let step = host.run_calls(self, answer).await?;
        let stuck = long::work_on(size, || self.stuck.record_step(&step));
        let results = step.into_iter().map(|(_, result)| result);
        self.transcript.push_results(results);
        self.context.deps.activity(self.context.payer());
        Ok(match stuck {
            None => Next::Again,
            Some(stuck) => Next::Last(policy::after_circling(stuck)),
        })
    }

    /// The last step's reply: its text is the answer; its calls are ignored, except one that hands over or reports.
    async fn closing(
        &mut self,
        host: &mut dyn Host,
        reply: Reply,
        last: &Last,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        retries.cite(reply.citations);
        let whole = Whole {
            answer: reply.assistant,
            stop: reply.stop,
            lacks_calls: !reply.truncated_calls.is_empty(),
        };
        Ok(match host.takes(self, whole, Some(last), retries).await? {
            Taken::Next(next) => next,
            Taken::Not(mut answer) => {
                answer.tool_calls.clear();
                Next::Over(policy::closed(answer, reply.stop, last, retries))
            }
        })
    }

    /// The first limit that this turn has reached.
    fn limit_reached(&self) -> Option<Last> {
        // Read before the clock: what is left to a child is counted from its clock, too.
        let limits = self.limits();
        let used = Used {
            steps: self.accounting.tally.steps,
            worked: self.clock.worked(),
            usage: self.whole().usage,
        };
        policy::limit_reached(self.context.stop.asked(), &used, &limits)
    }

    /// Tells the model once that the step is its last, and why.
    async fn tell_last(
        &mut self,
        last: Option<&mut Last>,
        extras: &Extras,
    ) -> Result<(), StoreError> {
        let Some(last) = last.filter(|last| !last.is_told) else {
            return Ok(());
        };
        last.is_told = true;
        self.context.log_final_turn(last.exit);
        let left = extras.ending.iter().map(|tool| tool.name.as_str());
        let left: Vec<&str> = left.collect();
        let note = last.exit.last_step_note(&last.detail, &left);
        self.add_note(note).await
    }

    /// A reply with calls that are cut or make no sense: none of its calls runs, and the model is told why.
    async fn calls_were_cut(
        &mut self,
        mut answer: Assistant,
        truncated_calls: &[TruncatedCall],
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        if retries.told_cut {
            return Ok(Next::Last(Last::new(EndReason::BadCalls, String::new())));
        }
        retries.told_cut = true;
        answer.tool_calls.clear();
        answer.opaque.clear();
        if !answer.text.trim().is_empty() {
            self.record(answer).await?;
        }
        let why: Vec<&str> = truncated_calls
            .iter()
            .map(|call| call.why.as_str())
            .collect();
        self.add_note(format!("{} No call of that answer ran.", why.join(" ")))
            .await?;
        Ok(Next::Again)
    }

    /// Stores an answer of the model (D3), then adds it to the transcript.
    async fn record(&mut self, answer: Assistant) -> Result<(), StoreError> {
        let recorded = self.record_and_start(answer, Starting::default());
        recorded.await.map(drop)
    }

    /// Stores an answer of the model (D3), together with what people are to read of it and the start of those of its calls
    /// that run at once (D6, C1), then adds it to the transcript. Returns the conversations of the children that begin.
    pub(in crate::agent) async fn record_and_start(
        &mut self,
        answer: Assistant,
        starting: Starting,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let words = self.words_of(&answer);
        self.record_with(answer, starting, words).await
    }

    /// The same for an answer that people do not read yet.
    pub(in crate::agent) async fn record_quietly(
        &mut self,
        answer: Assistant,
        starting: Starting,
    ) -> Result<(), StoreError> {
        let recorded = self.record_with(answer, starting, Vec::new());
        recorded.await.map(drop)
    }

    async fn record_with(
        &mut self,
        answer: Assistant,
        starting: Starting,
        words: Vec<NewPart>,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let attached = self.accounting.hand_over();
        let recorded = self
            .context
            .deps
            .store
            .record_and_start(self.context.id(), &answer, starting, words, attached)
            .await?;
        self.accounting.stored();
        self.shows_parts(recorded.parts);
        self.live.ends_speech();
        if !self.context.run.hides_words() && self.context.shown == ShownHere::Words {
            let redactor = &self.context.deps.services.redactor;
            self.live.said(&redactor.redact(&answer.text));
        }
        if let Some(thread) = &self.live.thread {
            let redactor = &self.context.deps.services.redactor;
            thread.step(self.accounting.tally.steps, &answer, redactor);
        }
        self.transcript.push(Item::Assistant(answer));
        Ok(recorded.children)
    }

    /// Adds a note for the model, in the ledger too.
    pub(in crate::agent) async fn add_note(
        &mut self,
        text: impl Into<String>,
    ) -> Result<(), StoreError> {
        let item = Item::User(UserText {
            at: Some(crate::clock::now()),
            ..UserText::note(text)
        });
        self.context
            .deps
            .store
            .add_to_turn(self.context.id(), item.clone())
            .await?;
        self.transcript.push(item);
        Ok(())
    }

    /// Takes in what people wrote meanwhile: each message becomes an item, and its writer takes part in the turn from now
    /// on.
    async fn take_steered(&mut self, host: &mut dyn Host) -> Result<(), StoreError> {
        loop {
            // It stays in `joining` until it is stored: where that fails, it waits for the next turn.
            if self.inbox.joining.is_none() {
                self.inbox.joining = self.inbox.steered.try_recv().ok();
            }
            let Some(joining) = &self.inbox.joining else {
                return Ok(());
            };
            if let Some(message) = self.context.deps.store.waiting(joining.id).await? {
                self.join(host, message).await?;
            }
            self.inbox.joining = None;
            self.live.progress.send_modify(|progress| {
                progress.waiting = progress.waiting.saturating_sub(1);
            });
        }
    }

    /// Takes a message in, if its author may still join this work. Nothing of it is saved before that is known.
    async fn join(&mut self, host: &mut dyn Host, message: Inbound) -> Result<(), StoreError> {
        let agents = self.context.agents();
        let joined = self.context.deps.author_may_join(&message, &agents).await;
        if let Err(why) = joined {
            return self.context.deps.turn_away(&message, &why).await;
        }
        let (id, author) = (message.id, message.author.id);
        let via = message.via.is_some();
        let quote = quote_for(&self.context.deps, &self.transcript.items, &message).await?;
        let item = item_of(
            &self.context.deps,
            &self.context.agent,
            message,
            modes::text_max(self.mode()),
            quote,
            None,
        )
        .await;
        self.context
            .deps
            .store
            .hand_over(self.context.id(), id, item.clone())
            .await?;
        host.hears(&item);
        self.transcript.push(item);
        if !via {
            self.context.run.joined_by(author);
        }
        self.live.progress.send_modify(|progress| progress.saw(id));
        if let Some(thread) = &self.live.thread {
            let redactor = &self.context.deps.services.redactor;
            thread.taken_in(self.accounting.tally.steps + 1, redactor);
        }
        Ok(())
    }

    /// What people read at once of an answer that does not end the turn: the words before its calls.
    fn words_of(&self, answer: &Assistant) -> Vec<NewPart> {
        let run = &self.context.run;
        // Of a schedule, people get the answer, if there is one.
        if self.context.child.is_some() || run.hides_words() || run.planned.is_some() {
            return Vec::new();
        }
        let words = self.context.deps.services.redactor.redact(&answer.text);
        reply::words(&words, self.live.step())
    }

    /// Has parts posted that were just stored.
    pub(in crate::agent) fn shows_parts(&self, queued: Vec<Part>) {
        let Some(first) = queued.into_iter().next() else {
            return;
        };
        self.context.deps.emit(match first.state {
            PartState::Sending => Event::Reply(Box::new(first)),
            _ => Event::Outbox(self.context.reference.channel),
        });
    }
}
