//! What surrounds a turn: its tool calls, sub-agents and stages, the report that it owes, and the end of one that broke.
//!
//! The loop itself (`turn`) knows nothing of these. It asks the [`Orchestrator`].

mod broken;
mod child;
mod child_report;
mod child_thread;
mod report;
mod roles;
mod stages;
mod sub_agents;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;

use self::child::EndedChild;
use self::report::OwedReport;
use self::stages::Stages;
use self::sub_agents::SubAgentControl;
use super::calls::Calls;
use super::deps::AgentDeps;
use super::deps::identity::Identity;
use super::event::Said;
use super::stop::Stop;
use super::turn::admission::{self, Admission, Admitted};
use super::turn::begin::{self, Begun, Worker};
use super::turn::end::{self, EndReason, last_line};
use super::turn::host::{Extras, Host, Taken, Whole};
use super::turn::policy::{Last, RetryCounters};
use super::turn::resume::Rerun;
use super::turn::trigger::Trigger;
use super::turn::{Outcome, Turn, TurnEnd, TurnParams};
use crate::charter::Catalog;
use crate::domain::{Assistant, Item, ToolCall, ToolResult};
use crate::store::{FinishedTurn, NextStage, Part, StoreError, TurnCause};

pub(super) use self::broken::{BROKEN, close_broken};

/// Runs a turn to its end.
pub(super) async fn run(
    deps: Arc<AgentDeps>,
    agent: Arc<Identity>,
    others: Vec<String>,
    trigger: Trigger,
    params: TurnParams,
) -> TurnEnd {
    deps.close_former().await;
    let reply_to = trigger.id();
    let admission = admission::admit(&deps, &agent, trigger, &params).await;
    let (admitted, trigger) = match admission {
        Ok(Admission::Admitted(admitted, trigger)) => (admitted, trigger),
        Ok(Admission::Refused) => return admission::given_back(params),
        Err(error) => {
            deps.ledger_failed(params.channel, reply_to, &error);
            return admission::given_back(params);
        }
    };
    let Admitted { payer, place } = admitted;
    let begun = begin::begin(deps, agent, others, trigger, payer, params).await;
    let (mut turn, worker, roles) = match begun {
        Begun::Turn(turn, worker, roles) => (turn, worker, roles),
        Begun::Not(end) => return end,
    };
    let mut around = Orchestrator::new(roles);
    let ended = match around.answer(&mut turn, worker).await {
        Ok(outcome) => end::finish(&mut turn, &mut around, outcome).await,
        Err(error) => Err(error),
    };
    let settled = match ended {
        Ok(()) => turn.settle().await,
        Err(error) => Err(error),
    };
    drop(place);
    if turn.context.stop.asked() != Some(Stop::Shutdown) {
        turn.context.leave_no_question().await;
    }
    if matches!(
        turn.context.run.cause,
        TurnCause::Schedule | TurnCause::Webhook | TurnCause::Resume
    ) {
        // The next run of its schedule or webhook may wait for this one.
        turn.context.deps.planned.ring();
        turn.context.deps.deliveries.handed.ring();
    }
    if settled.is_ok() {
        let (context, caps) = (&turn.context, turn.context.caps(&turn.setup));
        context.deps.look_at_budgets(&context.spender(), caps).await;
    }
    match settled {
        Ok(late) => turn.into_end(late),
        Err(error) => {
            let (deps, agent) = (turn.context.deps.clone(), turn.context.agent.clone());
            let reference = turn.context.reference.clone();
            deps.ledger_failed(reference.channel, reference.reply_to, &error);
            // Its sub-agents have costs that are not in the ledger yet, and so has the turn itself.
            drop(around);
            turn.accounting.gives_up();
            deps.close_unstored(&agent, reference.turn).await;
            TurnEnd {
                items: None,
                ..turn.into_end(None)
            }
        }
    }
}

/// What surrounds one turn.
#[derive(Default)]
struct Orchestrator {
    sub_agents: SubAgentControl,
    /// The stages around its work; `None` without any.
    stages: Option<Box<Stages>>,
    /// The child turn whose answer becomes its own; both end together.
    in_its_place: Option<EndedChild>,
    /// What it has so far of the report that its role owes.
    owed: OwedReport,
}

impl Orchestrator {
    /// What surrounds a turn whose agent has these roles.
    fn new(roles: Arc<Catalog>) -> Self {
        Self {
            sub_agents: SubAgentControl::new(roles),
            ..Self::default()
        }
    }

