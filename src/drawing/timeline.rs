//! The times and kinds of work of a run's turns: rows of bars, for a picture and a page.

use chrono::{DateTime, Utc};

use crate::domain::{Node, OpKind, Run};
use crate::text;

/// Most rows: with more, rows cannot be distinguished.
const MOST_ROWS: usize = 60;

/// Most bars of one row, which has fewer pixels than that.
const MOST_PARTS: usize = 2_000;

/// A row for each turn of a run.
pub(super) struct Timeline {
    pub(super) rows: Vec<Row>,
    /// Turns without a row.
    pub(super) left_out: usize,
    pub(super) millis: i64,
}

pub(super) struct Row {
    pub(super) depth: usize,
    /// The agent or role, and its use.
    pub(super) label: String,
    /// When it worked; `None` if the viewer may not see that.
    pub(super) span: Option<Bar>,
    pub(super) parts: Vec<(OpKind, Bar)>,
}

/// A part of the whole time, from 0 to 1.
#[derive(Clone, Copy)]
pub(super) struct Bar {
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Timeline {
    pub(super) fn of(run: &Run, now: DateTime<Utc>) -> Self {
        let nodes = run.nodes();
        let began = run.node.began_at.unwrap_or(now);
        let ends = nodes.iter().map(|(_, node)| node.ended_at.unwrap_or(now));
        let millis = (ends.max().unwrap_or(now) - began)
            .num_milliseconds()
            .max(1);
        let place = |at: DateTime<Utc>| {
            ((at - began).num_milliseconds() as f64 / millis as f64).clamp(0.0, 1.0)
        };
        // The root is always included; if there are too many rows, one line represents all others.
        let rows = nodes.iter().take(MOST_ROWS).map(|(depth, node)| Row {
            depth: *depth,
            label: label(node),
            span: node.began_at.map(|began| Bar {
                from: place(began),
                to: place(node.ended_at.unwrap_or(now)),
            }),
            parts: parts(node, place),
        });
        Self {
            rows: rows.collect(),
            left_out: nodes.len().saturating_sub(MOST_ROWS),
            millis,
        }
    }

    /// Returns the whole time, for people.
    pub(super) fn length(&self) -> String {
        time(self.millis)
    }
}

fn parts(node: &Node, place: impl Fn(DateTime<Utc>) -> f64) -> Vec<(OpKind, Bar)> {
    let shown = node.ops.iter().filter(|op| match op.kind {
        OpKind::Model | OpKind::Tool | OpKind::Question | OpKind::Queue | OpKind::Compaction => {
            true
        }
        OpKind::Begin | OpKind::Report => false,
    });
    let mut parts: Vec<(OpKind, Bar)> = shown
        .take(MOST_PARTS)
        .map(|op| {
            let bar = Bar {
                from: place(op.at),
                to: place(op.ended_at()),
            };
            (op.kind, bar)
        })
        .collect();
    // A wait is part of the call that waits, so it is drawn on top.
    parts.sort_by_key(|(kind, _)| *kind == OpKind::Question);
    parts
}

fn label(node: &Node) -> String {
    let name = node.role.as_deref().unwrap_or(&node.path);
    let mut label = match node.kind.as_str() {
        "turn" | "sub_agent" => name.to_owned(),
        kind => format!("{kind} {name}"),
    };
    if let Some(usd) = node.cost_usd.filter(|usd| *usd > 0.0) {
        label.push_str(&format!(" {}", text::dollars(usd)));
    }
    label
}

/// Formats a length of time: `850 ms`, `1.4 s`, `2 min 5 s`.
pub(super) fn time(millis: i64) -> String {
    match millis {
        ..1_000 => format!("{millis} ms"),
        1_000..60_000 => format!("{:.1} s", millis as f64 / 1_000.0),
        _ => text::seconds(std::time::Duration::from_millis(millis.unsigned_abs())),
    }
}
