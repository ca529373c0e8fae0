//! A run as lines of text: the run itself, a line for each turn below it, and the operations of each.
//!
//! ```text
//! run 94d12fb1 · lab · ann: “make the tests pass” · answered · 3 steps · 1 min 40 s · $0.041
//! ├ sub_agent reviewer “check the tests” · sonnet · 4 steps, 6 calls · 14 s (5 s asked) · $0.021 · answered
//! │  └ sub_agent explore · haiku · 2 steps · 3 s · $0.001 · step limit
//! └ handoff editor · sonnet · 1 step · 4 s · $0.004 · answered
//! ```

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::domain::{Node, Op, OpKind, Run, Usage};
use crate::text;

/// How much of a turn is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// A line.
    Line,
    /// Its steps: requests, calls, decisions and outcomes.
    Steps,
    /// All its operations.
    Ops,
}

/// Most characters of a call's subject.
const SUBJECT: usize = 100;

/// Makes foreign words harmless for one output: on one line, without invisible characters or formatting.
type Safe = fn(&str) -> String;

/// Returns a run as lines, as of `now`.
pub fn run_lines(run: &Run, now: DateTime<Utc>, detail: Detail, safe: Safe) -> Vec<String> {
    let mut lines = vec![run_line(run, now, safe)];
    ops(&run.node, "", detail, safe, &mut lines);
    below(&run.node, "", now, (detail, safe), &mut lines);
    if let Some(before) = run.node.resumes {
        lines.push(format!("resumes {}", before.short()));
    }
    if let Some(after) = run.node.resumed_by {
        lines.push(format!("continued by {}", after.short()));
    }
    let caused = run.caused.iter();
    for caused in caused.filter(|one| Some(one.run) != run.node.resumed_by) {
        lines.push(format!("caused run {} ({})", caused.run.short(), caused.by));
    }
    lines.extend(run.gaps.iter().map(|gap| format!("Gap: {gap}")));
    lines
}

/// Returns the run in one line.
pub fn run_line(run: &Run, now: DateTime<Utc>, safe: Safe) -> String {
    let node = &run.node;
    let agent = node.path.split('/').next().unwrap_or_default();
    let mut parts = vec![format!("run {}", run.run.short()), safe(agent)];
    let words = node
        .title
        .as_deref()
        .map(|words| format!("“{}”", safe(words)));
    parts.extend(match (&run.asked_by, words, run.caused_by) {
        (Some(who), Some(words), _) => Some(format!("{}: {words}", safe(who))),
        (Some(who), None, _) => Some(safe(who)),
        (None, words, None) => words,
        (None, _, Some(by)) => Some(format!("caused by run {}", by.short())),
    });
    parts.push(exit(node));
    parts.extend(steps(node));
    parts.extend(node.took(now).map(seconds));
    parts.extend(cost(node));
    parts.join(" · ")
}

fn below(
    node: &Node,
    indent: &str,
    now: DateTime<Utc>,
    how: (Detail, Safe),
    lines: &mut Vec<String>,
) {
    let (detail, safe) = how;
    for (at, child) in node.children.iter().enumerate() {
        let is_last = at + 1 == node.children.len();
        let (mark, deeper) = if is_last {
            ("└", "   ")
        } else {
            ("├", "│  ")
        };
        lines.push(format!("{indent}{mark} {}", node_line(child, now, safe)));
        let deeper = format!("{indent}{deeper}");
        ops(child, &deeper, detail, safe, lines);
        below(child, &deeper, now, how, lines);
    }
}

/// Returns a turn below the root in one line.
pub(super) fn node_line(node: &Node, now: DateTime<Utc>, safe: Safe) -> String {
    let name = node.role.as_deref().unwrap_or(&node.path);
    let title = node.title.as_deref();
    let title = title.map_or_else(String::new, |title| format!(" “{}”", safe(title)));
    let mut parts = vec![format!("{} {}{title}", node.kind, safe(name))];
    if !node.is_hidden() {
        parts.extend(node.model.as_deref().map(safe));
        parts.extend(match (steps(node), node.calls()) {
            (steps, 0) => steps,
            (Some(steps), calls) => {
                Some(format!("{steps}, {}", text::count(calls, "call", "calls")))
            }
            (None, calls) => Some(text::count(calls, "call", "calls")),
        });
        parts.extend(node.took(now).map(|took| took_with_waits(node, took)));
    }
    parts.extend(cost(node));
    if !node.is_hidden() {
        parts.push(exit(node));
    }
    parts.join(" · ")
}

fn exit(node: &Node) -> String {
    node.exit.as_deref().unwrap_or("running").replace('_', " ")
}

fn steps(node: &Node) -> Option<String> {
    (node.steps > 0).then(|| text::count(node.steps as usize, "step", "steps"))
}

fn took_with_waits(node: &Node, took: TimeDelta) -> String {
    match node.asked_ms() / 1_000 {
        0 => seconds(took),
        asked => format!(
            "{} ({} asked)",
            seconds(took),
            text::seconds(Duration::from_secs(asked))
        ),
    }
}

