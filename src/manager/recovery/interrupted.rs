//! Decides, once Discord is connected, how turns go on that a stop or a crash interrupted.
//!
//! A turn goes on by itself at most once, and only where no call with effects was under way. Everything else needs a press by a
//! person.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::Recovery;
use super::card;
use crate::agent::{AgentCommand, Overrides};
use crate::agent::{Pending, PersonEnd, Place, Prompt, Resume, Source, Trigger, WENT_ON};
use crate::clock;
use crate::domain::{Author, ChannelId, MessageId, Person, SessionId, ToolCall, TurnId};
use crate::manager::directory::registry::AgentSummary;
use crate::manager::error::ManagerError;
use crate::store::{
    Chosen, InterruptedTurn, NewPart, QuestionOutcome, ResumeChoice, ResumeState, StartedCall,
    StoreError, Told,
};
use crate::text::escape;

/// An older interrupted turn is not looked at any more.
const TOO_OLD: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a card waits for an answer.
const CARD_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// The end of a card that nobody answered.
const NO_ANSWER: &str = "Left: no answer within 24 hours.";

/// What people are told where everything else of the text depends on the cause.
const LINE: &str = "I was restarted in the middle of this, so the turn was interrupted. The conversation is kept; press **Continue** or write a message.";

/// The same where somebody had stopped the turn.
const STOPPED: &str = "This turn had been stopped before I was restarted, so it does not continue. The conversation is kept; press **Continue** or write a message.";

/// What is woken when a card is posted: it has an end.
#[derive(Debug, Default)]
pub(crate) struct Cards(pub(super) Notify);

/// How an interrupted turn goes on.
enum Decision {
    ByItself,
    /// A person answered its card before the daemon stopped again.
    AsChosen(ResumeChoice, Author),
    Ask(Vec<(StartedCall, ToolCall)>),
    /// Its question to people is open.
    Question,
    /// The card is still open.
    IsAsked,
    WentOn,
    NoAnswer,
    /// Only a person can continue it.
    Line,
    /// A person had stopped it.
    Stopped,
    TooOld,
}

impl Recovery {
    /// Notes which conversations have interrupted turns, and holds messages back until it is decided how these go on.
    pub(crate) async fn find_interrupted(&self) -> Result<(), StoreError> {
        let rows = self.deps.store.interrupted_turns().await?;
        for row in &rows {
            let pending = match row.state {
                ResumeState::Asked if row.choice.is_none() => Pending::Answer,
                _ => Pending::Decision,
            };
            let begun = &row.turn.begun;
            let interruptions = &self.deps.interruptions;
            interruptions.put(begun.conversation, begun.agent, pending);
        }
        self.find_questions().await?;
        if !rows.is_empty() {
            self.routing.hold();
        }
        Ok(())
    }

    /// Decides about all interrupted turns, in their order; then messages pass.
    pub(crate) async fn decide_interrupted(&self) {
        match self.deps.store.interrupted_turns().await {
            Ok(rows) => {
                let channels: Vec<ChannelId> =
                    rows.iter().map(|row| row.turn.begun.channel).collect();
                self.deps.interruptions.catches_up(&channels).await;
                if let Err(error) = self.end_orphans(&rows).await {
                    error!("failed to end questions that nobody waits for: {error}");
                }
                for row in rows {
                    let turn = row.turn.begun.id;
                    if let Err(error) = self.decide(&row).await {
                        error!(turn.id = %turn, "failed to decide how an interrupted turn goes on: {error}");
                    }
                }
            }
            Err(error) => error!("failed to read the interrupted turns: {error}"),
        }
        self.routing.release(None).await;
    }

