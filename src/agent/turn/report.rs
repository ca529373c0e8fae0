//! The report that a role owes: its last answer, checked against what its charter asks for. What is missing is asked for
//! again, a few times; what is valid is kept meanwhile.

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::calls::Call;
use super::end_reason::EndReason;
use super::{Outcome, Turn};
use crate::charter::{Contract, Lacks};
use crate::domain::{Assistant, CallId, Mode, ToolResult};
use crate::llm::ToolSchema;
use crate::store::{AttachedRows, AuditDecision, Lacking, Starting, StoreError};
use crate::text::{self, escape};
use crate::tools::report::{self as reports, Judgement, Parts};

/// The tool that a role gives its report with.
pub(super) const REPORT: &str = "report";

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
pub(super) enum Reported {
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

/// Whether an answer gives its report by a call.
pub(super) fn is_called(answer: &Assistant) -> bool {
    let mut calls = answer.tool_calls.iter();
    calls.any(|call| call.meant().name == REPORT)
}

impl Turn {
    /// What this turn's last answer must hold, by its role as it is now.
    pub(super) fn contract(&self) -> Option<&Contract> {
        let role = self.setup.role.as_ref()?;
        role.report.as_ref().filter(|_| self.mode() != Mode::Direct)
    }

    /// The tool that gives the report: parts that are kept already are not asked for.
    pub(super) fn report_tool(&self) -> Option<ToolSchema> {
        let only_meta = self.owed.kept.is_some();
        let parameters = self.contract()?.parameters(only_meta).to_string();
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
        self.owed.kept.is_some()
    }

    /// Counts one of the steps that are left to complete the report; returns whether it is the last.
    pub(super) fn is_last_to_report(&mut self) -> bool {
        let is_last = self.owed.left == Some(1);
        self.owed.left = self.owed.left.map(|left| left.saturating_sub(1));
        is_last
    }

    /// Takes an answer that ends the turn if it holds what its role owes: without calls, or with one of [`REPORT`].
    /// Otherwise the model is told what is missing, where it `may_go_on`.
    pub(super) async fn take_report(
        &mut self,
        answer: Assistant,
        may_go_on: bool,
    ) -> Result<Reported, StoreError> {
        let Some(contract) = self.contract().cloned() else {
            return Ok(Reported::Never);
        };
        let given = Given::of(&answer);
        let by_call = given.arguments.is_some();
        let Some(judgement) = self.judged(&given, &contract).await else {
            // Nobody waits for it any more.
            self.owed.latest = given.text;
            if by_call {
                let told = "Error: the turn was aborted before the report was checked.";
                self.answer_report(answer, told, true).await?;
            } else {
                self.record_quietly(answer, Starting::default()).await?;
            }
            return Ok(Reported::Never);
        };
        let meta = judgement.meta.clone();
        let lacks = self.owed.take(given, &contract, judgement);
        if lacks.is_empty() {
            let Some(body) = self.owed.kept.take() else {
                return Ok(Reported::Never);
            };
            let is_whole = !by_call && body.text == answer.text;
            self.owed.row = Some(body.row(&meta));
            let last = if is_whole {
                answer
            } else {
                if by_call {
                    self.answer_report(answer, "The report is taken.", false)
                        .await?;
                } else {
                    self.record_quietly(answer, Starting::default()).await?;
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
        let most = self.context.deps.config.load().max_retries.get();
        let left = *self.owed.left.get_or_insert(most);
        let told = reasons(&lacks, self.owed.kept.is_some());
        self.owed.missing = names(lacks);
        if by_call {
            self.answer_report(answer, &format!("Error: {told}"), true)
                .await?;
        } else {
            self.record_quietly(answer, Starting::default()).await?;
        }
        if left == 0 || !may_go_on {
            return Ok(Reported::Never);
        }
        if !by_call {
            self.add_note(told).await?;
        }
        Ok(Reported::Lacks)
    }

    /// The outcome of a turn whose report was never complete: what there is of it is shown, and what is missing.
    pub(super) fn without_whole_report(&mut self, exit: EndReason, error: String) -> Outcome {
        let error = match self.owed.unjudged.take() {
            Some(why) if error.is_empty() => why,
            Some(_) | None => error,
        };
        let kept = self.owed.kept.take();
        let lacking = match kept {
            Some(_) => Lacking::Meta,
            None => Lacking::Report,
        };
        let data = kept.as_ref().and_then(|body| body.data.clone());
        let answer = kept.map_or_else(|| std::mem::take(&mut self.owed.latest), |body| body.text);
        let missing = std::mem::take(&mut self.owed.missing);
        self.owed.row = Some(json!({
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
    async fn judged(&self, given: &Given, contract: &Contract) -> Option<Judgement> {
        let parts = if self.owed.kept.is_some() {
            Parts::Fields
        } else {
            Parts::All
        };
        let worker = (&self.context.deps.services.workers, self.context.agent.id);
        let judged = reports::judge(worker, contract, parts, given.to_judge());
        self.context.stop.hard().run_until_cancelled(judged).await
    }

    /// Whether an incomplete report was given.
    pub(super) fn has_part_of_report(&self) -> bool {
        self.owed.left.is_some()
    }

    /// Stores an answer that calls [`REPORT`], each of its calls closed with a result.
    async fn answer_report(
        &mut self,
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
        self.record_quietly(answer, starting).await?;
        for (at, call) in calls.iter().enumerate() {
            let result = if Some(at) == report {
                let result = ToolResult {
                    call_id: call.id.clone(),
                    name: call.written.clone(),
                    content: told.to_owned(),
                    is_error,
                    images: Vec::new(),
                };
                let (store, turn) = (&self.context.deps.store, self.context.id());
                store
                    .finish_call(turn, &result, AttachedRows::default())
                    .await?;
                result
            } else {
                let why = "not run: `report` is called alone, and last";
                self.refuse(call, &call.name, why, AuditDecision::Deny, None)
                    .await?
            };
            self.transcript
                .push(crate::domain::Item::ToolResult(result));
        }
        Ok(())
    }
}

impl OwedReport {
    /// Keeps the valid parts of what was given, and returns what is missing.
    fn take(&mut self, given: Given, contract: &Contract, judgement: Judgement) -> Lacks {
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