fn seconds(took: TimeDelta) -> String {
    text::seconds(took.to_std().unwrap_or_default())
}

/// Returns the money, including everything below it; `None` if it cost nothing.
fn cost(node: &Node) -> Option<String> {
    match node.cost_usd {
        Some(usd) if usd > 0.0 => Some(text::dollars(usd)),
        Some(_) => None,
        None => Some("cost not known".to_owned()),
    }
}

fn ops(node: &Node, indent: &str, detail: Detail, safe: Safe, lines: &mut Vec<String>) {
    match detail {
        Detail::Line => return,
        Detail::Steps => return steps_of(node, indent, safe, lines),
        Detail::Ops => {}
    }
    let began = node.began_at.unwrap_or_default();
    let mark = if node.children.is_empty() {
        "   "
    } else {
        "│  "
    };
    for op in &node.ops {
        lines.push(format!("{indent}{mark}{}", op_line(op, began, safe)));
        let said = op.preview.iter().flat_map(|said| said.lines());
        lines.extend(said.map(|said| format!("{indent}{mark}    {}", safe(said))));
    }
}

/// Adds the steps of a turn: a line for each request to a model, and below it its calls.
fn steps_of(node: &Node, indent: &str, safe: Safe, lines: &mut Vec<String>) {
    let mark = if node.children.is_empty() {
        ""
    } else {
        "│  "
    };
    let mut step = 0;
    for op in &node.ops {
        let line = match op.kind {
            OpKind::Model => {
                step += u32::from(op.outcome == "ok");
                format!("**{}** {}", step.max(1), request_line(op, safe))
            }
            OpKind::Tool => format!("- {}", call_line(op, safe)),
            OpKind::Question => {
                let decided = op.decision.as_deref().unwrap_or("not decided");
                let decided = decided.replace('_', " ");
                let waited = text::seconds(Duration::from_millis(op.ms));
                format!("- asked: {} · {decided} · {waited}", safe(&op.name))
            }
            OpKind::Compaction => format!("- compaction · {}", op.outcome),
            OpKind::Begin | OpKind::Queue | OpKind::Report => continue,
        };
        lines.push(format!("{indent}{mark}{line}"));
    }
}

/// Returns a request to a model, in a line.
fn request_line(op: &Op, safe: Safe) -> String {
    let mut parts = vec![safe(&op.name)];
    if op.outcome != "ok" {
        parts.push(op.outcome.replace('_', " "));
    }
    parts.push(format!("{:.1} s", op.ms as f64 / 1_000.0));
    if op.usage != Usage::default() {
        let (input, output) = (op.usage.input_total(), op.usage.output);
        parts.push(text::tokens_and_cost(input, output, op.cost_usd));
    }
    parts.join(" · ")
}

/// Returns a call, its subject and its end, in a line.
fn call_line(op: &Op, safe: Safe) -> String {
    let what = op.preview.as_deref().and_then(subject);
    let what = what.map_or_else(String::new, |what| format!(" {}", safe(&what)));
    let ended = match (&op.effect, op.outcome.as_str()) {
        (Some(effect), "ok") => safe(effect),
        (_, outcome) => outcome.replace('_', " "),
    };
    format!("{}{what} · {ended}", safe(&op.name))
}

/// Returns the subject of a call, from the beginning of its arguments.
fn subject(preview: &str) -> Option<String> {
    let arguments = preview.lines().next()?;
    let arguments: serde_json::Value = serde_json::from_str(arguments).ok()?;
    let telling = ["command", "path", "url", "pattern", "role"];
    let value = telling.iter().find_map(|key| arguments[key].as_str())?;
    Some(text::one_line(value, SUBJECT))
}

/// Returns an operation of a turn in one line: `+2.1 s model anthropic/sonnet · ok · 1.8 s · 4,800 in / 420 out ·
/// $0.012`
pub(super) fn op_line(op: &Op, began: DateTime<Utc>, safe: Safe) -> String {
    let after = (op.at - began).num_milliseconds() as f64 / 1_000.0;
    let mut parts = vec![format!(
        "+{after:.1} s {} {}",
        op.kind.as_str(),
        safe(&op.name)
    )];
    if op.kind != OpKind::Begin {
        parts.push(op.outcome.replace('_', " "));
    }
    parts.extend(
        op.decision
            .as_deref()
            .filter(|_| op.kind == OpKind::Question || op.outcome == "refused")
            .map(str::to_owned),
    );
    parts.extend(op.effect.as_deref().map(safe));
    if op.ms > 0 {
        parts.push(format!("{:.1} s", op.ms as f64 / 1_000.0));
    }
    if op.usage != Usage::default() {
        parts.push(text::tokens_and_cost(
            op.usage.input_total(),
            op.usage.output,
            op.cost_usd,
        ));
    }
    parts.join(" · ")
}
