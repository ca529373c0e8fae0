//! The questions of `ask_person` that are open. The ledger has them; this finds the one that a message answers, and wakes the
//! turn that waits.

pub(in crate::agent) mod card;

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::watch;

use super::AgentDeps;
use crate::agent::event::Event;
use crate::agent::stop::Stopper;
use crate::domain::{
    AgentId, Author, ChannelId, ConversationId, Inbound, MessageId, PersonQuestion, TurnId,
};
use crate::store::{
    PersonQuestionEnd, PersonQuestionEnded, PersonQuestionRow, QuestionOutcome, StoreError,
};
use crate::text;

/// Longest wait for the id of a card that is being posted.
const POSTED_WITHIN: Duration = Duration::from_secs(10);

/// Characters of a name in what the model is told.
const NAME: usize = 100;

/// What the model is told where nobody answers in time.
const NO_ANSWER: &str =
    "No answer came in time. Go on with what you think best, and say what you assumed.";

/// What the model is told where the question ended with its turn.
const CANCELLED: &str = "cancelled";

/// What the model is told where Discord took no card.
const UNSEEN: &str = "Nobody saw the question: Discord refused the message with it. Go on with what you think best, and say what you assumed.";

/// What the model is told where a restart ended the question.
const RESTARTED: &str = "Nobody answered: the daemon was restarted while the question was open, and the question has expired.";

/// How a question ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PersonEnd {
    /// Somebody chose these labels.
    Chose(Author, Vec<String>),
    /// Somebody answered in words of their own.
    Answered(Author, String),
    /// Nobody answered in time.
    Expired,
    /// Discord refused the card, so that nobody can answer.
    Unseen,
    /// Its turn was stopped.
    Stopped(Stopper),
    /// A restart interrupted calls beside it, and people are asked about those.
    Restarted,
    /// Its turn ended without it, or the conversation goes on.
    WentOn,
}

impl PersonEnd {
    /// The end that the options at `places` are; `None` where there is no such option.
    pub fn chose(by: Author, asked: &PersonQuestion, places: &[usize]) -> Option<Self> {
        let label = |place: &usize| Some(asked.options.get(*place)?.label.clone());
        let labels: Vec<String> = places.iter().map(label).collect::<Option<_>>()?;
        let fits = labels.len() == 1 || (asked.several && !labels.is_empty());
        fits.then_some(Self::Chose(by, labels))
    }

    fn outcome(&self) -> QuestionOutcome {
        match self {
            Self::Chose(..) | Self::Answered(..) => QuestionOutcome::Answered,
            Self::Expired | Self::Restarted => QuestionOutcome::Expired,
            Self::Unseen | Self::Stopped(_) | Self::WentOn => QuestionOutcome::Cancelled,
        }
    }

    fn by(&self) -> Option<&Author> {
        match self {
            Self::Chose(by, _) | Self::Answered(by, _) => Some(by),
            Self::Expired | Self::Unseen | Self::Restarted | Self::Stopped(_) | Self::WentOn => {
                None
            }
        }
    }

    /// What the model is told.
    fn for_model(&self) -> String {
        match self {
            Self::Chose(by, labels) => {
                let labels: Vec<String> = labels.iter().map(|label| quoted(label)).collect();
                format!("{} chose: {}", one_name(by), labels.join(", "))
            }
            Self::Answered(by, words) => format!("{} answered: {}", one_name(by), quoted(words)),
            Self::Expired => NO_ANSWER.to_owned(),
            Self::Unseen => UNSEEN.to_owned(),
            Self::Restarted => RESTARTED.to_owned(),
            Self::Stopped(_) | Self::WentOn => CANCELLED.to_owned(),
        }
    }

    /// The end as the ledger gets it, with the card of `question` from then on.
    fn stored(&self, question: &PersonQuestionRow) -> PersonQuestionEnd {
        PersonQuestionEnd {
            outcome: self.outcome(),
            answer: Some(self.for_model()),
            by: self.by().map(|by| by.id),
            card: card::ended(question.id, &question.body, self),
        }
    }
}

