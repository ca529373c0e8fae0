//! A turn from the message that starts it to its one outcome.

use std::collections::BTreeSet;

use serde_json::Value;
use sqlx::{SqliteConnection, query};

use super::Store;
use super::attached::AttachedRows;
use super::batch::Batch;
use super::broken::{self, Took};
use super::causes::{Reserved, ReservedTurn, begun_for, forget_kept, message_behind, set_cause};
use super::children::{EndedBelow, NewChild, begun_child, end_below, insert_child};
use super::codec::{count, dollars, now, words};
use super::conversations::has_reported;
use super::error::StoreError;
use super::inbound::{claim, claim_unchanged};
use super::items::insert_item_of;
use super::outbox::{FirstPart, queue_of_turn};
use super::part::{NewPart, Part, part_row};
use super::resumes::{Resuming, TurnFacts, may_go_on, takes_over, tell_of_going_on};
use super::turn_causes::TurnCause;
use super::work::{RunEnd, WorkKey, end_work, end_work_of, hand_on_work, start_work};
use crate::domain::causes::{Cause, Refusal};
use crate::domain::{
    AgentId, Assistant, CallId, ChannelId, ConversationId, Cost, Inbound, Item, MessageId,
    ToolCall, TurnId, Usage,
};
use crate::text::long;

#[derive(Clone, Debug, PartialEq)]
pub struct NewTurn {
    pub id: TurnId,
    pub agent: AgentId,
    /// The conversation it continues.
    pub conversation: ConversationId,
    /// The message that starts it; `None` for hooks and other agents.
    pub trigger: Option<MessageId>,
    /// The turn that caused it: it began this child, or one of its hooks or messages led to this turn.
    pub parent: Option<TurnId>,
    /// Hops of hooks or other agents that led here; a person's turn is 0.
    pub depth: u32,
    pub channel: ChannelId,
    /// The message its reply refers to.
    pub reply_to: Option<MessageId>,
    /// The agent's name, then those of the roles down to this turn: `lab/reviewer/explore`.
    pub path: String,
    /// What began it; for a child, its run.
    pub cause: TurnCause,
    /// Its place in its run; `None` for the run's root.
    pub child: Option<ChildOf>,
}

impl NewTurn {
    /// Returns whether a person's message begins it, and not an effect of another turn.
    const fn is_by_person(&self) -> bool {
        self.trigger.is_some() && self.parent.is_none()
    }

    /// Returns the root of its run, which also names the run.
    pub fn run(&self) -> TurnId {
        self.child.as_ref().map_or(self.id, |child| child.run)
    }
}

/// The place of a child turn in its run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildOf {
    pub kind: ChildKind,
    /// The turn at the root.
    pub run: TurnId,
    /// The call of the parent turn that it answers.
    pub call: Option<CallId>,
    pub role: String,
    /// SHA-256 of the role's charter, lower-case hex.
    pub role_sha256: String,
    /// Its subject, for people.
    pub title: String,
}

words! {
    /// Why a child turn begins.
    ChildKind {
        SubAgent = "sub_agent",
        Advisor = "advisor",
        Route = "route",
        Handoff = "handoff",
    }
}

/// A turn about to begin, with its first items.
#[derive(Debug)]
pub struct Opening<'a> {
    pub turn: NewTurn,
    /// The items that start it.
    pub items: Vec<Item>,
    /// The message that starts it, as it is in memory: the turn begins only if it has not changed since.
    pub unchanged: Option<&'a Inbound>,
    /// The branch whose report starts it: the branch has reported then, and does so only once.
    pub report_of: Option<ConversationId>,
    /// The kept notes that are among the items.
    pub kept: Vec<i64>,
    /// Most hops that may lead to a turn which no person began.
    pub most_hops: u32,
    /// The agent's state at its beginning.
    pub turn_facts: TurnFacts,
    /// The interrupted turn that it continues, with the line that says so to people.
    pub resumes: Option<(Resuming, NewPart)>,
    /// The run of a schedule or the deliveries that it is the turn of, or continues.
    pub planned: Option<WorkKey>,
}

