//! The report that a role owes: its last answer, checked against what its charter asks for. What is missing is asked for
//! again, a few times; what is valid is kept meanwhile.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::agent::calls::{Call, refuse};
use crate::agent::turn::end::{CUT_ANSWER, EndReason};
use crate::agent::turn::policy::{self, Last, Next, RetryCounters};
use crate::agent::turn::prompt::OWES_REPORT;
use crate::agent::turn::{Outcome, Turn};
use crate::charter::{Contract, Lacks};
use crate::domain::{Assistant, CallId, Mode, StopReason, ToolResult};
use crate::llm::ToolSchema;
use crate::store::{AttachedRows, AuditDecision, Lacking, Starting, StoreError};
use crate::text::{self, escape};
use crate::tools::report::{self as reports, Judgement, Parts};

/// The tool that a role gives its report with.
const REPORT: &str = "report";

/// How many faults of a report a model is told at once.
const REASONS: usize = 2;

/// Characters of a field that people are shown.
const FIELD_SHOWN: usize = 100;

/// What a turn has of the report that it owes.
#[derive(Debug, Default)]
pub(super) struct OwedReport {
    /// Valid text and data; they are not asked for again.
    kept: Option<Body>,
    /// The latest text that was given for a report.
    latest: String,
    /// Names of what lacks.
    missing: Vec<String>,
    /// Why the latest one could not be judged, for people.
    unjudged: Option<String>,
    /// Steps that are left to complete it; `None` before the first incomplete one.
    left: Option<u32>,
    /// What the turn's row keeps of it.
    pub(super) row: Option<Value>,
}

/// A report without its fields.
#[derive(Clone, Debug)]
struct Body {
    text: String,
    data: Option<Value>,
    source: Source,
}

/// How a report was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// By a call of [`REPORT`].
    Tool,
    /// As an answer without calls.
    Text,
    /// As JSON in such an answer.
    Fallback,
}

/// What a model gave for its report, not judged.
struct Given {
    text: String,
    /// The call's arguments besides the text; `None` for an answer without a call.
    arguments: Option<Map<String, Value>>,
}

/// The outcome of checking a report.
enum Reported {
    /// The turn ends with it.
    Whole {
        answer: Assistant,
        /// A line for people with the fields.
        fields: Option<String>,
    },
    /// The model was told what is missing, and is asked again.
    Lacks,
    /// Something is missing, and there are no steps left.
    Never,
}

/// Whether an answer gives the report that a turn owes by a call.
pub(super) fn is_given_by_call(turn: &Turn, answer: &Assistant) -> bool {
    let mut calls = answer.tool_calls.iter();
    contract(turn).is_some() && calls.any(|call| call.meant().name == REPORT)
}

/// Whether an answer is the report that a turn's role owes.
pub(super) fn is_report(turn: &Turn, answer: &Assistant) -> bool {
    let says_it = answer.tool_calls.is_empty() && !answer.text.trim().is_empty();
    contract(turn).is_some() && says_it || is_given_by_call(turn, answer)
}

/// What a model is told about the end of its work; empty where it owes no report.
pub(super) fn how_it_ends(turn: &Turn) -> &'static str {
    if contract(turn).is_some() {
        OWES_REPORT
    } else {
        ""
    }
}

impl OwedReport {
    /// The tool that gives the report: parts that are kept already are not asked for.
    pub(super) fn tool(&self, turn: &Turn) -> Option<ToolSchema> {
        let only_meta = self.kept.is_some();
        let parameters = contract(turn)?.parameters(only_meta).to_string();
        Some(ToolSchema {
            name: REPORT.to_owned(),
            description: if only_meta {
                "Adds to your report what it still lacks, and ends your work."
            } else {
                "Gives your report and ends your work. Call it alone, and last."
            }
            .to_owned(),
            parameters: RawValue::from_string(parameters).ok()?,
        })
    }

    /// Whether only the fields are still asked for.
    pub(super) fn owes_fields_alone(&self) -> bool {
        self.kept.is_some()
    }

    /// Counts one of the steps that are left to complete the report; returns whether it is the last.
    pub(super) fn is_last_to_report(&mut self) -> bool {
        let is_last = self.left == Some(1);
        self.left = self.left.map(|left| left.saturating_sub(1));
        is_last
    }