/// Returns words as a text of JSON, so that none of them looks like an answer of somebody else.
fn quoted(words: &str) -> String {
    serde_json::Value::from(text::visible(words).0).to_string()
}

/// Returns a person's name without the characters that would make it look like an answer.
fn one_name(person: &Author) -> String {
    let name = text::visible(&person.name).0;
    let name = name.replace(['"', '“', '”', ':'], "");
    match text::one_line(&name, NAME) {
        name if name.is_empty() => "a person".to_owned(),
        name => name,
    }
}

/// A question that people can answer.
#[derive(Clone, Debug)]
pub struct OpenToPeople {
    pub channel: ChannelId,
    /// The conversation of the run that asks.
    pub conversation: ConversationId,
    pub agent: AgentId,
    /// The agents whose work asks.
    pub agents: Vec<AgentId>,
    /// The turn that asks.
    pub turn: TurnId,
    /// Its card, once posted.
    pub card: Option<MessageId>,
}

impl From<&PersonQuestionRow> for OpenToPeople {
    fn from(row: &PersonQuestionRow) -> Self {
        Self {
            channel: row.channel,
            conversation: row.conversation,
            agent: row.agent,
            agents: row.body.agents.clone(),
            turn: row.turn,
            card: row.message,
        }
    }
}

/// All open questions of the daemon.
#[derive(Debug, Default)]
pub struct Questions {
    open: Mutex<BTreeMap<i64, OpenToPeople>>,
    /// Counts changes, for those who wait for one.
    changes: watch::Sender<u64>,
}

impl Questions {
    /// A question can be answered from now on.
    pub fn put(&self, row: &PersonQuestionRow) {
        self.open.lock().insert(row.id, row.into());
        self.changed();
    }

    /// A question was posted as this message.
    pub fn posted(&self, id: i64, card: MessageId) {
        if let Some(open) = self.open.lock().get_mut(&id) {
            open.card = Some(card);
        }
        self.changed();
    }

    /// The open question whose card is this message.
    pub fn with_card(&self, message: MessageId) -> Option<i64> {
        let open = self.open.lock();
        let mut all = open.iter();
        all.find(|(_, one)| one.card == Some(message))
            .map(|(id, _)| *id)
    }

    /// A question has ended, and the ledger has that.
    pub fn closed(&self, id: i64) {
        self.open.lock().remove(&id);
        self.changed();
    }

    /// Waits until a question has ended.
    pub(in crate::agent) async fn ends(&self, id: i64) {
        let mut changes = self.changes.subscribe();
        // The sender is in `self`.
        let _ = changes
            .wait_for(|_| !self.open.lock().contains_key(&id))
            .await;
    }

    /// Whether a question of this agent is open.
    pub(in crate::agent) fn is_open_for(&self, agent: AgentId) -> bool {
        let open = self.open.lock();
        open.values().any(|one| one.agent == agent)
    }

    /// The open questions of these turns.
    pub(in crate::agent) fn of_turns(&self, turns: &[TurnId]) -> Vec<i64> {
        let open = self.open.lock();
        let all = open.iter().filter(|(_, one)| turns.contains(&one.turn));
        all.map(|(id, _)| *id).collect()
    }

    /// The open questions of a conversation.
    pub(in crate::agent) fn of_conversation(&self, conversation: ConversationId) -> Vec<i64> {
        let open = self.open.lock();
        let all = open
            .iter()
            .filter(|(_, one)| one.conversation == conversation);
        all.map(|(id, _)| *id).collect()
    }

