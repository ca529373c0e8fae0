//! A session as Markdown.

use std::fmt::Write;

use super::message::{arguments, calls, role, speaker};
use crate::domain::{Item, SessionMeta};
use crate::text;

pub(super) fn render(session: &SessionMeta, items: &[Item]) -> String {
    let mut page = format!("# {}\n\n", text::one_line(&session.description, 200));
    // Writing to a String does not fail.
    let _ = writeln!(
        page,
        "Agent `{}` · saved {} · {} · {}\n\n{}\n",
        session.agent_name,
        session.saved_at.format("%Y-%m-%d %H:%M UTC"),
        text::count(session.message_count as usize, "message", "messages"),
        session.trigger.as_str(),
        session.summary
    );
    for item in items {
        let _ = writeln!(page, "## {}\n", text::one_line(speaker(item), 100));
        if role(item) == "tool_result" {
            let _ = writeln!(page, "{}\n", text::fenced(item.text(), ""));
        } else if !item.text().is_empty() {
            let _ = writeln!(page, "{}\n", item.text());
        }
        for call in calls(item) {
            let _ = writeln!(
                page,
                "Calls `{}`:\n\n{}\n",
                call.name,
                text::fenced(&arguments(&call), "json")
            );
        }
    }
    page
}
