//! Judges reports of roles in a worker process.
//!
//! Schemas come from files of any author, and reports from models. Together they take gigabytes if a library creates an
//! error for each branch of a schema and each item of a list. So the daemon neither searches for JSON in a text nor
//! checks a value against a schema. A report that cannot be judged within the limits is not accepted.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tracing::warn;

use super::error::ToolError;
use super::work::{self, Work};
use crate::charter::{Contract, Lacks, Thoroughness};
use crate::domain::{AgentId, json_values};
use crate::exec::{WorkError, WorkLimits, Workers};

/// A model's report as given.
#[derive(Clone, Copy, Debug)]
pub enum Given<'a> {
    /// By a call: its arguments.
    Call {
        data: Option<&'a Value>,
        meta: Option<&'a Value>,
    },
    /// As a text, which may contain data.
    Text(&'a str),
}

/// Which parts of a report are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Parts {
    All,
    /// The data was accepted before.
    Fields,
}

/// The judgement of a report.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Judgement {
    pub data: Option<Value>,
    /// The fields.
    pub meta: Map<String, Value>,
    /// The faults of the data.
    pub body: Lacks,
    /// The faults of the fields.
    pub fields: Lacks,
    /// Why it could not be judged, for people.
    pub unjudged: Option<String>,
}

/// Judges the report of an agent's model by `contract`.
pub async fn judge(
    (workers, agent): (&Workers, AgentId),
    contract: &Contract,
    parts: Parts,
    given: Given<'_>,
) -> Judgement {
    match attempt((workers, agent), contract, parts, given).await {
        Ok(judgement) => judgement,
        Err(error) => {
            let why = match error {
                WorkError::TooMuch(much) => format!(
                    "to check it against its contract takes {much}, so it was not taken; give less data, or make the schema of the contract simpler"
                ),
                other => {
                    warn!("failed to judge a report: {other}");
                    format!("it could not be checked against its contract: {other}")
                }
            };
            Judgement {
                body: Lacks {
                    missing: Vec::new(),
                    wrong: vec![format!("report: {why}")],
                },
                unjudged: Some(why),
                ..Judgement::default()
            }
        }
    }
}

async fn attempt(
    (workers, agent): (&Workers, AgentId),
    contract: &Contract,
    parts: Parts,
    given: Given<'_>,
) -> Result<Judgement, WorkError> {
    let failed = |error: serde_json::Error| WorkError::Failed(error.to_string());
    let (form, bytes) = match given {
        Given::Call { data, meta } => {
            let arguments = serde_json::to_vec(&Arguments { data, meta });
            (Form::Call, arguments.map_err(failed)?.into())
        }
        Given::Text(text) => (Form::Text, std::borrow::Cow::Borrowed(text.as_bytes())),
    };
    let mut judging = Judging {
        contract: serde_json::to_value(contract).map_err(failed)?,
        parts,
        form,
        looked_for: Thoroughness::Many,
    };
    let mut judged = run(workers, agent, &judging, &bytes).await;
    if let Err(WorkError::TooMuch(_)) = judged {
        judging.looked_for = Thoroughness::First;
        judged = run(workers, agent, &judging, &bytes).await;
    }
    serde_json::from_str(&judged?).map_err(failed)
}

async fn run(
    workers: &Workers,
    agent: AgentId,
    judging: &Judging,
    bytes: &[u8],
) -> Result<String, WorkError> {
    let order = work::order(judging)?;
    workers.run(agent, Judging::LIMITS, order, bytes).await
}

/// The arguments of a call as the worker reads them.
#[derive(Serialize)]
struct Arguments<'a> {
    data: Option<&'a Value>,
    meta: Option<&'a Value>,
}

/// A report to judge. The bytes to work on are the model's text.
#[derive(Deserialize, Serialize)]
pub(in crate::tools) struct Judging {
    contract: Value,
    parts: Parts,
    form: Form,
    looked_for: Thoroughness,
}

/// How a report was given.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
enum Form {
    Call,
    Text,
}

/// The parts of a report, not yet parsed.
#[derive(Default, Deserialize)]
struct Raw {
    data: Option<Box<RawValue>>,
    meta: Option<Box<RawValue>>,
}

impl Work for Judging {
    const NAME: &'static str = "report";
    const LIMITS: WorkLimits = work::REPORT;

    fn run(self, bytes: &[u8]) -> Result<String, ToolError> {
        let contract = Contract::read(self.contract)
            .ok_or_else(|| ToolError::failed("the contract does not compile"))?;
        let text = std::str::from_utf8(bytes).map_err(ToolError::failed)?;
        let raw: Raw = match self.form {
            Form::Call => serde_json::from_str(text).map_err(ToolError::failed)?,
            Form::Text => Raw {
                data: contract.has_data().then(|| json_in(text)).flatten(),
                meta: None,
            },
        };
        let judgement = judged(&contract, self.parts, self.looked_for, raw);
        serde_json::to_string(&judgement).map_err(ToolError::failed)
    }
}

fn judged(contract: &Contract, parts: Parts, looked_for: Thoroughness, raw: Raw) -> Judgement {
    let mut judgement = Judgement::default();
    let data = raw.data.filter(|_| contract.has_data()).map(unquoted);
    let meta = raw.meta.map(unquoted);
    let values = [&data, &meta].into_iter().flatten();
    if values
        .map(|part| json_values::count(part.get()))
        .sum::<usize>()
        > json_values::MOST_VALUES
    {
        let most = json_values::MOST_VALUES;
        let why = format!("report: it has more than {most} values");
        judgement.body.wrong.push(why);
        return judgement;
    }
    let data: Option<Value> = data.as_deref().and_then(read);
    let meta: Map<String, Value> = meta.as_deref().and_then(read).unwrap_or_default();
    if parts == Parts::All {
        judgement.body = contract.lacks_data(data.as_ref(), looked_for);
    }
    judgement.fields = contract.lacks_meta(&meta, looked_for);
    if judgement.body.is_empty() {
        judgement.data = data;
    }
    if judgement.fields.is_empty() {
        judgement.meta = meta;
    }
    judgement
}

fn read<T: DeserializeOwned>(value: &RawValue) -> Option<T> {
    serde_json::from_str(value.get()).ok()
}

/// Decodes an inner object that a model wrote as text, like the outer one.
fn unquoted(value: Box<RawValue>) -> Box<RawValue> {
    let Ok(text) = serde_json::from_str::<String>(value.get()) else {
        return value;
    };
    if text.trim_start().starts_with(['{', '[']) {
        serde_json::from_str(&text).unwrap_or(value)
    } else {
        value
    }
}

/// Returns the JSON that a text consists of, or that is in its only block of code.
fn json_in(text: &str) -> Option<Box<RawValue>> {
    if let Ok(value) = serde_json::from_str(text.trim()) {
        return Some(value);
    }
    let mut blocks = Vec::new();
    let mut block: Option<String> = None;
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => block = Some(String::new()),
            Event::Text(part) => {
                if let Some(block) = &mut block {
                    block.push_str(&part);
                }
            }
            Event::End(TagEnd::CodeBlock) => blocks.extend(block.take()),
            _ => {}
        }
    }
    match blocks.as_slice() {
        [only] => serde_json::from_str(only).ok(),
        _ => None,
    }
}