impl Opening<'_> {
    /// Creates the opening of a turn that only these items start.
    pub const fn new(turn: NewTurn, items: Vec<Item>) -> Self {
        Self {
            turn,
            items,
            unchanged: None,
            report_of: None,
            kept: Vec::new(),
            most_hops: 0,
            turn_facts: TurnFacts {
                profile: String::new(),
                models: String::new(),
                charter: String::new(),
            },
            resumes: None,
            planned: None,
        }
    }
}

/// The outcome of beginning a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    Running,
    /// Another root turn has this trigger, or it has changed.
    Not,
    /// No person began it, and its message has already caused too much.
    Refused(Refusal),
}

/// The end of a turn: its outcome, decided before any of it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedTurn {
    /// The final answer, if it is not stored yet (`record_and_start` and `finish_turn` in one).
    pub answer: Option<Assistant>,
    /// Exit reason, one of `docs/models.md`.
    pub exit: EndReason,
    pub steps: u32,
    pub usage: Usage,
    pub cost: Cost,
    /// The parts for people, in order.
    pub parts: Vec<NewPart>,
    /// Whether the daemon's stop ended it, so that it may continue after the next start.
    pub may_go_on: bool,
    /// Whether the first part is sent at once (`finish_turn` and `mark_sending` in one).
    pub first: FirstPart,
    pub attached: AttachedRows,
    /// The fields of its report, if its role requires one: `{source, data, meta, missing}`; for a turn that panicked,
    /// that fact.
    pub report: Option<Value>,
    /// The end of the run of a schedule, or of the deliveries, that it is the turn of.
    pub planned: Option<RunEnd>,
}

impl FinishedTurn {
    /// Creates the end of a turn after its task panicked, with its use up to then; `None` if that is not known.
    pub fn broken_off(took: Option<Took>) -> Self {
        let Took { steps, usage, cost } = took.unwrap_or(Took {
            steps: 0,
            usage: Usage::default(),
            cost: Cost::Unknown,
        });
        Self {
            answer: None,
            exit: EndReason::Failed,
            steps,
            usage,
            cost,
            parts: Vec::new(),
            may_go_on: false,
            first: FirstPart::Waits,
            attached: AttachedRows::default(),
            report: Some(broken::report()),
            planned: None,
        }
    }
}

words! {
    /// Why a turn ended, as listed in `docs/models.md`. Every turn that ended has exactly one.
    EndReason {
        Answered = "answered",
        /// The model declined to answer.
        Refused = "refused",
        /// `/stop`: the model got a last step without tools.
        Stopped = "stopped",
        /// `/abort`: ended at once.
        Aborted = "aborted",
        /// The daemon stopped, cleanly or not.
        Interrupted = "interrupted",
        StepLimit = "step_limit",
        /// The time for work was used up.
        TimeLimit = "time_limit",
        /// Tokens or money were used up.
        Budget = "budget",
        /// It kept repeating itself.
        Loop = "loop",
        /// Five steps in a row gave nothing but tool errors.
        Errors = "errors",
        /// The model's calls were cut off or invalid, twice.
        BadCalls = "bad_calls",
        /// The conversation fits no model's window.
        Window = "window",
        /// No model was available.
        Failed = "failed",
        /// Its last answer did not have the parts that its role requires.
        Report = "report",
    }
}

impl EndReason {
    /// Returns it in words for people.
    pub fn words(self) -> String {
        self.as_str().replace('_', " ")
    }
}

/// Calls of an answer that run at once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Starting {
    pub calls: Vec<CallId>,
    /// The child turns that answer some of them.
    pub children: Vec<NewChild>,
}

/// The result of storing an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recorded {
    /// The parts of it for people, as queued.
    pub parts: Vec<Part>,
    /// The conversations of the children, in their order.
    pub children: Vec<ConversationId>,
}