    async fn decide(&self, row: &InterruptedTurn) -> Result<(), ManagerError> {
        let begun = &row.turn.begun;
        let Some(agent) = self.directory.registry.get(begun.agent) else {
            self.deps.interruptions.remove(begun.conversation);
            let why = "its agent was destroyed";
            return Ok(self.deps.refuse_to_go_on(row, why).await?);
        };
        let decision = self.decision(row).await?;
        match &decision {
            Decision::Question | Decision::AsChosen(..) => {}
            Decision::Ask(calls) if !calls.is_empty() => {
                self.end_questions_of(row, &PersonEnd::Restarted).await?;
            }
            Decision::WentOn => self.end_questions_of(row, &PersonEnd::WentOn).await?,
            _ => self.end_questions_of(row, &PersonEnd::Expired).await?,
        }
        match decision {
            Decision::Question => return self.wait_for_answer(row).await,
            Decision::ByItself => {
                info!(turn.id = %begun.id, "an interrupted turn of {} goes on", agent.name);
                return self.go_on(&agent, row, None).await;
            }
            Decision::AsChosen(choice, by) => {
                return self.go_on(&agent, row, Some((choice, by))).await;
            }
            Decision::Ask(calls) => return Ok(self.ask(row, &calls).await?),
            Decision::IsAsked => return Ok(()),
            Decision::WentOn => self.deps.leave_interrupted(row, WENT_ON).await?,
            Decision::NoAnswer => self.deps.leave_interrupted(row, NO_ANSWER).await?,
            Decision::Line => {
                let line = LINE.to_owned();
                self.deps
                    .end_with_line(row, ResumeState::Left, line)
                    .await?;
            }
            Decision::Stopped => {
                self.deps
                    .end_with_line(row, ResumeState::Left, STOPPED.to_owned())
                    .await?;
            }
            Decision::TooOld => {
                let line = "This turn was interrupted more than 24 hours ago and does not go on. The conversation is kept.";
                let line = line.to_owned();
                self.deps
                    .end_with_line(row, ResumeState::Left, line)
                    .await?;
            }
        }
        self.deps.interruptions.remove(begun.conversation);
        // Its silence begins now.
        let silence = AgentCommand::Activity(begun.channel);
        self.routing.deliver(&agent, silence).await
    }

    async fn decision(&self, row: &InterruptedTurn) -> Result<Decision, StoreError> {
        let begun = &row.turn.begun;
        let now = clock::now();
        let conversation = self.deps.store.conversation(begun.conversation).await?;
        let is_closed = conversation.is_none_or(|one| one.closed_at.is_some());
        if row.is_overtaken {
            return Ok(Decision::WentOn);
        }
        if row.is_stopped {
            return Ok(Decision::Stopped);
        }
        if let (Some(choice), Some(by)) = (row.choice, row.decided_by) {
            let by = self.author(row, by).await;
            return Ok(Decision::AsChosen(choice, by));
        }
        if row.state == ResumeState::Asked {
            let is_over = row.expires_at.is_some_and(|end| end <= now);
            return Ok(match (is_closed, is_over) {
                (true, _) => Decision::WentOn,
                (false, true) => Decision::NoAnswer,
                (false, false) => Decision::IsAsked,
            });
        }
        let age = (now - row.at).to_std().unwrap_or_default();
        if age > TOO_OLD {
            return Ok(Decision::TooOld);
        }
        let started = self.deps.started_calls(begun.id).await?;
        let max_age = self.deps.config.load().resume.max_age.get();
        if !is_closed && started.is_empty() {
            for question in self.untold(row).await? {
                match (question.outcome, question.answered_by) {
                    (None, _) => return Ok(Decision::Question),
                    (Some(QuestionOutcome::Answered), Some(by)) => {
                        let by = self.author(row, by).await;
                        return Ok(Decision::AsChosen(ResumeChoice::Answer, by));
                    }
                    (Some(_), _) => {}
                }
            }
        }
        Ok(if is_closed {
            Decision::Line
        } else if !started.is_empty() || row.is_resume {
            Decision::Ask(started)
        } else if max_age.is_zero() || age > max_age {
            Decision::Line
        } else {
            Decision::ByItself
        })
    }

    /// The name of somebody who pressed a button before the restart.
    pub(super) async fn author(
        &self,
        row: &InterruptedTurn,
        user: crate::domain::UserId,
    ) -> Author {
        let guild = self.directory.registry.get(row.turn.begun.agent);
        let person = match guild {
            Some(agent) => self.deps.participant(agent.guild, user).await,
            None => crate::domain::Participant::Unknown(user),
        };
        match person {
            crate::domain::Participant::Member(person) => (&person).into(),
            crate::domain::Participant::Unknown(id) => Author {
                id,
                name: "a person".to_owned(),
            },
        }
    }

