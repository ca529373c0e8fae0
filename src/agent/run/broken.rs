//! The end of a turn whose task panicked, or that the ledger failed: what the ledger has of it is kept, and whoever waits for
//! it is told. What cannot be stored now is stored as soon as the ledger works again.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::error;

use super::child::EndedChild;
use crate::agent::calls::Call;
use crate::agent::deps::AgentDeps;
use crate::agent::deps::identity::Identity;
use crate::agent::deps::questions::PersonEnd;
use crate::agent::event::{Event, QuestionEnd, Said, TurnRef, TurnSummary};
use crate::agent::stop::StopSignal;
use crate::agent::turn::accounting::Below;
use crate::agent::turn::end::heading::Heading;
use crate::agent::turn::end::reply::{self, Footer};
use crate::agent::turn::end::{EndReason, last_line};
use crate::agent::turn::{Outcome, Turn};
use crate::domain::{ChannelId, Item, MessageId, ToolResult, TurnId};
use crate::store::{EndedBelow, FinishedTurn, LeftOpen, PartKind, StoreError, ToldOfEnd};

/// What people are told where something panicked.
pub(in crate::agent) const BROKEN: &str = "**Something broke inside Chorus.**\nWhat was done so far is kept. Send a message to continue; the operator finds the cause in the log.";

/// What is said about a child turn whose task panicked.
pub(super) const BROKE_OFF: &str =
    "it ended because of a bug in Chorus. What it did so far stays done";

/// Ends a turn whose task panicked, and tells people. A turn whose outcome is stored already keeps it.
pub(in crate::agent) async fn close_broken(
    deps: &AgentDeps,
    agent: &Arc<Identity>,
    channel: ChannelId,
    (turn, stop): (TurnId, &StopSignal),
) {
    stop.nothing_is_below().await;
    // Its signal went with it: nobody can abort it any more.
    let no_abort = CancellationToken::new();
    let left = deps.close_left_open(agent, (turn, turn), &no_abort).await;
    let left = left.inspect_err(|error| not_closed(turn, error)).ok();
    let row = deps.store.turn(turn).await.ok().flatten();
    let reply_to = row.as_ref().and_then(|row| row.begun.reply_to);
    let ended = row.and_then(|row| row.exit);
    if ended.is_none() {
        deps.fail_broken(agent, (channel, reply_to), turn, left)
            .await;
    }
    deps.log_broken(agent, turn).await;
    let reference = TurnRef {
        turn,
        run: turn,
        agent: agent.id,
        agent_name: agent.name.to_string(),
        channel,
        reply_to,
    };
    let summary = TurnSummary {
        exit: ended.unwrap_or(EndReason::Failed),
        said: match ended {
            Some(EndReason::Answered) => Said::Answer,
            Some(_) | None => Said::Report,
        },
    };
    deps.emit(Event::Outbox(channel));
    deps.emit(Event::TurnEnded(reference, summary));
}

impl AgentDeps {
    /// Stores the outcome of a turn that panicked.
    async fn fail_broken(
        &self,
        agent: &Arc<Identity>,
        (channel, reply_to): (ChannelId, Option<MessageId>),
        turn: TurnId,
        left: Option<LeftOpen>,
    ) {
        let footer = Footer {
            button: reply::button(EndReason::Failed),
            ..Footer::default()
        };
        let words = format!("{BROKEN}\n-# run {}", turn.short());
        let ended = FinishedTurn {
            parts: reply::parts(&words, &footer, PartKind::Failure, reply_to),
            ..FinishedTurn::broken_off(left.map(|left| left.own))
        };
        if let Err(error) = self.store.finish_turn(turn, ended).await {
            error!(turn.id = %turn, "failed to close a turn that panicked: {error}");
            // The turn had not begun, or the ledger fails: this line is all that people get.
            self.emit(Event::Say {
                channel,
                reply_to,
                text: BROKEN.to_owned(),
            });
            self.close_unstored(agent, turn).await;
        }
    }

    /// Ends a turn of which people have been told that the ledger failed. Where it fails again, the next turn of any agent
    /// tries once more as it begins; so does the next start.
    pub(super) async fn close_unstored(&self, agent: &Arc<Identity>, turn: TurnId) {
        if let Err(error) = self.end_unstored(agent, turn).await {
            error!(turn.id = %turn, "failed to close a turn, it is tried again: {error}");
            self.unclosed.put(turn, agent);
        }
    }

    /// Ends those that could not be ended before, and stores what was asked and could not be stored.
    pub(super) async fn close_former(&self) {
        self.store_unstored(None).await;
        for (turn, agent) in self.unclosed.take() {
            self.close_unstored(&agent, turn).await;
        }
    }

