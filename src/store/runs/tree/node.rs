//! One turn of a run: its facts, operations and use, from its rows.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use crate::domain::{AttemptKind, AttemptOutcome, CallId, Cost, Effect, Node, Op, OpKind, Usage};
use crate::store::attempts::AttemptRow;
use crate::store::broken::BROKE_OFF;
use crate::store::runs::exit::{EndFacts, exit_code};
use crate::store::runs::rows::{RunCall, RunQuestion, RunTurn, Said, SaidWhat};
use crate::store::turns::EndReason;
use crate::text::redact::Redactor;
use crate::text::{self, one_line};

/// Most characters of a title: titles that people give are shorter.
pub(super) const TITLE: usize = 100;

/// The rows of one turn.
pub(super) struct OfTurn<'a> {
    pub(super) turn: &'a RunTurn,
    pub(super) attempts: Vec<&'a AttemptRow>,
    pub(super) calls: Vec<&'a RunCall>,
    pub(super) questions: Vec<&'a RunQuestion>,
    pub(super) said: Vec<&'a Said>,
    pub(super) arguments: HashMap<&'a CallId, &'a str>,
    /// The results of calls, and whether they are errors.
    pub(super) results: HashMap<&'a CallId, (&'a str, bool)>,
    pub(super) shown: Shown<'a>,
}

/// How texts are shown.
#[derive(Clone, Copy)]
pub(super) struct Shown<'a> {
    pub(super) redactor: &'a Redactor,
    /// Bytes of a text that are shown; with 0, no text is shown.
    pub(super) most: usize,
}

