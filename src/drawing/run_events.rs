//! A run for programs: as a tree in JSON with its schema, and as a list of events.
//!
//! The events have the names that other agent programs use. They are derived from the tree: the ledger is the only event
//! log.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use crate::domain::{Node, Op, OpKind, Run};
use crate::text;

/// Returns a run as JSON, version 1.
pub fn run_json(run: &Run) -> Value {
    // It has neither maps nor numbers that JSON cannot express.
    serde_json::to_value(run).unwrap_or_default()
}

/// Returns the same as text, with invisible characters of people and models escaped.
pub fn run_json_text(run: &Run) -> String {
    text::visible_json(&format!("{:#}", run_json(run))).into_owned()
}

/// Returns its JSON Schema.
pub fn run_schema() -> Value {
    schemars::schema_for!(Run).to_value()
}

/// Returns the events of a run in chronological order. Each turn that ended has exactly one `agent_finished` or
/// `agent_failed`. A turn that the viewer may not see has one `agent_update` with its name and cost. Each gap of the
/// run is an `agent_update` of its root.
pub fn run_events(run: &Run) -> Vec<Value> {
    let mut events = Vec::new();
    for (_, node) in run.nodes() {
        of_node(node, run.node.began_at, &mut events);
    }
    for gap in &run.gaps {
        let event = event("agent_update", None, &run.node, json!({"gap": gap}));
        events.push((run.node.began_at.unwrap_or_default(), event));
    }
    // Events of the same moment stay in the order of the tree.
    events.sort_by_key(|(at, _)| *at);
    events.into_iter().map(|(_, event)| event).collect()
}

/// Returns the same as text, one JSON object per line.
pub fn run_event_lines(run: &Run) -> String {
    let lines: String = run_events(run)
        .into_iter()
        .map(|event| format!("{event}\n"))
        .collect();
    text::visible_json(&lines).into_owned()
}

type Event = (DateTime<Utc>, Value);

fn of_node(node: &Node, began: Option<DateTime<Utc>>, events: &mut Vec<Event>) {
    let Some(at) = node.began_at else {
        let event = event(
            "agent_update",
            None,
            node,
            json!({"cost_usd": node.cost_usd}),
        );
        events.push((began.unwrap_or_default(), event));
        return;
    };
    let begin = node.ops.first().and_then(|op| op.preview.as_deref());
    let started = json!({
        "parent": node.parent, "kind": node.kind, "role": node.role, "title": node.title, "begun_with": begin,
    });
    events.push((at, event("agent_started", Some(at), node, started)));
    for op in node.ops.iter().skip(1) {
        of_op(op, node, events);
    }
    let (Some(at), Some(exit)) = (node.ended_at, &node.exit) else {
        return;
    };
    let name = if node.has_answered {
        "agent_finished"
    } else {
        "agent_failed"
    };
    let answer = node.ops.last().and_then(|op| op.preview.as_deref());
    let ended = json!({
        "exit": exit, "exit_code": node.exit_code, "exit_reason": node.exit_reason, "source": node.source, "model": node.model,
        "steps": node.steps, "usage": node.usage, "cost_usd": node.cost_usd, "own_cost_usd": node.own_cost_usd, "answer": answer,
    });
    events.push((at, event(name, Some(at), node, ended)));
}

fn of_op(op: &Op, node: &Node, events: &mut Vec<Event>) {
    let ended = op.ended_at();
    match op.kind {
        OpKind::Begin | OpKind::Report => {}
        OpKind::Tool => {
            let started = json!({"tool": op.name, "decision": op.decision});
            events.push((op.at, event("tool_started", Some(op.at), node, started)));
            if op.outcome != "open" {
                let finished = json!({"tool": op.name, "outcome": op.outcome, "ms": op.ms, "preview": op.preview});
                events.push((ended, event("tool_finished", Some(ended), node, finished)));
            }
        }
        OpKind::Model | OpKind::Question | OpKind::Queue | OpKind::Compaction => {
            let update = json!({"op": op});
            events.push((ended, event("agent_update", Some(ended), node, update)));
        }
    }
}

fn event(name: &str, at: Option<DateTime<Utc>>, node: &Node, more: Value) -> Value {
    let mut event = Map::new();
    event.insert("event".to_owned(), name.into());
    event.insert("at".to_owned(), json!(at));
    event.insert("turn".to_owned(), json!(node.turn));
    event.insert("path".to_owned(), json!(node.path));
    if let Value::Object(more) = more {
        event.extend(more);
    }
    Value::Object(event)
}