    /// Ends the turn with a report that holds what it must; otherwise the model is asked for what is missing.
    pub(super) async fn reported(
        &mut self,
        turn: &mut Turn,
        answer: Assistant,
        stop: StopReason,
        last: Option<&Last>,
        retries: &mut RetryCounters,
    ) -> Result<Next, StoreError> {
        let may_go_on = last.is_none_or(Last::leaves_steps) && !turn.context.is_stopping();
        let cut = (stop == StopReason::MaxTokens).then(|| CUT_ANSWER.to_owned());
        let limit = last.and_then(Last::remark);
        let exit = match last {
            Some(last) if last.exit != EndReason::Report => last.exit,
            Some(_) | None => EndReason::Answered,
        };
        Ok(match self.take(turn, answer, may_go_on).await? {
            Reported::Whole { answer, fields } => Next::Over(Outcome::Answer {
                answer,
                exit,
                remark: policy::joined([fields, cut, limit]),
                citations: retries.cited(),
            }),
            Reported::Lacks => Next::Again,
            Reported::Never => {
                let exit = match last {
                    Some(last) if last.exit == EndReason::Stopped => EndReason::Stopped,
                    Some(_) | None => EndReason::Report,
                };
                Next::Over(self.without_whole_report(exit, String::new()))
            }
        })
    }

    /// Takes an answer that ends the turn if it holds what its role owes: without calls, or with one of [`REPORT`].
    /// Otherwise the model is told what is missing, where it `may_go_on`.
    async fn take(
        &mut self,
        turn: &mut Turn,
        answer: Assistant,
        may_go_on: bool,
    ) -> Result<Reported, StoreError> {
        let Some(contract) = contract(turn).cloned() else {
            return Ok(Reported::Never);
        };
        let given = Given::of(&answer);
        let by_call = given.arguments.is_some();
        let Some(judgement) = self.judged(turn, &given, &contract).await else {
            // Nobody waits for it any more.
            self.latest = given.text;
            if by_call {
                let told = "Error: the turn was aborted before the report was checked.";
                answer_report(turn, answer, told, true).await?;
            } else {
                turn.record_quietly(answer, Starting::default()).await?;
            }
            return Ok(Reported::Never);
        };
        let meta = judgement.meta.clone();
        let lacks = self.takes(given, &contract, judgement);
        if lacks.is_empty() {
            let Some(body) = self.kept.take() else {
                return Ok(Reported::Never);
            };
            let is_whole = !by_call && body.text == answer.text;
            self.row = Some(body.row(&meta));
            let last = if is_whole {
                answer
            } else {
                if by_call {
                    answer_report(turn, answer, "The report is taken.", false).await?;
                } else {
                    turn.record_quietly(answer, Starting::default()).await?;
                }
                Assistant {
                    text: body.text,
                    ..Assistant::default()
                }
            };
            let fields = fields_line(&meta);
            return Ok(Reported::Whole {
                answer: last,
                fields,
            });
        }
        let most = turn.context.deps.config.load().max_retries.get();
        let left = *self.left.get_or_insert(most);
        let told = reasons(&lacks, self.kept.is_some());
        self.missing = names(lacks);
        if by_call {
            answer_report(turn, answer, &format!("Error: {told}"), true).await?;
        } else {
            turn.record_quietly(answer, Starting::default()).await?;
        }
        if left == 0 || !may_go_on {
            return Ok(Reported::Never);
        }
        if !by_call {
            turn.add_note(told).await?;
        }
        Ok(Reported::Lacks)
    }

    /// The outcome of a turn whose report was never complete: what there is of it is shown, and what is missing.
    pub(super) fn without_whole_report(&mut self, exit: EndReason, error: String) -> Outcome {
        let error = match self.unjudged.take() {
            Some(why) if error.is_empty() => why,
            Some(_) | None => error,
        };
        let kept = self.kept.take();
        let lacking = match kept {
            Some(_) => Lacking::Meta,
            None => Lacking::Report,
        };
        let data = kept.as_ref().and_then(|body| body.data.clone());
        let answer = kept.map_or_else(|| std::mem::take(&mut self.latest), |body| body.text);
        let missing = std::mem::take(&mut self.missing);
        self.row = Some(json!({
            "source": null, "data": data, "meta": null, "missing": missing, "reason": lacking.as_str(),
        }));
        Outcome::Lacks {
            answer,
            missing,
            exit,
            error,
        }
    }

    /// Has a worker process judge what was given; `None` where the turn is aborted meanwhile.
    async fn judged(&self, turn: &Turn, given: &Given, contract: &Contract) -> Option<Judgement> {
        let parts = if self.kept.is_some() {
            Parts::Fields
        } else {
            Parts::All
        };
        let worker = (&turn.context.deps.services.workers, turn.context.agent.id);
        let judged = reports::judge(worker, contract, parts, given.to_judge());
        turn.context.stop.hard().run_until_cancelled(judged).await
    }

    /// Whether an incomplete report was given.
    pub(super) fn has_part(&self) -> bool {
        self.left.is_some()
    }