    async fn end_unstored(&self, agent: &Identity, turn: TurnId) -> Result<(), StoreError> {
        // Its signal is gone with it: nobody can abort it any more.
        let no_abort = CancellationToken::new();
        let left = self.close_left_open(agent, (turn, turn), &no_abort).await?;
        let ended = FinishedTurn::broken_off(Some(left.own));
        match self.store.finish_turn(turn, ended).await {
            // It has an outcome, or never began.
            Ok(_) | Err(StoreError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        self.log_broken(agent, turn).await;
        Ok(())
    }

    /// Closes what a turn of a run left open when its task panicked: calls, questions, child turns below it, and the
    /// commands that child turns left running, quicker once there is an `abort`. Costs that were not stored are stored
    /// first.
    pub(super) async fn close_left_open(
        &self,
        agent: &Identity,
        (run, turn): (TurnId, TurnId),
        abort: &CancellationToken,
    ) -> Result<LeftOpen, StoreError> {
        self.store_unstored(Some(run)).await;
        let left = self.store.close_left_open(turn).await?;
        for approval in left.questions.iter().copied() {
            let end = QuestionEnd::Expired;
            self.emit(Event::QuestionClosed { approval, end });
        }
        let mut turns = left.below.clone();
        turns.push(turn);
        let asked = self.questions.of_turns(&turns);
        self.end_questions(asked, &PersonEnd::WentOn).await?;
        for below in &left.below {
            self.log_broken(agent, *below).await;
        }
        if let Ok(shell) = &self.services.shell {
            let children: Vec<TurnId> = left
                .below
                .iter()
                .copied()
                .chain([turn])
                .filter(|one| *one != run)
                .collect();
            shell.tasks.stop_of_turns(&children, abort).await;
        }
        Ok(left)
    }

    /// Stores requests that nobody else stores, those of a run or all. What the ledger does not take now is kept.
    pub(super) async fn store_unstored(&self, run: Option<TurnId>) {
        let _alone = self.unstored.alone().await;
        let mut rows = self.unstored.take(run).into_iter();
        while let Some(row) = rows.next() {
            if let Err(error) = self.store.record_missing_attempt(&row).await {
                error!("failed to store a request to a model, it is tried again: {error}");
                self.unstored.put(rows.by_ref().chain([row]));
            }
        }
    }

    /// Writes the last line of a turn that broke off: it did not come to that itself.
    pub(super) async fn log_broken(&self, agent: &Identity, turn: TurnId) {
        let row = self.store.turn(turn).await.ok().flatten();
        if let Some(row) = row {
            last_line::broke_off(agent, &row);
        }
    }
}

/// Ends a child turn whose task panicked, together with the call that waits for it. Where both have ended, the call has
/// the result that the ledger has.
pub(super) async fn close_child(
    turn: &Turn,
    call: &Call,
    role: &str,
    child: TurnId,
    told: ToldOfEnd,
) -> Result<ToolResult, StoreError> {
    let (deps, agent) = (&turn.context.deps, &turn.context.agent);
    let left = close_left_open_by(turn, child).await;
    let row = deps.store.turn(child).await?;
    if let Some(exit) = row.as_ref().and_then(|row| row.exit) {
        deps.log_broken(agent, child).await;
        count_broken(turn, exit, left.as_ref());
        return stored_result(turn, call).await;
    }
    count_broken(turn, EndReason::Failed, left.as_ref());
    let took = left.as_ref().map(|left| left.own);
    let result = ToolResult {
        call_id: call.id.clone(),
        name: call.written.clone(),
        content: broken_report(role, child, left.as_ref()),
        is_error: true,
        images: Vec::new(),
    };
    let end = FinishedTurn::broken_off(took);
    deps.store
        .finish_child(child, &end, turn.context.id(), &result, told)
        .await?;
    deps.log_broken(agent, child).await;
    Ok(result)
}

/// The end, not stored yet, of a stage whose task panicked.
pub(super) async fn end_of_stage(turn: &Turn, stage: TurnId) -> (EndedChild, Outcome) {
    let left = close_left_open_by(turn, stage).await;
    let (deps, agent) = (&turn.context.deps, &turn.context.agent);
    deps.log_broken(agent, stage).await;
    count_broken(turn, EndReason::Failed, left.as_ref());
    let below = EndedBelow {
        turn: stage,
        end: FinishedTurn::broken_off(left.map(|left| left.own)),
        results: Vec::new(),
    };
    let outcome = Outcome::None {
        exit: EndReason::Failed,
        error: BROKE_OFF.to_owned(),
    };
    (EndedChild { below, turn: None }, outcome)
}

async fn close_left_open_by(turn: &Turn, child: TurnId) -> Option<LeftOpen> {
    let (deps, agent) = (&turn.context.deps, &turn.context.agent);
    let of_run = (turn.context.run.root, child);
    let left = deps.close_left_open(agent, of_run, turn.context.stop.aborted());
    left.await
        .inspect_err(|error| not_closed(child, error))
        .ok()
}

/// Counts what a child that panicked has spent, and all below it.
fn count_broken(turn: &Turn, exit: EndReason, left: Option<&LeftOpen>) {
    if let Some(left) = left {
        turn.below.lock().add_broken(exit, left);
    }
}

/// What the ledger has as the result of a call of this turn.
async fn stored_result(turn: &Turn, call: &Call) -> Result<ToolResult, StoreError> {
    let store = &turn.context.deps.store;
    let items = store.items(turn.context.conversation).await?;
    let mut results = items.into_iter().rev().filter_map(|item| match item {
        Item::ToolResult(result) => Some(result),
        Item::User(_) | Item::Assistant(_) => None,
    });
    let stored = results.find(|result| result.call_id == call.id);
    stored.ok_or_else(|| StoreError::NotFound(format!("result of call {}", call.id)))
}

fn not_closed(turn: TurnId, error: &StoreError) {
    error!(turn.id = %turn, "failed to close what a turn left open that panicked: {error}");
}

/// What the parent is told about a child that panicked.
fn broken_report(role: &str, child: TurnId, left: Option<&LeftOpen>) -> String {
    let mut whole = Below::default();
    if let Some(left) = left {
        whole.add_broken(EndReason::Failed, left);
    }
    let heading = Heading {
        role,
        turn: child,
        exit: &EndReason::Failed.words(),
        steps: left.map_or(0, |left| left.own.steps),
        usage: whole.tally.usage,
        cost: whole.tally.cost,
    };
    format!(
        "{}\nError: {BROKE_OFF}.\nGo on with `continue: \"{}\"`, or do it yourself.",
        heading.line(),
        child.short()
    )
}
