//! How a turn ends: outcome, books and reply go into the ledger together (D8), then people are shown.

use tracing::{error, info};

use crate::agent::deps::AgentDeps;
use crate::agent::end_reason::{EndReason, FailureReport};
use crate::agent::event::{Event, Said, TurnRef, TurnSummary};
use crate::agent::identity::Identity;
use crate::agent::stop::Stopper;
use crate::domain::{AgentConfig, Assistant, ChannelId, Cost, Item, TurnId, Usage};
use crate::llm::Target;
use crate::store::{
    AttachedRows, FinishedTurn, FirstPart, NewPart, OutFile, Part, PartBody, PartKind, PartState,
    StoreError,
};
use crate::text::{self, Split, escape};

use super::context::TurnContext;
use super::{Outcome, Turn};

/// Name of the file that an answer too long for messages is sent as.
const LONG_ANSWER: &str = "answer.md";

/// What the model is told where the daemon stopped in the middle of a turn: the next one goes on from here.
const CUT_BY_STOP: &str =
    "The daemon was stopped here and started again; the turn above was interrupted.";

/// What the model is told where its server was not served for a while.
const CUT_BY_END_OF_SERVICE: &str =
    "The turn above was interrupted here: this server was not served for a while.";

/// Longest answer that is sent, in bytes: Discord takes no larger file from a bot than 10 MiB.
const LONGEST: usize = 8 << 20;

/// What people are told where something panicked.
pub(in crate::agent) const BROKEN: &str = "**Something broke inside Chorus.**\nWhat was done so far is kept. Send a message to go on; the operator finds the cause in the log.";

/// Most sources named under an answer; a search can cite a hundred.
const SOURCES: usize = 12;

impl Turn {
    /// Ends the turn with its outcome.
    pub(super) async fn finish(&mut self, outcome: Outcome) -> Result<(), StoreError> {
        let exit = outcome.exit();
        if exit == EndReason::Interrupted {
            let note = match self.context.stop.by() {
                Stopper::Machine(_) => CUT_BY_END_OF_SERVICE,
                Stopper::Person(_) | Stopper::Destroyer(_) | Stopper::Shutdown => CUT_BY_STOP,
            };
            self.add_note(note).await?;
        }
        let said = outcome.said();
        let (answer, kind, reply) = match outcome {
            Outcome::Answer {
                answer,
                exit,
                remark,
                citations,
            } => {
                let other = other_model(&self.context, &self.config, self.answered_by.as_ref());
                let remarks: Vec<&str> = remark.iter().chain(&other).map(String::as_str).collect();
                let reply = reply_of(&answer.text, exit, &remarks, &citations);
                // A refusal is shown and not kept: the next question starts without it.
                let kept = (exit != EndReason::Refused).then_some(answer);
                (kept, PartKind::Reply, reply)
            }
            Outcome::None { exit, error } => {
                let report = FailureReport {
                    exit,
                    error: &error,
                    steps: self.books.tally.steps,
                    usage: self.books.tally.usage,
                    cost: self.books.tally.cost,
                    elapsed: self.clock.elapsed(),
                    by: self.context.stop.by(),
                };
                (None, PartKind::Failure, report.render())
            }
        };
        let reply = self
            .context
            .deps
            .services
            .redactor
            .redact(&reply)
            .into_owned();
        let ended = FinishedTurn {
            answer: answer.clone(),
            exit: exit.as_str().to_owned(),
            steps: self.books.tally.steps,
            usage: self.books.tally.usage,
            cost: self.books.tally.cost,
            parts: parts_of(&reply, kind, self.context.reference.reply_to),
            first: FirstPart::Sends,
            attached: std::mem::take(&mut self.books.attached),
        };
        let queued = self
            .context
            .deps
            .store
            .finish_turn(self.context.id(), ended)
            .await?;
        if let Some(answer) = answer {
            self.transcript.push(Item::Assistant(answer));
        }
        info!(
            agent.id = %self.context.agent.id,
            turn.id = %self.context.id(),
            turn.exit = exit.as_str(),
            turn.steps = self.books.tally.steps,
            turn.duration_ms = self.clock.elapsed().as_millis() as u64,
            "agent {} finished its turn: {}",
            self.context.agent.name,
            exit.as_str()
        );
        let summary = TurnSummary {
            exit: exit.as_str().to_owned(),
            said,
            steps: self.books.tally.steps,
            usage: self.books.tally.usage,
            cost: self.books.tally.cost,
            elapsed: self.clock.elapsed(),
            branch: self.context.branch,
        };
        let leads = |part: &Part| part.state == PartState::Sending;
        self.context
            .deps
            .emit(match queued.into_iter().next().filter(leads) {
                Some(reply) => Event::Reply(Box::new(reply)),
                None => Event::Outbox(self.context.reference.channel),
            });
        self.context
            .deps
            .emit(Event::TurnEnded(self.context.reference.clone(), summary));
        Ok(())
    }
}