impl Store {
    /// Begins a turn with the items that start it, and claims the messages of these items. A turn that no person began
    /// is judged in the same transaction: it does not begin if its message has caused enough.
    pub async fn begin_turn(&self, opening: Opening<'_>) -> Result<Begun, StoreError> {
        let Opening {
            turn,
            items,
            unchanged,
            report_of,
            kept,
            most_hops,
            turn_facts: facts,
            resumes,
            planned,
        } = opening;
        let mut batch = Batch::default();
        batch.add(query!(
            "INSERT OR IGNORE INTO turn_facts (profile, models, charter) VALUES (?, ?, ?)",
            &facts.profile,
            &facts.models,
            &facts.charter
        ));
        if let Some(branch) = report_of {
            has_reported(&mut batch, branch);
        }
        forget_kept(&mut batch, turn.conversation, &kept);
        batch.add(query!(
            "INSERT INTO turns (id, agent_id, conversation_id, trigger_id, parent_id, origin_id, depth, channel_id,
                     reply_to, state, began_at, run_id, path, cause, facts_id, unattended) VALUES (?, ?, ?, ?, ?,
                     coalesce((SELECT origin_id FROM turns WHERE id = ?), ?), ?, ?, ?, 'running', ?, ?, ?, ?,
                     (SELECT f.id FROM turn_facts f WHERE profile = ? AND models = ? AND charter = ?),
                     coalesce(?, (SELECT unattended FROM turns WHERE id = ?), 0))
                 ON CONFLICT (trigger_id) WHERE parent_id IS NULL AND trigger_id IS NOT NULL DO NOTHING",
            turn.id.to_string(),
            turn.agent.to_string(),
            turn.conversation.0,
            turn.trigger.map(MessageId::as_i64),
            turn.parent.map(|id| id.to_string()),
            turn.parent.map(|id| id.to_string()),
            turn.id.to_string(),
            turn.depth,
            turn.channel.as_i64(),
            turn.reply_to.map(MessageId::as_i64),
            now(),
            turn.run().to_string(),
            &turn.path,
            turn.cause.stored(),
            &facts.profile,
            &facts.models,
            &facts.charter,
            turn.cause.attendance().stored(),
            turn.parent.map(|id| id.to_string())
        ))
            .must_change("trigger that no turn has");
        if let Some((resuming, _)) = &resumes {
            takes_over(&mut batch, turn.conversation, turn.id, resuming);
        }
        match (&planned, &resumes) {
            (Some(work), Some((resuming, _))) => {
                hand_on_work(&mut batch, work, resuming.turn, turn.id);
            }
            (Some(work), None) => start_work(&mut batch, work, turn.id),
            (None, _) => {}
        }
        // The index of a turn's messages contains only those that its own row does not name.
        let triggered = |message| Some(message) == turn.trigger && turn.parent.is_none();
        let of_turn = |message| (!triggered(message)).then_some(turn.id);
        if let Some(message) = unchanged {
            claim_unchanged(&mut batch, of_turn(message.id), message)?;
        }
        for item in &items {
            insert_item_of(&mut batch, turn.id, item)?;
        }
        let messages = items.iter().filter_map(|item| match item {
            Item::User(text) => text.message_id,
            Item::Assistant(_) | Item::ToolResult(_) => None,
        });
        let mut claimed: BTreeSet<MessageId> = turn.trigger.into_iter().chain(messages).collect();
        if let Some(message) = unchanged {
            claimed.remove(&message.id);
        }
        for message in claimed {
            claim(&mut batch, of_turn(message), message);
        }
        let begun = if turn.is_by_person() {
            self.run(batch).await.map(|_| Begun::Running)
        } else {
            let reserved = self.inner.reserved.clone();
            let begun = self.write(move |db| {
                Box::pin(begin_caused(
                    db,
                    turn,
                    batch,
                    (most_hops, reserved),
                    (resumes, planned),
                ))
            });
            // A reservation counts until the turn is stored.
            begun.await.map(|(begun, _reserved)| begun)
        };
        match begun {
            Err(StoreError::NotFound(_)) => Ok(Begun::Not),
            begun => begun,
        }
    }

    /// Passes a waiting message to a running turn, whose outcome it shares.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the turn is not running (any longer): the message starts the next one.
    pub async fn hand_over(
        &self,
        turn: TurnId,
        message: MessageId,
        item: Item,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        insert_item_of(&mut batch, turn, &item)?;
        claim(&mut batch, Some(turn), message);
        self.run(batch).await.map(drop)
    }

    /// Adds an item to a running turn's conversation that neither a person nor a model wrote (the result of a hook, a
    /// note).
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the turn is not running.
    pub async fn add_to_turn(&self, turn: TurnId, item: Item) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        insert_item_of(&mut batch, turn, &item)?;
        self.run(batch).await.map(drop)
    }

    /// Stores a whole answer of the model, with its tool calls as `proposed`. In the same transaction it stores the
    /// start of the calls in `starting` and of the children that answer them: without a question, there is no visible
    /// state in between. The words of the answer for people are queued and returned.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the turn is not running, or the answer has no such call.
    pub async fn record_and_start(
        &self,
        turn: TurnId,
        answer: &Assistant,
        starting: Starting,
        words: Vec<NewPart>,
        attached: AttachedRows,
    ) -> Result<Recorded, StoreError> {
        if let Some(unknown) = starting
            .calls
            .iter()
            .find(|id| answer.tool_calls.iter().all(|call| call.id != **id))
        {
            return Err(StoreError::NotFound(format!("proposed call {unknown}")));
        }
        let mut batch = Batch::default();
        insert_item_of(&mut batch, turn, &Item::Assistant(answer.clone()))?;
        let at = now();
        let meant = answer.tool_calls.iter().map(ToolCall::meant);
        for (position, call) in (0_i64..).zip(meant) {
            let starts = starting.calls.contains(&call.id);
            batch.add(query!(
                "INSERT INTO calls (turn_id, call_id, position, name, state, started_at)
                     VALUES (?, ?, ?, ?, ?, ?)",
                turn.to_string(),
                &call.id.0,
                position,
                &call.name,
                if starts { "started" } else { "proposed" },
                starts.then_some(&at)
            ));
        }
        attached.add_to(&mut batch);
        for child in &starting.children {
            insert_child(&mut batch, child)?;
        }
        let mut said = Batch::default();
        queue_of_turn(&mut said, turn, words, FirstPart::Sends)?;
        self.write(move |db| {
            Box::pin(async move {
                let children = batch.rows(db, begun_child).await?;
                let parts = said.rows(db, part_row).await?;
                Ok(Recorded { parts, children })
            })
        })
        .await
    }

    /// Gives a turn its outcome: final answer, exit reason and the parts for people, together. Returns the parts as
    /// queued. The first is `sending` if it was to be sent at once and nothing older waits in its channel.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if the turn is not running.
    pub async fn finish_turn(
        &self,
        turn: TurnId,
        end: FinishedTurn,
    ) -> Result<Vec<Part>, StoreError> {
        let size = end.answer.as_ref().map_or(0, |answer| answer.text.len());
        let planned = end.planned.clone();
        let batch = long::work_on(size, || {
            let mut batch = Batch::default();
            end_turn(&mut batch, turn, &end)?;
            queue_of_turn(&mut batch, turn, end.parts, end.first)?;
            Ok::<_, StoreError>(batch)
        })?;
        self.end_with_run(batch, planned).await
    }

    /// Ends a turn that a child turn answered in its place: both end in one transaction.
    ///
    /// # Errors
    ///
    /// Fails with [`StoreError::NotFound`] if one of them is not running.
    pub async fn finish_turn_and_child(
        &self,
        turn: TurnId,
        end: FinishedTurn,
        child: &EndedBelow,
    ) -> Result<Vec<Part>, StoreError> {
        let mut batch = Batch::default();
        let planned = end.planned.clone();
        end_below(&mut batch, turn, child)?;
        end_turn(&mut batch, turn, &end)?;
        queue_of_turn(&mut batch, turn, end.parts, end.first)?;
        self.end_with_run(batch, planned).await
    }

    /// Ends a turn, and with it the run of a schedule or the deliveries that it is the turn of.
    async fn end_with_run(
        &self,
        batch: Batch,
        planned: Option<RunEnd>,
    ) -> Result<Vec<Part>, StoreError> {
        let Some(planned) = planned else {
            return self.rows(batch, part_row).await;
        };
        self.write(move |db| {
            Box::pin(async move {
                let parts = batch.rows(db, part_row).await?;
                end_work(db, planned).await?;
                Ok(parts)
            })
        })
        .await
    }

    /// Stores the id of the preview, so that it is cleaned up after a crash.
    pub async fn set_preview(&self, turn: TurnId, message: MessageId) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE turns SET preview_id = ? WHERE id = ?",
            message.as_i64(),
            turn.to_string()
        ));
        self.run(batch).await.map(drop)
    }

    /// Stores the id of a turn's live status message, so that a crash does not leave its buttons behind.
    pub async fn set_status_post(
        &self,
        turn: TurnId,
        message: MessageId,
    ) -> Result<(), StoreError> {
        let mut batch = Batch::default();
        batch.add(query!(
            "UPDATE turns SET status_id = ? WHERE id = ?",
            message.as_i64(),
            turn.to_string()
        ));
        self.run(batch).await.map(drop)
    }
}

