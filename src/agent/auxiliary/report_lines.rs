//! The reports of sub-agents that a summary replaces: each leaves a line, by whose id the whole report can be read again.

use crate::domain::{CallId, Item, ToolCall, ToolResult};
use crate::text;

/// The heading of the lines.
const HEAD: &str = "Reports of sub-agents in what was summed up; `tool_output` with such a handle gives all of one:";

/// Begins each line.
const BULLET: &str = "- ";

/// Lines that are kept; the files of older reports may be gone.
const MOST: usize = 50;

/// `summary` of `items`, followed by a line for each report in them, including those that an earlier summary listed.
pub(super) fn with_reports(summary: &str, items: &[Item]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in items.iter().flat_map(|item| lines_of(item, items)) {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return summary.to_owned();
    }
    let newest = lines.split_off(lines.len().saturating_sub(MOST));
    format!("{summary}\n\n{HEAD}\n{}", newest.join("\n"))
}

fn lines_of(item: &Item, items: &[Item]) -> Vec<String> {
    match item {
        Item::User(note) if note.note => kept_before(&note.text),
        Item::ToolResult(result) => line_of(result, items).into_iter().collect(),
        Item::User(_) | Item::Assistant(_) => Vec::new(),
    }
}

/// The lines that an earlier summary ended with.
fn kept_before(note: &str) -> Vec<String> {
    let kept = note.rsplit_once(HEAD).map_or("", |(_, kept)| kept);
    let lines = kept.lines().filter(|line| line.starts_with(BULLET));
    lines.map(str::to_owned).collect()
}

/// The line of a result that is a report.
fn line_of(result: &ToolResult, items: &[Item]) -> Option<String> {
    let title = title_of(&result.call_id, items)?;
    let heading = result.content.lines().next()?.strip_prefix('[')?;
    let mut parts = heading.split(" · ");
    let (role, id) = (parts.next()?, parts.next()?);
    let is_id = id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| format!("{BULLET}{id} · {} · {title}", text::one_line(role, 80)))
}

/// The title that a call of a role was given.
fn title_of(id: &CallId, items: &[Item]) -> Option<String> {
    let calls = items.iter().flat_map(|item| match item {
        Item::Assistant(answer) => answer.tool_calls.as_slice(),
        Item::User(_) | Item::ToolResult(_) => &[],
    });
    let mut calls = calls.filter(|call| call.id == *id).map(ToolCall::meant);
    let call = calls.find(|call| call.name == "sub_agent")?;
    let title = call.arguments.get("title")?.as_str()?;
    Some(text::one_line(title, 100))
}
