//! The stages around a turn that answers people: advisors before its work, a destination that answers in its place, and the
//! roles that its answer passes. Each is a child turn.
//!
//! ```text
//! message ─▶ advisors, side by side ─▶ the turn's own work ─▶ answer ─▶ handoff ─▶ … ─▶ people
//!                                          └─ hand_over ─▶ destination ─▶ answer ─┘
//! ```
//!
//! The outcome of a stage is stored in one transaction with what its parent makes from it.

mod advice;
mod hand_over;
mod handoff;
mod tags;

use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, error};

pub(super) use self::hand_over::Routed;
use self::hand_over::Routing;
use super::child::{self, EndedChild};
use super::children::{BegunChild, Reach};
use super::end_reason::EndReason;
use super::offer::Assignment;
use super::{Outcome, Turn};
use crate::agent::event::Speech;
use crate::agent::setup::{Stage, advisor_fault, handoff_fault};
use crate::charter::{Catalog, Role};
use crate::domain::{Handoff, Item, ToolResult, UserText};
use crate::store::{CallEnd, ChildKind, EndedBelow, NextStage, StoreError};

/// Characters of a stage's title, which is taken from the message.
const TITLE_CHARS: usize = 40;

/// The stages of one turn, as its beginning found them.
pub(super) struct Stages {
    roles: Arc<Catalog>,
    advisors: Vec<Stage>,
    router: Option<Routing>,
    handoff: Vec<Handoff>,
    /// What people wrote in this turn.
    asked: Vec<UserText>,
    /// What the advisors said, each in a tag.
    advice: String,
    /// The role that answered in the turn's place.
    handed_to: Option<Arc<Role>>,
    /// Where people see the words of the last speaker as they grow; of the others they see none.
    speech: Option<watch::Sender<Speech>>,
}

impl Turn {
    /// Looks up the stages that its files name; none in a mode without stages.
    pub(super) async fn look_for_stages(&mut self) {
        let names = self.setup.stages(self.context.asked_mode);
        if names.is_empty() {
            return;
        }
        let roles = self.offer.catalog();
        let of = |names: &[String]| -> Vec<Stage> {
            names.iter().map(|name| Stage::of(&roles, name)).collect()
        };
        let advisors = of(&names.advisors);
        let destinations = names.router.as_ref().map(|router| of(&router.destinations));
        let chain = Stage::chain(&roles, names.handoff.iter().cloned());
        let mut faults: Vec<String> = advisors.iter().filter_map(advisor_fault).collect();
        faults.extend(hand_over::faults(destinations.as_deref()));
        faults.extend(
            chain
                .iter()
                .filter_map(|(stage, on_failure)| handoff_fault(stage, *on_failure)),
        );
        self.context
            .deps
            .tell_of_stages(&self.context.agent, &faults)
            .await;
        let router = names
            .router
            .zip(destinations)
            .and_then(|(router, destinations)| Routing::of(router.required, destinations));
        let speech = (!chain.is_empty()).then(|| self.speak_unseen());
        let words = match self.transcript.items.last() {
            Some(Item::User(words)) => words.clone(),
            Some(Item::Assistant(_) | Item::ToolResult(_)) | None => UserText::default(),
        };
        self.stages = Some(Box::new(Stages {
            roles,
            advisors,
            router,
            handoff: names.handoff,
            asked: vec![words],
            advice: String::new(),
            handed_to: None,
            speech,
        }));
    }

    /// Works through all its stages until there is an outcome.
    pub(super) async fn work_in_stages(&mut self) -> Result<Outcome, StoreError> {
        if self.stages.is_none() {
            return self.work().await;
        }
        self.take_advice().await?;
        let outcome = self.work().await?;
        self.pass_on(outcome).await
    }

    /// A message was added to the turn: whoever answers in its place is told about it too.
    pub(super) fn stages_hear(&mut self, item: &Item) {
        if let (Some(stages), Item::User(words)) = (&mut self.stages, item) {
            stages.asked.push(words.clone());
        }
    }

    /// From now on nobody sees what its model says before the answer, not even in the run. Returns where people saw it.
    fn speak_unseen(&mut self) -> watch::Sender<Speech> {
        self.accounting.attached.hides_words = Some(self.context.id());
        self.context.run.hide_words();
        let (unseen, _) = watch::channel(Speech::default());
        std::mem::replace(&mut self.live.speech, unseen)
    }

