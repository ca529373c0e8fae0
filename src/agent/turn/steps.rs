//! The loop: ask, run the calls, append the results, ask again, until there is an answer or a reason to end.

use std::path::Path;

use super::context::ShownHere;
use super::end_reason::EndReason;
use super::policy::{self, AfterFailure, Last, Meaning, Next, RetryCounters};
use super::request::{Asked, Tools};
use super::stages::Routed;
use super::{Outcome, Turn};
use crate::agent::files::look::Wanted;
use crate::domain::{Assistant, ConversationId, Item, Mode, StopReason, UserText};
use crate::llm::{Reply, TruncatedCall};
use crate::store::{NewPart, Starting, StoreError};

impl Turn {
    /// Works until there is an outcome.
    pub(super) async fn work(&mut self) -> Result<Outcome, StoreError> {
        let outcome = self.go_on().await;
        self.transcript.give_back_left_out();
        Ok(match outcome? {
            Outcome::None { exit, error }
                if self.has_part_of_report()
                    && !matches!(exit, EndReason::Aborted | EndReason::Interrupted) =>
            {
                self.without_whole_report(EndReason::Report, error)
            }
            outcome => outcome,
        })
    }

    async fn go_on(&mut self) -> Result<Outcome, StoreError> {
        let mut retries = RetryCounters::default();
        let mut last: Option<Last> = None;
        loop {
            if let Some(outcome) = policy::cut_short(self.context.stop.asked()) {
                return Ok(outcome);
            }
            self.get_ready(&mut last).await?;
            if last.is_none() && self.context.stop.asked().is_some() {
                // The note was added while room was made: there is no further step with tools.
                continue;
            }
            let asked = self.ask_once(last.as_ref()).await?;
            match self.follows(asked, last.as_ref(), &mut retries).await? {
                Next::Again => {}
                Next::Last(reason) => last = Some(reason),
                Next::Over(outcome) => return Ok(outcome),
            }
        }
    }

    /// Takes in what people wrote and what files say now, and makes room. Where a limit is reached, the next step is the last,
    /// and the model is told.
    async fn get_ready(&mut self, last: &mut Option<Last>) -> Result<(), StoreError> {
        self.take_steered().await?;
        self.read_files().await;
        if last.is_none() {
            *last = self.limit_reached();
        }
        if self.is_last_to_report() && last.is_none() {
            *last = Some(Last::new(EndReason::Report, String::new()));
        }
        self.tell_last(last.as_mut()).await?;
        if let Some(exit) = self.make_room().await?
            && last.is_none()
        {
            *last = Some(Last::new(exit, self.crowded()));
            self.tell_last(last.as_mut()).await?;
        }
        Ok(())
    }

    /// Makes the request of one step; the last has no tools.
    async fn ask_once(&mut self, last: Option<&Last>) -> Result<Asked, StoreError> {
        self.accounting.tally.steps += 1;
        self.doing("Thinking");
        let tools = match last {
            None => Tools::On,
            Some(_) => Tools::Off,
        };
        let mut asked = self.ask(tools).await;
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
        asked: Asked,
        last: Option<&Last>,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        Ok(match asked {
            Asked::Reply(reply) => match last {
                Some(last) => Box::pin(self.closing(*reply, last, retries)).await?,
                None => self.take_reply(*reply, retries).await?,
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
        self.docs_now = look
            .also
            .flatten()
            .filter(|_| heard == self.hears())
            .map(|read| self.context.deps.docs_read(&self.context.agent, read));
    }

    /// Works out what a reply means.
    async fn take_reply(
        &mut self,
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
        let told = &mut retries.told_to_hand_over;
        let assistant = match self.routed(assistant, told).await? {
            Routed::Not(answer) => answer,
            Routed::Told => return Ok(Next::Again),
            Routed::Over(outcome) => return Ok(Next::Over(outcome)),
        };
        if self.is_report(&assistant) {
            return self.reported(assistant, stop, None, retries).await;
        }
        if assistant.tool_calls.is_empty() {
            return self.answered(assistant, stop, retries).await;
        }
        // Calls take far more room than the wait for the model, which all turns of a crowd are in most of the time.
        let stuck = Box::pin(self.run_calls(assistant)).await?;
        Ok(match stuck {
            None => Next::Again,
            Some(stuck) => Next::Last(policy::after_circling(stuck)),
        })
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
    pub(super) async fn record_and_start(
        &mut self,
        answer: Assistant,
        starting: Starting,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let words = self.words_of(&answer);
        self.record_with(answer, starting, words).await
    }

    /// The same for an answer that people do not read yet.
    pub(super) async fn record_quietly(
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
        self.tell_step(&answer);
        self.transcript.push(Item::Assistant(answer));
        Ok(recorded.children)
    }

    /// Adds a note for the model, in the ledger too.
    pub(super) async fn add_note(&mut self, text: impl Into<String>) -> Result<(), StoreError> {
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
}
