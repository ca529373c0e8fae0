//! The loop: ask, run the calls, append, ask again, until there is an answer or a reason to end.

use std::path::Path;

use crate::agent::budget::OverBudget;
use crate::agent::end_reason::{CUT_ANSWER, EndReason};
use crate::agent::setup::Wanted;
use crate::agent::stop::{Stop, StopSignal};
use crate::agent::stuck::Stuck;
use crate::domain::{Assistant, ConversationId, Item, Mode, StopReason, UserText};
use crate::llm::{FailureClass, Reply, TruncatedCall};
use crate::store::{Starting, StoreError};
use crate::text;

use super::request::Asked;
use super::{Outcome, Turn};

/// Times a provider may pause a long step of its own before the turn ends.
const PAUSES: u32 = 5;

/// Times a conversation is made shorter because every window was too small for it; each time it is about half as long.
const SHORTENINGS: u32 = 4;

/// Why tools are off in a step.
struct Last {
    exit: EndReason,
    detail: String,
}

impl Last {
    /// Everything was tried to make the conversation shorter.
    fn is_full(&self) -> bool {
        self.exit == EndReason::Window
    }
}

/// Little things that may happen a few times in a turn and no more.
#[derive(Default)]
struct RetryCounters {
    pauses: u32,
    nudged: bool,
    told_cut: bool,
    /// Times that the conversation was found too long for every window.
    too_long: u32,
    /// Sources of searches in earlier replies of the turn.
    citations: Vec<(String, String)>,
}

impl RetryCounters {
    /// Keeps sources for the end: a search may be in one reply, and the answer in a later one.
    fn cite(&mut self, citations: Vec<(String, String)>) {
        for (title, url) in citations {
            if !self.citations.iter().any(|(_, known)| *known == url) {
                self.citations.push((title, url));
            }
        }
    }
}

/// What a reply means for the loop.
enum Next {
    Again,
    /// The next step is the last.
    Last(Last),
    /// The turn is over.
    Over(Outcome),
}

impl Turn {
    /// Works until there is an outcome.
    pub(super) async fn work(&mut self) -> Result<Outcome, StoreError> {
        let outcome = self.go_on().await;
        self.transcript.give_back_left_out();
        outcome
    }

    async fn go_on(&mut self) -> Result<Outcome, StoreError> {
        let mut retries = RetryCounters::default();
        let mut last: Option<Last> = None;
        loop {
            if let Some(outcome) = cut_short(&self.context.stop) {
                return Ok(outcome);
            }
            self.take_steered().await?;
            self.read_files().await;
            if last.is_none() {
                last = self.limit_reached();
            }
            if let Some(last) = &last {
                self.add_note(last.exit.last_step_note(&last.detail))
                    .await?;
            }
            if let Some(exit) = self.make_room().await?
                && last.is_none()
            {
                self.add_note(exit.last_step_note("")).await?;
                last = Some(Last {
                    exit,
                    detail: String::new(),
                });
            }
            if last.is_none() && self.context.stop.asked().is_some() {
                // It came while room was made: there is no further step with tools.
                continue;
            }
            self.accounting.tally.steps += 1;
            self.doing("Thinking");
            let asked = match &last {
                None => self.ask(super::request::Tools::On).await,
                Some(_) => self.ask(super::request::Tools::Off).await,
            };
            if let Asked::Reply(reply) = &asked
                && reply.stop != StopReason::ContextExceeded
            {
                self.keep_shortened().await?;
            }
            let next = match asked {
                Asked::Reply(reply) => match &last {
                    Some(last) => Next::Over(closing(*reply, last, &mut retries)),
                    None => self.take_reply(*reply, &mut retries).await?,
                },
                Asked::Stopped => match (&last, cut_short(&self.context.stop)) {
                    (_, Some(outcome)) => Next::Over(outcome),
                    // A person asked for it, or the working time is over: the next step is the last.
                    (None, None) => Next::Again,
                    (Some(last), None) => Next::Over(Outcome::None {
                        exit: last.exit,
                        error: "the closing answer took too long".to_owned(),
                    }),
                },
                Asked::Failed {
                    class: FailureClass::ContextExceeded,
                    error,
                } if retries.too_long < SHORTENINGS
                    && !last.as_ref().is_some_and(Last::is_full) =>
                {
                    retries.too_long += 1;
                    if self.make_shorter().await? {
                        Next::Again
                    } else {
                        Next::Over(Outcome::None {
                            exit: EndReason::Window,
                            error,
                        })
                    }
                }
                Asked::Failed { class, error } => Next::Over(Outcome::None {
                    exit: match (&last, class) {
                        (Some(last), _) => last.exit,
                        (None, FailureClass::ContextExceeded) => EndReason::Window,
                        (None, _) => EndReason::Failed,
                    },
                    error,
                }),
                Asked::OverBudget(OverBudget { why, last_words }) => match &last {
                    None if last_words => Next::Last(Last {
                        exit: EndReason::Budget,
                        detail: why,
                    }),
                    _ => Next::Over(Outcome::None {
                        exit: EndReason::Budget,
                        error: why,
                    }),
                },
            };
            match next {
                Next::Again => {}
                Next::Last(reason) => last = Some(reason),
                Next::Over(outcome) => return Ok(outcome),
            }
        }
    }

