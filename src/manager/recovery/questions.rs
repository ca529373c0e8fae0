//! Answers to questions of `ask_person`, and the turns that wait for one over a restart.
//!
//! The ledger decides which answer is the first. A turn that runs is woken by it; an interrupted one goes on with it.

use chrono::{DateTime, TimeDelta, Utc};
use tracing::{error, warn};

use super::Recovery;
use crate::agent::{OpenToPeople, Pending, PersonEnd};
use crate::clock;
use crate::domain::{Author, ChannelId, Inbound, MessageId, Person};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::store::{
    InterruptedTurn, PersonQuestionEnded, PersonQuestionRow, QuestionOutcome, ResumeChoice,
    ResumeState, StoreError,
};
use crate::text::escape;

/// The least time that a question stays open after a start.
const AFTER_START: TimeDelta = TimeDelta::seconds(60);

/// What somebody answers to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The options at these places.
    Options(Vec<usize>),
    Words(String),
}

impl Recovery {
    /// Returns a question that somebody may answer now, whose card is `pressed`.
    ///
    /// # Errors
    ///
    /// Why they cannot answer it.
    pub(crate) async fn open_question(
        &self,
        id: i64,
        by: &Person,
        (channel, pressed): (ChannelId, Option<MessageId>),
    ) -> Result<PersonQuestionRow, ManagerError> {
        let unknown = || ManagerError::refused("This button no longer works.");
        let question = self.deps.store.person_question(id).await?;
        let question = question.ok_or_else(unknown)?;
        let is_its_card = match (question.message, pressed) {
            (Some(card), Some(pressed)) => card == pressed,
            // Its id is about to be stored, or a form does not tell it.
            (None, _) | (_, None) => true,
        };
        if question.channel != channel || !is_its_card {
            return Err(unknown());
        }
        if question.outcome.is_some() {
            return Err(self.too_late(&question, by).await);
        }
        let agents = &question.body.agents;
        let joined = self.access.may_join(by, agents).await;
        joined.map_err(|why| ManagerError::refused(why.to_string()))?;
        Ok(question)
    }

    /// Answers a question (Q2).
    ///
    /// # Errors
    ///
    /// Why the answer does not count.
    pub(crate) async fn answer(
        &self,
        question: &PersonQuestionRow,
        reply: Reply,
        by: &Person,
    ) -> Result<(), ManagerError> {
        let end = match reply {
            Reply::Options(places) => PersonEnd::chose(by.into(), &question.body.asked, &places)
                .ok_or_else(|| ManagerError::refused("This option no longer exists."))?,
            Reply::Words(words) => PersonEnd::Answered(by.into(), words),
        };
        match self.deps.end_question(question, &end).await? {
            PersonQuestionEnded::Now => self.goes_on_answered(question, by.into()).await,
            PersonQuestionEnded::Before | PersonQuestionEnded::Known => {
                let question = self.deps.store.person_question(question.id).await?;
                Err(match question {
                    Some(question) => self.too_late(&question, by).await,
                    None => ManagerError::refused("This question has ended."),
                })
            }
        }
    }

    /// Takes a message as the answer to an open question of its conversation, if there is one. Returns whether it did; then the
    /// message begins or joins no turn.
    ///
    /// # Errors
    ///
    /// When the ledger fails.
    pub(crate) async fn answered_by_message(
        &self,
        agent: &AgentSummary,
        message: &Inbound,
    ) -> Result<bool, ManagerError> {
        let is_text = !message.content.trim().is_empty() && message.attachments.is_empty();
        if message.is_from_bot || !is_text {
            return Ok(false);
        }
        let open = self.deps.questions.in_channel(message.channel_id).await;
        let seen: Vec<_> = open
            .into_iter()
            .filter(|(_, one)| one.card.is_some_and(|card| card < message.id))
            .collect();
        if seen.is_empty() {
            return Ok(false);
        }
        let Some(id) = self.answers(agent, message, &seen).await else {
            return Ok(false);
        };
        let Some(question) = self.deps.store.person_question(id).await? else {
            return Ok(false);
        };
        let joined = self.access.may_join(&message.author, &question.body.agents);
        if joined.await.is_err() {
            return Ok(false);
        }
        let by: Author = (&message.author).into();
        let end = PersonEnd::Answered(by.clone(), message.content.trim().to_owned());
        let answered = self
            .deps
            .answer_by_message(&question, message.clone(), &end)
            .await?;
        match answered {
            PersonQuestionEnded::Now => {
                self.goes_on_answered(&question, by).await?;
                Ok(true)
            }
            // It came before the restart, and was the answer then.
            PersonQuestionEnded::Known => Ok(true),
            PersonQuestionEnded::Before => Ok(false),
        }
    }