impl OfTurn<'_> {
    /// Returns its node, without those below it.
    pub(super) fn node(&self) -> Node {
        let row = &self.turn.row;
        let asked: Vec<&AttemptRow> = self.requests().collect();
        let answered = asked.iter().rfind(|row| row.outcome == AttemptOutcome::Ok);
        let mut usage = Usage::default();
        let mut cost = Cost::Usd(0.0);
        for request in &asked {
            usage += request.usage;
            if request.cost != Cost::Unknown || request.usage != Usage::default() {
                cost = cost.plus(request.cost);
            }
        }
        let report = self.turn.report.as_deref();
        let report: serde_json::Value = report
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let facts = self.facts(report["reason"].as_str());
        let exit = row.exit.map(|exit| exit_code(exit, facts));
        let child = row.begun.child.as_ref();
        let source = report["source"].as_str();
        Node {
            turn: row.begun.id,
            parent: row.begun.parent,
            path: row.begun.path.clone(),
            kind: child.map_or("turn", |child| child.kind.as_str()).to_owned(),
            role: child.map(|child| child.role.clone()),
            role_sha256: child.map(|child| child.role_sha256.clone()),
            title: child.and_then(|child| self.shown.title(&child.title)),
            model: answered.or(asked.last()).map(|row| row.model.clone()),
            exit: row.exit.map(|exit| exit.as_str().to_owned()),
            exit_code: exit.map(|exit| exit.code.to_owned()),
            exit_reason: exit.and_then(|exit| exit.reason).map(str::to_owned),
            cause: row.begun.cause.as_str().to_owned(),
            resumes: row.resumes,
            resumed_by: None,
            source: source.map(str::to_owned),
            began_at: Some(row.began_at),
            ended_at: row.ended_at,
            steps: match row.steps {
                0 => self.steps_so_far(),
                steps => steps,
            },
            usage,
            cost_usd: cost.usd(),
            own_cost_usd: cost.usd(),
            has_answered: facts.has_answer,
            ops: self.ops(source),
            children: Vec::new(),
        }
    }

    /// Returns its requests to models, in order.
    fn requests(&self) -> impl Iterator<Item = &AttemptRow> {
        let all = self.attempts.iter().copied();
        all.filter(|row| !matches!(row.kind, AttemptKind::Tool | AttemptKind::Queue))
    }

    /// Counts the steps of a turn whose row does not have them yet: it runs, or was cut off.
    fn steps_so_far(&self) -> u32 {
        let answered = self
            .requests()
            .filter(|row| row.kind == AttemptKind::Model && row.outcome == AttemptOutcome::Ok);
        u32::try_from(answered.count()).unwrap_or(u32::MAX)
    }

    fn facts(&self, reason: Option<&str>) -> EndFacts {
        let row = &self.turn.row;
        let is_answered = matches!(row.exit, Some(EndReason::Answered | EndReason::Refused));
        EndFacts {
            has_answer: self.turn.has_answer.unwrap_or(false) || is_answered,
            last: self.requests().last().map(|row| row.outcome),
            lacking: reason.and_then(|word| word.parse().ok()),
            broke_off: reason == Some(BROKE_OFF)
                // For turns that panicked before there was a word for it.
                || row.exit == Some(EndReason::Failed)
                    && row.steps == 0
                    && row.cost == Cost::Unknown,
        }
    }

    fn ops(&self, source: Option<&str>) -> Vec<Op> {
        let row = &self.turn.row;
        let mut ops = self.model_ops();
        ops.extend(self.tool_ops());
        ops.extend(
            self.questions
                .iter()
                .map(|question| self.question_op(question)),
        );
        ops.sort_by_key(|op| op.at);
        ops.insert(
            0,
            Op {
                preview: self.begun(),
                ..op(OpKind::Begin, row.began_at, row.began_at, &row.begun.path)
            },
        );
        if let (Some(ended), Some(exit)) = (row.ended_at, row.exit) {
            ops.push(Op {
                outcome: exit.as_str().to_owned(),
                preview: self.last_words(),
                ..op(OpKind::Report, ended, ended, source.unwrap_or("text"))
            });
        }
        ops
    }

    /// Returns its beginning: targets, tools and limits, and below them the task of a child turn.
    fn begun(&self) -> Option<String> {
        let with = self.turn.begun_with.as_deref();
        let with = with.map(|text| self.shown.line(text, 2_000));
        let told = match self.said.first() {
            Some(Said {
                words,
                what: SaidWhat::Input,
                ..
            }) if self.turn.row.begun.child.is_some() => self.shown.preview(words),
            _ => None,
        };
        let lines: Vec<String> = with.into_iter().chain(told).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Returns its requests to models, each with the model's words.
    fn model_ops(&self) -> Vec<Op> {
        let mut answers = self.said.iter().filter_map(|said| match &said.what {
            SaidWhat::Answer { tokens, .. } => Some((*tokens, said.words.as_str())),
            SaidWhat::Input | SaidWhat::Result { .. } => None,
        });
        let mut next = answers.next();
        let mut ops = Vec::new();
        let rows = self.attempts.iter().copied();
        for row in rows.filter(|row| row.kind != AttemptKind::Tool) {
            let kind = match row.kind {
                AttemptKind::Model
                | AttemptKind::Reading
                | AttemptKind::Hooks
                | AttemptKind::Tool => OpKind::Model,
                AttemptKind::Queue => OpKind::Queue,
                AttemptKind::Summary | AttemptKind::Compaction | AttemptKind::Refine => {
                    OpKind::Compaction
                }
            };
            let is_answer = row.kind == AttemptKind::Model && row.outcome == AttemptOutcome::Ok;
            let counted = (row.usage.input, row.usage.output);
            let said = next
                .filter(|(tokens, _)| is_answer && tokens.is_none_or(|tokens| tokens == counted));
            if said.is_some() {
                next = answers.next();
            }
            let words = said.map(|(_, words)| words).or(row.detail.as_deref());
            ops.push(Op {
                outcome: row.outcome.to_string(),
                usage: row.usage,
                cost_usd: row.cost.usd(),
                preview: words.and_then(|words| self.shown.preview(words)),
                ms: u64::try_from(row.duration.as_millis()).unwrap_or(u64::MAX),
                ..op(
                    kind,
                    row.at,
                    row.at,
                    &format!("{}/{}", row.provider, row.model),
                )
            });
        }
        ops
    }

    fn tool_ops(&self) -> Vec<Op> {
        let mut ran: Vec<&AttemptRow> = self
            .attempts
            .iter()
            .copied()
            .filter(|row| row.kind == AttemptKind::Tool)
            .collect();
        let mut ops = Vec::new();
        for call in &self.calls {
            let Some(at) = call.started_at.or(call.ended_at) else {
                continue;
            };
            let has_run = ran
                .iter()
                .position(|row| row.model == call.name && call.started_at.is_some());
            let has_run = has_run.map(|at| ran.remove(at));
            ops.push(Op {
                outcome: self.outcome(call, has_run),
                decision: Some(self.decision(call).to_owned()),
                effect: has_run.and_then(|ran| self.effect(ran)),
                preview: self.said_of(&call.id),
                ..op(OpKind::Tool, at, call.ended_at.unwrap_or(at), &call.name)
            });
        }
        ops
    }

    /// Returns the effect of a call, in words.
    fn effect(&self, ran: &AttemptRow) -> Option<String> {
        let words = Effect::read(ran.detail.as_deref()?)?.words();
        (!words.is_empty()).then(|| self.shown.line(&words, 300))
    }

    fn outcome(&self, call: &RunCall, ran: Option<&AttemptRow>) -> String {
        let outcome = match call.state.as_str() {
            "finished" => match (self.results.get(&call.id), ran) {
                (Some((_, true)), _) => "error",
                (Some((_, false)), _) | (None, None) => "ok",
                (None, Some(ran)) => ran.outcome.as_str(),
            },
            "started" => "open",
            other => other,
        };
        outcome.to_owned()
    }

    fn decision(&self, call: &RunCall) -> &'static str {
        let asked = self
            .questions
            .iter()
            .rfind(|question| question.call == call.id);
        match (
            asked.and_then(|question| question.decision),
            call.state.as_str(),
        ) {
            (Some(decision), _) => decision.as_str(),
            (None, "refused") => "deny",
            (None, _) => "allow",
        }
    }

    fn question_op(&self, question: &RunQuestion) -> Op {
        let decided = question.decided_at.unwrap_or(question.asked_at);
        Op {
            outcome: question.decision.map_or("open", |_| "ok").to_owned(),
            decision: question
                .decision
                .map(|decision| decision.as_str().to_owned()),
            ..op(
                OpKind::Question,
                question.asked_at,
                decided,
                &self.shown.line(&question.action, 300),
            )
        }
    }

    /// Returns a call's arguments and its result.
    fn said_of(&self, call: &CallId) -> Option<String> {
        let arguments = self.shown.preview(self.arguments.get(call)?)?;
        let result = self
            .results
            .get(call)
            .and_then(|(words, _)| self.shown.preview(words));
        Some(match result {
            Some(result) => format!("{arguments}\n→ {result}"),
            None => arguments,
        })
    }

    /// Returns the answer that ended it.
    fn last_words(&self) -> Option<String> {
        match self.said.last() {
            Some(Said {
                words,
                what: SaidWhat::Answer { calls, .. },
                ..
            }) if calls.is_empty() => self.shown.preview(words),
            _ => None,
        }
    }
}