/// Begins a turn that no person began, unless its message has already caused too much.
async fn begin_caused(
    db: &mut SqliteConnection,
    turn: NewTurn,
    batch: Batch,
    (most_hops, reserved): (u32, Reserved),
    (resumes, planned): (Option<(Resuming, NewPart)>, Option<WorkKey>),
) -> Result<(Begun, Option<ReservedTurn>), StoreError> {
    let root = match turn.parent {
        Some(parent) => message_behind(db, parent).await?,
        None => None,
    };
    let (reserved, others) = root.map(|root| reserved.one_more(root)).unzip();
    let begun = match root {
        Some(root) => Some(begun_for(db, root).await?),
        None => None,
    };
    let cause = Cause {
        hops: turn.depth,
        begun: begun.map(|begun| begun + others.unwrap_or_default()),
    };
    let is_by_press = resumes.as_ref().is_some_and(|(one, _)| one.by.is_some());
    // A schedule's slots are its limit, and a webhook's rate.
    if !is_by_press
        && planned.is_none()
        && let Err(refusal) = cause.may_begin(most_hops)
    {
        return Ok((Begun::Refused(refusal), None));
    }
    batch.run(db).await?;
    set_cause(db, turn.id, root).await?;
    // After a person's press, the card says so.
    if let Some((resuming, line)) = resumes
        && !is_by_press
    {
        tell_of_going_on(db, turn.channel, resuming.turn, line).await?;
    }
    Ok((Begun::Running, reserved))
}

/// Ends a turn, with everything that is stored with its end.
pub(super) fn end_turn(
    batch: &mut Batch,
    turn: TurnId,
    end: &FinishedTurn,
) -> Result<(), StoreError> {
    if let Some(answer) = &end.answer {
        insert_item_of(batch, turn, &Item::Assistant(answer.clone()))?;
    }
    batch.add(query!(
        "UPDATE turns SET state = 'finished', exit = ?, steps = ?, input = ?, output = ?, cache_read = ?,
                 cache_write = ?, cost_usd = ?, ended_at = ?, report = ?, has_answer = ?
             WHERE id = ? AND state = 'running'",
        end.exit.as_str(),
        end.steps,
        count(end.usage.input),
        count(end.usage.output),
        count(end.usage.cache_read),
        count(end.usage.cache_write),
        dollars(end.cost),
        now(),
        end.report.as_ref().map(Value::to_string),
        end.answer.is_some(),
        turn.to_string()
    ))
        .must_change(format!("running turn {turn}"));
    if end.may_go_on {
        may_go_on(batch, turn);
    } else if end.planned.is_none() {
        end_work_of(batch, turn, end.exit.as_str());
    }
    end.attached.add_to(batch);
    Ok(())
}