    /// Reads the agent's files as they are now, in one go where it hears the same texts as in the step before.
    async fn read_files(&mut self) {
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

    /// The first limit that this turn has come to.
    fn limit_reached(&self) -> Option<Last> {
        let limits = self.limits();
        let reached = |exit, detail| Some(Last { exit, detail });
        if self.context.stop.asked() == Some(Stop::Graceful) {
            return reached(EndReason::Stopped, String::new());
        }
        if self.accounting.tally.steps >= limits.steps {
            return reached(
                EndReason::StepLimit,
                text::count(limits.steps as usize, "step", "steps"),
            );
        }
        if self.clock.worked() >= limits.work {
            return reached(EndReason::TimeLimit, crate::clock::duration(limits.work));
        }
        let usage = self.whole().usage;
        let used = usage.input_total() + usage.output;
        if let Some(most) = limits.tokens
            && used >= most
        {
            return reached(EndReason::Budget, format!("{most} tokens"));
        }
        None
    }

    /// Makes of a reply what it means.
    async fn take_reply(
        &mut self,
        reply: Reply,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        let Reply {
            mut assistant,
            stop,
            citations,
            truncated_calls,
            ..
        } = reply;
        retries.cite(citations);
        match stop {
            StopReason::Refusal => {
                return Ok(Next::Over(Outcome::Answer {
                    answer: assistant,
                    exit: EndReason::Refused,
                    remark: None,
                    citations: std::mem::take(&mut retries.citations),
                }));
            }
            StopReason::ContextExceeded if retries.too_long < SHORTENINGS => {
                retries.too_long += 1;
                self.make_shorter().await?;
                return Ok(Next::Again);
            }
            StopReason::ContextExceeded => {
                return Ok(Next::Last(Last {
                    exit: EndReason::Window,
                    detail: String::new(),
                }));
            }
            StopReason::Pause
                if retries.pauses < PAUSES && can_go_on(&assistant, &truncated_calls) =>
            {
                retries.pauses += 1;
                self.record(assistant).await?;
                return Ok(Next::Again);
            }
            _ if !truncated_calls.is_empty() => {
                return self
                    .calls_were_cut(assistant, &truncated_calls, retries)
                    .await;
            }
            StopReason::Pause
            | StopReason::MaxTokens
            | StopReason::EndTurn
            | StopReason::ToolUse => {}
        }
        if self.mode() == Mode::Direct {
            // One step: it was offered no tools, and calls of a model that makes some up lead to no second one.
            assistant.tool_calls.clear();
        }
        if assistant.tool_calls.is_empty() {
            return self.answered(assistant, stop, retries).await;
        }
        let stuck = self.run_calls(assistant).await?;
        Ok(match stuck {
            None => Next::Again,
            Some(Stuck::Errors) => Next::Last(Last {
                exit: EndReason::Errors,
                detail: String::new(),
            }),
            Some(Stuck::Repeating | Stuck::PingPong) => Next::Last(Last {
                exit: EndReason::Loop,
                detail: String::new(),
            }),
        })
    }

    /// A reply without calls: the answer, unless it is empty.
    async fn answered(
        &mut self,
        answer: Assistant,
        stop: StopReason,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        let is_cut = stop == StopReason::MaxTokens;
        if !answer.text.trim().is_empty() {
            return Ok(Next::Over(Outcome::Answer {
                answer,
                exit: EndReason::Answered,
                remark: is_cut.then(|| CUT_ANSWER.to_owned()),
                citations: std::mem::take(&mut retries.citations),
            }));
        }
        if retries.nudged {
            return Ok(Next::Over(Outcome::None {
                exit: EndReason::Failed,
                error: "the model answered twice with nothing".to_owned(),
            }));
        }
        retries.nudged = true;
        let note = if is_cut {
            "Your answer reached its length limit before it said anything. Answer the person, or go on with a tool call, and think less."
        } else {
            "Your answer was empty. Answer the person, or go on with a tool call."
        };
        self.add_note(note).await?;
        Ok(Next::Again)
    }

    /// A reply with calls that are cut or make no sense: none of its calls runs, and the model is told why.
    async fn calls_were_cut(
        &mut self,
        mut answer: Assistant,
        truncated_calls: &[TruncatedCall],
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        if retries.told_cut {
            return Ok(Next::Last(Last {
                exit: EndReason::BadCalls,
                detail: String::new(),
            }));
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

    /// Stores an answer of the model (D3), then holds it.
    async fn record(&mut self, answer: Assistant) -> Result<(), StoreError> {
        let recorded = self.record_and_start(answer, Starting::default());
        recorded.await.map(drop)
    }

    /// Stores an answer of the model (D3) with what people are to read of it and the start of those of its calls that run at
    /// once (D6, C1), then holds it. Gives the conversations of the children that begin.
    pub(super) async fn record_and_start(
        &mut self,
        answer: Assistant,
        starting: Starting,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let attached = std::mem::take(&mut self.accounting.attached);
        let words = self.words_of(&answer);
        let recorded = self
            .context
            .deps
            .store
            .record_and_start(self.context.id(), &answer, starting, words, attached)
            .await?;
        self.accounting.stored();
        self.shows_parts(recorded.parts);
        self.live.ends_speech();
        self.live.said(&answer.text);
        self.transcript.push(Item::Assistant(answer));
        Ok(recorded.children)
    }

    /// Tells the model something, in the ledger too.
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

/// An abort or a shutdown ends the turn where it stands.
fn cut_short(stop: &StopSignal) -> Option<Outcome> {
    let exit = match stop.asked()? {
        Stop::Graceful => return None,
        Stop::Abort => EndReason::Aborted,
        Stop::Shutdown => EndReason::Interrupted,
    };
    Some(Outcome::None {
        exit,
        error: String::new(),
    })
}

/// Whether a paused answer can be gone on with: it has something to go on from, and no call that waits for its result.
fn can_go_on(answer: &Assistant, truncated_calls: &[TruncatedCall]) -> bool {
    let has_calls = !answer.tool_calls.is_empty() || !truncated_calls.is_empty();
    let is_empty = answer.text.trim().is_empty() && answer.opaque.is_empty();
    !has_calls && !is_empty
}

/// The last step's reply: its text is the answer, its calls are not looked at.
fn closing(reply: Reply, last: &Last, retries: &mut RetryCounters) -> Outcome {
    retries.cite(reply.citations);
    let cut = (reply.stop == StopReason::MaxTokens).then_some(CUT_ANSWER);
    let limit = last.exit.remark(&last.detail);
    let remarks: Vec<&str> = cut.into_iter().chain(limit.as_deref()).collect();
    let mut answer = reply.assistant;
    answer.tool_calls.clear();
    if answer.text.trim().is_empty() {
        return Outcome::None {
            exit: last.exit,
            error: last.detail.clone(),
        };
    }
    Outcome::Answer {
        answer,
        exit: last.exit,
        remark: (!remarks.is_empty()).then(|| remarks.join("\n")),
        citations: std::mem::take(&mut retries.citations),
    }
}
