//! The handoff: roles that an answer passes one after another before people get it. What the last of them says is the
//! answer.

use std::sync::Arc;

use super::tags::tagged;
use super::words;
use crate::agent::calls::task::{Assignment, BegunChild};
use crate::agent::run::Orchestrator;
use crate::agent::run::child::EndedChild;
use crate::agent::run::report::fields_line;
use crate::agent::run::sub_agents::run_stage;
use crate::agent::setup::Stage;
use crate::agent::turn::end::{EndReason, reply};
use crate::agent::turn::policy::cut_short;
use crate::agent::turn::{Outcome, Turn};
use crate::charter::Role;
use crate::domain::{Assistant, Cost, OnFailure, TurnId, Usage, UserText};
use crate::store::{ChildKind, EndedBelow, FinishedTurn, NextStage, StoreError, Took};
use crate::text;

/// An answer on its way to people.
struct Passed {
    answer: Assistant,
    citations: Vec<(String, String)>,
    /// A line with the fields of its report.
    fields: Option<String>,
}

/// An outcome whose answer is on its way.
struct Given {
    exit: EndReason,
    remark: Option<String>,
    /// What a report lacks, and what is said of that; `None` for an answer.
    lacks: Option<(Vec<String>, String)>,
}

impl Given {
    /// Takes the answer out of `outcome`, which is returned where it has none.
    fn of(outcome: Outcome) -> Result<(Self, Passed), Box<Outcome>> {
        let (answer, exit, remark, citations, lacks) = match outcome {
            Outcome::Answer {
                answer,
                exit,
                remark,
                citations,
            } => (answer, exit, remark, citations, None),
            Outcome::Lacks {
                answer,
                missing,
                exit,
                error,
            } if !answer.trim().is_empty() => {
                let answer = Assistant {
                    text: answer,
                    ..Assistant::default()
                };
                (answer, exit, None, Vec::new(), Some((missing, error)))
            }
            other => return Err(Box::new(other)),
        };
        let given = Self {
            exit,
            remark,
            lacks,
        };
        let passed = Passed {
            answer,
            citations,
            fields: None,
        };
        Ok((given, passed))
    }

    /// The outcome with the answer as it has passed, and these remarks below it.
    fn with(self, passed: Passed, remarks: Vec<String>) -> Outcome {
        let Passed {
            answer,
            citations,
            fields,
        } = passed;
        let remarks: Vec<String> = fields.into_iter().chain(remarks).collect();
        let remark = (!remarks.is_empty()).then(|| remarks.join("\n"));
        let exit = self.exit;
        match self.lacks {
            None => Outcome::Answer {
                answer,
                exit,
                remark,
                citations,
            },
            Some((missing, error)) => Outcome::Lacks {
                answer: reply::answer(&answer.text, exit, &remarks_of(&remark), &citations),
                missing,
                exit,
                error,
            },
        }
    }
}

/// How a role let an answer through.
enum Through {
    As(Passed),
    /// It did not finish, for this reason.
    Not {
        exit: EndReason,
        why: String,
    },
}

impl Orchestrator {
    /// Has the answer pass the roles that it must pass.
    pub(in crate::agent::run) async fn pass_on(
        &mut self,
        turn: &mut Turn,
        outcome: Outcome,
    ) -> Result<Outcome, StoreError> {
        let chain = self.stages.as_ref().map(|stages| stages.chain());
        let chain = chain.unwrap_or_default();
        if chain.is_empty() {
            return Ok(outcome);
        }
        let (given, answer) = match Given::of(outcome) {
            Ok(given) => given,
            Err(other) => return Ok(*other),
        };
        if given.exit == EndReason::Refused {
            // No role has read these words, so people are only told that the model declined.
            return Ok(Outcome::Answer {
                answer: Assistant::default(),
                exit: given.exit,
                remark: given.remark,
                citations: Vec::new(),
            });
        }
        // The fields of a report are words of its role: they pass with the answer.
        let fields = self.fields_of_giver();
        let remark = given.remark.as_deref().unwrap_or_default();
        let remarks = remark
            .lines()
            .filter(|line| fields.as_deref() != Some(line));
        let mut remarks: Vec<String> = remarks.map(str::to_owned).collect();
        let mut passed = Passed { fields, ..answer };
        let last = chain.len() - 1;
        for (at, (stage, on_failure)) in chain.into_iter().enumerate() {
            let through = Box::pin(self.pass(turn, &stage, &passed, at == last)).await?;
            if let Some(outcome) = cut_short(turn.context.stop.asked()) {
                return Ok(outcome);
            }
            match (through, on_failure) {
                (Through::As(changed), _) => passed = changed,
                (Through::Not { why, .. }, OnFailure::Show) => remarks.push(format!(
                    "-# Not passed on: {} did not finish ({why}). This is the answer before it.",
                    text::code_span(&stage.name)
                )),
                (Through::Not { exit, why }, OnFailure::Withhold) => {
                    return withhold(turn, &stage, exit, &why).await;
                }
            }
        }
        Ok(given.with(passed, remarks))
    }