    /// Keeps the valid parts of what was given, and returns what is missing.
    fn takes(&mut self, given: Given, contract: &Contract, judgement: Judgement) -> Lacks {
        let mut lacks = judgement.body;
        self.unjudged = judgement.unjudged;
        if self.kept.is_none() {
            let text = given.text.trim();
            if text.is_empty() && !contract.has_data() {
                lacks.missing.push("text".to_owned());
            }
            if !text.is_empty() {
                self.latest.clone_from(&given.text);
            }
            if lacks.is_empty() {
                self.kept = Some(Body {
                    text: match (text, &judgement.data) {
                        ("", Some(data)) => text::fenced(&format!("{data:#}"), "json"),
                        _ => given.text.clone(),
                    },
                    source: match (&given.arguments, &judgement.data) {
                        (Some(_), _) => Source::Tool,
                        (None, Some(_)) => Source::Fallback,
                        (None, None) => Source::Text,
                    },
                    data: judgement.data,
                });
            }
        }
        lacks.and(judgement.fields)
    }
}

impl Body {
    /// What the turn's row keeps.
    fn row(&self, meta: &Map<String, Value>) -> Value {
        let source = match self.source {
            Source::Tool => "tool",
            Source::Text => "text",
            Source::Fallback => "fallback",
        };
        json!({ "source": source, "data": self.data, "meta": meta, "missing": [] })
    }
}

impl Given {
    fn of(answer: &Assistant) -> Self {
        let call = answer.tool_calls.iter().map(|call| call.meant());
        let Some(call) = call.into_iter().find(|call| call.name == REPORT) else {
            return Self {
                text: answer.text.clone(),
                arguments: None,
            };
        };
        let mut arguments = call.arguments;
        let text = match arguments.remove("text") {
            Some(Value::String(text)) if !text.trim().is_empty() => text,
            _ => answer.text.clone(),
        };
        Self {
            text,
            arguments: Some(arguments),
        }
    }

    fn to_judge(&self) -> reports::Given<'_> {
        match &self.arguments {
            Some(arguments) => reports::Given::Call {
                data: arguments.get("data"),
                meta: arguments.get("meta"),
            },
            None => reports::Given::Text(&self.text),
        }
    }
}

/// What this turn's last answer must hold, by its role as it is now.
fn contract(turn: &Turn) -> Option<&Contract> {
    let role = turn.setup.role.as_ref()?;
    role.report.as_ref().filter(|_| turn.mode() != Mode::Direct)
}

/// Stores an answer that calls [`REPORT`], each of its calls closed with a result.
async fn answer_report(
    turn: &mut Turn,
    answer: Assistant,
    told: &str,
    is_error: bool,
) -> Result<(), StoreError> {
    let calls: Vec<Call> = answer.tool_calls.iter().map(Call::of).collect();
    let report = calls.iter().position(|call| call.name == REPORT);
    let ids: Vec<CallId> = report.iter().map(|at| calls[*at].id.clone()).collect();
    let starting = Starting {
        calls: ids,
        ..Starting::default()
    };
    turn.record_quietly(answer, starting).await?;
    for (at, call) in calls.iter().enumerate() {
        let result = if Some(at) == report {
            let result = ToolResult {
                call_id: call.id.clone(),
                name: call.written.clone(),
                content: told.to_owned(),
                is_error,
                images: Vec::new(),
            };
            let store = &turn.context.deps.store;
            store
                .finish_call(turn.context.id(), &result, AttachedRows::default())
                .await?;
            result
        } else {
            let why = "not run: `report` is called alone, and last";
            refuse(turn, call, &call.name, why, AuditDecision::Deny, None).await?
        };
        turn.transcript
            .push(crate::domain::Item::ToolResult(result));
    }
    Ok(())
}

/// What a model is told about an incomplete report.
fn reasons(lacks: &Lacks, is_kept: bool) -> String {
    let missing = lacks
        .missing
        .iter()
        .map(|name| format!("`{name}` is missing"));
    let wrong = lacks.wrong.iter().cloned();
    let reasons: Vec<String> = missing.chain(wrong).take(REASONS).collect();
    let go_on = if is_kept {
        "Text and data are kept: call `report` with `meta` alone."
    } else {
        "Call `report` again with all of it."
    };
    format!(
        "The report lacks what it owes: {}. {go_on}",
        reasons.join("; ")
    )
}

/// The fields that are missing, or wrong, by name.
fn names(lacks: Lacks) -> Vec<String> {
    let wrong = lacks.wrong.iter().map(|wrong| {
        let (name, _) = wrong.split_once(':').unwrap_or((wrong, ""));
        name.to_owned()
    });
    let mut names: Vec<String> = lacks.missing.iter().cloned().chain(wrong).collect();
    names.dedup();
    names
}

/// `-# ticket: ABC-12 · severity: high`
pub(super) fn fields_line(meta: &Map<String, Value>) -> Option<String> {
    let fields = meta.iter().map(|(name, value)| {
        let value = match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let shown = |text: &str| escape::text(&text::one_line(&text::visible(text).0, FIELD_SHOWN));
        format!("{}: {}", shown(name), shown(&value))
    });
    let fields: Vec<String> = fields.collect();
    (!fields.is_empty()).then(|| format!("-# {}", fields.join(" · ")))
}
