//! A turn that a sub-agent answers in its place: what `/ask role:` asks for.

use super::children::BegunChild;
use super::end_reason::EndReason;
use super::offer::{Assignment, NotCalled, Offer};
use super::{Outcome, Turn};
use crate::domain::{Assistant, Item, UserText};
use crate::store::{ChildKind, NextStage, StoreError};
use crate::text;

/// Characters of a title that is taken from the message.
const TITLE_CHARS: usize = 40;

impl Turn {
    /// Has the role `name` answer. The sub-agent knows the words that this turn began with, and nothing else of the
    /// conversation.
    pub(super) async fn have_role_answer(&mut self, name: &str) -> Result<Outcome, StoreError> {
        let found = match self.assignment_by_person(name).await {
            Ok(mut found) => self.count_child(&mut found).await?.map(|()| found),
            Err(why) => Err(why),
        };
        let assignment = match found {
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
        let start = NextStage {
            begun: vec![new],
            ..NextStage::default()
        };
        let store = &self.context.deps.store;
        let begun = store.next_stage(self.context.id(), &start).await?;
        let (Some(new), Some(conversation)) =
            (start.begun.into_iter().next(), begun.into_iter().next())
        else {
            return Err(StoreError::NotFound("conversation of a role".to_owned()));
        };
        self.doing(format!("Waiting for {role}"));
        let begun = BegunChild { new, conversation };
        let (ended, outcome) = self.run_stage(assignment, begun, None).await?;
        self.in_its_place = Some(ended);
        let line = format!("-# Answered by {}.", text::code_span(&role));
        Ok(outcome.given_by(&role, Some(line)))
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
        let words = match self.transcript.items.last() {
            Some(Item::User(words)) => words.clone(),
            Some(Item::Assistant(_) | Item::ToolResult(_)) | None => UserText::default(),
        };
        Ok(Assignment {
            kind: ChildKind::SubAgent,
            role,
            title: self.title(&words.text, TITLE_CHARS),
            words: UserText {
                // It belongs to the item of this turn.
                message_id: None,
                ..words
            },
            go_on: None,
            former: None,
            waits: true,
            agent: None,
            reserved: None,
        })
    }
}

impl Outcome {
    /// The same as the outcome of the turn that people see: the words alone, with the role that gave them, and a line that
    /// says so.
    pub(super) fn given_by(self, role: &str, line: Option<String>) -> Self {
        match self {
            Self::Answer {
                answer,
                exit,
                remark,
                citations,
            } => {
                let remarks: Vec<String> = remark.into_iter().chain(line).collect();
                Self::Answer {
                    answer: Assistant {
                        text: answer.text,
                        by: Some(role.to_owned()),
                        ..Assistant::default()
                    },
                    exit,
                    remark: (!remarks.is_empty()).then(|| remarks.join("\n")),
                    citations,
                }
            }
            without @ (Self::Lacks { .. } | Self::None { .. } | Self::Withheld { .. }) => without,
        }
    }
}