    /// The line with the fields in the report of whoever gave the answer.
    fn fields_of_giver(&self) -> Option<String> {
        let row = match &self.in_its_place {
            Some(ended) => ended.below.end.report.as_ref(),
            None => self.owed.row.as_ref(),
        };
        fields_line(row?.get("meta")?.as_object()?)
    }

    /// Has an answer pass one role.
    async fn pass(
        &mut self,
        turn: &mut Turn,
        stage: &Stage,
        before: &Passed,
        is_last: bool,
    ) -> Result<Through, StoreError> {
        let Some(stages) = &self.stages else {
            return Err(StoreError::NotFound("stages of a turn".to_owned()));
        };
        let role = match &stage.role {
            Ok(role) => role.clone(),
            Err(_) => Arc::new(Role::unusable(&stage.name)),
        };
        let request = stages.request();
        let from = format!(" from=\"{}\"", turn.context.agent.name);
        let (text, citations) = (&before.answer.text, &before.citations);
        let fields = remarks_of(&before.fields);
        let shown = reply::answer(text, EndReason::Answered, &fields, citations);
        let task = UserText {
            text: format!("{}\n\n{}", request.text, tagged("response", &from, &shown)),
            ..request
        };
        let assignment = stages.assignment(turn, ChildKind::Handoff, &role, task);
        let speech = stages.speech.clone().filter(|_| is_last);
        let id = turn.context.id();
        let (reserved, refused) = match &stage.role {
            Ok(_) => match turn.context.deps.store.reserve_turn(id).await? {
                Ok(reserved) => (Some(reserved), None),
                Err(why) => (None, Some(why.to_string())),
            },
            Err(_) => (None, Some("it cannot be used".to_owned())),
        };
        let begun = self.begin_handoff(turn, assignment).await?;
        drop(reserved);
        if let Some(why) = refused {
            self.in_its_place = Some(never_ran(begun.new.turn.id));
            return Ok(Through::Not {
                exit: EndReason::Failed,
                why,
            });
        }
        turn.doing(format!("Passing it to {}", role.name));
        let (ended, outcome) = run_stage(turn, begun, speech).await?;
        self.in_its_place = Some(ended);
        let exit = outcome.exit();
        let has_words = words(&outcome).is_some();
        Ok(match outcome.given_by(&role.name, None) {
            Outcome::Answer {
                answer, citations, ..
            } if has_words => {
                turn.answered_by = None;
                Through::As(Passed {
                    answer,
                    citations,
                    fields: self.fields_of_giver(),
                })
            }
            Outcome::Answer { .. }
            | Outcome::Lacks { .. }
            | Outcome::None { .. }
            | Outcome::Withheld { .. } => {
                let why = exit.words();
                Through::Not { exit, why }
            }
        })
    }

    /// Begins the turn of a role that the answer passes. The end of the one before it, if any, is stored with that.
    async fn begin_handoff(
        &mut self,
        turn: &mut Turn,
        assignment: Assignment,
    ) -> Result<BegunChild, StoreError> {
        let new = assignment.new_child(turn, None).await;
        let before = self.in_its_place.take();
        let (child, ended) = before.map_or((None, None), |ended| (ended.turn, Some(ended.below)));
        let next = NextStage {
            ended: ended.into_iter().collect(),
            begun: vec![new.clone()],
            ..NextStage::default()
        };
        let store = &turn.context.deps.store;
        let begun = store.next_stage(turn.context.id(), &next).await?;
        if let Some(mut child) = child {
            child.accounting.stored();
        }
        let results = next.ended.into_iter().flat_map(|ended| ended.results);
        turn.transcript
            .push_results(results.map(|(result, _)| result));
        let conversation = begun.into_iter().next();
        let conversation = conversation
            .ok_or_else(|| StoreError::NotFound("conversation of a handoff".to_owned()))?;
        Ok(BegunChild {
            assignment,
            new,
            conversation,
        })
    }
}

/// The answer is not shown. The ledger keeps it as the task of the role that it should have passed.
async fn withhold(
    turn: &mut Turn,
    stage: &Stage,
    exit: EndReason,
    why: &str,
) -> Result<Outcome, StoreError> {
    let name = text::code_span(&stage.name);
    turn.add_note(format!(
        "Your answer was withheld: {name} must pass it and did not finish ({why}). People did not see it."
    ))
    .await?;
    Ok(Outcome::Withheld {
        exit,
        told: format!(
            "**The answer was withheld.** {name} must pass it and did not finish ({why})."
        ),
    })
}

fn remarks_of(remark: &Option<String>) -> Vec<&str> {
    remark.iter().map(String::as_str).collect()
}

/// The end of a turn whose role cannot be used.
fn never_ran(turn: TurnId) -> EndedChild {
    let nothing = Took {
        steps: 0,
        usage: Usage::default(),
        cost: Cost::Usd(0.0),
    };
    let end = FinishedTurn {
        report: None,
        ..FinishedTurn::broken_off(Some(nothing))
    };
    EndedChild {
        below: EndedBelow {
            turn,
            end,
            results: Vec::new(),
        },
        turn: None,
    }
}