    /// Has the agent continue an interrupted turn.
    pub(super) async fn go_on(
        &self,
        agent: &AgentSummary,
        row: &InterruptedTurn,
        choice: Option<(ResumeChoice, Author)>,
    ) -> Result<(), ManagerError> {
        let begun = &row.turn.begun;
        self.deps.interruptions.remove(begun.conversation);
        let resume = Resume {
            of: begun.id,
            choice,
        };
        let run = self.deps.store.run_of_turn(begun.id).await?;
        let overrides = Overrides::model(run.and_then(|of| of.schedule.schedule.model));
        let prompt = Prompt {
            trigger: Trigger::new(Source::Interrupted(Box::new(resume)), overrides),
            place: Place::Conversation(begun.conversation),
        };
        self.routing
            .deliver(agent, AgentCommand::Prompt(Box::new(prompt)))
            .await?;
        self.routing.release(Some(agent.id)).await;
        Ok(())
    }

    /// Posts the card about an interrupted turn.
    pub(super) async fn ask(
        &self,
        row: &InterruptedTurn,
        calls: &[(StartedCall, ToolCall)],
    ) -> Result<(), StoreError> {
        let begun = &row.turn.begun;
        let behind = self.deps.store.people_behind(begun.id).await?;
        let redactor = &self.deps.services.redactor;
        let person = behind.first().copied();
        let card = card::card(begun.id, begun.agent, calls, person, redactor);
        let binding = self.binding(row, calls).await;
        let expires_at = clock::now() + CARD_TIME;
        let to = (begun.channel, card);
        let store = &self.deps.store;
        store
            .ask_about_interrupted(begun.id, binding, expires_at, to)
            .await?;
        if let Some(stopped) = row.message {
            // The line of the stop has announced the card.
            let line = NewPart::notice("-# Interrupted by a restart.");
            let told = Told {
                channel: begun.channel,
                edits: Some(stopped),
                part: line,
            };
            store.tell(vec![told]).await?;
        }
        let interruptions = &self.deps.interruptions;
        interruptions.put(begun.conversation, begun.agent, Pending::Answer);
        self.deps
            .emit(crate::agent::event::Event::Outbox(begun.channel));
        self.cards.0.notify_one();
        Ok(())
    }

    /// A hash of what a card shows and would run.
    async fn binding(&self, row: &InterruptedTurn, calls: &[(StartedCall, ToolCall)]) -> String {
        let agent = self.directory.registry.get(row.turn.begun.agent);
        let (folder, profile) = match agent {
            Some(agent) => {
                let identity = self.directory.identity(&agent);
                let setup = self.deps.setup(&identity).await;
                let profile = self.deps.profiles_of(&setup);
                let profile = profile.map_or_else(|_| String::new(), |one| one.hash().to_owned());
                (self.deps.folder(&identity), profile)
            }
            None => Default::default(),
        };
        card::binding(calls, &folder, &profile)
    }

    /// Stores what a person chose on a card (R3), and does it. Returns `None` where that was done, else why not.
    ///
    /// # Errors
    ///
    /// Why the press has no effect; the card stays then.
    pub(crate) async fn choose(
        &self,
        turn: TurnId,
        choice: ResumeChoice,
        by: &Person,
        card: MessageId,
    ) -> Result<(), ManagerError> {
        if choice == ResumeChoice::Answer {
            return Err(ManagerError::refused("This button no longer works."));
        }
        let row = self.deps.store.interrupted_turn(turn).await?;
        let row = row.ok_or_else(|| ManagerError::refused("There is no such turn."))?;
        let begun = &row.turn.begun;
        let agent = self.directory.registry.get(begun.agent);
        let agent = agent.ok_or(ManagerError::NoAgentHere)?;
        if row.state == ResumeState::Asked && choice == ResumeChoice::Again {
            self.may_run_again(&row, &agent).await?;
        }
        let told = Told {
            channel: begun.channel,
            edits: Some(card),
            part: NewPart::notice(card::ending(choice, &by.name)),
        };
        let store = &self.deps.store;
        match store.choose(turn, choice, by.id, vec![told]).await? {
            Chosen::Now => {}
            Chosen::Before(Some(first)) if first == by.id => {
                return Err(ManagerError::refused("You have already decided this."));
            }
            Chosen::Before(Some(first)) => {
                return Err(ManagerError::refused(format!(
                    "<@{first}> has already decided this."
                )));
            }
            Chosen::Before(None) => {
                return Err(ManagerError::refused(
                    "This card has expired, so nothing was done. Write in the channel to continue.",
                ));
            }
        }
        self.deps
            .emit(crate::agent::event::Event::Outbox(begun.channel));
        if choice == ResumeChoice::Leave {
            self.deps.interruptions.remove(begun.conversation);
            return Ok(());
        }
        self.go_on(&agent, &row, Some((choice, by.into()))).await
    }

