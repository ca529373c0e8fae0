//! Advisors: roles that read a message before the turn works on it. Their advice follows the message as one note.

use futures_util::future::join_all;

use super::tags::tagged;
use super::words;
use crate::agent::calls::task::{Assignment, BegunChild};
use crate::agent::calls::tool_context;
use crate::agent::run::Orchestrator;
use crate::agent::run::sub_agents::run_stage;
use crate::agent::setup::Stage;
use crate::agent::turn::end::EndReason;
use crate::agent::turn::host::Host as _;
use crate::agent::turn::last_words::LastWords;
use crate::agent::turn::request::Tools;
use crate::agent::turn::{Outcome, Turn};
use crate::clock;
use crate::domain::{CallId, Item, TurnId, UserText};
use crate::store::{ChildKind, NextStage, ReservedTurn, StoreError};
use crate::text::{self, escape};
use crate::tools::{ResultRoom, ToolContext, guard};

/// The heading of the advice.
const HEADING: &str = "Advice on the message above, from roles that read it first. It informs you; people do not see it.";

/// Characters of the reason why there is no advice.
const WHY: usize = 300;

impl Orchestrator {
    /// Has all advisors read what the turn began with, at the same time, and stores what they say after it. None of them
    /// can make the turn fail.
    pub(in crate::agent::run) async fn take_advice(
        &mut self,
        turn: &mut Turn,
    ) -> Result<(), StoreError> {
        let Some(stages) = &self.stages else {
            return Ok(());
        };
        if stages.advisors.is_empty() {
            return Ok(());
        }
        let advisors = stages.advisors.clone();
        let words = stages.asked.first().cloned().unwrap_or_default();
        let usable = advisors.iter().filter_map(|stage| stage.role.as_ref().ok());
        let mut tasks: Vec<_> = usable
            .map(|role| stages.assignment(turn, ChildKind::Advisor, role, words.clone()))
            .collect();
        let (reserved, refused) = reserve(turn, &mut tasks).await?;
        let last_words = match tasks.len() {
            0 => None,
            // One more for the tags around them.
            count => {
                if !turn.transcript.context_meter.knows_fixed() {
                    turn.prompt_and_tools(Tools::On, &self.extras(turn)).await;
                }
                LastWords::reserve(turn, count + 1).await
            }
        };
        turn.doing(format!(
            "Waiting for {}",
            text::count(tasks.len(), "advisor", "advisors")
        ));
        let begun = begin_advisors(turn, tasks).await?;
        drop(reserved);
        let this: &Turn = turn;
        let running = begun.into_iter().map(|begun| async move {
            let _counted = this.clock.call();
            run_stage(this, begun, None).await
        });
        let ended: Vec<_> = join_all(running)
            .await
            .into_iter()
            .collect::<Result<_, _>>()?;
        let room = last_words.clone().map(LastWords::room);
        let mut said = Vec::with_capacity(ended.len());
        for (child, outcome) in &ended {
            let advice = advice_of(turn, child.below.turn, outcome, room.clone());
            said.push(advice.await);
        }
        LastWords::keep(last_words, turn).await;
        said.extend(refused);
        let mut said = said.into_iter();
        let blocks: Vec<String> = advisors
            .iter()
            .map(|stage| block(stage, said.by_ref()))
            .collect();
        let advice = blocks.join("\n");
        let note = Item::User(UserText {
            at: Some(clock::now()),
            ..UserText::note(format!("{HEADING}\n{advice}"))
        });
        let (children, below): (Vec<_>, Vec<_>) = ended
            .into_iter()
            .map(|(child, _)| (child.turn, child.below))
            .unzip();
        let end = NextStage {
            ended: below,
            note: Some(note.clone()),
            ..NextStage::default()
        };
        let store = &turn.context.deps.store;
        store.next_stage(turn.context.id(), &end).await?;
        for mut child in children.into_iter().flatten() {
            child.accounting.stored();
        }
        turn.transcript.push(note);
        if let Some(stages) = &mut self.stages {
            stages.advice = advice;
        }
        Ok(())
    }
}

/// Counts these advisors for the message behind the turn, until the reservations are dropped. Those beyond its limit are
/// removed; returns why, for each.
async fn reserve(
    turn: &Turn,
    asked: &mut Vec<Assignment>,
) -> Result<(Vec<ReservedTurn>, Vec<Advice>), StoreError> {
    let mut reserved = Vec::with_capacity(asked.len());
    while reserved.len() < asked.len() {
        let id = turn.context.id();
        match turn.context.deps.store.reserve_turn(id).await? {
            Ok(one) => reserved.push(one),
            Err(why) => {
                let refused = asked.drain(reserved.len()..).map(|_| Advice::Failed {
                    exit: EndReason::Failed,
                    why: why.to_string(),
                });
                let refused = refused.collect();
                return Ok((reserved, refused));
            }
        }
    }
    Ok((reserved, Vec::new()))
}

/// Stores that these advisors begin.
async fn begin_advisors(
    turn: &mut Turn,
    tasks: Vec<Assignment>,
) -> Result<Vec<BegunChild>, StoreError> {
    if tasks.is_empty() {
        return Ok(Vec::new());
    }
    let mut start = NextStage::default();
    for task in &tasks {
        start.begun.push(task.new_child(turn, None).await);
    }
    start.attached = turn.accounting.hand_over();
    let store = &turn.context.deps.store;
    let conversations = store.next_stage(turn.context.id(), &start).await?;
    turn.accounting.stored();
    let begun = tasks.into_iter().zip(start.begun).zip(conversations);
    let begun = begun.map(|((assignment, new), conversation)| BegunChild {
        assignment,
        new,
        conversation,
    });
    Ok(begun.collect())
}

/// One advisor's advice, or why there is none.
async fn advice_of(
    turn: &Turn,
    advisor: TurnId,
    outcome: &Outcome,
    room: Option<ResultRoom>,
) -> Advice {
    match words(outcome) {
        Some(said) => {
            let stop = turn.context.stop.hard().clone();
            let context = ToolContext {
                room,
                ..tool_context(turn, CallId(String::new()), Vec::new(), stop)
            };
            Advice::Given(guard::presented_report(said, advisor.short(), &context).await)
        }
        None => Advice::Failed {
            exit: outcome.exit(),
            why: match outcome {
                Outcome::None { error, .. } | Outcome::Lacks { error, .. } => error.clone(),
                Outcome::Answer { .. } | Outcome::Withheld { .. } => String::new(),
            },
        },
    }
}

/// An advisor's advice, or why there is none.
enum Advice {
    Given(String),
    Failed {
        exit: EndReason,
        /// Empty where the exit reason is enough.
        why: String,
    },
}

/// What the turn is told about an advisor; for one that was asked, that is the next of `said`.
fn block(stage: &Stage, mut said: impl Iterator<Item = Advice>) -> String {
    let from = format!(" from=\"{}\"", stage.name);
    let advice = match &stage.role {
        Ok(_) => said.next(),
        Err(why) => Some(Advice::Failed {
            exit: EndReason::Failed,
            why: why.to_string(),
        }),
    };
    match advice {
        Some(Advice::Given(words)) => tagged("advisory", &from, &words),
        Some(Advice::Failed { exit, why }) => {
            let why = match why.trim() {
                "" => exit.words(),
                why => escape::sentence(&text::one_line(why, WHY)),
            };
            let failed = format!("{from} failed=\"{}\"", exit.as_str());
            tagged("advisory", &failed, &format!("no advice: {why}"))
        }
        None => String::new(),
    }
}