/// A line for people under an answer that another model gave than the agent's.
fn other_model(
    context: &TurnContext,
    config: &AgentConfig,
    answered_by: Option<&Target>,
) -> Option<String> {
    let by = answered_by?;
    let own = context.deps.targets(&context.agent, config).ok()?;
    let own = own.first().filter(|own| *own != by)?;
    // Providers may offer a model of the same name.
    let name = |target: &Target| {
        if by.model == own.model {
            target.to_string()
        } else {
            target.model.clone()
        }
    };
    Some(format!(
        "-# Answered by `{}`, not by `{}`.",
        name(by),
        name(own)
    ))
}

impl Outcome {
    fn exit(&self) -> EndReason {
        match self {
            Self::Answer { exit, .. } | Self::None { exit, .. } => *exit,
        }
    }

    const fn said(&self) -> Said {
        match self {
            Self::Answer { .. } => Said::Answer,
            Self::None { .. } => Said::Report,
        }
    }
}

/// The answer as people get it: with the sources of a search and a line for each remark.
fn reply_of(
    answer: &str,
    exit: EndReason,
    remarks: &[&str],
    citations: &[(String, String)],
) -> String {
    let mut reply = match answer.trim() {
        "" if exit == EndReason::Refused => "The model declined to answer.".to_owned(),
        text => text.to_owned(),
    };
    let sources: Vec<String> = citations
        .iter()
        .filter(|(_, url)| is_address(url))
        .take(SOURCES)
        .map(|(title, url)| format!("\n- {} <{url}>", escape::text(&text::one_line(title, 100))))
        .collect();
    if !sources.is_empty() {
        reply.push_str("\n\nSources:");
        reply.extend(sources);
    }
    if !remarks.is_empty() {
        reply.push_str("\n\n");
        reply.push_str(&remarks.join("\n"));
    }
    reply
}

/// Whether `url` leads to the web and stays within its angle brackets.
fn is_address(url: &str) -> bool {
    let leads = url.starts_with("https://") || url.starts_with("http://");
    leads && !url.contains(|command: char| command.is_whitespace() || matches!(command, '<' | '>'))
}

/// A reply as the outbox takes it; the first part refers to the message it answers.
fn parts_of(
    reply: &str,
    kind: PartKind,
    reply_to: Option<crate::domain::MessageId>,
) -> Vec<NewPart> {
    let mut bodies: Vec<PartBody> = match text::split(reply) {
        Split::Parts(parts) => parts
            .into_iter()
            .map(|content| PartBody {
                content,
                ..PartBody::default()
            })
            .collect(),
        Split::File => vec![PartBody {
            content: format!(
                "The answer is long ({} characters), so it comes as a file.",
                reply.chars().count()
            ),
            files: vec![OutFile::Text {
                name: LONG_ANSWER.to_owned(),
                text: bounded(reply),
            }],
            ..PartBody::default()
        }],
    };
    if let Some(first) = bodies.first_mut() {
        first.reply_to = reply_to;
    }
    bodies
        .into_iter()
        .map(|body| NewPart { kind, body })
        .collect()
}

/// `text` as far as it can be sent.
fn bounded(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let kept = &text[..text.floor_char_boundary(LONGEST)];
    format!(
        "{kept}\n\n[{} more bytes cannot be sent]",
        text.len() - kept.len()
    )
}

/// Ends a turn whose task broke off: what the ledger has stands, and people are told.
pub(in crate::agent) async fn close_broken(
    deps: &AgentDeps,
    agent: &Identity,
    channel: ChannelId,
    branch: Option<u32>,
    turn: TurnId,
) {
    let row = deps.store.turn(turn).await.ok().flatten();
    let reply_to = row.as_ref().and_then(|row| row.begun.reply_to);
    let ended = FinishedTurn {
        answer: None::<Assistant>,
        exit: EndReason::Failed.as_str().to_owned(),
        steps: 0,
        usage: Usage::default(),
        cost: Cost::Unknown,
        parts: parts_of(BROKEN, PartKind::Failure, reply_to),
        first: FirstPart::Waits,
        attached: AttachedRows::default(),
    };
    if let Err(error) = deps.store.finish_turn(turn, ended).await {
        error!(turn.id = %turn, "failed to close a turn that panicked: {error}");
        // It had not begun, or the ledger fails: this line is all that people get.
        deps.emit(Event::Say {
            channel,
            reply_to,
            text: BROKEN.to_owned(),
        });
    }
    let reference = TurnRef {
        turn,
        agent: agent.id,
        agent_name: agent.name.to_string(),
        channel,
        reply_to,
    };
    let summary = TurnSummary {
        exit: EndReason::Failed.as_str().to_owned(),
        said: Said::Report,
        steps: 0,
        usage: Usage::default(),
        cost: Cost::Unknown,
        elapsed: std::time::Duration::ZERO,
        branch,
    };
    deps.emit(Event::Outbox(channel));
    deps.emit(Event::TurnEnded(reference, summary));
}
