//! The sub-agents of a turn: which it may call, how they are started, waited for and counted.
//!
//! It does not check the arguments of a call (`roles`), and does not say how a sub-agent works or ends (`child`).

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, error};

use super::broken::{self, BROKE_OFF};
use super::child::{Child, EndedChild, Reach, Reported};
use super::child_thread;
use crate::agent::calls::task::{Assignment, BegunChild, NotCalled};
use crate::agent::calls::{Call, SubAgents};
use crate::agent::event::Speech;
use crate::agent::setup::offer::Offer;
use crate::agent::stop::RunningChild;
use crate::agent::turn::context::AnsweredCall;
use crate::agent::turn::end::{EndReason, last_line};
use crate::agent::turn::thread;
use crate::agent::turn::{Outcome, Turn};
use crate::charter::Catalog;
use crate::domain::ToolResult;
use crate::store::{EndedBelow, NewPart, StoreError, ToldOfEnd};
use crate::tools::{Delegation, ResultRoom};

/// The sub-agents of one turn.
#[derive(Default)]
pub(super) struct SubAgentControl {
    /// The roles that the turn may call.
    pub(super) offer: Arc<Offer>,
    /// Its permit to work, one of those that the sub-agents of the run share.
    place: Mutex<Option<OwnedSemaphorePermit>>,
}

impl SubAgentControl {
    /// The sub-agents of a turn whose agent has these roles. None may be called yet.
    pub(super) fn new(roles: Arc<Catalog>) -> Self {
        Self {
            offer: Arc::new(Offer::unread(roles)),
            place: Mutex::default(),
        }
    }

    /// Waits for a permit to work beside the other sub-agents of the run.
    pub(super) async fn take_place(&self, turn: &Turn) {
        turn.doing("Waiting for its turn");
        let place = async {
            tokio::select! {
                biased;
                () = turn.context.stop.now().cancelled() => None,
                place = turn.context.run.place() => place,
            }
        };
        let place = turn.clock.off(place).await;
        *self.place.lock() = place;
    }

    /// Gives the permit to work back: others work for the turn, or it waits for others.
    pub(super) fn give_place_back(&self) {
        drop(self.place.lock().take());
    }
}

#[async_trait]
impl SubAgents for SubAgentControl {
    async fn look(&mut self, turn: &Turn) {
        self.look_for_roles(turn).await;
    }

    fn assign(&self, turn: &Turn, call: &Delegation) -> Result<Assignment, NotCalled> {
        self.assignment(turn, call)
    }

    async fn run(
        &self,
        turn: &Turn,
        call: &Call,
        begun: BegunChild,
        room: Option<ResultRoom>,
    ) -> Result<ToolResult, StoreError> {
        let id = begun.new.turn.id;
        let role = begun.assignment.role.name.clone();
        let stop = turn.context.stop.below();
        // A turn gives its permit back while others work for it, or a run could wait for itself.
        self.give_place_back();
        let (running, steered) = RunningChild::new(begun.conversation);
        let found = stop.found_as(id, Some(running.clone()));
        let (below, is_there) = (stop.clone(), stop.task_below());
        let shown = child_thread::shown_of(turn, &begun.assignment).await;
        let thread = child_thread::open(turn, &begun, shown).await;
        let is_seen = thread.is_some();
        let answers = AnsweredCall {
            id: call.id.clone(),
            written: call.written.clone(),
            room,
        };
        let reach = Reach {
            steered,
            thread,
            shown,
        };
        let child = Box::pin(Child::begin(turn, Some(answers), begun, stop, reach)).await?;
        turn.context.log_child(id, &child.turn.context.path);
        let span = child.span();
        let work = async move {
            let _is_there = is_there;
            child.run().await
        };
        let task = AbortOnDropHandle::new(tokio::spawn(work.instrument(span)));
        match task.await {
            Ok(Ok(reported)) => {
                let Reported {
                    result,
                    exit,
                    own,
                    below,
                } = reported;
                turn.below.lock().add(exit, own, &below);
                Ok(result)
            }
            Ok(Err(error)) => {
                drop(found);
                turn.context.run.answers_later(&running);
                Err(error)
            }
            Err(panic) => {
                error!(turn.id = %id, "a sub-agent of {} panicked: {panic}", turn.context.agent.name);
                let mut told = ToldOfEnd::default();
                if is_seen {
                    let words = format!("Error: {BROKE_OFF}.");
                    told.in_thread = thread::last(vec![NewPart::notice(&words)]);
                }
                below.nothing_is_below().await;
                let closed = Box::pin(broken::close_child(turn, call, &role, id, told)).await;
                drop(found);
                turn.context.run.answers_later(&running);
                closed
            }
        }
    }

    async fn have_ended(&self, turn: &Turn) {
        if turn.context.child.is_some() && self.place.lock().is_none() {
            self.take_place(turn).await;
        }
    }
}

/// Runs a child turn whose end is stored together with what `turn` makes from it. Its words are seen in `speech`.
pub(super) async fn run_stage(
    turn: &Turn,
    begun: BegunChild,
    speech: Option<tokio::sync::watch::Sender<Speech>>,
) -> Result<(EndedChild, Outcome), StoreError> {
    let id = begun.new.turn.id;
    let stop = turn.context.stop.below();
    let _found = stop.found_as(id, None);
    let (below, is_there) = (stop.clone(), stop.task_below());
    turn.context.log_child(id, &begun.new.turn.path);
    let reach = Reach::none(turn.context.shown);
    let mut child = Child::begin(turn, None, begun, stop, reach).await?;
    if let Some(speech) = speech {
        child.turn.live.speech = speech;
    }
    let span = child.span();
    let work = async move {
        let _is_there = is_there;
        child.run_in_place().await
    };
    let task = AbortOnDropHandle::new(tokio::spawn(work.instrument(span)));
    match task.await {
        Ok(ended) => {
            let (child, outcome) = ended?;
            Ok((takes_over(turn, child, &outcome), outcome))
        }
        Err(panic) => {
            error!(turn.id = %id, "a sub-agent of {} panicked: {panic}", turn.context.agent.name);
            below.nothing_is_below().await;
            Ok(broken::end_of_stage(turn, id).await)
        }
    }
}

/// Counts what a child has spent, and returns its end, which is not stored yet.
fn takes_over(turn: &Turn, mut child: Box<Child>, outcome: &Outcome) -> EndedChild {
    let exit = outcome.exit();
    let answer = match outcome {
        Outcome::Answer { answer, .. } if exit != EndReason::Refused => Some(answer.clone()),
        Outcome::Answer { .. }
        | Outcome::Lacks { .. }
        | Outcome::None { .. }
        | Outcome::Withheld { .. } => None,
    };
    let has_answer = answer.is_some();
    let end = child.end(exit, answer);
    let child = child.turn;
    last_line::log(&child, exit, has_answer, end.report.as_ref());
    let below = *child.below.lock();
    turn.below.lock().add(exit, child.accounting.tally, &below);
    EndedChild {
        below: EndedBelow {
            turn: child.context.id(),
            end,
            results: Vec::new(),
        },
        turn: Some(child),
    }
}
