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

use self::hand_over::Routing;
use self::tags::tagged;
use super::report::OwedReport;
use crate::agent::calls::task::Assignment;
use crate::agent::event::Speech;
use crate::agent::setup::{Stage, advisor_fault, handoff_fault};
use crate::agent::turn::end::EndReason;
use crate::agent::turn::{Outcome, Turn};
use crate::charter::{Catalog, Role};
use crate::domain::{Handoff, Item, OnFailure, UserText};
use crate::store::ChildKind;

/// Characters of a stage's title, which is taken from the message.
const TITLE_CHARS: usize = 40;

/// The stages of one turn, as its beginning found them.
pub(super) struct Stages {
    roles: Arc<Catalog>,
    advisors: Vec<Stage>,
    router: Option<Routing>,
    /// Whether the model was told that it must hand over.
    is_told_to_hand_over: bool,
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

impl Stages {
    /// Looks up the stages that a turn's files name among `roles`; none in a mode without stages.
    pub(super) async fn look_for(turn: &mut Turn, roles: Arc<Catalog>) -> Option<Box<Self>> {
        let names = turn.setup.stages(turn.context.asked_mode);
        if names.is_empty() {
            return None;
        }
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
        turn.context
            .deps
            .tell_of_stages(&turn.context.agent, &faults)
            .await;
        let router = names
            .router
            .zip(destinations)
            .and_then(|(router, destinations)| Routing::of(router.required, destinations));
        let speech = (!chain.is_empty()).then(|| speak_unseen(turn));
        Some(Box::new(Self {
            roles,
            advisors,
            router,
            is_told_to_hand_over: false,
            handoff: names.handoff,
            asked: vec![first_words(turn)],
            advice: String::new(),
            handed_to: None,
            speech,
        }))
    }

    /// A message was added to the turn: whoever answers in its place is told about it too.
    pub(super) fn hear(&mut self, words: &UserText) {
        self.asked.push(words.clone());
    }

    /// The assignment for a role around this turn.
    fn assignment(
        &self,
        turn: &Turn,
        kind: ChildKind,
        role: &Arc<Role>,
        words: UserText,
    ) -> Assignment {
        // A note may hold words of a model, which have to pass a role first.
        let about = self.asked.iter().filter(|words| !words.note);
        let about = about.map(|words| words.text.as_str()).next();
        let title = turn.context.title(about.unwrap_or_default(), TITLE_CHARS);
        Assignment::of_stage(kind, role.clone(), words, title)
    }

    /// What people wrote in this turn in its tag, with their pictures.
    fn request(&self) -> UserText {
        let written = self.asked.iter().map(|words| {
            let words = UserText {
                facts: None,
                images: Vec::new(),
                ..words.clone()
            };
            words.for_model()
        });
        let written: Vec<String> = written.collect();
        let images = self.asked.iter().flat_map(|words| &words.images);
        UserText {
            text: tagged("original_user_request", "", &written.join("\n\n")),
            images: images.cloned().collect(),
            ..UserText::default()
        }
    }

    /// Whether an answer of `destination` would pass further roles.
    fn passes_on_from(&self, destination: &Role) -> bool {
        !self.handoff.is_empty() || !destination.handoff.is_empty()
    }

    /// The roles that an answer passes now: those of the role that gave it, then those of the turn.
    fn chain(&self) -> Vec<(Stage, OnFailure)> {
        let of_giver = self.handed_to.iter().flat_map(|role| &role.handoff);
        let first: Vec<Handoff> = of_giver.chain(&self.handoff).cloned().collect();
        Stage::chain(&self.roles, first.into_iter())
    }
}

/// The router, unless the turn's report is complete except for its fields.
pub(super) fn router<'a>(stages: Option<&'a Stages>, owed: &OwedReport) -> Option<&'a Routing> {
    let router = stages?.router.as_ref();
    router.filter(|_| !owed.owes_fields_alone())
}

/// The words that a turn began with.
fn first_words(turn: &Turn) -> UserText {
    match turn.transcript.items.last() {
        Some(Item::User(words)) => words.clone(),
        Some(Item::Assistant(_) | Item::ToolResult(_)) | None => UserText::default(),
    }
}

/// From now on nobody sees what the model of a turn says before the answer, not even in the run. Returns where people saw it.
fn speak_unseen(turn: &mut Turn) -> watch::Sender<Speech> {
    turn.accounting.attached.hides_words = Some(turn.context.id());
    turn.context.run.hide_words();
    let (unseen, _) = watch::channel(Speech::default());
    std::mem::replace(&mut turn.live.speech, unseen)
}

/// What a role said at its end; `None` where it gave no answer, or declined.
fn words(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Answer { answer, exit, .. } if *exit != EndReason::Refused => {
            Some(answer.text.trim()).filter(|text| !text.is_empty())
        }
        Outcome::Answer { .. }
        | Outcome::Lacks { .. }
        | Outcome::None { .. }
        | Outcome::Withheld { .. } => None,
    }
}
