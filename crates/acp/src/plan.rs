//! A program's plan as lines for people.

use chorus_text::{one_line, visible};
use serde_json::Value;

/// Lines of a plan that are shown.
const LINES: usize = 8;

/// Characters of a line.
const LINE: usize = 120;

/// Entries of a plan that are read.
const ENTRIES: usize = 64;

/// One part of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// One line; hidden characters are written out.
    pub text: String,
    pub status: EntryStatus,
}

/// How far a part of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryStatus {
    Pending,
    InProgress,
    Completed,
}

impl EntryStatus {
    const fn sign(self) -> char {
        match self {
            Self::Pending => '☐',
            Self::InProgress => '▶',
            Self::Completed => '☑',
        }
    }
}

/// Reads the entries of a plan. An entry without words is left out; an unknown status counts as pending.
pub(crate) fn entries(list: &Value) -> Vec<Entry> {
    let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
    let read = list.iter().take(ENTRIES).filter_map(|entry| {
        let text = entry.get("content")?.as_str()?;
        let status = match entry.get("status").and_then(Value::as_str) {
            Some("completed") => EntryStatus::Completed,
            Some("in_progress") => EntryStatus::InProgress,
            _ => EntryStatus::Pending,
        };
        let text = visible(&one_line(text, LINE)).0;
        (!text.is_empty()).then_some(Entry { text, status })
    });
    read.collect()
}

/// Returns at most eight lines, from the last completed entry before the first open one on.
pub fn plan_lines(entries: &[Entry]) -> Vec<String> {
    let is_open = |entry: &Entry| entry.status != EntryStatus::Completed;
    let first_open = entries.iter().position(is_open).unwrap_or(entries.len());
    let start = first_open
        .saturating_sub(1)
        .min(entries.len().saturating_sub(LINES));
    let shown = entries.iter().skip(start).take(LINES);
    shown
        .map(|entry| format!("{} {}", entry.status.sign(), entry.text))
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_is_shown_from_where_it_is() {
        let plan = json!([
            {"content": "read\nit", "priority": "high", "status": "completed"},
            {"content": "write it", "priority": "low", "status": "in_progress"},
            {"content": "test it", "status": "later"},
            {"content": 7}, "x", {"content": ""},
        ]);
        assert_eq!(
            plan_lines(&entries(&plan)),
            ["☑ read it", "▶ write it", "☐ test it"]
        );
        let long: Vec<Value> = (0..20)
            .map(|n| json!({"content": format!("{n}"), "status": if n < 6 { "completed" } else { "pending" }}))
            .collect();
        let lines = plan_lines(&entries(&json!(long)));
        assert_eq!(
            (lines.len(), lines[0].as_str(), lines[1].as_str()),
            (8, "☑ 5", "☐ 6")
        );
        let done: Vec<Value> = (0..20)
            .map(|n| json!({"content": format!("{n}"), "status": "completed"}))
            .collect();
        assert_eq!(
            plan_lines(&entries(&json!(done)))
                .last()
                .map(String::as_str),
            Some("☑ 19")
        );
        assert!(plan_lines(&entries(&json!({}))).is_empty());
    }
}
