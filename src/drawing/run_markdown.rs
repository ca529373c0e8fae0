//! A run as Markdown: its tree, then each turn with its operations.

use std::fmt::Write as _;

use chrono::{DateTime, Utc};

use super::run_lines::{Detail, node_line, op_line, run_line};
use crate::domain::{Node, Run};
use crate::text::{self, escape};

/// Returns a run as Markdown, as of `now`.
pub fn run_markdown(run: &Run, now: DateTime<Utc>, detail: Detail) -> String {
    let mut page = format!(
        "# Run {}\n\n{}\n\n",
        run.run.short(),
        run_line(run, now, escape::text)
    );
    for (depth, node) in run.nodes().into_iter().skip(1) {
        let indent = "  ".repeat(depth - 1);
        let _ = writeln!(page, "{indent}- {}", node_line(node, now, escape::text));
    }
    for caused in &run.caused {
        let _ = writeln!(page, "\nCaused run {} ({}).", caused.run.short(), caused.by);
    }
    for gap in &run.gaps {
        let _ = writeln!(page, "\nGap: {}", escape::text(gap));
    }
    if detail == Detail::Ops {
        for (_, node) in run.nodes() {
            steps(node, &mut page);
        }
    }
    page
}

fn steps(node: &Node, page: &mut String) {
    let Some(began) = node.began_at else {
        return;
    };
    let _ = writeln!(
        page,
        "\n## {} {}\n",
        escape::text(&node.path),
        node.turn.short()
    );
    for op in &node.ops {
        let _ = writeln!(page, "- {}", op_line(op, began, escape::text));
        if let Some(said) = &op.preview {
            let said = text::fenced(said, "");
            for line in said.lines() {
                let _ = writeln!(page, "  {line}");
            }
        }
    }
}