    /// The assignment for a role around this turn.
    fn stage(&self, kind: ChildKind, role: &Arc<Role>, words: UserText) -> Assignment {
        let asked = self.stages.iter().flat_map(|stages| &stages.asked);
        // A note may hold words of a model, which have to pass a role first.
        let about = asked.filter(|words| !words.note);
        let about = about.map(|words| words.text.as_str()).next();
        Assignment {
            kind,
            role: role.clone(),
            title: self.title(about.unwrap_or_default(), TITLE_CHARS),
            words,
            go_on: None,
            former: None,
            waits: true,
            agent: None,
            reserved: None,
        }
    }

    /// Stores results of calls.
    pub(super) fn closed_calls(
        &mut self,
        results: impl IntoIterator<Item = (ToolResult, CallEnd)>,
    ) {
        for (result, _) in results {
            self.transcript.push(Item::ToolResult(result));
        }
    }

    /// Stores the end of a child turn while calls of this turn are open: nothing may stand between these and their results.
    pub(super) async fn close_calls_of_stage(&mut self) -> Result<(), StoreError> {
        let waits = |ended: &mut EndedChild| !ended.below.results.is_empty();
        let Some(EndedChild { below, turn }) = self.in_its_place.take_if(waits) else {
            return Ok(());
        };
        let end = NextStage {
            ended: vec![below],
            ..NextStage::default()
        };
        let store = &self.context.deps.store;
        store.next_stage(self.context.id(), &end).await?;
        if let Some(mut child) = turn {
            child.accounting.stored();
        }
        self.closed_calls(end.ended.into_iter().flat_map(|ended| ended.results));
        Ok(())
    }

    /// Runs a child turn whose end is stored together with what this turn makes from it.
    pub(super) async fn run_stage(
        &self,
        mut assignment: Assignment,
        begun: BegunChild,
        speech: Option<watch::Sender<Speech>>,
    ) -> Result<(EndedChild, Outcome), StoreError> {
        // It is in the ledger.
        assignment.reserved = None;
        let id = begun.new.turn.id;
        let stop = self.context.stop.below();
        let _found = stop.found_as(id, None);
        let (below, is_there) = (stop.clone(), stop.task_below());
        self.log_child(id, &begun.new.turn.path);
        let child = self.child(
            None,
            assignment,
            begun,
            stop,
            Reach::none(self.context.shown),
        );
        let mut child = child.await?;
        if let Some(speech) = speech {
            child.live.speech = speech;
        }
        let span = child.span();
        let work = async move {
            let _is_there = is_there;
            child::run_in_place(child).await
        };
        let task = AbortOnDropHandle::new(tokio::spawn(work.instrument(span)));
        match task.await {
            Ok(ended) => {
                let (child, outcome) = ended?;
                Ok((self.takes_over(child, &outcome), outcome))
            }
            Err(panic) => {
                error!(turn.id = %id, "a sub-agent of {} panicked: {panic}", self.context.agent.name);
                below.nothing_is_below().await;
                Ok(self.broken_stage(id).await)
            }
        }
    }

    /// Counts what a child has spent, and returns its end, which is not stored yet.
    fn takes_over(&self, mut child: Box<Self>, outcome: &Outcome) -> EndedChild {
        let exit = outcome.exit();
        let answer = match outcome {
            Outcome::Answer { answer, .. } if exit != EndReason::Refused => Some(answer.clone()),
            Outcome::Answer { .. }
            | Outcome::Lacks { .. }
            | Outcome::None { .. }
            | Outcome::Withheld { .. } => None,
        };
        child.ended(exit, answer.is_some()).log();
        let end = child.end_of_child(exit, answer);
        let below = *child.below.lock();
        self.below.lock().add(exit, child.accounting.tally, &below);
        EndedChild {
            below: EndedBelow {
                turn: child.context.id(),
                end,
                results: Vec::new(),
            },
            turn: Some(child),
        }
    }
}

impl Outcome {
    /// What a role said at its end; `None` where it gave no answer, or declined.
    fn words(&self) -> Option<&str> {
        match self {
            Self::Answer { answer, exit, .. } if *exit != EndReason::Refused => {
                Some(answer.text.trim()).filter(|text| !text.is_empty())
            }
            Self::Answer { .. }
            | Self::Lacks { .. }
            | Self::None { .. }
            | Self::Withheld { .. } => None,
        }
    }
}
