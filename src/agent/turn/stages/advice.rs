//! Advisors: roles that read a message before the turn works on it. Their advice follows the message as one note.

use futures_util::future::join_all;

use super::tags::tagged;
use crate::agent::setup::Stage;
use crate::agent::turn::children::BegunChild;
use crate::agent::turn::end_reason::EndReason;
use crate::agent::turn::last_words::LastWords;
use crate::agent::turn::offer::Assignment;
use crate::agent::turn::{Outcome, Turn};
use crate::clock;
use crate::domain::{CallId, Item, TurnId, UserText};
use crate::store::{ChildKind, NextStage, StoreError};
use crate::text::{self, escape};
use crate::tools::{ResultRoom, ToolContext, guard};

/// The heading of the advice.
const HEADING: &str = "Advice on the message above, from roles that read it first. It informs you; people do not see it.";

/// Characters of the reason why there is no advice.
const WHY: usize = 300;

impl Turn {
    /// Has all advisors read what the turn began with, at the same time, and stores what they say after it. None of them
    /// can make the turn fail.
    pub(super) async fn take_advice(&mut self) -> Result<(), StoreError> {
        let Some(stages) = &self.stages else {
            return Ok(());
        };
        if stages.advisors.is_empty() {
            return Ok(());
        }
        let advisors = stages.advisors.clone();
        let words = stages.asked.first().cloned().unwrap_or_default();
        let words = UserText {
            // It belongs to the item of this turn.
            message_id: None,
            ..words
        };
        let usable = advisors.iter().filter_map(|stage| stage.role.as_ref().ok());
        let mut tasks: Vec<_> = usable
            .map(|role| self.stage(ChildKind::Advisor, role, words.clone()))
            .collect();
        let refused = self.reserve_all(&mut tasks).await?;
        let last_words = match tasks.len() {
            0 => None,
            // One more for the tags around them.
            count => self.reserve_last_words(count + 1).await,
        };
        self.doing(format!(
            "Waiting for {}",
            text::count(tasks.len(), "advisor", "advisors")
        ));
        let begun = self.begin_advisors(&tasks).await?;
        let this: &Self = self;
        let running = tasks
            .into_iter()
            .zip(begun)
            .map(|(task, begun)| async move {
                let _counted = this.clock.call();
                this.run_stage(task, begun, None).await
            });
        let ended: Vec<_> = join_all(running)
            .await
            .into_iter()
            .collect::<Result<_, _>>()?;
        let room = last_words.clone().map(LastWords::room);
        let mut said = Vec::with_capacity(ended.len());
        for (child, outcome) in &ended {
            let advice = self.advice_of(child.below.turn, outcome, room.clone());
            said.push(advice.await);
        }
        self.keep_last_words(last_words).await;
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
        let store = &self.context.deps.store;
        store.next_stage(self.context.id(), &end).await?;
        for mut child in children.into_iter().flatten() {
            child.accounting.stored();
        }
        self.transcript.push(note);
        if let Some(stages) = &mut self.stages {
            stages.advice = advice;
        }
        Ok(())
    }

    /// Counts these advisors for the message behind the turn. Those beyond its limit are removed; returns why, for each.
    async fn reserve_all(&self, asked: &mut Vec<Assignment>) -> Result<Vec<Advice>, StoreError> {
        for at in 0..asked.len() {
            if let Err(why) = self.reserve(&mut asked[at]).await? {
                let refused = asked.drain(at..).map(|_| Advice::Failed {
                    exit: EndReason::Failed,
                    why: why.to_string(),
                });
                return Ok(refused.collect());
            }
        }
        Ok(Vec::new())
    }

    /// Stores that these advisors begin.
    async fn begin_advisors(
        &mut self,
        tasks: &[Assignment],
    ) -> Result<Vec<BegunChild>, StoreError> {
        if tasks.is_empty() {
            return Ok(Vec::new());
        }
        let mut start = NextStage::default();
        for task in tasks {
            start.begun.push(self.new_child(None, task).await);
        }
        start.attached = self.accounting.hand_over();
        let store = &self.context.deps.store;
        let conversations = store.next_stage(self.context.id(), &start).await?;
        self.accounting.stored();
        let begun = start.begun.into_iter().zip(conversations);
        let begun = begun.map(|(new, conversation)| BegunChild { new, conversation });
        Ok(begun.collect())
    }

    /// One advisor's advice, or why there is none.
    async fn advice_of(&self, turn: TurnId, outcome: &Outcome, room: Option<ResultRoom>) -> Advice {
        match outcome.words() {
            Some(words) => {
                let stop = self.context.stop.hard().clone();
                let context = ToolContext {
                    room,
                    ..self.tool_context(CallId(String::new()), Vec::new(), stop)
                };
                Advice::Given(guard::presented_report(words, turn.short(), &context).await)
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