    /// Which of these questions a message answers: the one whose card it replies to, else that of its conversation.
    async fn answers(
        &self,
        agent: &AgentSummary,
        message: &Inbound,
        seen: &[(i64, OpenToPeople)],
    ) -> Option<i64> {
        let replied = seen.iter().find(|(_, one)| one.card == message.reply_to);
        if let Some((id, _)) = replied.filter(|_| message.reply_to.is_some()) {
            return Some(*id);
        }
        let conversation = self.routing.conversation_of(agent, message).await?;
        let mut its = seen.iter();
        let found = its.find(|(_, one)| one.conversation == conversation);
        found.map(|(id, _)| *id)
    }

    /// Says who was first, or how the question ended.
    async fn too_late(&self, question: &PersonQuestionRow, by: &Person) -> ManagerError {
        ManagerError::refused(match (question.outcome, question.answered_by) {
            (Some(QuestionOutcome::Answered), Some(first)) if first == by.id => {
                "You have already answered this.".to_owned()
            }
            (Some(QuestionOutcome::Answered), Some(first)) => {
                let guild = self.directory.registry.get(question.agent);
                let name = match guild {
                    Some(agent) => self.name_in(agent.guild, first).await,
                    None => format!("<@{first}>"),
                };
                format!("{name} has already answered this.")
            }
            (Some(QuestionOutcome::Expired), _) => {
                "This question has expired; the agent went on without an answer.".to_owned()
            }
            (Some(_), _) | (None, _) => "This question has ended.".to_owned(),
        })
    }

    async fn name_in(&self, guild: crate::domain::GuildId, user: crate::domain::UserId) -> String {
        match self.deps.participant(guild, user).await {
            crate::domain::Participant::Member(person) => escape::name(&person.name),
            crate::domain::Participant::Unknown(id) => format!("<@{id}>"),
        }
    }

    /// An interrupted turn whose question was answered goes on. A turn that runs was woken by the answer.
    async fn goes_on_answered(
        &self,
        question: &PersonQuestionRow,
        by: Author,
    ) -> Result<(), ManagerError> {
        if !self.deps.interruptions.take_question(question.conversation) {
            return Ok(());
        }
        let row = self.deps.store.interrupted_turn(question.run).await?;
        let agent = self.directory.registry.get(question.agent);
        match (row, agent) {
            (Some(row), Some(agent)) => {
                self.go_on(&agent, &row, Some((ResumeChoice::Answer, by)))
                    .await
            }
            _ => Ok(()),
        }
    }
}

impl Recovery {
    /// Makes the questions that were open at the stop answerable again.
    pub(super) async fn find_questions(&self) -> Result<(), StoreError> {
        for question in self.deps.store.open_person_questions().await? {
            self.deps.questions.put(&question);
        }
        Ok(())
    }

    /// Ends open questions whose turns do not go on.
    pub(super) async fn end_orphans(&self, rows: &[InterruptedTurn]) -> Result<(), StoreError> {
        for question in self.deps.store.open_person_questions().await? {
            let is_kept = rows.iter().any(|row| row.turn.begun.id == question.run);
            let runs = self.deps.store.turn(question.run).await?;
            let is_over = runs.is_none_or(|turn| turn.exit.is_some());
            if is_over && !is_kept {
                self.deps
                    .end_question(&question, &PersonEnd::WentOn)
                    .await?;
            }
        }
        Ok(())
    }

