//! Answers to a question in words: if a person who may decide it writes while it is open, that denies its calls, with
//! the text as the reason. No text allows anything.
//!
//! The message itself is processed like every message; it is passed to its turn before the calls are denied, so that
//! the model gets both.

use tracing::debug;

use super::book::Asked;
use super::{Approvals, Press, TAKEN};
use crate::agent::event::{Answer, Arrived, Choice};
use crate::discord::bot::Bot;
use crate::discord::rest::body::clip;
use crate::discord::rest::{Request, Urgency, route};
use crate::domain::{ChannelId, Inbound, MessageId, TurnId, UserId};
use crate::manager::{AgentSummary, ManagerError};

/// Most characters of a message that are kept as the reason of a denial: the limit of the form.
const MAX_REASON: usize = 500;

/// An open question that a message may answer.
struct Answerable {
    question: i64,
    run: TurnId,
    card: MessageId,
    requesters: Vec<UserId>,
}

impl Approvals {
    /// Records that a message has arrived in a channel, for the open questions there. No allowed call starts before it
    /// is known whether the message denies it.
    pub(in crate::discord) fn words_arrived(
        &self,
        channel: ChannelId,
        message: MessageId,
    ) -> Vec<Arrived> {
        self.with(|book| {
            let all = book.asked.values();
            all.filter(|asked| asked.is_answerable(channel, message))
                .map(|asked| asked.question.presses.arrive())
                .collect()
        })
    }

    /// Waits until the ids of the open cards of a channel are known: people see a card that is being posted before its
    /// id is known here.
    async fn knows_cards_of(&self, channel: ChannelId) {
        let known = self.wait_for(|book| {
            let mut all = book.asked.values();
            let is_posting = all.any(|asked| {
                asked.question.turn.channel == channel
                    && asked.message.is_none()
                    && !asked.is_over()
            });
            (!is_posting).then_some(())
        });
        // Otherwise, a card without an id cannot be answered.
        let _ = known.await;
    }

    /// Shows that a message was accepted.
    fn sign(&self, channel: ChannelId, message: MessageId) {
        let rest = self.rest.clone();
        self.tasks.spawn(async move {
            let request = Request::new(route::react(channel, message, TAKEN), Urgency::Durable);
            if let Err(error) = rest.send(request).await {
                debug!(%error, channel.id = %channel, "failed to react to a message");
            }
        });
    }

    /// Returns the open questions of a channel that people saw before they wrote `message`.
    fn answerable(&self, channel: ChannelId, message: MessageId) -> Vec<Answerable> {
        self.with(|book| {
            let all = book.asked.values();
            let open = all.filter(|asked| asked.is_answerable(channel, message));
            open.filter_map(|asked| {
                Some(Answerable {
                    question: asked.question.id(),
                    run: asked.question.turn.run,
                    card: asked.message?,
                    requesters: asked.question.requesters.clone(),
                })
            })
            .collect()
        })
    }
}

impl Asked {
    /// Returns whether `message` was written below this question while some of it was open.
    fn is_answerable(&self, channel: ChannelId, message: MessageId) -> bool {
        // While the card is being posted its id is not known: the message may be below it.
        let is_below = self.message.is_none_or(|card| card < message);
        is_below && self.question.turn.channel == channel && !self.is_over()
    }
}

impl Bot {
    /// Takes a message as the answer to a question of `ask_person`, if one is open in its conversation; returns whether it did.
    /// A reply to an approval answers that.
    ///
    /// # Errors
    ///
    /// Fails if the ledger did not accept the message.
    pub(in crate::discord) async fn answers_question(
        &self,
        agent: &AgentSummary,
        message: &Inbound,
    ) -> Result<bool, ManagerError> {
        if let Some(replied) = message.reply_to
            && self.approvals.is_card(replied)
        {
            return Ok(false);
        }
        let recovery = &self.manager.recovery;
        let is_answer = recovery.answered_by_message(agent, message).await?;
        if is_answer {
            self.approvals.sign(message.channel_id, message.id);
        }
        Ok(is_answer)
    }

    /// Denies the open questions that a message answers; its turn already has the message. `text` is the author's text.
    pub(in crate::discord) async fn answered_in_words(
        &self,
        agent: &AgentSummary,
        message: Inbound,
        text: &str,
    ) {
        self.approvals.knows_cards_of(message.channel_id).await;
        let mut open = self.approvals.answerable(message.channel_id, message.id);
        if open.is_empty() {
            return;
        }
        let (channel, id) = (message.channel_id, message.id);
        let (guild, author, reply_to) =
            (message.guild_id, message.author.clone(), message.reply_to);
        let is_answer = !message.is_from_bot && is_answer(text, &self.other_agents(agent));
        let runs = open.iter().map(|question| question.run).collect();
        let meant = self.manager.routing.meant(agent, message, runs).await;
        if meant.is_some() {
            self.approvals.sign(channel, id);
        }
        if !is_answer {
            return;
        }
        let is_card = |question: &Answerable| Some(question.card) == reply_to;
        if open.iter().any(is_card) {
            open.retain(is_card);
        } else {
            open.retain(|question| Some(question.run) == meant);
        }
        let denial = Answer {
            choice: Choice::Deny,
            by: author.id,
            reason: Some(clip(text.trim(), MAX_REASON)),
        };
        for question in open {
            let id = question.question;
            let deciding = (id, Choice::Deny);
            let may = self.may_decide(guild, &author, &question.requesters, deciding);
            if may.await.is_err() {
                continue;
            }
            let calls = self.approvals.with(|book| book.open_calls_of(id));
            // If a press was first, that counts; the turn has the message anyway.
            let (Press::Decided | Press::TooLate) =
                self.approvals.decide(&calls, &denial, &author, None);
        }
    }

    /// Returns how a message can name the other agents of the server.
    fn other_agents(&self, agent: &AgentSummary) -> Vec<String> {
        let all = self.manager.directory.agents(agent.guild).into_iter();
        all.filter(|other| other.id != agent.id)
            .flat_map(|other| {
                let channel = other.channel.map(|channel| format!("<#{channel}>"));
                channel.into_iter().chain([format!("@{}", other.name)])
            })
            .collect()
    }
}

/// Returns whether a text answers a question: a command to something else, or words for another agent, do not.
fn is_answer(text: &str, others: &[String]) -> bool {
    let text = text.trim();
    !text.is_empty() && !text.starts_with('/') && !others.iter().any(|other| names(text, other))
}

/// Returns whether `text` has `name` as a separate word.
fn names(text: &str, name: &str) -> bool {
    let continues = |next: char| next.is_alphanumeric() || matches!(next, '-' | '_');
    text.match_indices(name).any(|(at, _)| {
        let after = text[at + name.len()..].chars().next();
        name.ends_with('>') || !after.is_some_and(continues)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(text: &str) -> bool {
        is_answer(text, &["<#7>".to_owned(), "@docs".to_owned()])
    }

    #[test]
    fn words_answer_and_commands_and_other_agents_do_not() {
        for text in [
            "no!",
            "yes",
            "ok",
            " use /usr/bin/make ",
            "@docs-old is gone",
        ] {
            assert!(answers(text), "{text}");
        }
        for text in [
            "",
            "  ",
            "/stop",
            " /help",
            "ask <#7> first",
            "@docs, look",
            "it is for @docs",
        ] {
            assert!(!answers(text), "{text}");
        }
    }
}