    /// The open questions of a channel, once the ids of their cards are known.
    pub async fn in_channel(&self, channel: ChannelId) -> Vec<(i64, OpenToPeople)> {
        let here = || -> Vec<(i64, OpenToPeople)> {
            let open = self.open.lock();
            let all = open.iter().filter(|(_, one)| one.channel == channel);
            all.map(|(id, one)| (*id, one.clone())).collect()
        };
        let mut changes = self.changes.subscribe();
        let are_posted = changes.wait_for(|_| here().iter().all(|(_, one)| one.card.is_some()));
        // In vain, a card without an id is answered by nothing.
        let _ = tokio::time::timeout(POSTED_WITHIN, are_posted).await;
        here()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

impl AgentDeps {
    /// How long a question or an approval of a turn stays open that no person began; `usual` applies to all others.
    pub(in crate::agent) fn asks_for(&self, is_attended: Attended, usual: Duration) -> Duration {
        match is_attended {
            Attended::Yes => usual,
            Attended::No => self.config.load().unattended_timeout.get(),
        }
    }

    /// Ends a question (Q2), and wakes the turn that waits for it. The first end counts.
    pub async fn end_question(
        &self,
        question: &PersonQuestionRow,
        end: &PersonEnd,
    ) -> Result<PersonQuestionEnded, StoreError> {
        let stored = end.stored(question);
        let ended = self.store.end_person_question(question.id, stored).await?;
        self.question_ended(question, ended);
        Ok(ended)
    }

    /// The same by a message, which enters the conversation only as the answer.
    pub async fn answer_by_message(
        &self,
        question: &PersonQuestionRow,
        message: Inbound,
        end: &PersonEnd,
    ) -> Result<PersonQuestionEnded, StoreError> {
        let stored = end.stored(question);
        let ended = self
            .store
            .answer_by_message(question.id, message, stored)
            .await?;
        self.question_ended(question, ended);
        Ok(ended)
    }

    fn question_ended(&self, question: &PersonQuestionRow, ended: PersonQuestionEnded) {
        if ended == PersonQuestionEnded::Now {
            self.questions.closed(question.id);
            self.emit(Event::Outbox(question.channel));
        }
    }

    /// Ends questions that nobody waits for any more.
    pub(in crate::agent) async fn end_questions(
        &self,
        ids: Vec<i64>,
        end: &PersonEnd,
    ) -> Result<(), StoreError> {
        for id in ids {
            match self.store.person_question(id).await? {
                Some(question) => drop(self.end_question(&question, end).await?),
                None => self.questions.closed(id),
            }
        }
        Ok(())
    }

    /// The card of a question was posted. Where the question has ended meanwhile, the card is to say so.
    ///
    /// # Errors
    ///
    /// When the ledger fails.
    pub async fn question_posted(&self, id: i64, card: MessageId) -> Result<(), StoreError> {
        self.store.set_person_question_message(id, card).await?;
        self.questions.posted(id, card);
        let Some(question) = self.store.person_question(id).await? else {
            return Ok(());
        };
        if let (Some(outcome), Some(answer)) = (question.outcome, &question.answer) {
            let part = card::ended_before(id, &question.body, outcome, answer);
            let told = crate::store::Told {
                channel: question.channel,
                edits: Some(card),
                part,
            };
            self.store.tell(vec![told]).await?;
            self.emit(Event::Outbox(question.channel));
        }
        Ok(())
    }
}

impl AgentDeps {
    /// The card of a question was deleted: it is posted again, or nobody could answer.
    ///
    /// # Errors
    ///
    /// When the ledger fails.
    pub async fn question_deleted(&self, id: i64) -> Result<(), StoreError> {
        let Some(question) = self.store.person_question(id).await? else {
            return Ok(());
        };
        let to = card::Addressed {
            mention: None,
            reply_to: None,
            expires_at: question.expires_at,
        };
        let again = card::open(id, &question.body, to);
        self.store
            .post_person_question_again(&question, again)
            .await?;
        self.emit(Event::Outbox(question.channel));
        Ok(())
    }

    /// Ends a question whose card cannot be posted, and wakes the turn that waits for it.
    ///
    /// # Errors
    ///
    /// When the ledger fails.
    pub async fn end_question_unseen(&self, id: i64) -> Result<(), StoreError> {
        self.end_questions(vec![id], &PersonEnd::Unseen).await
    }
}

/// Whether a person began a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agent) enum Attended {
    Yes,
    No,
}