    /// Checks that the calls of a card may run again: they are those that it showed, and the profiles permit each.
    async fn may_run_again(
        &self,
        row: &InterruptedTurn,
        agent: &AgentSummary,
    ) -> Result<(), ManagerError> {
        let calls = self.deps.started_calls(row.turn.begun.id).await?;
        if calls.iter().any(|(one, _)| one.turn != row.turn.begun.id) {
            return Err(ManagerError::refused(
                "A sub-agent made these calls, so they cannot run again by themselves.",
            ));
        }
        let identity = self.directory.identity(agent);
        let calls_alone: Vec<ToolCall> = calls.iter().map(|(_, call)| call.clone()).collect();
        if let Some(rule) = self.deps.judge_again(&identity, calls_alone).await {
            return Err(ManagerError::refused(format!(
                "These calls may no longer run: {}",
                escape::sentence(&rule)
            )));
        }
        if row.binding.as_deref() != Some(self.binding(row, &calls).await.as_str()) {
            return Err(ManagerError::refused(
                "The agent's permissions or folder changed since this card was posted, so these calls do not run again.",
            ));
        }
        Ok(())
    }

    /// Ends cards that nobody answers in time, until `stop`.
    pub(crate) async fn end_cards(self: Arc<Self>, stop: CancellationToken) {
        let work = async {
            loop {
                let next = self.end_overdue_cards().await;
                let posted = self.cards.0.notified();
                match next {
                    Some(end) => {
                        let left = (end - clock::now()).to_std().unwrap_or_default();
                        // Not exactly on time is early enough; a clock that was set is noticed within the hour.
                        let left = left.min(Duration::from_secs(3_600)) + Duration::from_millis(10);
                        let _ = tokio::time::timeout(left, posted).await;
                    }
                    None => posted.await,
                }
            }
        };
        stop.run_until_cancelled(work).await;
    }

    /// Returns the end of the card that ends next.
    async fn end_overdue_cards(&self) -> Option<DateTime<Utc>> {
        let rows = match self.deps.store.interrupted_turns().await {
            Ok(rows) => rows,
            Err(error) => {
                warn!("failed to read the cards about interrupted turns: {error}");
                return Some(clock::now() + Duration::from_secs(60));
            }
        };
        let mut next: Option<DateTime<Utc>> = None;
        let open = rows
            .iter()
            .filter(|row| row.state == ResumeState::Asked && row.choice.is_none());
        for row in open {
            let Some(end) = row.expires_at else { continue };
            if end > clock::now() {
                next = Some(next.map_or(end, |first| first.min(end)));
                continue;
            }
            let ended = self.deps.leave_interrupted(row, NO_ANSWER).await;
            self.deps.interruptions.remove(row.turn.begun.conversation);
            if let Err(error) = ended {
                warn!(turn.id = %row.turn.begun.id, "failed to end a card: {error}");
            }
        }
        match self.end_overdue_questions(&rows).await {
            Ok(question) => next.into_iter().chain(question).min(),
            Err(error) => {
                warn!("failed to end questions of interrupted turns: {error}");
                Some(clock::now() + Duration::from_secs(60))
            }
        }
    }

    /// The session that an idle save made of the conversation of an interrupted turn; `None` where that is still open, or
    /// something newer is in its place.
    pub(crate) async fn saved_since(
        &self,
        turn: TurnId,
        channel: ChannelId,
    ) -> Result<Option<SessionId>, StoreError> {
        let store = &self.deps.store;
        let Some(row) = store.turn(turn).await? else {
            return Ok(None);
        };
        if row.begun.channel != channel {
            return Ok(None);
        }
        let conversation = store.conversation(row.begun.conversation).await?;
        let closed = conversation.filter(|one| one.number == 0 && one.closed_at.is_some());
        let Some(session) = closed.and_then(|one| one.saved_as) else {
            return Ok(None);
        };
        let main = store.main_conversation(row.begun.agent).await?;
        Ok((main.items == 0).then_some(session))
    }
}