    /// Ends the questions of an interrupted turn that are still open.
    pub(super) async fn end_questions_of(
        &self,
        row: &InterruptedTurn,
        end: &PersonEnd,
    ) -> Result<(), StoreError> {
        for question in self.untold(row).await? {
            if question.outcome.is_none() {
                self.deps.end_question(&question, end).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn untold(
        &self,
        row: &InterruptedTurn,
    ) -> Result<Vec<PersonQuestionRow>, StoreError> {
        let store = &self.deps.store;
        store.untold_person_questions(row.turn.begun.id).await
    }

    /// Waits for the answer to the question of an interrupted turn, which may have come in this moment.
    pub(super) async fn wait_for_answer(&self, row: &InterruptedTurn) -> Result<(), ManagerError> {
        let begun = &row.turn.begun;
        let not_before = clock::now() + AFTER_START;
        self.deps.store.wait_for_answer(row, not_before).await?;
        let interruptions = &self.deps.interruptions;
        interruptions.put(begun.conversation, begun.agent, Pending::Question);
        for question in self.untold(row).await? {
            if let (Some(QuestionOutcome::Answered), Some(by)) =
                (question.outcome, question.answered_by)
            {
                let by = self.author(row, by).await;
                return self.goes_on_answered(&question, by).await;
            }
        }
        self.cards.0.notify_one();
        Ok(())
    }

    /// Ends the questions of interrupted turns that nobody answered in time; the turns go on without an answer. Returns the
    /// end of the question that ends next.
    pub(super) async fn end_overdue_questions(
        &self,
        rows: &[InterruptedTurn],
    ) -> Result<Option<DateTime<Utc>>, StoreError> {
        let mut next: Option<DateTime<Utc>> = None;
        let waiting = rows.iter().filter(|row| row.state == ResumeState::Question);
        for row in waiting {
            for question in self.untold(row).await? {
                match question.outcome {
                    // Who answered has the turn go on.
                    Some(QuestionOutcome::Answered) => continue,
                    Some(QuestionOutcome::Expired | QuestionOutcome::Cancelled) => {
                        self.goes_on_without(row).await;
                        continue;
                    }
                    None => {}
                }
                let end = question.expires_at;
                if end > clock::now() {
                    next = Some(next.map_or(end, |first| first.min(end)));
                    continue;
                }
                let ended = self.deps.end_question(&question, &PersonEnd::Expired);
                if ended.await? == PersonQuestionEnded::Now {
                    self.goes_on_without(row).await;
                }
            }
        }
        Ok(next)
    }

    /// Ends a question whose card Discord refused: nobody can answer it, and its turn does not wait.
    ///
    /// # Errors
    ///
    /// When the ledger fails.
    pub(crate) async fn question_unseen(&self, id: i64) -> Result<(), StoreError> {
        self.deps.end_question_unseen(id).await?;
        self.cards.0.notify_one();
        Ok(())
    }

    /// A turn whose question expired is decided about like one without a question: it goes on by itself at most once.
    async fn goes_on_without(&self, row: &InterruptedTurn) {
        let begun = &row.turn.begun;
        if !self.deps.interruptions.take_question(begun.conversation) {
            return;
        }
        let decided = async {
            let interruptions = &self.deps.interruptions;
            interruptions.put(begun.conversation, begun.agent, Pending::Decision);
            self.deps.store.stop_waiting_for_answer(begun.id).await?;
            let Some(row) = self.deps.store.interrupted_turn(begun.id).await? else {
                return Ok(());
            };
            self.after_question(&row).await
        };
        if let Err(error) = decided.await {
            error!(turn.id = %begun.id, "failed to have a turn go on whose question expired: {error}");
        }
    }

    async fn after_question(&self, row: &InterruptedTurn) -> Result<(), ManagerError> {
        let begun = &row.turn.begun;
        let Some(agent) = self.directory.registry.get(begun.agent) else {
            warn!(turn.id = %begun.id, "the agent of a turn that waited for an answer is gone");
            self.deps.interruptions.remove(begun.conversation);
            return Ok(());
        };
        if row.is_resume {
            return Ok(self.ask(row, &[]).await?);
        }
        self.go_on(&agent, row, None).await
    }
}