impl Said {
    pub(super) fn arguments(&self) -> impl Iterator<Item = (&CallId, &str)> {
        let calls = match &self.what {
            SaidWhat::Answer { calls, .. } => calls.as_slice(),
            SaidWhat::Input | SaidWhat::Result { .. } => &[],
        };
        calls
            .iter()
            .map(|(call, arguments)| (call, arguments.as_str()))
    }

    pub(super) fn result(&self) -> Option<(&CallId, (&str, bool))> {
        match &self.what {
            SaidWhat::Result { call, is_error } => Some((call, (&self.words, *is_error))),
            SaidWhat::Input | SaidWhat::Answer { .. } => None,
        }
    }
}

impl Shown<'_> {
    /// Returns the beginning of a text, without secrets; `None` if texts are not shown, or it is empty.
    fn preview(self, words: &str) -> Option<String> {
        if self.most == 0 || words.trim().is_empty() {
            return None;
        }
        let words = self.redactor.redact(words);
        if words.len() <= self.most {
            return Some(words.into_owned());
        }
        Some(format!(
            "{}…",
            &words[..words.floor_char_boundary(self.most)]
        ))
    }

    /// Returns `words` as one line without secrets.
    pub(super) fn line(self, words: &str, most: usize) -> String {
        one_line(&self.redactor.redact(words), most)
    }

    pub(super) fn title(self, words: &str) -> Option<String> {
        Some(self.line(words, TITLE)).filter(|title| !title.is_empty())
    }
}

/// Returns an operation with its duration and no further details.
fn op(kind: OpKind, at: DateTime<Utc>, end: DateTime<Utc>, name: &str) -> Op {
    Op {
        at,
        ms: (end - at).num_milliseconds().max(0).unsigned_abs(),
        kind,
        name: text::visible(name).0,
        outcome: "ok".to_owned(),
        usage: Usage::default(),
        cost_usd: Some(0.0),
        decision: None,
        effect: None,
        preview: None,
    }
}
