//! A turn that a sub-agent answers in its place: what `/ask role:` asks for.

use tokio_util::task::AbortOnDropHandle;
use tracing::{Instrument as _, error};

use crate::agent::end_reason::EndReason;
use crate::domain::{Assistant, Item, TurnId, UserText};
use crate::store::{FinishedTurn, StoreError};
use crate::text;

use super::child::{self, EndedChild};
use super::children::{BegunChild, Reach};
use super::offer::{Assignment, NotCalled, Offer};
use super::{Outcome, Turn};

/// Characters of a title that is taken from the words themselves.
const TITLE_CHARS: usize = 40;

/// What people are told of a sub-agent whose task broke off.
const BROKE_OFF: &str = "it ended because of a bug in Chorus. What it did so far stays done";

impl Turn {
    /// Has the role `name` answer. The sub-agent knows the words that this turn began with, and nothing else of the
    /// conversation.
    pub(super) async fn have_role_answer(&mut self, name: &str) -> Result<Outcome, StoreError> {
        let assignment = match self.assignment_by_person(name).await {
            Ok(assignment) => assignment,
            Err(why) => {
                return Ok(Outcome::None {
                    exit: EndReason::Failed,
                    error: why.to_string(),
                });
            }
        };
        let role = assignment.role.name.clone();
        let new = self.new_child(None, &assignment).await;
        let id = new.turn.id;
        let conversation = self.context.deps.store.start_in_place(&new).await?;
        let stop = self.context.stop.below();
        let _found = stop.found_as(id, None);
        let begun = BegunChild { new, conversation };
        let child = self
            .child(None, assignment, begun, stop, Reach::none())
            .await?;
        self.doing(format!("Waiting for {role}"));
        let span = child.span();
        let work = child::run_in_place(child).instrument(span);
        let task = AbortOnDropHandle::new(tokio::spawn(work));
        let outcome = match task.await {
            Ok(ended) => {
                let (child, outcome) = ended?;
                self.takes_over(child, &outcome);
                outcome
            }
            Err(panic) => {
                error!(turn.id = %id, "a sub-agent of {} panicked: {panic}", self.context.agent.name);
                self.in_its_place = Some(broken_off(id));
                Outcome::None {
                    exit: EndReason::Failed,
                    error: BROKE_OFF.to_owned(),
                }
            }
        };
        Ok(outcome.given_by(&role))
    }

    /// The task that a person gives a role.
    async fn assignment_by_person(&self, name: &str) -> Result<Assignment, NotCalled> {
        let limits = self.orchestration();
        let depth = self.context.lineage.len();
        if depth >= limits.max_depth.get() as usize {
            return Err(NotCalled::TooDeep(depth));
        }
        if let Some(above) = self.context.lineage.iter().find(|role| role.name == name) {
            return Err(NotCalled::IsAbove(above.name.clone()));
        }
        let deps = &self.context.deps;
        let folder = deps.folder(&self.context.agent);
        let catalog = deps.roles_of(self.context.agent.id, folder).await;
        let role = Offer::from(catalog.unwrap_or_default()).find(name)?;
        let most = limits.max_children.get();
        if !self.context.run.count_child(most) {
            return Err(NotCalled::TooMany(most));
        }
        let words = match self.transcript.items.last() {
            Some(Item::User(words)) => words.clone(),
            Some(Item::Assistant(_) | Item::ToolResult(_)) | None => UserText::default(),
        };
        Ok(Assignment {
            role,
            title: text::one_line(&words.text, TITLE_CHARS),
            words: UserText {
                // It belongs to the item of this turn.
                message_id: None,
                ..words
            },
            go_on: None,
            former: None,
            waits: true,
            agent: None,
        })
    }

    /// Counts what a child spent, and keeps its end until it is stored with that of this turn.
    fn takes_over(&mut self, mut child: Box<Self>, outcome: &Outcome) {
        let exit = outcome.exit();
        let answer = match outcome {
            Outcome::Answer { answer, .. } if exit != EndReason::Refused => Some(answer.clone()),
            Outcome::Answer { .. } | Outcome::Lacks { .. } | Outcome::None { .. } => None,
        };
        let end = child.end_of_child(exit, answer);
        let below = *child.below.lock();
        self.below.lock().add(exit, child.accounting.tally, &below);
        self.in_its_place = Some(EndedChild {
            id: child.context.id(),
            end,
            turn: Some(child),
        });
    }
}

impl Outcome {
    /// The same as the outcome of the turn that people see: the words alone, with who gave them.
    fn given_by(self, role: &str) -> Self {
        match self {
            Self::Answer {
                answer,
                exit,
                remark,
                citations,
            } => {
                let by = format!("-# Answered by {}.", text::code_span(role));
                let remarks: Vec<String> = remark.into_iter().chain([by]).collect();
                Self::Answer {
                    answer: Assistant {
                        text: answer.text,
                        ..Assistant::default()
                    },
                    exit,
                    remark: Some(remarks.join("\n")),
                    citations,
                }
            }
            none @ (Self::Lacks { .. } | Self::None { .. }) => none,
        }
    }
}

fn broken_off(id: TurnId) -> EndedChild {
    EndedChild {
        id,
        end: FinishedTurn::broken_off(),
        turn: None,
    }
}