    /// Works until there is an outcome.
    async fn answer(&mut self, turn: &mut Turn, worker: Worker) -> Result<Outcome, StoreError> {
        if let Some(rerun) = turn.rerun.take() {
            self.run_again(turn, rerun).await?;
        }
        match worker {
            Worker::Itself => {
                self.stages = Stages::look_for(turn, self.sub_agents.offer.catalog()).await;
                self.sub_agents.look_for_roles_at_first(turn);
                if self.stages.is_none() {
                    return turn.work(self).await;
                }
                self.take_advice(turn).await?;
                let outcome = turn.work(self).await?;
                self.pass_on(turn, outcome).await
            }
            Worker::Role(role) => self.have_role_answer(turn, &role).await,
            Worker::Nobody(why) => Ok(Outcome::None {
                exit: EndReason::Failed,
                error: why.to_string(),
            }),
        }
    }
}

impl Orchestrator {
    /// Runs calls again that a restart had interrupted, and tells the model of their results.
    async fn run_again(&mut self, turn: &mut Turn, rerun: Rerun) -> Result<(), StoreError> {
        let Rerun { calls, by, note } = rerun;
        let ran = Calls::new(turn, &mut self.sub_agents).run_again(&calls, &by);
        let results = ran.await?;
        let mut note = note;
        for result in results {
            note.push_str(&format!("\n[{}]\n{}", result.name, result.content));
        }
        turn.add_note(note).await
    }
}

#[async_trait]
impl Host for Orchestrator {
    fn extras(&self, turn: &Turn) -> Extras {
        let hand_over = self.router().map(|router| router.schema().clone());
        Extras {
            roles: self.sub_agents.offer.block(),
            ending: hand_over.into_iter().chain(self.owed.tool(turn)).collect(),
            only_ending: self.owed.owes_fields_alone(),
            how_it_ends: report::how_it_ends(turn),
        }
    }

    fn begins_step(&mut self) -> bool {
        self.owed.is_last_to_report()
    }

    async fn takes(
        &mut self,
        turn: &mut Turn,
        reply: Whole,
        last: Option<&Last>,
        retries: &mut RetryCounters,
    ) -> Result<Taken, StoreError> {
        let Whole {
            answer,
            stop,
            lacks_calls,
        } = reply;
        let mut answer = if last.is_some() && lacks_calls {
            answer
        } else {
            match self.routed(turn, answer, last).await? {
                Taken::Not(answer) => answer,
                next @ Taken::Next(_) => return Ok(next),
            }
        };
        if last.is_some() && !report::is_given_by_call(turn, &answer) {
            answer.tool_calls.clear();
        }
        if !report::is_report(turn, &answer) {
            return Ok(Taken::Not(answer));
        }
        let next = self.owed.reported(turn, answer, stop, last, retries);
        next.await.map(Taken::Next)
    }

    async fn run_calls(
        &mut self,
        turn: &mut Turn,
        answer: Assistant,
    ) -> Result<Vec<(ToolCall, ToolResult)>, StoreError> {
        let router = stages::router(self.stages.as_deref(), &self.owed);
        let refuses = |call: &_| router.and_then(|router| router.refuses(call));
        let calls = Calls::new(turn, &mut self.sub_agents);
        calls.run(answer, &refuses).await
    }

    fn hears(&mut self, item: &Item) {
        if let (Some(stages), Item::User(words)) = (&mut self.stages, item) {
            stages.hear(words);
        }
    }

    fn outcome(&mut self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::None { exit, error }
                if self.owed.has_part()
                    && !matches!(exit, EndReason::Aborted | EndReason::Interrupted) =>
            {
                self.owed.without_whole_report(EndReason::Report, error)
            }
            outcome => outcome,
        }
    }

    async fn close_calls(&mut self, turn: &mut Turn) -> Result<(), StoreError> {
        let waits = |ended: &mut EndedChild| !ended.below.results.is_empty();
        let Some(EndedChild { below, turn: child }) = self.in_its_place.take_if(waits) else {
            return Ok(());
        };
        let end = NextStage {
            ended: vec![below],
            ..NextStage::default()
        };
        let store = &turn.context.deps.store;
        store.next_stage(turn.context.id(), &end).await?;
        if let Some(mut child) = child {
            child.accounting.stored();
        }
        let results = end.ended.into_iter().flat_map(|ended| ended.results);
        turn.transcript
            .push_results(results.map(|(result, _)| result));
        Ok(())
    }

    fn report(&self) -> Option<&Value> {
        self.owed.row.as_ref()
    }

    async fn close(
        &mut self,
        turn: &mut Turn,
        ended: FinishedTurn,
        said: Said,
    ) -> Result<Vec<Part>, StoreError> {
        let (store, id, exit) = (&turn.context.deps.store, turn.context.id(), ended.exit);
        let Some(EndedChild { below, turn: child }) = self.in_its_place.take() else {
            return store.finish_turn(id, ended).await;
        };
        let queued = store.finish_turn_and_child(id, ended, &below).await?;
        if let Some(mut child) = child {
            child.accounting.stored();
            let has_answer = said == Said::Answer;
            last_line::log(&child, exit, has_answer, below.end.report.as_ref());
        }
        let results = below.results.into_iter().map(|(result, _)| result);
        turn.transcript.push_results(results);
        Ok(queued)
    }
}
