//! The end of a turn whose task broke off: what the ledger has of it stands, and whoever waits for it is told.

use std::slice;

use tracing::error;

use crate::agent::deps::AgentDeps;
use crate::agent::end_reason::EndReason;
use crate::agent::event::{Event, QuestionEnd, Said, TurnRef, TurnSummary};
use crate::agent::identity::Identity;
use crate::domain::{ChannelId, ToolResult, TurnId};
use crate::store::{EndedBelow, FinishedTurn, PartKind, StoreError, ToldOfEnd};

use super::calls::Call;
use super::child::EndedChild;
use super::reply::{self, Footer};
use super::{Outcome, Turn, log};

/// What people are told where something panicked.
pub(in crate::agent) const BROKEN: &str = "**Something broke inside Chorus.**\nWhat was done so far is kept. Send a message to go on; the operator finds the cause in the log.";

/// What is told of a child turn whose task broke off.
pub(super) const BROKE_OFF: &str =
    "it ended because of a bug in Chorus. What it did so far stays done";

/// Ends a turn whose task broke off, and tells people.
pub(in crate::agent) async fn close_broken(
    deps: &AgentDeps,
    agent: &Identity,
    channel: ChannelId,
    turn: TurnId,
) {
    deps.close_left_open(agent, turn, &[]).await;
    let broken = Footer {
        button: reply::button(EndReason::Failed),
        ..Footer::default()
    };
    let row = deps.store.turn(turn).await.ok().flatten();
    let reply_to = row.as_ref().and_then(|row| row.begun.reply_to);
    let broken_words = format!("{BROKEN}\n-# run {}", turn.short());
    let ended = FinishedTurn {
        parts: reply::parts(&broken_words, &broken, PartKind::Failure, reply_to),
        ..FinishedTurn::broken_off()
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
    log::broke_off(agent, agent.name.as_str(), turn, None);
    let reference = TurnRef {
        turn,
        run: turn,
        agent: agent.id,
        agent_name: agent.name.to_string(),
        channel,
        reply_to,
    };
    let summary = TurnSummary {
        exit: EndReason::Failed,
        said: Said::Report,
    };
    deps.emit(Event::Outbox(channel));
    deps.emit(Event::TurnEnded(reference, summary));
}

impl AgentDeps {
    /// Closes what a turn left open whose task broke off: calls, questions, child turns below it with the commands that they
    /// left running, and the commands of `itself`.
    async fn close_left_open(&self, agent: &Identity, turn: TurnId, itself: &[TurnId]) {
        let left = match self.store.close_left_open(turn).await {
            Ok(left) => left,
            Err(error) => {
                error!(turn.id = %turn, "failed to close what a turn left open that panicked: {error}");
                return;
            }
        };
        for approval in left.questions {
            let end = QuestionEnd::Expired;
            self.emit(Event::QuestionClosed { approval, end });
        }
        for below in &left.below {
            let row = self.store.turn(*below).await.ok().flatten();
            if let Some(row) = row {
                log::broke_off(agent, &row.begun.path, *below, row.begun.parent);
            }
        }
        if let Ok(shell) = &self.services.shell {
            let turns = [&left.below, itself].concat();
            shell.tasks.stop_of_turns(&turns).await;
        }
    }
}

impl Turn {
    /// Ends a child turn whose task broke off together with the call that waits for it.
    pub(super) async fn close_broken_child(
        &self,
        call: &Call,
        role: &str,
        child: TurnId,
        told: ToldOfEnd,
    ) -> Result<ToolResult, StoreError> {
        self.child_broke_off(role, child).await;
        let result = ToolResult {
            call_id: call.id.clone(),
            name: call.written.clone(),
            content: format!("[{role} · {} · failed]\nError: {BROKE_OFF}.", child.short()),
            is_error: true,
            images: Vec::new(),
        };
        let end = FinishedTurn::broken_off();
        let store = &self.context.deps.store;
        store
            .finish_child(child, &end, self.context.id(), &result, told)
            .await?;
        Ok(result)
    }

    /// The end of a stage whose task broke off, which is not stored yet.
    pub(super) async fn broken_stage(&self, role: &str, stage: TurnId) -> (EndedChild, Outcome) {
        self.child_broke_off(role, stage).await;
        let below = EndedBelow {
            turn: stage,
            end: FinishedTurn::broken_off(),
            results: Vec::new(),
        };
        let outcome = Outcome::None {
            exit: EndReason::Failed,
            error: BROKE_OFF.to_owned(),
        };
        (EndedChild { below, turn: None }, outcome)
    }

    async fn child_broke_off(&self, role: &str, child: TurnId) {
        let (deps, agent) = (&self.context.deps, &self.context.agent);
        deps.close_left_open(agent, child, slice::from_ref(&child))
            .await;
        let path = format!("{}/{role}", self.context.path);
        log::broke_off(agent, &path, child, Some(self.context.id()));
    }
}
